//! The micro-kernel: one register tile of the product of two packed panels, written to memory.
//!
//! The tile contract: `left` is a panel of `MR` rows and `right` one of `NV` vectors of columns,
//! both over the same terms and dense (see `pack`). The sums are kept in registers for all terms
//! and leave them once. `MR * NV` accumulators, `NV` vectors of `right` and one broadcast of
//! `left` are alive at once, which `Blocking` fits to the registers of each instruction set.

use proofmark_simd::{Body, Simd};
use proofmark_tensor::RowsMut;

/// Terms between a load of a panel and the fetch of what will be loaded.
const AHEAD: usize = 16;

/// Memory that will be packed soon, which a tile brings into L2 while it computes.
///
/// Packing alone waits for every cache line; beside the sums the lines come for free. A tile
/// fetches one line for each of its terms: `lines` of them side by side, then as many from
/// `stride` on. Addresses past the operand are harmless.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fetch {
    /// The first line.
    pub(super) at: *const f32,
    /// Elements from one line to the next; 0 fetches nothing new.
    pub(super) step: usize,
    /// Lines that lie side by side, at least one.
    pub(super) lines: usize,
    /// Elements from the first of them to the first of the next ones.
    pub(super) stride: usize,
}

/// A register tile. It is a separate function ([`Simd::apart`]), because the compiler would spill
/// the sums if the loops around it were in the same one.
pub(super) struct Tile<'a, const MR: usize, const NV: usize> {
    /// A panel of the left operand.
    pub(super) left: &'a [f32],
    /// A panel of the right operand.
    pub(super) right: &'a [f32],
    /// Where the sums go: `MR` rows of `NV` vectors.
    pub(super) sums: RowsMut<'a, f32>,
    /// The sums are added to what is there.
    pub(super) adds: bool,
    /// What is fetched meanwhile.
    pub(super) fetch: Fetch,
}

impl<const MR: usize, const NV: usize> Body for Tile<'_, MR, NV> {
    type Output = ();

    /// Sums the products in the order of the terms.
    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        let (left, _) = self.left.as_chunks::<MR>();
        let width = NV * S::LANES;
        assert!(self.right.len() == left.len() * width, "panels of different depth");
        assert!((self.sums.rows(), self.sums.cols()) == (MR, width), "sums of another tile");
        let (to, stride) = (self.sums.as_mut_ptr(), self.sums.row_stride());
        // The rows of the sums lie far apart, so that nothing else brings them into L1 in time.
        for i in 0..MR {
            for v in 0..NV {
                simd.prefetch(to.wrapping_add(i * stride + v * S::LANES));
            }
        }
        let mut sums = [[simd.zero(); NV]; MR];
        let mut at = self.right.as_ptr();
        let mut group = self.fetch.at;
        for terms in left.chunks(self.fetch.lines) {
            let mut line = group;
            for scalars in terms {
                let mut vectors = [simd.zero(); NV];
                for v in 0..NV {
                    // SAFETY: `right` holds `width` floats for each of the chunks that are counted
                    // by `left`, and `at` has moved by `width` for each chunk before this one.
                    vectors[v] = unsafe { simd.load_ptr(at.add(v * S::LANES)) };
                    simd.prefetch(at.wrapping_add(AHEAD * width + v * S::LANES));
                }
                simd.prefetch(scalars.as_ptr().wrapping_add(AHEAD * MR));
                simd.prefetch_l2(line);
                line = line.wrapping_add(self.fetch.step);
                for i in 0..MR {
                    let scalar = simd.splat(scalars[i]);
                    for v in 0..NV {
                        sums[i][v] = simd.fma(scalar, vectors[v], sums[i][v]);
                    }
                }
                at = at.wrapping_add(width);
            }
            group = group.wrapping_add(self.fetch.stride);
        }
        // Both loops have constant bounds: an index known only at run time would force the sums
        // out of their registers.
        for i in 0..MR {
            for v in 0..NV {
                let to = to.wrapping_add(i * stride + v * S::LANES);
                // SAFETY: the sums have `MR` rows of `NV` vectors.
                unsafe {
                    let mut sum = sums[i][v];
                    if self.adds {
                        sum = simd.add(simd.load_ptr(to), sum);
                    }
                    simd.store_ptr(sum, to);
                }
            }
        }
    }
}
