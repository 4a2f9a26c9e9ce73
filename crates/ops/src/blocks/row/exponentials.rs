//! The exponentials of a row and their sum, which softmax and its logarithm are made of.

use super::reduce;
use crate::blocks::math::exp;
use crate::blocks::stored::Stored;
use proofmark_simd::Simd;

/// Sums in flight: a quarter of the terms each, which keeps more digits than one long chain.
const CHAINS: usize = 4;

/// Terms of the scalar kernel's shorter sums: about the root of a usual row's length.
const BLOCK: usize = 64;

/// The largest element of a row, NaN passed over, and `Σ exp(x − max x)`, which keeps the NaN;
/// one element at a time, with the standard library's exponential.
pub(crate) fn max_and_sum_scalar<T: Stored>(x: &[T]) -> (f32, f32) {
    let max = x.iter().map(|x| x.widen()).fold(f32::NEG_INFINITY, f32::max);
    let of_block = |x: &[T]| x.iter().map(|x| (x.widen() - max).exp()).sum::<f32>();
    (max, x.chunks(BLOCK).map(of_block).sum())
}

/// The same in vectors, and the exponentials written to `e`, which is as long as `x`, or empty
/// where they are not wanted.
///
/// Registers: 4 accumulators for the maximum; 12 constants, 4 sums and 4 temporaries for the
/// exponential, so that with 16 registers some constants come from memory.
#[inline(always)]
pub(crate) fn max_and_sum<S: Simd, T: Stored>(simd: S, x: &[T], e: &mut [f32]) -> (f32, f32) {
    let max = reduce::max(simd, x);
    let shift = simd.splat(max);
    let mut sums = [simd.zero(); CHAINS];
    let keeps = !e.is_empty();
    let mut kept = e.chunks_mut(CHAINS * S::LANES);
    let mut blocks = x.chunks_exact(CHAINS * S::LANES);
    for block in &mut blocks {
        let kept = kept.next().unwrap_or_default();
        for (i, (sum, part)) in sums.iter_mut().zip(block.chunks_exact(S::LANES)).enumerate() {
            let value = exp(simd, simd.sub(T::load(simd, part), shift));
            *sum = simd.add(*sum, value);
            if keeps {
                simd.store(value, &mut kept[i * S::LANES..]);
            }
        }
    }
    let kept = kept.next().unwrap_or_default();
    for (i, part) in blocks.remainder().chunks(S::LANES).enumerate() {
        // Lanes past the end are exp(-∞) = 0 and change no sum.
        let value = T::load_partial(simd, part, f32::NEG_INFINITY);
        let value = exp(simd, simd.sub(value, shift));
        sums[i] = simd.add(sums[i], value);
        if keeps {
            simd.store_partial(value, &mut kept[i * S::LANES..]);
        }
    }
    let [a, b, c, d] = sums;
    (max, simd.reduce_sum(simd.add(simd.add(a, b), simd.add(c, d))))
}
