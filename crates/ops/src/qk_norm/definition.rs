//! The definition of the normalisation of queries and keys: axes, attributes and operands.

use crate::rms_norm::definition::{self, EPS};
use proofmark_contract::{
    Attribute, AttributeKind, Axis, AxisRole, BadCase, Definition, Operand, Role, Signature,
};
use proofmark_terms::{Case, DType};

/// The op.
#[derive(Debug, Default)]
pub(crate) struct QkNorm;

/// A case's sizes and attributes.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    /// Positions: `b · s`.
    pub(crate) positions: usize,
    /// Heads of each operand that is normalised; one or two.
    pub(crate) heads: [usize; 2],
    /// Which of q and k are there, by number.
    pub(crate) present: &'static [usize],
    /// Elements of a head.
    pub(crate) length: usize,
    /// What is added to the mean square.
    pub(crate) eps: f64,
}

impl Problem {
    /// Reads a case that the op's signature accepted.
    pub(crate) fn of(case: &Case) -> Problem {
        let size = |axis| case.size(axis).unwrap_or(0) as usize;
        Problem {
            positions: size("b") * size("s"),
            heads: [size("h"), size("kv")],
            present: match WHICH.word(case) {
                "q" => &[0],
                "k" => &[1],
                _ => &[0, 1],
            },
            length: size("d"),
            eps: EPS.real(case),
        }
    }

    /// The `n`-th of the operands that are there, as a normalisation of rows.
    pub(crate) fn rows(&self, n: usize) -> definition::Problem {
        let rows = self.positions * self.heads[self.present[n]];
        definition::Problem { rows, length: self.length, eps: self.eps, is_gemma: false }
    }

    /// Rows of all operands that are there.
    pub(super) fn all_rows(&self) -> u64 {
        (0..self.present.len()).map(|n| self.rows(n).rows as u64).sum()
    }
}

const fn axis(name: &'static str, meaning: &'static str, role: AxisRole, default: u64) -> Axis {
    Axis { name, meaning, role, default }
}

const AXES: &[Axis] = &[
    axis("b", "sequences in the batch", AxisRole::Batch, 1),
    axis("s", "positions", AxisRole::Sequence, 128),
    axis("h", "heads of the queries", AxisRole::Dimension, 32),
    axis("kv", "heads of the keys", AxisRole::Dimension, 8),
    axis("d", "elements of a head", AxisRole::Dimension, 128),
];

const WHICH: Attribute = Attribute {
    name: "which",
    meaning: "what is normalised: queries, keys or both",
    kind: AttributeKind::Word { words: &["both", "q", "k"], default: "both" },
};

const ATTRIBUTES: &[Attribute] = &[WHICH, EPS];

impl Definition for QkNorm {
    fn name(&self) -> &'static str {
        "qk_norm"
    }

    fn summary(&self) -> &'static str {
        "y = x · w / √(mean(x²) + eps) along each head of the queries and of the keys"
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
        let size = |axis| case.size(axis).unwrap_or(0) as usize;
        let Problem { heads, present, length, .. } = Problem::of(case);
        let mut operands = Vec::new();
        let mut add = |names: [&'static str; 2], role| {
            for &n in present {
                let shape = [size("b"), size("s"), heads[n], length];
                operands.push(match role {
                    Role::Weight => Operand::new(names[n], role, case.dtype, &shape[3..]).dense(),
                    _ => Operand::new(names[n], role, case.dtype, &shape),
                });
            }
        };
        add(["q", "k"], Role::Input);
        add(["wq", "wk"], Role::Weight);
        add(["yq", "yk"], Role::Output);
        Ok(Signature::new(operands))
    }
}
