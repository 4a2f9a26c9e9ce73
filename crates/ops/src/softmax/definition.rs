//! The definition of softmax: axes, attributes and operands.

use crate::blocks::row::{Shape, axes};
use proofmark_contract::{
    Attribute, AttributeKind, Axis, BadCase, Definition, Operand, Role, Signature,
};
use proofmark_terms::{Case, DType};

/// The op.
#[derive(Debug, Default)]
pub(crate) struct Softmax;

/// A case's sizes and attributes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Problem {
    /// Rows: `b · s`.
    pub(crate) rows: usize,
    /// Elements of a row.
    pub(crate) length: usize,
    /// One operand is both x and y.
    pub(crate) is_in_place: bool,
    /// Rows of a problem, where only the last of them sees every column.
    pub(crate) causal: Option<usize>,
}

impl Problem {
    /// Reads a case that the op's signature accepted.
    pub(crate) fn of(case: &Case) -> Problem {
        let Shape { rows, length, sizes } = Shape::of(case);
        Problem {
            rows,
            length,
            is_in_place: INPLACE.flag(case),
            causal: (MASK.word(case) == "causal").then_some(sizes[1]),
        }
    }

    /// How many columns row `row` sees, from the first on.
    pub(crate) fn width(&self, row: usize) -> usize {
        let Some(rows) = self.causal else { return self.length };
        (self.length + row % rows + 1).saturating_sub(rows)
    }
}

const AXES: &[Axis] = &axes(1024);

const INPLACE: Attribute = Attribute {
    name: "inplace",
    meaning: "one operand is read and written",
    kind: AttributeKind::Flag { default: false },
};
const MASK: Attribute = Attribute {
    name: "mask",
    meaning: "columns that count as -infinity: none, or those after column d − s + row",
    kind: AttributeKind::Word { words: &["none", "causal"], default: "none" },
};

const ATTRIBUTES: &[Attribute] = &[INPLACE, MASK];

impl Definition for Softmax {
    fn name(&self) -> &'static str {
        "softmax"
    }

    fn summary(&self) -> &'static str {
        "y = exp(x − max x) / Σ exp(x − max x) along each row"
    }

    fn axes(&self) -> &'static [Axis] {
        AXES
    }

    fn attributes(&self) -> &'static [Attribute] {
        ATTRIBUTES
    }

    fn dtypes(&self) -> &'static [DType] {
        &[DType::F32, DType::Bf16, DType::F16]
    }

    fn signature(&self, case: &Case) -> Result<Signature, BadCase> {
        let shape = Shape::of(case).sizes;
        let operand = |name, role| Operand::new(name, role, case.dtype, &shape);
        Ok(Signature::new(if Problem::of(case).is_in_place {
            vec![operand("x", Role::InOut)]
        } else {
            vec![operand("x", Role::Input), operand("y", Role::Output)]
        }))
    }
}
