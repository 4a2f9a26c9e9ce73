//! The definition of a reduction: axes, attributes and operands.

use crate::blocks::row::{Shape, axes};
use proofmark_contract::{
    Attribute, AttributeKind, Axis, BadCase, Definition, Operand, Role, Signature,
};
use proofmark_terms::{Case, DType};

/// A member's definition.
pub(super) struct Reduction {
    /// Its name.
    pub(super) name: &'static str,
    /// Its formula.
    pub(super) summary: &'static str,
    /// What it makes of special values, a rule each.
    pub(super) edges: &'static [&'static str],
    /// The attributes it has, of those below.
    pub(super) attributes: &'static [Attribute],
    /// The element type of y, where it is not that of x.
    pub(super) output: Option<DType>,
    /// Whether results are defined to the bit.
    pub(super) is_exact: bool,
    /// What the judge knows of it.
    #[cfg(feature = "judge")]
    pub(super) judged: super::judge::Judged,
}

/// Which axis is reduced.
pub(super) const AXIS: Attribute = Attribute {
    name: "axis",
    meaning: "the axis that is reduced and that y lacks, or all of them",
    kind: AttributeKind::Word { words: &["d", "s", "b", "all"], default: "d" },
};

/// How much less than the count the variance's divisor is.
pub(super) const CORRECTION: Attribute = Attribute {
    name: "correction",
    meaning: "what is taken from the count before it divides: 0 of a population, 1 of a sample",
    kind: AttributeKind::Int { low: 0, high: 1, default: 0 },
};

/// The reduced axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    /// Elements of a row.
    D,
    /// Rows of a sequence.
    S,
    /// Sequences.
    B,
    /// Everything.
    All,
}

/// A case's sizes and attributes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Problem {
    /// Sequences, positions, elements of a row.
    pub(super) sizes: [usize; 3],
    /// The reduced axis.
    pub(super) over: Over,
    /// What is subtracted from the variance's count.
    pub(super) correction: f64,
}

impl Problem {
    /// Reads a case that the op's signature accepted.
    pub(super) fn of(case: &Case) -> Problem {
        let over = match AXIS.word(case) {
            "s" => Over::S,
            "b" => Over::B,
            "all" => Over::All,
            _ => Over::D,
        };
        let correction = CORRECTION.int(case) as f64;
        Problem { sizes: Shape::of(case).sizes, over, correction }
    }

    /// The shape of y.
    pub(super) fn shape(&self) -> Vec<usize> {
        let [b, s, d] = self.sizes;
        match self.over {
            Over::D => vec![b, s],
            Over::S => vec![b, d],
            Over::B => vec![s, d],
            Over::All => vec![1],
        }
    }

    /// Elements of y.
    pub(super) fn outputs(&self) -> usize {
        self.shape().iter().product()
    }

    /// Terms of each element of y.
    pub(super) fn terms(&self) -> usize {
        let [b, s, d] = self.sizes;
        match self.over {
            Over::D => d,
            Over::S => s,
            Over::B => b,
            Over::All => b * s * d,
        }
    }

    /// Where a term of an output stands in x, padding not counted.
    pub(super) fn flat(&self, output: usize, term: usize) -> usize {
        let [_, s, d] = self.sizes;
        match self.over {
            Over::D => output * d + term,
            Over::S => (output / d * s + term) * d + output % d,
            Over::B => term * s * d + output,
            Over::All => term,
        }
    }
}

const AXES: &[Axis] = &axes(1024);

impl Definition for Reduction {
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn edges(&self) -> &'static [&'static str] {
        self.edges
    }

    fn axes(&self) -> &'static [Axis] {
        AXES
    }

    fn attributes(&self) -> &'static [Attribute] {
        self.attributes
    }

    fn dtypes(&self) -> &'static [DType] {
        &[DType::F32, DType::Bf16, DType::F16]
    }

    fn signature(&self, case: &Case) -> Result<Signature, BadCase> {
        let problem = Problem::of(case);
        if self.output.is_some() && problem.terms() == 0 && problem.outputs() > 0 {
            let message = "there is no place of the largest of no elements".to_owned();
            return Err(BadCase::Contradiction(message));
        }
        let dtype = self.output.unwrap_or(case.dtype);
        Ok(Signature::new(vec![
            Operand::new("x", Role::Input, case.dtype, &problem.sizes),
            Operand::new("y", Role::Output, dtype, &problem.shape()).dense(),
        ]))
    }
}
