//! The definition of the transpose: axes, attributes and operands.

use proofmark_contract::{
    Attribute, Axis, AxisRole, BadCase, Definition, Operand, Role, Signature,
};
use proofmark_terms::{Case, DType};

/// The op.
#[derive(Debug)]
pub(super) struct Transpose;

/// A case's sizes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Problem {
    /// Matrices.
    pub(super) batch: usize,
    /// Rows of x.
    pub(super) m: usize,
    /// Columns of x.
    pub(super) n: usize,
}

impl Problem {
    /// Reads a case that the op's signature accepted.
    pub(super) fn of(case: &Case) -> Problem {
        let size = |axis| case.size(axis).unwrap_or(0) as usize;
        Problem { batch: size("b"), m: size("m"), n: size("n") }
    }
}

const AXES: &[Axis] = &[
    Axis { name: "b", meaning: "matrices", role: AxisRole::Batch, default: 1 },
    Axis { name: "m", meaning: "rows of x", role: AxisRole::Sequence, default: 1024 },
    Axis { name: "n", meaning: "columns of x", role: AxisRole::Dimension, default: 1024 },
];

impl Definition for Transpose {
    fn name(&self) -> &'static str {
        "transpose"
    }

    fn summary(&self) -> &'static str {
        "y = xᵀ"
    }

    fn edges(&self) -> &'static [&'static str] {
        &["NaN, infinities, subnormals and the sign of zero stay as they are"]
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
        let Problem { batch, m, n } = Problem::of(case);
        Ok(Signature::new(vec![
            Operand::new("x", Role::Input, case.dtype, &[batch, m, n]),
            Operand::new("y", Role::Output, case.dtype, &[batch, n, m]),
        ]))
    }
}
