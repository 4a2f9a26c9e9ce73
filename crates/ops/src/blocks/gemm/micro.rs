//! The micro-kernel: one register tile of the product of two packed panels.
//!
//! The tile contract: `left` is a panel of `MR` rows and `right` one of `NV` vectors of columns,
//! both over the same terms and dense (see `pack`). The sums are kept in registers for all
//! terms and handed back by value; the kernel writes no memory. `MR * NV` accumulators, `NV`
//! vectors of `right` and one broadcast of `left` are alive at once, which `Blocking` fits to
//! the registers of each instruction set.

use proofmark_simd::Simd;

/// Terms between a load of the right panel and the fetch of what will be loaded.
const AHEAD: usize = 16;

/// `MR × NV` vectors of sums.
pub(super) type Tile<S, const MR: usize, const NV: usize> = [[<S as Simd>::F; NV]; MR];

/// The products of all terms of two panels, summed in the order of the terms.
///
/// # Panics
/// If the panels do not have the same number of terms.
#[inline(always)]
pub(super) fn tile<S: Simd, const MR: usize, const NV: usize>(
    simd: S,
    left: &[f32],
    right: &[f32],
) -> Tile<S, MR, NV> {
    let (left, _) = left.as_chunks::<MR>();
    let width = NV * S::LANES;
    assert!(right.len() == left.len() * width, "panels of different depth");
    let mut sums = [[simd.zero(); NV]; MR];
    let mut at = right.as_ptr();
    for scalars in left {
        let mut vectors = [simd.zero(); NV];
        for v in 0..NV {
            // SAFETY: `right` holds `width` floats for each of the chunks that are counted by
            // `left`, and `at` has moved by `width` for each chunk before this one.
            vectors[v] = unsafe { simd.load_ptr(at.add(v * S::LANES)) };
            simd.prefetch(at.wrapping_add(AHEAD * width + v * S::LANES));
        }
        for i in 0..MR {
            let scalar = simd.splat(scalars[i]);
            for v in 0..NV {
                sums[i][v] = simd.fma(scalar, vectors[v], sums[i][v]);
            }
        }
        at = at.wrapping_add(width);
    }
    sums
}
