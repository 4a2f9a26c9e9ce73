//! Products of signed bytes on AMX tiles.
//!
//! Both operands are packed into tiles of 1 KiB, two side by side for each step of 64 terms, so
//! that a block of 32 × 32 sums walks two dense streams. The sums stay in registers for up to 4096
//! terms, because storing and loading them costs more than a left panel that L1 does not hold. The
//! right panels of a block of columns (1 MiB) stay in L2. Terms past the last one are zeros in the
//! left operand. Rows and columns past the edge hold arbitrary values that are not stored.

use super::Sums;
use proofmark_simd::tile::{self, ROWS, TILE_BYTES, Tiles, Walk};
use proofmark_simd::{Body, Simd};
use proofmark_tensor::Rows;
use std::ops::Range;

/// Terms of a tile.
const TERMS: usize = 64;
/// Rows, and columns, of a block of 2 × 2 tiles.
const SIDE: usize = 2 * ROWS;
/// Bytes of the two tiles of a step.
const STEP: usize = 2 * TILE_BYTES;
/// Steps between two visits of the same sums.
const DEPTH: usize = 64;

/// A right operand packed whole: for each block of steps, its panels from left to right.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PackedBytes<'a> {
    /// The panels, [`PackedBytes::bytes`].
    pub(crate) data: &'a [u8],
    /// Columns of the operand.
    pub(crate) n: usize,
}

impl PackedBytes<'_> {
    /// Bytes of a right operand of `n` rows of `k` terms when it is packed.
    pub(crate) fn bytes(k: usize, n: usize) -> usize {
        n.div_ceil(SIDE) * k.div_ceil(TERMS) * STEP
    }
}

/// Packs a whole right operand.
pub(crate) struct Pack<'a> {
    rows: Rows<'a, i8>,
    to: &'a mut [u8],
}

/// Packs `rows`, one for each column of the product, into [`PackedBytes::bytes`].
pub(crate) fn pack<'a>(rows: Rows<'a, i8>, to: &'a mut [u8]) -> Pack<'a> {
    Pack { rows, to }
}

impl Body for Pack<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Pack { rows, to } = self;
        let mut tiles = to.chunks_exact_mut(TILE_BYTES);
        for steps in blocks(rows.cols().div_ceil(TERMS)) {
            for column in (0..rows.rows()).step_by(SIDE) {
                for step in steps.clone() {
                    for half in [column, column + ROWS] {
                        let own = half.min(rows.rows())..rows.rows().min(half + ROWS);
                        let target = tiles.next().expect("the caller gave room for every tile");
                        turn(simd, &rows, own, step * TERMS, target);
                    }
                }
            }
        }
    }
}

/// A tile of at most 16 rows: four terms of each beside each other, row by row of the tile.
#[inline(always)]
fn turn<S: Simd>(simd: S, from: &Rows<'_, i8>, rows: Range<usize>, term: usize, to: &mut [u8]) {
    let mut square = [0_i8; TILE_BYTES];
    for (lane, row) in rows.enumerate() {
        let source = &from.row(row)[term..];
        let target = &mut square[lane * TERMS..][..TERMS];
        match source.first_chunk::<TERMS>() {
            Some(whole) => target.copy_from_slice(whole),
            None => target[..source.len()].copy_from_slice(source),
        }
    }
    assert!(S::LANES == ROWS && to.len() == TILE_BYTES, "a square of quadruples is a tile");
    // SAFETY: both are 16 rows of 16 quadruples, which are as large as an f32 and are only moved.
    unsafe { simd.transpose_ptr(square.as_ptr().cast(), ROWS, to.as_mut_ptr().cast(), ROWS) };
}

/// Blocks of at most [`DEPTH`] steps.
fn blocks(steps: usize) -> impl Iterator<Item = Range<usize>> {
    (0..steps).step_by(DEPTH).map(move |start| start..steps.min(start + DEPTH))
}

/// Columns that pass the left operand before the next ones: 1 MiB at the most.
fn columns(steps: usize) -> usize {
    if steps > DEPTH / 2 { 256 } else { 512 }
}

/// Scratch memory of a product on one thread, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TileScratch {
    left: usize,
    sums: usize,
}

impl TileScratch {
    /// For a product of `m` rows by `n` columns over `k` terms.
    pub(crate) fn of(m: usize, n: usize, k: usize) -> TileScratch {
        let (panels, steps) = (m.div_ceil(SIDE), k.div_ceil(TERMS));
        let across = n.min(columns(steps)).div_ceil(SIDE);
        let kept = if steps > DEPTH { panels * across } else { 1 };
        TileScratch { left: panels * steps * STEP, sums: kept * SIDE * SIDE * size_of::<i32>() }
    }

    /// Its bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.left + self.sums
    }
}

/// One product on one thread, or the columns of one that fall to it.
pub(crate) struct TileProducts<'a> {
    /// The left operand, a row of terms for each row of the output.
    pub(crate) left: Rows<'a, i8>,
    /// The right operand with all its columns.
    pub(crate) right: PackedBytes<'a>,
    /// The column of the right operand that column 0 of the output belongs to; a multiple of 32.
    pub(crate) first_column: usize,
    /// The columns wanted.
    pub(crate) sums: Sums<'a>,
    /// [`TileScratch::bytes`] of rubbish, aligned for a cache line.
    pub(crate) scratch: &'a mut [u8],
}

impl TileProducts<'_> {
    /// Computes it.
    ///
    /// # Panics
    /// If this machine has no tiles for bytes, or the scratch memory is too small.
    pub(crate) fn run(self) {
        let TileProducts { left, right, first_column, mut sums, scratch } = self;
        let (m, n, k) = (left.rows(), sums.cols(), left.cols());
        let parts = TileScratch::of(m, n, k);
        let (packed, kept) = scratch.split_at_mut(parts.left);
        let kept = &mut kept[..parts.sums];
        if k == 0 {
            (0..m).for_each(|row| (0..n).for_each(|column| sums.put(row, column, &[0])));
            return;
        }
        let tiles = Tiles::configure(tile::Product::I8).expect("the kernel asked for tiles");
        pack_left(&left, packed);
        let steps = k.div_ceil(TERMS);
        for column in (0..n).step_by(columns(steps)) {
            let width = columns(steps).min(n - column);
            let across = width.div_ceil(SIDE);
            for own in blocks(steps) {
                let panels = own.start * right.n.div_ceil(SIDE);
                let first = panels + (first_column + column) / SIDE * own.len();
                let panels = &right.data[first * STEP..];
                for row in (0..m).step_by(SIDE) {
                    let down = (m - row).min(SIDE);
                    let panel = &packed[(row / SIDE * steps + own.start) * STEP..];
                    for at in 0..across {
                        let wide = (width - at * SIDE).min(SIDE);
                        let place = if steps > DEPTH { row / SIDE * across + at } else { 0 };
                        let block = &mut kept[place * 4 * SIDE * SIDE..][..4 * SIDE * SIDE];
                        let right = &panels[at * own.len() * STEP..][..own.len() * STEP];
                        let left = &panel[..own.len() * STEP];
                        let shape = (down.div_ceil(ROWS), wide.div_ceil(ROWS));
                        multiply(&tiles, shape, left, right, block, own.start > 0);
                        if own.end == steps {
                            store(&mut sums, (row, down), (column + at * SIDE, wide), block);
                        }
                    }
                }
            }
        }
    }
}

/// Multiplies the steps of two panels into a block of sums.
fn multiply(
    tiles: &Tiles,
    shape: (usize, usize),
    left: &[u8],
    right: &[u8],
    sums: &mut [u8],
    adds: bool,
) {
    assert!(left.len() == right.len() && sums.len() == 4 * SIDE * SIDE, "panels differ in depth");
    let walk = |panel: &[u8]| Walk {
        at: panel.as_ptr(),
        row: TILE_BYTES / ROWS,
        neighbour: TILE_BYTES,
        step: STEP,
    };
    let to = tile::Sums { at: sums.as_mut_ptr(), row: 4 * SIDE, adds };
    // SAFETY: each panel holds two dense tiles for each of its steps, and `sums` is a block of
    // 32 rows of 32 sums.
    unsafe { tiles.multiply(shape, walk(left), walk(right), left.len() / STEP, to) };
}

/// Writes a finished block.
fn store(
    sums: &mut Sums<'_>,
    (row, down): (usize, usize),
    (column, wide): (usize, usize),
    block: &[u8],
) {
    for i in 0..down {
        let line = &block[i * 4 * SIDE..][..4 * SIDE];
        let mut words = [0; SIDE];
        for (word, bytes) in words.iter_mut().zip(line.as_chunks::<4>().0) {
            *word = i32::from_le_bytes(*bytes);
        }
        sums.put(row + i, column, &words[..wide]);
    }
}

/// Packs all rows and terms of the left operand.
fn pack_left(from: &Rows<'_, i8>, to: &mut [u8]) {
    let steps = from.cols().div_ceil(TERMS);
    for row in 0..from.rows() {
        let (source, rest) = from.row(row).as_chunks::<TERMS>();
        let first = row / SIDE * steps * STEP + row % SIDE * TERMS;
        let mut place = |step: usize, terms: &[i8; TERMS]| {
            let target = &mut to[first + step * STEP..][..TERMS];
            target.copy_from_slice(&terms.map(i8::cast_unsigned));
        };
        source.iter().enumerate().for_each(|(step, terms)| place(step, terms));
        if !rest.is_empty() {
            let mut last = [0; TERMS];
            last[..rest.len()].copy_from_slice(rest);
            place(source.len(), &last);
        }
    }
}
