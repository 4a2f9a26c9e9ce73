//! The definition of the product of two vectors: axes, attributes and operands.

use proofmark_contract::{
    Attribute, Axis, AxisRole, BadCase, Definition, Operand, Role, Signature,
};
use proofmark_terms::{Case, DType};

/// The op.
#[derive(Debug)]
pub(super) struct Dot;

/// A case's sizes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Problem {
    /// Rows of z.
    pub(super) batch: usize,
    /// Elements of a row of z.
    pub(super) sequence: usize,
    /// Terms of a sum.
    pub(super) length: usize,
}

impl Problem {
    /// Reads a case that the op's signature accepted.
    pub(super) fn of(case: &Case) -> Problem {
        let size = |axis| case.size(axis).unwrap_or(0) as usize;
        Problem { batch: size("b"), sequence: size("s"), length: size("d") }
    }
}

const AXES: &[Axis] = &[
    Axis { name: "b", meaning: "sequences in the batch", role: AxisRole::Batch, default: 1 },
    Axis { name: "s", meaning: "positions of a sequence", role: AxisRole::Sequence, default: 1 },
    Axis { name: "d", meaning: "elements of a row", role: AxisRole::Dimension, default: 65536 },
];

impl Definition for Dot {
    fn name(&self) -> &'static str {
        "dot"
    }

    fn summary(&self) -> &'static str {
        "z = Σ x · y along each row, in f32"
    }

    fn edges(&self) -> &'static [&'static str] {
        &[
            "NaN, or 0 times infinity, makes NaN of its row only; infinities stay",
            "subnormal products count; an empty row gives 0; the sign of a zero is free",
        ]
    }

    fn axes(&self) -> &'static [Axis] {
        AXES
    }

    fn attributes(&self) -> &'static [Attribute] {
        &[]
    }

    fn dtypes(&self) -> &'static [DType] {
        &[DType::F32, DType::Bf16, DType::F16]
    }

    fn signature(&self, case: &Case) -> Result<Signature, BadCase> {
        let Problem { batch, sequence, length } = Problem::of(case);
        let operand =
            |name| Operand::new(name, Role::Input, case.dtype, &[batch, sequence, length]);
        let z = Operand::new("z", Role::Output, DType::F32, &[batch, sequence]).dense();
        Ok(Signature::new(vec![operand("x"), operand("y"), z]))
    }
}
