//! Products of bf16, or of f16, on AMX tiles, with sums in f32. Packing only moves their 16 bits,
//! which are called bf16 here whichever they are.
//!
//! Both operands are packed into tiles of 1 KiB, two side by side for each step of 32 terms, so
//! that a block of 32 × 32 sums walks two dense streams. The sums stay in registers for up to 2048
//! terms, because storing and loading them costs more than a left panel that L1 does not hold. The
//! right panels of a block of columns (1 MiB) stay in L2, and so do the sums of its rows, if there
//! are more terms. Terms past the last one are zeros in both operands. Rows and columns past the
//! edge hold arbitrary values, because their sums are never stored.

use super::epilogue::Epilogue;
use crate::blocks::scratch::elements_mut;
use crate::blocks::stored::Stored;
use proofmark_contract::Unsupported;
use proofmark_simd::tile::{self, ROWS, Sums, TILE_BYTES, Tiles, Walk};
use proofmark_simd::{Body, Simd};
use proofmark_tensor::{Rows, RowsMut, bf16, f16};
use proofmark_terms::DType;
use std::ops::Range;

/// Terms of a tile.
pub(crate) const TERMS: usize = 32;
/// Rows, and columns, of a block of 2 × 2 tiles.
pub(crate) const SIDE: usize = 2 * ROWS;
/// Elements of a tile.
pub(crate) const TILE: usize = TILE_BYTES / 2;
/// Elements of the two tiles of a step.
pub(crate) const STEP: usize = 2 * TILE;
/// Steps between two visits of the same sums.
const DEPTH: usize = 64;
/// Rows whose sums over a block of columns (512 KiB) stay in L2 while the blocks of steps pass.
const KEPT_ROWS: usize = 512;

/// Elements that tiles multiply: 16 bits, of which packing knows no more.
pub trait TileTerm: Stored {
    /// What they are to the processor.
    const PRODUCT: tile::Product;

    /// The same bits, called bf16.
    fn bits(rows: Rows<'_, Self>) -> Rows<'_, bf16> {
        assert!(size_of::<Self>() == size_of::<bf16>(), "terms of 16 bits");
        let (count, length, stride) = (rows.rows(), rows.cols(), rows.row_stride());
        // SAFETY: the same rows, of elements as large and aligned; any 16 bits are a bf16.
        unsafe { Rows::from_raw(rows.as_ptr().cast(), count, length, stride) }
    }
}

impl TileTerm for bf16 {
    const PRODUCT: tile::Product = tile::Product::Bf16;
}

impl TileTerm for f16 {
    const PRODUCT: tile::Product = tile::Product::F16;
}

/// Whether this processor's tiles multiply elements of a type by each other.
///
/// # Errors
/// Why they do not.
pub(crate) fn supports(dtype: DType) -> Result<(), Unsupported> {
    let product = match dtype {
        DType::Bf16 => bf16::PRODUCT,
        DType::F16 => f16::PRODUCT,
        other => return Err(Unsupported(format!("tiles take bf16 and f16, not {other}"))),
    };
    match tile::available(product) {
        true => Ok(()),
        false => Err(Unsupported(format!("this processor has no AMX for {dtype}"))),
    }
}

/// A right operand packed whole: for each block of steps, its panels from left to right.
#[derive(Clone, Copy, Debug)]
pub struct PackedTiles<'a> {
    /// The panels, [`PackedTiles::elements`] of them.
    pub data: &'a [bf16],
    /// Columns of the operand.
    pub n: usize,
}

impl PackedTiles<'_> {
    /// Elements of a `k × n` operand when it is packed.
    pub fn elements(k: usize, n: usize) -> usize {
        n.div_ceil(SIDE) * k.div_ceil(TERMS) * STEP
    }
}

/// Packs a whole right operand, for many products.
#[derive(Debug)]
pub struct PackTiles<'a, T> {
    /// The operand: `k × n`, or `n × k` if it is transposed.
    pub rows: Rows<'a, T>,
    /// Rows are columns of the product.
    pub transposed: bool,
    /// Where to, [`PackedTiles::elements`].
    pub to: &'a mut [bf16],
}

impl<T: TileTerm> Body for PackTiles<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let (k, n) = super::pack::logical(&self.rows, self.transposed);
        let (rows, mut to) = (T::bits(self.rows), self.to);
        for steps in blocks(k.div_ceil(TERMS)) {
            let (block, rest) = to.split_at_mut(n.div_ceil(SIDE) * steps.len() * STEP);
            pack_right(simd, &rows, self.transposed, steps, 0..n, block);
            to = rest;
        }
    }
}

/// The right operand of a product.
#[derive(Clone, Copy, Debug)]
pub enum TileRight<'a, T> {
    /// As it is stored: `k × n`, or `n × k` if it is transposed.
    Stored {
        /// The operand.
        rows: Rows<'a, T>,
        /// Rows are columns of the product.
        transposed: bool,
    },
    /// Packed before.
    Packed(PackedTiles<'a>),
}

/// Scratch memory of a product on one thread.
#[derive(Clone, Copy, Debug)]
pub struct TileScratch {
    left: usize,
    right: usize,
    sums: usize,
}

impl TileScratch {
    /// For an `m × n` product over `k`, with a right operand that is packed or not.
    pub fn of(m: usize, n: usize, k: usize, is_packed: bool) -> TileScratch {
        let (panels, steps) = (m.div_ceil(SIDE), k.div_ceil(TERMS));
        let across = n.min(columns(steps)).div_ceil(SIDE);
        let kept = if steps > DEPTH { m.min(KEPT_ROWS).div_ceil(SIDE) * across } else { 1 };
        // The first rows pack what the others find.
        let packed = if m > KEPT_ROWS { steps } else { steps.min(DEPTH) };
        TileScratch {
            left: panels * steps * STEP,
            right: if is_packed { 0 } else { across * packed * STEP },
            sums: kept * SIDE * SIDE,
        }
    }

    /// Its bytes.
    pub fn bytes(&self) -> usize {
        (self.left + self.right) * size_of::<bf16>() + self.sums * size_of::<f32>()
    }
}

/// One product `C = A·B` on one thread, or the part of one that falls to it.
#[derive(Debug)]
pub struct TileGemm<'a, T, U> {
    /// The left operand, `m × k`.
    pub left: Rows<'a, T>,
    /// The right operand with all its columns.
    pub right: TileRight<'a, T>,
    /// The column of the right operand that column 0 of `output` belongs to; a multiple of 32 if
    /// the operand is packed.
    pub first_column: usize,
    /// The columns wanted of the product, `m × n`.
    pub output: RowsMut<'a, U>,
    /// What is done to the sums.
    pub epilogue: Epilogue<'a, T>,
    /// [`TileScratch::bytes`] of rubbish, aligned for floats.
    pub scratch: &'a mut [u8],
}

/// Blocks of at most [`DEPTH`] steps.
fn blocks(steps: usize) -> impl Iterator<Item = Range<usize>> {
    (0..steps).step_by(DEPTH).map(move |start| start..steps.min(start + DEPTH))
}

/// Columns of a packed block of the right operand over `steps` steps: 1 MiB at the most.
fn columns(steps: usize) -> usize {
    if steps > DEPTH / 2 { 256 } else { 512 }
}

/// Pieces of a range: where each begins, and its length of at most `most`.
fn pieces(range: Range<usize>, most: usize) -> impl Iterator<Item = (usize, usize)> {
    let end = range.end;
    range.step_by(most).map(move |start| (start, most.min(end - start)))
}

impl<T: TileTerm, U: Stored> Body for TileGemm<'_, T, U> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let TileGemm { left, right, first_column, mut output, epilogue, scratch } = self;
        let (m, n, k) = (left.rows(), output.cols(), left.cols());
        assert!(
            output.rows() == m,
            "{m} rows of the left operand, {} of the output",
            output.rows()
        );
        let is_packed = matches!(right, TileRight::Packed(_));
        let parts = TileScratch::of(m, n, k, is_packed);
        let (sums, rest) = scratch.split_at_mut(parts.sums * size_of::<f32>());
        let sums = elements_mut::<f32>(sums, parts.sums, "sums").expect("aligned");
        let count = parts.left + parts.right;
        let packed = elements_mut::<bf16>(rest, count, "tiles").expect("aligned");
        let (left_tiles, right_tiles) = packed.split_at_mut(parts.left);
        let tiles = Tiles::configure(T::PRODUCT).expect("the kernel asked for it");
        let steps = k.div_ceil(TERMS);
        pack_left(&T::bits(left), left_tiles);
        for (column, width) in pieces(0..n, columns(steps)) {
            let (from, across) = (first_column + column, width.div_ceil(SIDE));
            for (top, height) in pieces(0..m, KEPT_ROWS) {
                for own in blocks(steps) {
                    let panels: &[bf16] = match right {
                        TileRight::Packed(PackedTiles { data, n }) => {
                            let first = own.start * n.div_ceil(SIDE) + from / SIDE * own.len();
                            &data[first * STEP..]
                        }
                        TileRight::Stored { rows, transposed } => {
                            let first = if m > KEPT_ROWS { own.start * across } else { 0 };
                            let to = &mut right_tiles[first * STEP..];
                            if top == 0 {
                                let (rows, own) = (T::bits(rows), own.clone());
                                pack_right(simd, &rows, transposed, own, from..from + width, to);
                            }
                            to
                        }
                    };
                    for at in 0..height.div_ceil(SIDE) * across {
                        let (row, aside) = (top + at / across * SIDE, at % across * SIDE);
                        let (down, wide) = ((m - row).min(SIDE), (width - aside).min(SIDE));
                        let place = if steps > DEPTH { at } else { 0 };
                        let sums = &mut sums[place * SIDE * SIDE..][..SIDE * SIDE];
                        let shape = (down.div_ceil(ROWS), wide.div_ceil(ROWS));
                        let left = &left_tiles[(row / SIDE * steps + own.start) * STEP..];
                        let left = &left[..own.len() * STEP];
                        let right = &panels[aside / SIDE * own.len() * STEP..][..own.len() * STEP];
                        block(&tiles, shape, left, right, sums, own.start > 0);
                        if own.end == steps {
                            for i in 0..down {
                                let to = &mut output.row_mut(row + i)[column + aside..][..wide];
                                let line = &sums[i * SIDE..][..wide];
                                epilogue.store(simd, line, from + aside, to);
                            }
                        }
                    }
                }
            }
        }
        drop(tiles);
        if k == 0 {
            sums[..SIDE].fill(0.0);
            for i in 0..m {
                for (at, to) in output.row_mut(i).chunks_mut(SIDE).enumerate() {
                    epilogue.store(simd, &sums[..to.len()], first_column + at * SIDE, to);
                }
            }
        }
    }
}

/// Multiplies the steps of two panels into a block of sums.
#[inline(always)]
fn block(
    tiles: &Tiles,
    shape: (usize, usize),
    left: &[bf16],
    right: &[bf16],
    sums: &mut [f32],
    adds: bool,
) {
    assert!(left.len() == right.len(), "panels of different depth");
    let (left, steps) = (walk(left, 1), left.len() / STEP);
    // SAFETY: each panel holds two dense tiles for each of its steps, and `sums` is a block of
    // 32 rows of 32 floats.
    unsafe { tiles.multiply(shape, left, walk(right, 1), steps, block_of(sums, adds)) };
}

/// As [`block`], of 2 × 2 tiles, with a right panel in L1 that is the sum of `parts` ones, which
/// lie side by side in each step.
#[inline(always)]
pub(crate) fn parts_block(
    tiles: &Tiles,
    parts: usize,
    left: &[bf16],
    right: &[bf16],
    sums: &mut [f32],
    adds: bool,
) {
    assert!(parts * left.len() == right.len(), "panels of different depth");
    let (left, steps) = (walk(left, 1), left.len() / STEP);
    // SAFETY: the panels hold two dense tiles for each part of each of their steps, and `sums` is
    // a block of 32 rows of 32 floats.
    unsafe { tiles.multiply_parts(parts, left, walk(right, parts), steps, block_of(sums, adds)) };
}

/// A panel whose steps are pairs of dense tiles, one for each part.
#[inline(always)]
pub(super) fn walk(panel: &[bf16], parts: usize) -> Walk {
    Walk {
        at: panel.as_ptr().cast(),
        row: TILE_BYTES / ROWS,
        neighbour: TILE_BYTES,
        step: parts * 2 * TILE_BYTES,
    }
}

/// A dense block of sums.
#[inline(always)]
pub(super) fn block_of(sums: &mut [f32], adds: bool) -> Sums {
    assert!(sums.len() == SIDE * SIDE, "{} sums are no block", sums.len());
    Sums { at: sums.as_mut_ptr().cast(), row: SIDE * size_of::<f32>(), adds }
}

/// Packs all rows and terms of the left operand.
#[inline(always)]
pub(crate) fn pack_left(from: &Rows<'_, bf16>, to: &mut [bf16]) {
    let steps = from.cols().div_ceil(TERMS);
    for row in 0..from.rows() {
        let (source, rest) = from.row(row).as_chunks::<TERMS>();
        let first = row / SIDE * steps * STEP + row % SIDE * TERMS;
        for (step, terms) in source.iter().enumerate() {
            to[first + step * STEP..][..TERMS].copy_from_slice(terms);
        }
        if !rest.is_empty() {
            let target = &mut to[first + source.len() * STEP..][..TERMS];
            target.fill(bf16::ZERO);
            target[..rest.len()].copy_from_slice(rest);
        }
    }
}

/// Packs all columns of `from` as rows of a left operand, whose terms are the rows of `from`.
#[inline(always)]
pub(crate) fn pack_left_turned<S: Simd>(simd: S, from: &Rows<'_, bf16>, to: &mut [bf16]) {
    let steps = from.rows().div_ceil(TERMS);
    for step in 0..steps {
        for tile in 0..from.cols().div_ceil(ROWS) {
            let columns = tile * ROWS..from.cols().min((tile + 1) * ROWS);
            let mut square = [bf16::ZERO; TILE];
            pair(simd, from, step * TERMS, columns, &mut square);
            let at = (tile / 2 * steps + step) * STEP + tile % 2 * TILE;
            turn_pairs(simd, &square, &mut to[at..at + TILE]);
        }
    }
}

/// Packs some steps of some columns of the right operand into panels of 32 columns.
#[inline(always)]
fn pack_right<S: Simd>(
    simd: S,
    from: &Rows<'_, bf16>,
    transposed: bool,
    steps: Range<usize>,
    columns: Range<usize>,
    to: &mut [bf16],
) {
    // The loop runs along the rows of `from`, which are read as streams.
    if transposed {
        for panel in 0..columns.len().div_ceil(SIDE) {
            for step in 0..steps.len() {
                for half in 0..2 {
                    let first = columns.start + panel * SIDE + half * ROWS;
                    let count = columns.end.saturating_sub(first).min(ROWS);
                    let mut own: [&[bf16]; ROWS] = [&[]; ROWS];
                    for lane in 0..count {
                        own[lane] = from.row(first + lane);
                    }
                    let at = ((panel * steps.len() + step) * 2 + half) * TILE;
                    let term = (steps.start + step) * TERMS;
                    turn(simd, &own[..count], term, &mut to[at..at + TILE]);
                }
            }
        }
        return;
    }
    for step in 0..steps.len() {
        for tile in 0..columns.len().div_ceil(ROWS) {
            let first = columns.start + tile * ROWS;
            let own = first..columns.end.min(first + ROWS);
            let at = ((tile / 2 * steps.len() + step) * 2 + tile % 2) * TILE;
            pair(simd, from, (steps.start + step) * TERMS, own, &mut to[at..at + TILE]);
        }
    }
}

/// A right tile of at most 16 rows, which are columns of the product, from a term of theirs on.
#[inline(always)]
pub(crate) fn turn<S: Simd>(simd: S, rows: &[&[bf16]], term: usize, to: &mut [bf16]) {
    let mut square = [bf16::ZERO; TILE];
    for (lane, row) in rows.iter().enumerate() {
        let source = &row[term..];
        let target = &mut square[lane * TERMS..][..TERMS];
        match source.first_chunk::<TERMS>() {
            Some(whole) => target.copy_from_slice(whole),
            None => target[..source.len()].copy_from_slice(source),
        }
    }
    turn_pairs(simd, &square, to);
}

/// Transposes a tile as a square of 16 × 16 pairs.
#[inline(always)]
fn turn_pairs<S: Simd>(simd: S, square: &[bf16; TILE], to: &mut [bf16]) {
    assert!(S::LANES == ROWS && to.len() == TILE, "a square of pairs is a tile");
    // SAFETY: both are 16 rows of 16 pairs, which are as large as an f32 and are only moved.
    unsafe { simd.transpose_ptr(square.as_ptr().cast(), ROWS, to.as_mut_ptr().cast(), ROWS) };
}

/// A tile of at most 32 rows of `from`, two by two.
#[inline(always)]
fn pair<S: Simd>(
    simd: S,
    from: &Rows<'_, bf16>,
    term: usize,
    columns: Range<usize>,
    to: &mut [bf16],
) {
    if columns.len() < ROWS || term + TERMS > from.rows() {
        return pair_edge(from, term, columns, to);
    }
    let mut line = 0;
    while line < ROWS {
        // A bf16 is the upper half of its f32.
        let even = bf16::load(simd, &from.row(term + 2 * line)[columns.start..]);
        let odd = bf16::load(simd, &from.row(term + 2 * line + 1)[columns.start..]);
        let both = simd.int_or(simd.shift_right(simd.bits_of(even), 16), simd.bits_of(odd));
        let to = &mut to[line * TERMS..][..TERMS];
        assert!(S::LANES == ROWS, "a row of pairs is a vector");
        // SAFETY: 16 lanes of 4 bytes are the 32 elements.
        unsafe { simd.store_ptr(simd.from_bits(both), to.as_mut_ptr().cast()) };
        line += 1;
    }
}

/// The same, element by element, with zeros where there is no row.
#[inline(never)]
fn pair_edge(from: &Rows<'_, bf16>, term: usize, columns: Range<usize>, to: &mut [bf16]) {
    to.fill(bf16::ZERO);
    for (row, term) in (term..from.rows().min(term + TERMS)).enumerate() {
        for (j, &value) in from.row(term)[columns.clone()].iter().enumerate() {
            to[row / 2 * TERMS + 2 * j + row % 2] = value;
        }
    }
}
