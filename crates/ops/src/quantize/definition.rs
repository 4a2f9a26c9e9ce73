//! The definition of quantisation and its reverse: operands, groups, work and what the gate tries.

use super::laws::{BACKWARD_LAWS, FORWARD_LAWS};
use super::oracle;
use proofmark_contract::{
    Attribute, AttributeKind, Axis, AxisRole, BadCase, Filling, Law, Limits, Op, Operand,
    Portfolio, Role, Signature, Specials, Truth, Values, Want,
};
use proofmark_schema::{AttrValue, Case, DType, Work};
use proofmark_tensor::Fill;

/// One of the four ops.
#[derive(Debug)]
pub(super) struct Quantize {
    name: &'static str,
    summary: &'static str,
    is_fp8: bool,
    is_forward: bool,
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
        let scheme = if is_fp8 { case.word("block", "tensor") } else { scheme(case) };
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
            format: match (is_fp8, case.word("format", "e4m3")) {
                (false, _) => Format::Int8,
                (true, "e5m2") => Format::E5m2,
                (true, _) => Format::E4m3,
            },
            is_symmetric: is_fp8 || case.flag("symmetric", true),
            is_unit: scheme == "unit",
            to_nan: case.word("overflow", "saturate") == "nan",
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

fn scheme(case: &Case) -> &str {
    case.word("scheme", "channel")
}

fn group(case: &Case) -> usize {
    match case.get("group") {
        Some(AttrValue::Int(group)) => *group as usize,
        _ => 32,
    }
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

const INT8_ATTRIBUTES: &[Attribute] = &[
    Attribute {
        name: "scheme",
        meaning: "what shares a scale: the tensor, a row (channel), or a group within a row",
        kind: AttributeKind::Word(&["tensor", "channel", "group"]),
        default: "channel",
    },
    Attribute {
        name: "group",
        meaning: "elements of a group: 32, 64 or 128",
        kind: AttributeKind::Int { low: 32, high: 128 },
        default: "32",
    },
    Attribute {
        name: "symmetric",
        meaning: "codes of 0 are 0; else each group has a zero",
        kind: AttributeKind::Flag,
        default: "true",
    },
];

const FP8_ATTRIBUTES: &[Attribute] = &[
    Attribute {
        name: "format",
        meaning: "4 exponent bits and 3 of fraction, or 5 and 2",
        kind: AttributeKind::Word(&["e4m3", "e5m2"]),
        default: "e4m3",
    },
    Attribute {
        name: "block",
        meaning: "what shares a scale; unit: no scales, scale 1",
        kind: AttributeKind::Word(&["tensor", "1x128", "128x128", "unit"]),
        default: "tensor",
    },
    Attribute {
        name: "overflow",
        meaning: "beyond the largest: the largest, or NaN (e5m2: infinity)",
        kind: AttributeKind::Word(&["saturate", "nan"]),
        default: "saturate",
    },
];

impl Op for Quantize {
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

    /// Forward: the range, a product, a rounding; back: a product.
    fn work(&self, case: &Case) -> Work {
        let plan = Plan::of(case);
        let count = (plan.rows * plan.cols) as u64;
        let elements = count * case.dtype.size() as u64;
        let shared = if plan.is_symmetric { 4 } else { 8 } * u64::from(!plan.is_unit);
        let coded = count + plan.groups() as u64 * shared;
        let (bytes_read, bytes_written) =
            if self.is_forward { (elements, coded) } else { (coded, elements) };
        let flops = count * if self.is_forward { 3 } else { 1 };
        Work { flops, bytes_read, bytes_written, transcendentals: 0 }
    }

    /// No sum has an order that kernels may choose.
    fn reduction(&self, _case: &Case) -> u64 {
        1
    }

    fn oracle(&self, case: &Case, inputs: &Values, output: usize, want: &Want) -> Truth {
        let plan = Plan::of(case);
        if !self.is_forward {
            let indices = want.indices(plan.rows, plan.cols);
            let scales = if plan.is_unit { &[][..] } else { inputs.of(1) };
            let zeros = (!plan.is_symmetric).then(|| inputs.of(2));
            return oracle::values(&plan, inputs.of(0), scales, zeros, &indices);
        }
        if output == 0 {
            return oracle::codes(&plan, inputs.of(0), &want.indices(plan.rows, plan.cols));
        }
        let shared = oracle::shared(&plan, inputs.of(0));
        let signature = self.signature(case).expect("the case was accepted");
        let layout = signature.outputs()[output].layout();
        let mut truth = Truth::default();
        for at in want.indices(layout.rows(), layout.cols()) {
            let of = if output == 1 { shared[at].scale } else { shared[at].zero + 0.0 };
            truth.push(f64::from(of), 0.0);
        }
        truth
    }

    /// Forward every bit is defined. Back, a product that is rounded once to f32 lies within the
    /// half unit in the last place that q forgives everyone, and what rounding it again to 16
    /// bits adds is at most `u·|y|`. Errors may lean: codes are few and share a scale, so that the
    /// same roundings repeat all over the result.
    fn limits(&self, case: &Case) -> Limits {
        let q = if self.is_forward || case.dtype == DType::F32 { 0.0 } else { 1.0 };
        Limits { q_max: q, q_rms: q, bias: f64::INFINITY, structured: q }
    }

    fn portfolio(&self, case: &Case, signature: &Signature) -> Portfolio {
        let plan = Plan::of(case);
        if self.is_forward {
            return self.forward_portfolio(&plan, signature);
        }
        let codes = |fill: Fill, scales: Fill| {
            let filling = Filling::uniform(signature, &scales).with(0, fill);
            if plan.is_symmetric {
                return filling;
            }
            filling.with(2, Fill::Uniform { low: -128.0, high: 127.0 })
        };
        let all = || Fill::Uniform { low: -128.49, high: 127.49 };
        let scales = || Fill::Uniform { low: 0.001, high: 0.1 };
        Portfolio {
            exact: vec![codes(
                Fill::Ints { magnitude: 127, density: 1.0 },
                Fill::PowersOfTwo { reach: 8 },
            )],
            zero_mean: vec![codes(Fill::Normal, Fill::Normal), codes(all(), scales())],
            structured: vec![
                codes(all(), Fill::Graded { decades: 4.0 }),
                codes(Fill::Graded { decades: 4.0 }, scales()),
                codes(all(), Fill::Subnormal),
                codes(all(), Fill::NearOverflow { fraction: 1.0 }),
                codes(Fill::NearOverflow { fraction: 1.0 }, scales()),
                codes(Fill::Subnormal, Fill::Normal),
            ],
        }
    }

    fn specials(&self, case: &Case, _signature: &Signature) -> Specials {
        let plan = Plan::of(case);
        let operands: &[usize] = match (self.is_forward, self.is_fp8, plan.is_unit) {
            (true, ..) | (false, true, true) => &[0],
            // As a code of int8, minus infinity is −128, which fills do not reach.
            (false, ..) => &[0, 1],
        };
        let dtype = if self.is_forward { case.dtype } else { DType::F32 };
        let standard = Specials::standard(operands, dtype, dtype.largest());
        Specials { signed_zero: self.is_fp8, ..standard }
    }

    /// What dequantising gives back, beside the elements.
    fn fidelity(
        &self,
        case: &Case,
        inputs: &Values,
        outputs: &[Vec<f64>],
    ) -> Option<[Vec<f64>; 2]> {
        let plan = Plan::of(case);
        if !self.is_forward || inputs.of(0).is_empty() {
            return None;
        }
        let one = vec![1.0];
        let scales = outputs.get(1).unwrap_or(&one);
        let indices: Vec<usize> = (0..plan.rows * plan.cols).collect();
        let zeros = outputs.get(2).map(Vec::as_slice);
        let kept = oracle::values(&plan, &outputs[0], scales, zeros, &indices).value;
        Some([inputs.of(0).to_vec(), kept])
    }

    fn laws(&self) -> &'static [Law] {
        if self.is_forward { FORWARD_LAWS } else { BACKWARD_LAWS }
    }

    fn proof_cases(&self, dtype: DType) -> Vec<Case> {
        if self.is_fp8 { self.fp8_cases(dtype) } else { self.int8_cases(dtype) }
    }
}

/// The shape of scales and zeros; empty for one.
fn scheme_shape(case: &Case, shape: &[usize], plan: &Plan) -> Vec<usize> {
    match (plan.format, scheme(case), case.word("block", "tensor")) {
        (Format::Int8, "channel", _) => shape[..2].to_vec(),
        (Format::Int8, "group", _) => vec![shape[0], shape[1], plan.across],
        (Format::E4m3 | Format::E5m2, _, "1x128" | "128x128") => vec![plan.down, plan.across],
        _ => Vec::new(),
    }
}

impl Quantize {
    fn forward_portfolio(&self, plan: &Plan, signature: &Signature) -> Portfolio {
        let all = |fill: Fill| Filling::uniform(signature, &fill);
        let mut portfolio = Portfolio::standard(signature);
        // Where the range is met, every second odd integer is a tie that goes down to even.
        let steps = plan.steps() as u32;
        portfolio.exact.push(all(Fill::Ints { magnitude: 2 * steps.min(448), density: 1.0 }));
        portfolio.exact.push(all(Fill::Ints { magnitude: 8, density: 0.5 }));
        for fill in [
            Fill::Zero,
            Fill::Subnormal,
            Fill::PowersOfTwo { reach: 8 },
            Fill::NearOverflow { fraction: 0.4 },
            Fill::NearOverflow { fraction: 1.0 },
            Fill::Offset { mean: -1000.0 },
            Fill::Uniform { low: -1e-36, high: 1e-36 },
            Fill::Uniform { low: -500.0, high: 500.0 },
            Fill::Uniform { low: -70000.0, high: 70000.0 },
        ] {
            portfolio.structured.push(all(fill));
        }
        portfolio
    }

    fn int8_cases(&self, dtype: DType) -> Vec<Case> {
        let case = |[b, s, d]: [u64; 3]| {
            Case::new(self.name, dtype).axis("b", b).axis("s", s).axis("d", d)
        };
        let scheme = |case: Case, word: &str| case.attr("scheme", AttrValue::Word(word.to_owned()));
        let group =
            |size: i64, shape| scheme(case(shape), "group").attr("group", AttrValue::Int(size));
        let affine = |case: Case| case.attr("symmetric", AttrValue::Flag(false));
        let mut cases: Vec<Case> = CHANNEL_SHAPES.iter().copied().map(case).collect();
        cases.extend([
            group(32, [1, 3, 32]),
            group(32, [2, 2, 33]),
            group(32, [1, 3, 1]),
            group(32, [1, 9, 256]),
            group(64, [1, 2, 130]),
            group(128, [2, 3, 300]),
            scheme(case([2, 3, 17]), "tensor"),
            scheme(case([1, 40, 257]), "tensor"),
            scheme(case([1, 2, 0]), "tensor"),
            scheme(case([1, 1, 4097]), "tensor"),
            affine(case([2, 3, 65])),
            affine(case([1, 37, 509])),
            affine(group(32, [2, 3, 100])),
            affine(scheme(case([3, 7, 31]), "tensor")),
        ]);
        cases
    }

    fn fp8_cases(&self, dtype: DType) -> Vec<Case> {
        let case = |m: u64, n: u64| Case::new(self.name, dtype).axis("m", m).axis("n", n);
        let word = |case: Case, name, word: &str| case.attr(name, AttrValue::Word(word.to_owned()));
        let mut cases = Vec::new();
        for format in ["e4m3", "e5m2"] {
            let block = |m, n, name: &str| word(word(case(m, n), "format", format), "block", name);
            cases.extend([
                block(1, 1, "tensor"),
                block(3, 17, "tensor"),
                block(41, 259, "tensor"),
                block(0, 5, "tensor"),
                block(3, 128, "1x128"),
                block(5, 129, "1x128"),
                block(2, 300, "1x128"),
                block(7, 31, "1x128"),
                block(128, 128, "128x128"),
                block(130, 257, "128x128"),
                block(9, 63, "128x128"),
                block(3, 0, "128x128"),
                block(5, 65, "unit"),
                word(block(4, 127, "unit"), "overflow", "nan"),
                word(block(3, 33, "tensor"), "overflow", "nan"),
            ]);
        }
        cases
    }
}

const CHANNEL_SHAPES: &[[u64; 3]] = &[
    [1, 1, 1],
    [2, 3, 2],
    [1, 3, 7],
    [2, 2, 15],
    [1, 4, 16],
    [2, 2, 17],
    [1, 3, 31],
    [1, 5, 63],
    [1, 3, 64],
    [5, 1, 65],
    [1, 37, 129],
    [1, 3, 4097],
    [1, 3, 0],
    [0, 4, 16],
];
