//! What is done to a finished sum before it is rounded: a bias for its column, an activation.

use crate::blocks::math::Activation;
use crate::blocks::stored::Stored;
use proofmark_simd::{Body, Simd, dispatch};

/// The end of a product.
#[derive(Clone, Copy, Debug)]
pub struct Epilogue<'a, T> {
    /// Added to every row; one element for each column of the right operand.
    pub bias: Option<&'a [T]>,
    /// Applied after the bias.
    pub activation: Activation,
}

impl<T: Stored> Epilogue<'_, T> {
    /// Whether sums are stored as they are.
    #[inline(always)]
    pub(super) fn is_none(&self) -> bool {
        self.bias.is_none() && self.activation == Activation::None
    }

    /// Ends the sums of the columns from `column` on, and rounds them into `to`.
    ///
    /// Where there is something to do it calls a separate function: activations are long, and
    /// kernels end sums in many places.
    #[inline(always)]
    pub fn store<S: Simd, U: Stored>(&self, simd: S, sums: &[f32], column: usize, to: &mut [U]) {
        if !self.is_none() {
            let bias = self.bias.map(|bias| &bias[column..column + to.len()]);
            return dispatch(S::ISA, End { sums, bias, activation: self.activation, to });
        }
        let mut at = 0;
        while at < to.len() {
            let end = to.len().min(at + S::LANES);
            store(simd, load(simd, &sums[at..end]), &mut to[at..end]);
            at = end;
        }
    }
}

/// A row of sums on its way out.
struct End<'a, T, U> {
    sums: &'a [f32],
    bias: Option<&'a [T]>,
    activation: Activation,
    to: &'a mut [U],
}

impl<T: Stored, U: Stored> Body for End<'_, T, U> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let mut at = 0;
        while at < self.to.len() {
            let end = self.to.len().min(at + S::LANES);
            let mut sum = load(simd, &self.sums[at..end]);
            if let Some(bias) = self.bias {
                sum = simd.add(sum, load(simd, &bias[at..end]));
            }
            store(simd, self.activation.apply(simd, sum), &mut self.to[at..end]);
            at = end;
        }
    }
}

/// Loads a whole vector, or a shorter edge without reading past it.
#[inline(always)]
pub(super) fn load<S: Simd, T: Stored>(simd: S, from: &[T]) -> S::F {
    if from.len() >= S::LANES { T::load(simd, from) } else { T::load_partial(simd, from, 0.0) }
}

/// Stores a whole vector, or a shorter edge without writing past it.
#[inline(always)]
pub(super) fn store<S: Simd, T: Stored>(simd: S, value: S::F, to: &mut [T]) {
    if to.len() >= S::LANES {
        T::store(simd, value, to);
    } else {
        T::store_partial(simd, value, to);
    }
}
