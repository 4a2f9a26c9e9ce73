//! Register tiles of a product whose right side is read where it lies, term by term.
//!
//! Rows of the left side are packed in panels whose heights follow from the instruction set, the
//! tallest first and no row padded. The sum of an element runs over its terms in order, in one
//! register, whatever panel it falls in and whatever columns are computed with it.

use proofmark_simd::{Body, Simd};
use proofmark_tensor::RowsMut;
use proofmark_terms::Isa;
use std::ops::Range;

/// Heights of panels, tallest first. With the vectors of columns in [`Tiles::run`] they leave a
/// register or two for what is loaded.
const fn heights(isa: Isa) -> &'static [usize] {
    match isa {
        Isa::Scalar => &[4, 2, 1],
        Isa::Avx2 => &[6, 4, 2, 1],
        Isa::Avx512 => &[14, 8, 4, 2, 1],
    }
}

/// Sums of the largest tile.
const MOST_SUMS: usize = 14 * 32;

/// Rows that are not split among threads.
pub(super) fn grain(isa: Isa) -> usize {
    heights(isa)[0]
}

/// The panels that some rows are packed in: first row and height. A range begins on a multiple of
/// the [`grain`], and ends on one or where the rows do.
pub(super) fn panels(isa: Isa, rows: Range<usize>) -> impl Iterator<Item = (usize, usize)> {
    let mut row = rows.start;
    std::iter::from_fn(move || {
        let height = heights(isa).iter().copied().find(|&height| height <= rows.end - row)?;
        row += height;
        Some((row - height, height))
    })
}

/// Packs some rows of dense `terms` elements; `to` begins with the first.
pub(super) fn pack(isa: Isa, rows: Range<usize>, terms: usize, from: &[f32], to: &mut [f32]) {
    /// Terms at a time, so that what is written stays in L1 until it is whole.
    const TERMS: usize = 64;
    for (first, height) in panels(isa, rows.clone()) {
        let panel = &mut to[(first - rows.start) * terms..][..height * terms];
        for (at, part) in panel.chunks_mut(TERMS * height).enumerate() {
            for lane in 0..height {
                let row = &from[(first + lane) * terms..][..terms][at * TERMS..];
                for (column, value) in part.chunks_exact_mut(height).zip(row) {
                    column[lane] = *value;
                }
            }
        }
    }
}

/// Columns from one row of an image to the next, of which the first `width` are its elements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pitch {
    pub(super) pitch: usize,
    pub(super) width: usize,
}

impl Pitch {
    /// Every column is an element.
    pub(super) const DENSE: Pitch = Pitch { pitch: usize::MAX, width: usize::MAX };

    /// How many elements lie before a column.
    pub(super) fn elements(self, column: usize) -> usize {
        column / self.pitch * self.width + (column % self.pitch).min(self.width)
    }
}

/// Some rows and columns of a product, on one thread.
#[derive(Debug)]
pub(super) struct Tiles<'a> {
    /// All panels of the left side.
    pub(super) left: &'a [f32],
    /// The rows wanted; see [`panels`].
    pub(super) rows: Range<usize>,
    /// Where column 0 of each term stands in `right`.
    pub(super) offsets: &'a [u32],
    /// The right side.
    pub(super) right: &'a [f32],
    /// The columns wanted.
    pub(super) columns: Range<usize>,
    /// Columns that can be read of every term.
    pub(super) readable: usize,
    /// The wanted rows of the result, with the elements of the wanted columns.
    pub(super) output: RowsMut<'a, f32>,
    /// Which columns are elements.
    pub(super) image: Pitch,
    /// Elements before the first of `output`.
    pub(super) skipped: usize,
    /// Added to each of all rows.
    pub(super) bias: Option<&'a [f32]>,
}

impl Body for Tiles<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        let last = self.offsets.iter().max().map_or(0, |&last| last as usize);
        let needed = if self.offsets.is_empty() { 0 } else { last + self.readable };
        assert!(self.right.len() >= needed, "terms reach past the right side");
        assert!(self.columns.end <= self.readable, "more columns than can be read");
        let mut row = self.rows.start;
        while row < self.rows.end {
            let rest = self.rows.end - row;
            // The level is a constant of `S`, so the arms of one are left in each instance.
            row += match S::ISA {
                Isa::Avx512 if rest >= 14 => self.panel::<S, 14, 2>(simd, row),
                Isa::Avx512 if rest >= 8 => self.panel::<S, 8, 3>(simd, row),
                Isa::Avx512 if rest >= 4 => self.panel::<S, 4, 6>(simd, row),
                Isa::Avx2 if rest >= 6 => self.panel::<S, 6, 2>(simd, row),
                Isa::Avx2 | Isa::Scalar if rest >= 4 => self.panel::<S, 4, 2>(simd, row),
                _ if rest >= 2 => self.panel::<S, 2, 4>(simd, row),
                _ => self.panel::<S, 1, 8>(simd, row),
            };
        }
    }
}

impl Tiles<'_> {
    /// All columns of `MR` rows; how many rows that were.
    #[inline(always)]
    fn panel<S: Simd, const MR: usize, const NV: usize>(&mut self, simd: S, row: usize) -> usize {
        let (terms, width) = (self.offsets.len(), NV * S::LANES);
        let left = &self.left[row * terms..][..MR * terms];
        assert!(self.readable >= width, "fewer columns than a tile");
        let mut column = self.columns.start;
        while column < self.columns.end {
            // The last tile ends where the columns do and repeats some of the tile before.
            let first = column.min(self.readable - width);
            let (panel, _) = left.as_chunks::<MR>();
            let mut sums = [[simd.zero(); NV]; MR];
            for (scalars, &offset) in panel.iter().zip(self.offsets) {
                let mut vectors = [simd.zero(); NV];
                for v in 0..NV {
                    // SAFETY: `first + width` columns can be read of every term, as `run` checked.
                    vectors[v] = unsafe {
                        let at = self.right.as_ptr().add(offset as usize + first + v * S::LANES);
                        simd.load_ptr(at)
                    };
                }
                for i in 0..MR {
                    let scalar = simd.splat(scalars[i]);
                    for v in 0..NV {
                        sums[i][v] = simd.fma(scalar, vectors[v], sums[i][v]);
                    }
                }
            }
            // Through memory, by loops that are unrolled whole: an index known only at run time
            // would force the sums out of their registers.
            let mut tile = [0.0_f32; MOST_SUMS];
            for i in 0..MR {
                let bias = simd.splat(self.bias.map_or(0.0, |bias| bias[row + i]));
                for v in 0..NV {
                    let at = (i * NV + v) * S::LANES;
                    simd.store(simd.add(sums[i][v], bias), &mut tile[at..at + S::LANES]);
                }
            }
            let end = self.columns.end.min(column + width);
            for v in 0..NV {
                let start = first + v * S::LANES;
                let place = Place::of(start, column..end, S::LANES, self.image, self.skipped);
                let mut i = 0;
                while i < MR {
                    let to = self.output.row_mut(row - self.rows.start + i);
                    place.store(simd, &tile[(i * NV + v) * S::LANES..][..S::LANES], to);
                    i += 1;
                }
            }
            column += width;
        }
        MR
    }
}

/// Where the lanes of a vector of columns go.
enum Place {
    /// All of them side by side, from this element on.
    Whole(usize),
    /// The lanes of these columns, which may lie between rows.
    Some { first_lane: usize, columns: Range<usize>, image: Pitch, skipped: usize },
}

impl Place {
    /// Of the vector that begins at column `start`, of which some columns are wanted. The output
    /// begins after `skipped` elements.
    #[inline(always)]
    fn of(start: usize, wanted: Range<usize>, lanes: usize, image: Pitch, skipped: usize) -> Place {
        let columns = wanted.start.max(start)..wanted.end.min(start + lanes);
        let is_row = start % image.pitch + lanes <= image.width;
        if columns.len() == lanes && is_row {
            return Place::Whole(image.elements(start) - skipped);
        }
        // No column of the vector may be wanted.
        let first_lane = if columns.is_empty() { 0 } else { columns.start - start };
        Place::Some { first_lane, columns, image, skipped }
    }

    #[inline(always)]
    fn store<S: Simd>(&self, simd: S, lanes: &[f32], to: &mut [f32]) {
        match self {
            Place::Whole(at) => simd.store(simd.load(lanes), &mut to[*at..]),
            Place::Some { first_lane, columns, image, skipped } => {
                scatter(&lanes[*first_lane..], columns.clone(), *image, *skipped, to);
            }
        }
    }
}

/// Stores some columns without those between rows.
#[inline(never)]
fn scatter(values: &[f32], columns: Range<usize>, image: Pitch, skipped: usize, to: &mut [f32]) {
    let mut column = columns.start;
    while column < columns.end {
        let at = column % image.pitch;
        let run = (columns.end - column).min(image.pitch - at);
        let kept = run.min(image.width.saturating_sub(at));
        let from = &values[column - columns.start..][..kept];
        if kept > 0 {
            to[image.elements(column) - skipped..][..kept].copy_from_slice(from);
        }
        column += run;
    }
}
