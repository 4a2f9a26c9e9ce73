//! The definition of quantisation and its reverse: axes, attributes, operands and groups.

use proofmark_contract::{
    Attribute, AttributeKind, Axis, AxisRole, BadCase, Definition, Operand, Role, Signature,
};
use proofmark_terms::{Case, DType};

/// One of the four ops.
#[derive(Debug)]
pub(super) struct Quantize {
    pub(super) name: &'static str,
    summary: &'static str,
    pub(super) is_fp8: bool,
    pub(super) is_forward: bool,
}

impl Quantize {
    pub(super) const QUANTIZE_INT8: Quantize = Quantize {
        name: "quantize_int8",
        summary: "codes = nearest(x * 127 / amax), scales = amax / 127 of each group",
        is_fp8: false,
        is_forward: true,
    };
    pub(super) const DEQUANTIZE_INT8: Quantize = Quantize {
        name: "dequantize_int8",
        summary: "y = (codes - zero) * scale of the group",
        is_fp8: false,
        is_forward: false,
    };
    pub(super) const QUANTIZE_FP8: Quantize = Quantize {
        name: "quantize_fp8",
        summary: "codes = fp8(x * largest / amax), scales = amax / largest of each block",
        is_fp8: true,
        is_forward: true,
    };
    pub(super) const DEQUANTIZE_FP8: Quantize = Quantize {
        name: "dequantize_fp8",
        summary: "y = codes * scale of the block",
        is_fp8: true,
        is_forward: false,
    };
}

/// What codes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// Signed bytes.
    Int8,
    /// fp8 with 4 exponent bits.
    E4m3,
    /// fp8 with 5 exponent bits.
    E5m2,
}

/// A case's sizes and attributes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    /// Rows of elements.
    pub(super) rows: usize,
    /// Elements of a row.
    pub(super) cols: usize,
    /// Rows that share a scale; at least 1.
    pub(super) tile_rows: usize,
    /// Neighbours in a row that share a scale; at least 1.
    pub(super) tile_cols: usize,
    /// Groups one below the other.
    pub(super) down: usize,
    /// Groups beside each other.
    pub(super) across: usize,
    /// What codes are.
    pub(super) format: Format,
    /// The range is that of magnitudes.
    pub(super) is_symmetric: bool,
    /// There are no scales.
    pub(super) is_unit: bool,
    /// What overflows becomes NaN or infinity.
    pub(super) to_nan: bool,
    /// Elements become codes, and not codes elements.
    pub(super) is_forward: bool,
}

impl Plan {
    /// Reads a case that an op's signature accepted.
    pub(super) fn of(case: &Case) -> Plan {
        let size = |axis| case.size(axis).unwrap_or(0) as usize;
        let is_fp8 = case.op.ends_with("fp8");
        let (rows, cols) =
            if is_fp8 { (size("m"), size("n")) } else { (size("b") * size("s"), size("d")) };
        let scheme = if is_fp8 { BLOCK.word(case) } else { SCHEME.word(case) };
        let (tile_rows, tile_cols) = match scheme {
            "channel" => (1, cols),
            "group" => (1, group(case)),
            "1x128" => (1, 128),
            "128x128" => (128, 128),
            _ => (rows, cols),
        };
        let is_one = matches!(scheme, "tensor" | "unit");
        let (tile_rows, tile_cols) = (tile_rows.max(1), tile_cols.max(1));
        Plan {
            rows,
            cols,
            tile_rows,
            tile_cols,
            down: if is_one { 1 } else { rows.div_ceil(tile_rows) },
            across: if is_one || scheme == "channel" { 1 } else { cols.div_ceil(tile_cols) },
            format: match (is_fp8, FORMAT.word(case)) {
                (false, _) => Format::Int8,
                (true, "e5m2") => Format::E5m2,
                (true, _) => Format::E4m3,
            },
            is_symmetric: is_fp8 || SYMMETRIC.flag(case),
            is_unit: scheme == "unit",
            to_nan: OVERFLOW.word(case) == "nan",
            is_forward: case.op.starts_with("quantize"),
        }
    }

    /// Groups, each with a scale.
    pub(super) fn groups(&self) -> usize {
        self.down * self.across
    }

    /// The group of an element.
    pub(super) fn group_of(&self, row: usize, col: usize) -> usize {
        row / self.tile_rows * self.across + col / self.tile_cols
    }

    /// What the range of a group is divided into.
    pub(super) fn steps(&self) -> f32 {
        match (self.format, self.is_symmetric) {
            (Format::Int8, true) => 127.0,
            (Format::Int8, false) => 255.0,
            (Format::E4m3, _) => 448.0,
            (Format::E5m2, _) => 57344.0,
        }
    }

    /// The element type of codes.
    pub(super) fn code_dtype(&self) -> DType {
        match self.format {
            Format::Int8 => DType::I8,
            Format::E4m3 => DType::F8e4m3,
            Format::E5m2 => DType::F8e5m2,
        }
    }
}

fn group(case: &Case) -> usize {
    GROUP.int(case) as usize
}

const INT8_AXES: &[Axis] = &[
    Axis { name: "b", meaning: "sequences in the batch", role: AxisRole::Batch, default: 1 },
    Axis { name: "s", meaning: "positions", role: AxisRole::Sequence, default: 1024 },
    Axis { name: "d", meaning: "elements of a row", role: AxisRole::Dimension, default: 1024 },
];

const FP8_AXES: &[Axis] = &[
    Axis { name: "m", meaning: "rows", role: AxisRole::Sequence, default: 1024 },
    Axis { name: "n", meaning: "elements of a row", role: AxisRole::Dimension, default: 1024 },
];

const SCHEME: Attribute = Attribute {
    name: "scheme",
    meaning: "what shares a scale: the tensor, a row (channel), or a group within a row",
    kind: AttributeKind::Word { words: &["tensor", "channel", "group"], default: "channel" },
};
const GROUP: Attribute = Attribute {
    name: "group",
    meaning: "elements of a group: 32, 64 or 128",
    kind: AttributeKind::Int { low: 32, high: 128, default: 32 },
};
const SYMMETRIC: Attribute = Attribute {
    name: "symmetric",
    meaning: "codes of 0 are 0; else each group has a zero",
    kind: AttributeKind::Flag { default: true },
};

const INT8_ATTRIBUTES: &[Attribute] = &[SCHEME, GROUP, SYMMETRIC];

const FORMAT: Attribute = Attribute {
    name: "format",
    meaning: "4 exponent bits and 3 of fraction, or 5 and 2",
    kind: AttributeKind::Word { words: &["e4m3", "e5m2"], default: "e4m3" },
};
const BLOCK: Attribute = Attribute {
    name: "block",
    meaning: "what shares a scale; unit: no scales, scale 1",
    kind: AttributeKind::Word { words: &["tensor", "1x128", "128x128", "unit"], default: "tensor" },
};
const OVERFLOW: Attribute = Attribute {
    name: "overflow",
    meaning: "beyond the largest: the largest, or NaN (e5m2: infinity)",
    kind: AttributeKind::Word { words: &["saturate", "nan"], default: "saturate" },
};

const FP8_ATTRIBUTES: &[Attribute] = &[FORMAT, BLOCK, OVERFLOW];

impl Definition for Quantize {
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn axes(&self) -> &'static [Axis] {
        if self.is_fp8 { FP8_AXES } else { INT8_AXES }
    }

    fn attributes(&self) -> &'static [Attribute] {
        if self.is_fp8 { FP8_ATTRIBUTES } else { INT8_ATTRIBUTES }
    }

    fn dtypes(&self) -> &'static [DType] {
        &[DType::F32, DType::Bf16]
    }

    fn signature(&self, case: &Case) -> Result<Signature, BadCase> {
        if !matches!(group(case), 32 | 64 | 128) {
            let message = format!("a group has 32, 64 or 128 elements, not {}", group(case));
            return Err(BadCase::Contradiction(message));
        }
        let plan = Plan::of(case);
        let axes = self.axes().iter();
        let shape: Vec<usize> =
            axes.map(|axis| case.size(axis.name).unwrap_or(0) as usize).collect();
        let groups = match scheme_shape(case, &shape, &plan) {
            groups if groups.is_empty() => vec![1],
            groups => groups,
        };
        let (elements, code) =
            if self.is_forward { (Role::Input, Role::Output) } else { (Role::Output, Role::Input) };
        let names = if self.is_forward { "x" } else { "y" };
        let mut coded = vec![Operand::new("codes", code, plan.code_dtype(), &shape)];
        if !plan.is_unit {
            coded.push(Operand::new("scales", code, DType::F32, &groups).dense());
        }
        if !plan.is_symmetric {
            coded.push(Operand::new("zeros", code, DType::I32, &groups).dense());
        }
        coded.push(Operand::new(names, elements, case.dtype, &shape));
        Ok(Signature::new(coded))
    }
}

/// The shape of scales and zeros; empty for one.
fn scheme_shape(case: &Case, shape: &[usize], plan: &Plan) -> Vec<usize> {
    match (plan.format, SCHEME.word(case), BLOCK.word(case)) {
        (Format::Int8, "channel", _) => shape[..2].to_vec(),
        (Format::Int8, "group", _) => vec![shape[0], shape[1], plan.across],
        (Format::E4m3 | Format::E5m2, _, "1x128" | "128x128") => vec![plan.down, plan.across],
        _ => Vec::new(),
    }
}
