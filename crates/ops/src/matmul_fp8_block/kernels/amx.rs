//! AMX tiles: codes as bf16, in which e4m3 is exact, and scales applied to the sums of a block.
//!
//! Idea: `prepare` decodes the weights to bf16 tiles once; a call packs the decoded activations. A
//! block of 32 × 32 sums over one block of terms stays in tiles; then each row is multiplied by the
//! one scale of its row and this panel and added up in f32: 64 vectors for 4 to 16 steps of four
//! products. Registers: 2 × 2 tiles of sums, 2 left, 2 right.

use super::{Job, PANEL};
use crate::blocks::scratch::elements;
use crate::blocks::stored::Stored;
use crate::matmul_fp8_block::definition::Problem;
use proofmark_contract::KernelError;
use proofmark_simd::tile::{self, ROWS, Sums, TILE_BYTES, Tiles, Walk};
use proofmark_simd::{Body, Simd, dispatch};
use proofmark_tensor::{F8E4m3, Rows, RowsMut, bf16};
use proofmark_terms::Isa;
use std::ops::Range;

/// Terms of a tile.
const TERMS: usize = 32;
/// Words of a tile.
const TILE: usize = TILE_BYTES / 2;
/// Words of the two tiles of a step.
const STEP: usize = 2 * TILE;
/// Floats of a block of sums.
const BLOCK: usize = PANEL * PANEL;

/// Bytes of the packed right operand.
pub(super) fn packed_bytes(problem: &Problem) -> usize {
    problem.n.div_ceil(PANEL) * problem.k.div_ceil(TERMS) * STEP * size_of::<u16>()
}

/// Floats of a thread's scratch memory: the packed left operand, partial and whole sums.
pub(super) fn scratch(problem: &Problem) -> usize {
    problem.m.div_ceil(PANEL) * problem.k.div_ceil(TERMS) * STEP / 2 + 2 * BLOCK
}

/// Decodes and packs the right operand into tiles, panel by panel of 32 columns.
pub(super) fn pack(
    isa: Isa,
    problem: &Problem,
    right: Rows<'_, F8E4m3>,
    prepared: &mut [u8],
) -> Result<(), KernelError> {
    let need = packed_bytes(problem);
    let (got, what) = (prepared.len(), "packed weights");
    let to = prepared.get_mut(..need).ok_or(KernelError::TooSmall { what, got, need })?;
    dispatch(isa, Pack { right, to });
    Ok(())
}

struct Pack<'a> {
    right: Rows<'a, F8E4m3>,
    to: &'a mut [u8],
}

impl Body for Pack<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        assert!(S::LANES == ROWS, "a square of pairs is a tile");
        let (n, k) = (self.right.rows(), self.right.cols());
        let mut tiles = self.to.chunks_exact_mut(TILE_BYTES);
        for column in (0..n).step_by(PANEL) {
            for term in (0..k).step_by(TERMS) {
                for half in [column, column + ROWS] {
                    let mut square = [bf16::ZERO; TILE];
                    for (lane, row) in (half..n.min(half + ROWS)).enumerate() {
                        let source = &self.right.row(row)[term..k.min(term + TERMS)];
                        let target = &mut square[lane * TERMS..][..source.len()];
                        let pairs = target.iter_mut().zip(source);
                        pairs.for_each(|(to, code)| *to = bf16::from_f32(code.to_f32()));
                    }
                    let to = tiles.next().expect("room for every tile").as_mut_ptr();
                    // SAFETY: both are 16 rows of 16 pairs, which are as large as an f32 and are
                    // only moved.
                    unsafe { simd.transpose_ptr(square.as_ptr().cast(), ROWS, to.cast(), ROWS) };
                }
            }
        }
    }
}

/// Columns of the product.
pub(super) fn multiply<C: Stored>(
    job: &Job<'_>,
    columns: Range<usize>,
    output: RowsMut<'_, C>,
    scratch: &mut [f32],
) {
    dispatch(job.isa, Multiply { job: *job, columns, output, scratch });
}

struct Multiply<'a, C> {
    job: Job<'a>,
    columns: Range<usize>,
    output: RowsMut<'a, C>,
    scratch: &'a mut [f32],
}

impl<C: Stored> Body for Multiply<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        let Problem { m, k, block, .. } = self.job.problem;
        let (across, steps) = (self.job.problem.across(), k.div_ceil(TERMS));
        let (sums, left) = self.scratch.split_at_mut(2 * BLOCK);
        let (partial, whole) = sums.split_at_mut(BLOCK);
        pack_left(&self.job.left, left);
        let count = packed_bytes(&self.job.problem) / size_of::<bf16>();
        let right = elements::<bf16>(self.job.prepared, count, "packed weights");
        let right = right.expect("the weights were packed");
        let tiles = Tiles::configure(tile::Product::Bf16).expect("the kernel asked for tiles");
        for column in self.columns.clone().step_by(PANEL) {
            let wide = PANEL.min(self.columns.end - column);
            for row in (0..m).step_by(PANEL) {
                let down = PANEL.min(m - row);
                whole.fill(0.0);
                for part in 0..across {
                    let own = part * block / TERMS..steps.min((part + 1) * block / TERMS);
                    let at = |panel: usize| (panel / PANEL * steps + own.start) * STEP;
                    let walk = |first: *const u8, words: usize| Walk {
                        at: first.wrapping_add(2 * words),
                        row: TILE_BYTES / ROWS,
                        neighbour: TILE_BYTES,
                        step: 2 * TILE_BYTES,
                    };
                    let a = walk(left.as_ptr().cast(), at(row));
                    let b = walk(right.as_ptr().cast(), at(column));
                    let to = partial.as_mut_ptr().cast();
                    let to = Sums { at: to, row: PANEL * size_of::<f32>(), adds: false };
                    let shape = (down.div_ceil(ROWS), wide.div_ceil(ROWS));
                    // SAFETY: both operands hold two dense tiles for each step of each panel, as
                    // packed, and `partial` is 32 rows of 32 floats.
                    unsafe { tiles.multiply(shape, a, b, own.len(), to) };
                    let scale = self.job.right_scales[column / block * across + part];
                    for i in 0..down {
                        let own = self.job.left_scales[(row + i) * across + part] * scale;
                        let lines = i * PANEL..(i + 1) * PANEL;
                        add(simd, &partial[lines.clone()], own, &mut whole[lines]);
                    }
                }
                for i in 0..down {
                    let first = column - self.columns.start;
                    let to = &mut self.output.row_mut(row + i)[first..first + wide];
                    store(simd, &whole[i * PANEL..][..wide], to);
                }
            }
        }
    }
}

#[inline(always)]
fn add<S: Simd>(simd: S, partial: &[f32], scale: f32, whole: &mut [f32]) {
    let scale = simd.splat(scale);
    for (partial, whole) in partial.chunks_exact(S::LANES).zip(whole.chunks_exact_mut(S::LANES)) {
        let sum = simd.fma(simd.load(partial), scale, simd.load(whole));
        simd.store(sum, whole);
    }
}

#[inline(always)]
fn store<S: Simd, C: Stored>(simd: S, sums: &[f32], to: &mut [C]) {
    for (sums, to) in sums.chunks(S::LANES).zip(to.chunks_mut(S::LANES)) {
        if to.len() == S::LANES {
            C::store(simd, simd.load(sums), to);
        } else {
            C::store_partial(simd, simd.load_partial(sums, 0.0), to);
        }
    }
}

/// Packs all rows of decoded activations; terms past the last are zeros.
fn pack_left(from: &Rows<'_, f32>, to: &mut [f32]) {
    // SAFETY: every bit pattern is a word, and floats are aligned for words.
    let (_, to, _) = unsafe { to.align_to_mut::<u16>() };
    let steps = from.cols().div_ceil(TERMS);
    for row in 0..from.rows() {
        let first = row / PANEL * steps * STEP + row % PANEL * TERMS;
        for (step, terms) in from.row(row).chunks(TERMS).enumerate() {
            let target = &mut to[first + step * STEP..][..TERMS];
            target[terms.len()..].fill(0);
            // Exact: the fraction of an e4m3 number has 3 bits.
            let pairs = target.iter_mut().zip(terms);
            pairs.for_each(|(to, code)| *to = (code.to_bits() >> 16) as u16);
        }
    }
}
