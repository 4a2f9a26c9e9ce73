//! The table of members: what tells one elementwise op from another.

mod activations;
mod arithmetic;
mod functions;
mod gated;

pub(super) use activations::{Gelu, GeluQuick, GeluTanh, Silu};
pub(super) use arithmetic::{Add, Axpy, Div, Mul, Relu, Sub};
pub(super) use functions::{Exp, Sigmoid, Tanh};
pub(super) use gated::{Geglu, Swiglu};

use super::definition::Elementwise;
#[cfg(feature = "judge")]
use proofmark_contract::Mutant;
use proofmark_simd::Simd;

/// An elementwise op of `N` operands: its definition, its formula twice, and its wrong kernels.
pub(super) trait Member<const N: usize>: Send + Sync + 'static {
    /// Everything the gate needs.
    const DEFINITION: Elementwise;

    /// Wrong kernels.
    #[cfg(feature = "judge")]
    const MUTANTS: &'static [Mutant];

    /// The formula in f32; `alpha` is the case's factor, for members that have one.
    fn scalar(x: [f32; N], alpha: f32) -> f32;

    /// The formula on vectors; implementations are `#[inline(always)]`.
    fn vector<S: Simd>(simd: S, x: [S::F; N], alpha: S::F) -> S::F;
}

/// A member: its name and number of operands, definition, formula of numbers, formula of vectors,
/// and mutants.
macro_rules! member {
    (
        $(#[$doc:meta])* $member:ident<$n:literal>,
        $definition:expr,
        |$x:pat_param, $alpha:pat_param| $scalar:expr,
        |$simd:ident, $v:pat_param, $beta:pat_param| $vector:expr,
        $mutants:expr $(,)?
    ) => {
        $(#[$doc])*
        pub(in super::super) struct $member;

        impl $crate::elementwise::members::Member<$n> for $member {
            const DEFINITION: $crate::elementwise::definition::Elementwise = $definition;
            #[cfg(feature = "judge")]
            const MUTANTS: &'static [proofmark_contract::Mutant] = $mutants;

            #[inline(always)]
            fn scalar($x: [f32; $n], $alpha: f32) -> f32 {
                $scalar
            }

            #[inline(always)]
            fn vector<S: proofmark_simd::Simd>($simd: S, $v: [S::F; $n], $beta: S::F) -> S::F {
                $vector
            }
        }
    };
}
use member;
