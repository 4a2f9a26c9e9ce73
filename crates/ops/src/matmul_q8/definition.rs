//! The definition of products with 8-bit weights: axes, attributes and operands.

use proofmark_contract::{
    Attribute, AttributeKind, Axis, AxisRole, BadCase, Definition, Operand, Role, Signature,
};
use proofmark_terms::{Case, DType};

/// The op.
#[derive(Debug)]
pub(super) struct MatmulQ8;

/// A case's sizes and attributes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Problem {
    /// Rows of the output.
    pub(super) m: usize,
    /// Columns of the output.
    pub(super) n: usize,
    /// Terms of each sum.
    pub(super) k: usize,
    /// Terms that share a scale.
    pub(super) group: usize,
}

impl Problem {
    /// Reads a case that the op's signature accepted.
    pub(super) fn of(case: &Case) -> Problem {
        let size = |axis| case.size(axis).unwrap_or(0) as usize;
        Problem { m: size("m"), n: size("n"), k: size("k"), group: GROUP.int(case) as usize }
    }
}

const AXES: &[Axis] = &[
    Axis { name: "m", meaning: "rows of x and y", role: AxisRole::Sequence, default: 1 },
    Axis { name: "n", meaning: "columns of y", role: AxisRole::Dimension, default: 4096 },
    Axis { name: "k", meaning: "terms of each sum", role: AxisRole::Dimension, default: 4096 },
];

const GROUP: Attribute = Attribute {
    name: "group",
    meaning: "terms that share a scale: 32, 64 or 128",
    kind: AttributeKind::Int { low: 32, high: 128, default: 32 },
};

const ATTRIBUTES: &[Attribute] = &[GROUP];

impl Definition for MatmulQ8 {
    fn name(&self) -> &'static str {
        "matmul_q8"
    }

    fn summary(&self) -> &'static str {
        "y[m,n] = sum over k of x[m,k] * codes[n,k] * scales[n,k/group]"
    }

    fn axes(&self) -> &'static [Axis] {
        AXES
    }

    fn attributes(&self) -> &'static [Attribute] {
        ATTRIBUTES
    }

    fn dtypes(&self) -> &'static [DType] {
        &[DType::F32]
    }

    fn signature(&self, case: &Case) -> Result<Signature, BadCase> {
        let Problem { m, n, k, group } = Problem::of(case);
        if !matches!(group, 32 | 64 | 128) {
            let message = format!("a group has 32, 64 or 128 terms, not {group}");
            return Err(BadCase::Contradiction(message));
        }
        let scales = [n, k.div_ceil(group)];
        Ok(Signature::new(vec![
            Operand::new("x", Role::Input, DType::F32, &[m, k]),
            Operand::new("codes", Role::Weight, DType::I8, &[n, k]),
            Operand::new("scales", Role::Weight, DType::F32, &scales).dense(),
            Operand::new("y", Role::Output, DType::F32, &[m, n]),
        ]))
    }
}
