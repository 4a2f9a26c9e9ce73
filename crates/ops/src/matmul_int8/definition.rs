//! The definition of products of bytes: axes, attributes and operands.

use proofmark_contract::{
    Attribute, AttributeKind, Axis, AxisRole, BadCase, Definition, Operand, Role, Signature,
};
use proofmark_terms::{Case, DType};

/// The op.
#[derive(Debug)]
pub(super) struct MatmulInt8;

/// Most terms whose sum an i32 holds: products of −128 with −128 are 2^14.
const MOST_TERMS: usize = (1 << 17) - 1;

/// A case's sizes and attributes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Problem {
    /// Rows of the output.
    pub(super) m: usize,
    /// Columns of the output.
    pub(super) n: usize,
    /// Terms of each sum.
    pub(super) k: usize,
    /// Sums are not scaled.
    pub(super) is_raw: bool,
}

impl Problem {
    /// Reads a case that the op's signature accepted.
    pub(super) fn of(case: &Case) -> Problem {
        let size = |axis| case.size(axis).unwrap_or(0) as usize;
        let is_raw = OUT.word(case) == "i32";
        Problem { m: size("m"), n: size("n"), k: size("k"), is_raw }
    }
}

const AXES: &[Axis] = &[
    Axis { name: "m", meaning: "rows of a and c", role: AxisRole::Sequence, default: 512 },
    Axis { name: "n", meaning: "columns of c", role: AxisRole::Dimension, default: 512 },
    Axis { name: "k", meaning: "terms of each sum", role: AxisRole::Dimension, default: 512 },
];

const OUT: Attribute = Attribute {
    name: "out",
    meaning: "f32: sums scaled by row and column; i32: the sums",
    kind: AttributeKind::Word { words: &["f32", "i32"], default: "f32" },
};

const ATTRIBUTES: &[Attribute] = &[OUT];

impl Definition for MatmulInt8 {
    fn name(&self) -> &'static str {
        "matmul_int8"
    }

    fn summary(&self) -> &'static str {
        "c[m,n] = scale_a[m] * scale_b[n] * sum over k of a[m,k] * b[n,k], summed in i32"
    }

    fn axes(&self) -> &'static [Axis] {
        AXES
    }

    fn attributes(&self) -> &'static [Attribute] {
        ATTRIBUTES
    }

    fn dtypes(&self) -> &'static [DType] {
        &[DType::I8]
    }

    fn signature(&self, case: &Case) -> Result<Signature, BadCase> {
        let Problem { m, n, k, is_raw } = Problem::of(case);
        if k > MOST_TERMS {
            let message = format!("{k} products of bytes overflow an i32; at most {MOST_TERMS}");
            return Err(BadCase::Contradiction(message));
        }
        let mut operands = vec![
            Operand::new("a", Role::Input, DType::I8, &[m, k]),
            Operand::new("b", Role::Weight, DType::I8, &[n, k]),
        ];
        if !is_raw {
            operands.push(Operand::new("scale_a", Role::Input, DType::F32, &[m]).dense());
            operands.push(Operand::new("scale_b", Role::Weight, DType::F32, &[n]).dense());
        }
        let output = if is_raw { DType::I32 } else { DType::F32 };
        operands.push(Operand::new("c", Role::Output, output, &[m, n]));
        Ok(Signature::new(operands))
    }
}
