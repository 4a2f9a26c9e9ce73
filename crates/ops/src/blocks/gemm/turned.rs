//! Products of few rows on AMX tiles whose right operand is stored as its transpose.
//!
//! With few rows the memory that holds the right operand is the limit, so it is not packed: its
//! rows are tiles of a *left* operand as they lie. What is computed is the transpose of the
//! product, block by block of 32 columns, and only the few rows are packed. The order of an
//! element's sum depends on `k` alone, and is that of the packed product.

use super::epilogue::Epilogue;
use super::tiles::{SIDE, STEP, TERMS, TILE, TileTerm, block_of, pack_left, turn, walk};
use crate::blocks::scratch::elements_mut;
use crate::blocks::stored::Stored;
use proofmark_simd::tile::{ROWS, Tiles, Walk};
use proofmark_simd::{Body, Simd};
use proofmark_tensor::{Rows, RowsMut, bf16};

/// Rows up to which the right operand is not packed. Each block of 32 rows reads it again, from the
/// caches. Interleaved with the packed product in one process, with 4,096 columns and terms on one
/// thread, 64 and 128 rows took less time and 256 rows more.
pub const TURNED_ROWS: usize = 4 * SIDE;

/// A product `C = A·Bᵀ` of at most [`TURNED_ROWS`] rows, or the part of one that falls to a thread.
#[derive(Debug)]
pub struct TurnedTiles<'a, T, U> {
    /// The left operand, `m × k`.
    pub left: Rows<'a, T>,
    /// The right operand with all its columns, `n × k`.
    pub right: Rows<'a, T>,
    /// The column of the right operand that column 0 of `output` belongs to.
    pub first_column: usize,
    /// The columns wanted of the product, `m × n`.
    pub output: RowsMut<'a, U>,
    /// What is done to the sums.
    pub epilogue: Epilogue<'a, T>,
    /// [`turned_bytes`] of rubbish, aligned for floats.
    pub scratch: &'a mut [u8],
}

/// Bytes of scratch memory for `m` rows of `k` terms.
pub fn turned_bytes(m: usize, k: usize) -> usize {
    let panels = m.div_ceil(SIDE) + 1;
    panels * k.div_ceil(TERMS) * STEP * size_of::<bf16>() + 2 * SIDE * SIDE * size_of::<f32>()
}

impl<T: TileTerm, U: Stored> Body for TurnedTiles<'_, T, U> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let TurnedTiles { left, right, first_column, mut output, epilogue, scratch } = self;
        let (m, n, k) = (left.rows(), output.cols(), left.cols());
        assert!(m <= TURNED_ROWS && m == output.rows() && k > 0, "{m} rows of {k} terms");
        let (steps, panels) = (k.div_ceil(TERMS), m.div_ceil(SIDE));
        let (sums, packed) = scratch.split_at_mut(2 * SIDE * SIDE * size_of::<f32>());
        let sums = elements_mut::<f32>(sums, 2 * SIDE * SIDE, "sums").expect("aligned");
        let (sums, turned) = sums.split_at_mut(SIDE * SIDE);
        let count = (panels + 1) * steps * STEP;
        let packed = elements_mut::<bf16>(packed, count, "tiles").expect("aligned");
        let (few, edge) = packed.split_at_mut(panels * steps * STEP);
        let (left, right) = (T::bits(left), T::bits(right));
        pack_few(simd, &left, steps, few);
        let tiles = Tiles::configure(T::PRODUCT).expect("the kernel asked for it");
        // Steps whose terms all exist can be read where they lie.
        let whole = k / TERMS;
        let mut column = 0;
        while column < n {
            let wide = (n - column).min(SIDE);
            let first = first_column + column;
            let own = right.range(first..first + wide);
            let stored = if wide == SIDE { whole } else { 0 };
            if stored < steps {
                pack_left(&columns(&own, stored * TERMS), edge);
            }
            let mut panel = 0;
            while panel < panels {
                let rows = (m - panel * SIDE).min(SIDE);
                let shape = (wide.div_ceil(ROWS), rows.div_ceil(ROWS));
                let few = &few[panel * steps * STEP..][..steps * STEP];
                if stored > 0 {
                    let lying = stored_walk(&own);
                    // SAFETY: 32 rows have `stored` whole steps of terms, the panel at least as
                    // many, and `sums` is a block of 32 rows of 32 floats.
                    unsafe {
                        let (right, sums) = (walk(few, 1), block_of(sums, false));
                        tiles.multiply_stored(shape, lying, right, stored, sums);
                    }
                }
                if stored < steps {
                    let rest = steps - stored;
                    // SAFETY: `edge` and the panel hold the steps that are left.
                    unsafe {
                        let (left, right) = (walk(edge, 1), walk(&few[stored * STEP..], 1));
                        tiles.multiply(shape, left, right, rest, block_of(sums, stored > 0));
                    }
                }
                turn_back(simd, sums, turned);
                let mut i = 0;
                while i < rows {
                    let to = &mut output.row_mut(panel * SIDE + i)[column..column + wide];
                    epilogue.store(simd, &turned[i * SIDE..][..wide], first, to);
                    i += 1;
                }
                panel += 1;
            }
            column += wide;
        }
    }
}

/// Packs the few rows as right tiles: panels of 32 rows, each with all steps.
#[inline(always)]
fn pack_few<S: Simd>(simd: S, from: &Rows<'_, bf16>, steps: usize, to: &mut [bf16]) {
    let mut tile = 0;
    while tile * ROWS < from.rows() {
        let count = (from.rows() - tile * ROWS).min(ROWS);
        let mut own: [&[bf16]; ROWS] = [&[]; ROWS];
        for lane in 0..count {
            own[lane] = from.row(tile * ROWS + lane);
        }
        let mut step = 0;
        while step < steps {
            let at = ((tile / 2 * steps + step) * 2 + tile % 2) * TILE;
            turn(simd, &own[..count], step * TERMS, &mut to[at..at + TILE]);
            step += 1;
        }
        tile += 1;
    }
}

/// The terms of some rows from a term on.
#[inline(always)]
fn columns<'a>(rows: &Rows<'a, bf16>, from: usize) -> Rows<'a, bf16> {
    let (count, length, stride) = (rows.rows(), rows.cols(), rows.row_stride());
    assert!(from < length, "a term past the last");
    // SAFETY: the same rows without their first terms.
    unsafe { Rows::from_raw(rows.as_ptr().wrapping_add(from), count, length - from, stride) }
}

/// Tiles of 32 rows as they are stored.
#[inline(always)]
fn stored_walk(rows: &Rows<'_, bf16>) -> Walk {
    let row = rows.row_stride() * size_of::<bf16>();
    Walk { at: rows.as_ptr().cast(), row, neighbour: ROWS * row, step: TERMS * size_of::<bf16>() }
}

/// Transposes a block of sums.
#[inline(always)]
fn turn_back<S: Simd>(simd: S, from: &[f32], to: &mut [f32]) {
    assert!(from.len() == SIDE * SIDE && to.len() == SIDE * SIDE, "blocks of sums");
    assert!(SIDE.is_multiple_of(S::LANES), "a block is whole squares");
    for i in (0..SIDE).step_by(S::LANES) {
        for j in (0..SIDE).step_by(S::LANES) {
            let (source, target) = (from[i * SIDE + j..].as_ptr(), to[j * SIDE + i..].as_mut_ptr());
            // SAFETY: both squares lie in their blocks.
            unsafe { simd.transpose_ptr(source, SIDE, target, SIDE) };
        }
    }
}
