//! What a kernel's file promises about its error.

use proofmark_schema::{DType, ErrorContract, Reproducibility, Underflow};
use serde::Deserialize;

/// What a kernel promises about its error. The default promises sums in f32, or in f64 for elements
/// of f64, and no two calls alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Promises {
    /// Precision in which sums are kept.
    pub accumulate: Option<DType>,
    /// How far answers repeat.
    pub reproducible: Option<Reproducibility>,
    /// Numbers below the least normal one may become zero.
    pub flushes_subnormals: bool,
    /// Results that are small compared with the terms of their difference may be lost.
    pub cancels: bool,
    /// Intermediate results are rounded to the element type.
    pub rounds_inside: bool,
    /// Nothing is promised for operands that are NaN or infinite.
    pub finite_only: bool,
}

impl Promises {
    /// The contract of a case of this element type.
    pub fn contract(&self, dtype: DType) -> ErrorContract {
        let widest = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
        ErrorContract {
            accumulate: self.accumulate.unwrap_or(widest),
            reproducibility: self.reproducible.unwrap_or(Reproducibility::None),
            underflow: match self.flushes_subnormals {
                true => Underflow::Flushed,
                false => Underflow::Gradual,
            },
            cancels: self.cancels,
            rounds_inside: self.rounds_inside,
            finite_only: self.finite_only,
            ..ErrorContract::default()
        }
    }
}
