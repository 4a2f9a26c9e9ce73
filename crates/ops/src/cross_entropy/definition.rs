//! The definition of cross entropy: axes, attributes and operands.

use proofmark_contract::{
    Attribute, AttributeKind, Axis, AxisRole, BadCase, Definition, Operand, Role, Signature,
};
use proofmark_tensor::Fill;
use proofmark_terms::{Case, DType};

/// The op.
#[derive(Debug)]
pub(super) struct CrossEntropy;

/// A case's sizes and attributes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Problem {
    /// Rows.
    pub(super) rows: usize,
    /// Logits of a row.
    pub(super) length: usize,
    /// The part of the loss that all logits share.
    pub(super) smoothing: f64,
    /// The target of rows that do not count.
    pub(super) ignore: i64,
    /// One loss for all rows.
    pub(super) is_mean: bool,
}

impl Problem {
    /// Reads a case that the op's signature accepted.
    pub(super) fn of(case: &Case) -> Problem {
        let size = |axis| case.size(axis).unwrap_or(0) as usize;
        Problem {
            rows: size("n"),
            length: size("v"),
            smoothing: SMOOTHING.real(case),
            ignore: IGNORE.int(case),
            is_mean: REDUCTION.word(case) == "mean",
        }
    }
}

const AXES: &[Axis] = &[
    Axis { name: "n", meaning: "rows: predictions", role: AxisRole::Sequence, default: 512 },
    Axis { name: "v", meaning: "logits of a row", role: AxisRole::Dimension, default: 32000 },
];

const REDUCTION: Attribute = Attribute {
    name: "reduction",
    meaning: "one loss, the mean of the rows that count, or one for each row",
    kind: AttributeKind::Word { words: &["mean", "none"], default: "mean" },
};
const SMOOTHING: Attribute = Attribute {
    name: "smoothing",
    meaning: "the part of the loss that is the mean over all logits",
    kind: AttributeKind::Real { low: 0.0, high: 1.0, default: 0.0 },
};
const IGNORE: Attribute = Attribute {
    name: "ignore",
    meaning: "the target of rows that do not count",
    kind: AttributeKind::Int { low: i32::MIN as i64, high: i32::MAX as i64, default: -100 },
};

const ATTRIBUTES: &[Attribute] = &[REDUCTION, SMOOTHING, IGNORE];

impl Definition for CrossEntropy {
    fn name(&self) -> &'static str {
        "cross_entropy"
    }

    fn summary(&self) -> &'static str {
        "loss = ln Σ exp x − x[target], averaged over rows"
    }

    fn edges(&self) -> &'static [&'static str] {
        &[
            "NaN or +infinity in a row, or nothing but -infinity, makes its loss NaN",
            "-infinity at the target makes it infinite; with smoothing, anywhere in the row",
            "where no row counts the mean is NaN; alone, a row that does not count has loss 0",
            "a target that is neither below v nor `ignore` is refused",
        ]
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
        let Problem { rows, length, ignore, is_mean, .. } = Problem::of(case);
        if rows > 0 && length == 0 {
            let message = "a row without logits has no target: give `v` at least 1".to_owned();
            return Err(BadCase::Contradiction(message));
        }
        // Rounded to whole numbers: every target, and -1 where that does not count.
        let low = if ignore == -1 { -1.49 } else { -0.49 };
        let fill = Fill::Uniform { low, high: length.max(1) as f64 - 0.51 };
        let losses = if is_mean { 1 } else { rows };
        Ok(Signature::new(vec![
            Operand::new("logits", Role::Input, case.dtype, &[rows, length]),
            Operand::new("targets", Role::Input, DType::I32, &[rows]).dense().only(fill),
            Operand::new("loss", Role::Output, DType::F32, &[losses]).dense(),
        ]))
    }
}
