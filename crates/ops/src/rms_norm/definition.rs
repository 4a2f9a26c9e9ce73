//! The definition of RMS normalisation: axes, attributes and operands.

use crate::blocks::row::{Rms, Shape, axes};
use proofmark_contract::{
    Attribute, AttributeKind, Axis, BadCase, Definition, Operand, Role, Signature,
};
use proofmark_terms::{Case, DType};

/// The op.
#[derive(Debug, Default)]
pub(crate) struct RmsNorm;

/// A case's sizes and attributes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Problem {
    /// Rows: `b · s`.
    pub(crate) rows: usize,
    /// Elements of a row.
    pub(crate) length: usize,
    /// What is added to the mean square.
    pub(crate) eps: f64,
    /// Weighted by `1 + w` instead of `w`.
    pub(crate) is_gemma: bool,
}

impl Problem {
    /// Reads a case that the op's signature accepted.
    pub(crate) fn of(case: &Case) -> Problem {
        let Shape { rows, length, .. } = Shape::of(case);
        Problem { rows, length, eps: EPS.real(case), is_gemma: VARIANT.word(case) == "gemma" }
    }

    /// The problem as kernels take it.
    pub(crate) fn rms(&self) -> Rms {
        Rms { eps: self.eps as f32, one: if self.is_gemma { 1.0 } else { 0.0 } }
    }

    /// Whether rows of tiny elements are well defined: f32 squares may underflow against `eps`.
    pub(crate) fn admits_tiny(&self) -> bool {
        self.eps >= 1e-30
    }
}

const AXES: &[Axis] = &axes(4096);

/// The attribute of every op that normalises rows in this way.
pub(crate) const EPS: Attribute = Attribute {
    name: "eps",
    meaning: "added to the mean square",
    kind: AttributeKind::Real { low: 0.0, high: 1.0, default: 1e-6 },
};
const VARIANT: Attribute = Attribute {
    name: "variant",
    meaning: "weight by w (llama) or by 1 + w (gemma)",
    kind: AttributeKind::Word { words: &["llama", "gemma"], default: "llama" },
};

/// The attributes of every op that also weights rows in this way.
pub(crate) const ATTRIBUTES: &[Attribute] = &[EPS, VARIANT];

impl Definition for RmsNorm {
    fn name(&self) -> &'static str {
        "rms_norm"
    }

    fn summary(&self) -> &'static str {
        "y = x · w / √(mean(x²) + eps) along each row"
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
        Ok(Signature::new(vec![
            Operand::new("x", Role::Input, case.dtype, &shape),
            Operand::new("w", Role::Weight, case.dtype, &shape[2..]).dense(),
            Operand::new("y", Role::Output, case.dtype, &shape),
        ]))
    }
}
