//! The activations that other ops end with, by name.

use super::{gelu, gelu_tanh, silu};
use proofmark_simd::Simd;

/// What is done to a result before it is rounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Activation {
    /// Nothing.
    #[default]
    None,
    /// `max(x, 0)`; NaN stays.
    Relu,
    /// `x·Φ(x)`.
    Gelu,
    /// The same with Φ by a hyperbolic tangent.
    GeluTanh,
    /// `x / (1 + exp(−x))`.
    Silu,
}

impl Activation {
    /// The words of an attribute that names one, in the order of the variants.
    pub const WORDS: &[&str] = &["none", "relu", "gelu", "gelu_tanh", "silu"];

    /// The one that a word names; [`Activation::None`] for any other.
    pub fn of(word: &str) -> Activation {
        match word {
            "relu" => Activation::Relu,
            "gelu" => Activation::Gelu,
            "gelu_tanh" => Activation::GeluTanh,
            "silu" => Activation::Silu,
            _ => Activation::None,
        }
    }

    /// The word that names it.
    pub fn word(self) -> &'static str {
        Activation::WORDS[self as usize]
    }

    /// Its value at each lane.
    #[inline(always)]
    pub fn apply<S: Simd>(self, simd: S, x: S::F) -> S::F {
        match self {
            Activation::None => x,
            // Returns its second operand where one is NaN.
            Activation::Relu => simd.max(simd.zero(), x),
            Activation::Gelu => gelu(simd, x),
            Activation::GeluTanh => gelu_tanh(simd, x),
            Activation::Silu => silu(simd, x),
        }
    }
}
