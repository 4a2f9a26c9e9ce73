//! What precision and determinism an implementation promises.

use crate::DType;

/// How far a contender's answers repeat, weakest first. Each class includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Reproducibility {
    /// Two calls may differ within the error bound.
    None,
    /// Same inputs, threads and path: same bits.
    Bitwise,
    /// Same bits for every thread count.
    ThreadInvariant,
    /// Same bits on every instruction-set path too.
    IsaInvariant,
}

impl Reproducibility {
    /// The word in reports.
    pub fn name(self) -> &'static str {
        match self {
            Reproducibility::None => "none",
            Reproducibility::Bitwise => "bitwise",
            Reproducibility::ThreadInvariant => "thread_invariant",
            Reproducibility::IsaInvariant => "isa_invariant",
        }
    }
}

/// What becomes of numbers below the least normal one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Underflow {
    /// They are kept as subnormals, as IEEE 754 says.
    #[default]
    Gradual,
    /// They may become zero, in operands, on the way, and in results.
    Flushed,
}

/// What an implementation promises about its error; the gate holds it to this and no more.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ErrorContract {
    /// Precision in which sums are kept; its unit is the `u` of the error measure.
    pub accumulate: DType,
    /// Declared determinism.
    pub reproducibility: Reproducibility,
    /// What it does near zero.
    #[cfg_attr(feature = "serde", serde(default))]
    pub underflow: Underflow,
    /// Whether results that are small against what they are the difference of may be lost:
    /// `1 + erf(x)` is 0 long before its value is.
    #[cfg_attr(feature = "serde", serde(default))]
    pub cancels: bool,
    /// Whether numbers on the way are rounded to the element type, as the weights of attention
    /// before their product with the values.
    #[cfg_attr(feature = "serde", serde(default))]
    pub rounds_inside: bool,
    /// Whether nothing is promised for operands that are NaN or infinite.
    #[cfg_attr(feature = "serde", serde(default))]
    pub finite_only: bool,
    /// Whether it takes operands without padding between rows only, as timed calls have them.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "std::ops::Not::not"))]
    pub dense_rows: bool,
    /// Whether it runs in an interpreter that shows what the code computes, not how fast it is. It
    /// is proven like any other, and never has a time.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "std::ops::Not::not"))]
    pub interpreted: bool,
}

impl ErrorContract {
    /// What it does not promise and the strictest contract does, in words. The precision of sums
    /// and how far answers repeat are classes, not promises that are there or not.
    pub fn concessions(&self) -> Vec<&'static str> {
        let all = [
            (self.underflow == Underflow::Flushed, "may flush subnormals"),
            (self.cancels, "may lose results that are small against their operands"),
            (self.rounds_inside, "rounds to the element type on the way"),
            (self.finite_only, "promises nothing for NaN and infinities"),
            (self.dense_rows, "takes rows without padding only"),
            (self.interpreted, "was proven in an interpreter and has no time"),
        ];
        all.into_iter().filter(|(is_so, _)| *is_so).map(|(_, words)| words).collect()
    }
}

impl Default for ErrorContract {
    fn default() -> Self {
        ErrorContract {
            accumulate: DType::F32,
            reproducibility: Reproducibility::Bitwise,
            underflow: Underflow::Gradual,
            cancels: false,
            rounds_inside: false,
            finite_only: false,
            dense_rows: false,
            interpreted: false,
        }
    }
}
