//! Products whose left operand is read where it lies: nothing of it is packed.
//!
//! Where a product has few columns, its left operand is as large as the work, and packing it costs
//! about as much as multiplying. Here only the right operand is packed, in panels of a register
//! tile's width over all terms, and stays in L2. Rows of the left operand, one tile's at a time,
//! are broadcast straight from memory and stream past it. With this few rows, each maps to a
//! different way of its L1 set, however far apart they lie.
//! If few columns are left after whole vectors, they are computed by dot products along the rows,
//! because a vector for them would be mostly empty. The sum of an element depends on `k`, on the
//! vector and on the number of columns alone, so threads may share rows and panels.

use super::epilogue::{Epilogue, load};
use super::pack;
use proofmark_simd::{Body, Simd, dispatch, l2_bytes};
use proofmark_tensor::{Rows, RowsMut, SharedRows};
use proofmark_terms::Isa;
use std::ops::Range;

/// Sums of the largest register tile.
const MOST_SUMS: usize = 8 * 48;

/// How the columns of a right operand lie when they are packed: panels of [`Columns::width`] over
/// all terms, then each column of the edge by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns {
    isa: Isa,
    k: usize,
    n: usize,
}

impl Columns {
    /// Of a `k × n` operand.
    pub const fn of(isa: Isa, k: usize, n: usize) -> Columns {
        Columns { isa, k, n }
    }

    /// Rows of a register tile. With [`Columns::width`], 24 accumulators, 3 loads and 1 broadcast
    /// of 32 registers with AVX-512; 12, 2 and 1 of 16 with AVX2.
    pub const fn height(isa: Isa) -> usize {
        match isa {
            Isa::Scalar => 4,
            Isa::Avx2 => 6,
            Isa::Avx512 => 8,
        }
    }

    /// Columns of a panel. Threads must not split one.
    pub const fn width(isa: Isa) -> usize {
        match isa {
            Isa::Scalar => 4,
            Isa::Avx2 => 16,
            Isa::Avx512 => 48,
        }
    }

    /// Columns of `k` terms that are packed at a time, at most `n`; in whole panels if fewer.
    pub fn block(isa: Isa, k: usize, n: usize) -> usize {
        let width = Columns::width(isa);
        // Half of L2, so that they stay there beside the stream.
        let floats = l2_bytes() / 2 / size_of::<f32>();
        n.min((floats / k.max(1) / width).max(1) * width)
    }

    /// The blocks of `n` columns.
    pub fn blocks(isa: Isa, k: usize, n: usize) -> impl Iterator<Item = Range<usize>> {
        let step = Columns::block(isa, k, n).max(1);
        (0..n).step_by(step).map(move |start| start..n.min(start + step))
    }

    /// Floats of scratch memory for any of those blocks.
    pub fn scratch(isa: Isa, k: usize, n: usize) -> usize {
        let blocks = Columns::blocks(isa, k, n);
        blocks.map(|block| Columns::of(isa, k, block.len()).floats()).max().unwrap_or(0)
    }

    /// Floats of these columns.
    pub fn floats(&self) -> usize {
        self.k * (self.panels() * Columns::width(self.isa) + self.edge())
    }

    fn panels(&self) -> usize {
        (self.n - self.edge()).div_ceil(Columns::width(self.isa))
    }

    /// Columns past the last whole vector, if they would leave most of one empty.
    fn edge(&self) -> usize {
        let lanes = match self.isa {
            Isa::Scalar => 1,
            Isa::Avx2 => 8,
            Isa::Avx512 => 16,
        };
        let rest = self.n % lanes;
        if rest * 4 <= lanes { rest } else { 0 }
    }
}

/// Memory that threads pack columns into, each its own terms.
#[derive(Debug)]
pub struct Packing<'a> {
    columns: Columns,
    panels: SharedRows<'a, f32>,
    edge: SharedRows<'a, f32>,
}

impl<'a> Packing<'a> {
    /// Packs into the first [`Columns::floats`] of `to`.
    pub fn new(columns: Columns, to: &'a mut [f32]) -> Packing<'a> {
        let width = Columns::width(columns.isa);
        let (panels, edge) =
            to[..columns.floats()].split_at_mut(columns.panels() * width * columns.k);
        let panels = RowsMut::from_slice(panels, columns.panels(), width * columns.k);
        let edge = RowsMut::from_slice(edge, columns.edge(), columns.k);
        // SAFETY: the views end here, and `to` is borrowed for as long as the handles live.
        unsafe { Packing { columns, panels: panels.share(), edge: edge.share() } }
    }

    /// Packs some terms, which begin in `from` where it says.
    ///
    /// # Safety
    /// No two calls at a time have a term in common, and nothing reads what is packed meanwhile.
    pub unsafe fn pack(&self, terms: Range<usize>, from: Unpacked<'_>) {
        let Columns { isa, n, .. } = self.columns;
        let (width, edge) = (Columns::width(isa), self.columns.edge());
        // SAFETY: no other code uses the caller's terms.
        let (panels, edges) = unsafe {
            let wide = terms.start * width..terms.end * width;
            let panels = self.panels.block_mut(0..self.columns.panels(), wide);
            (panels, self.edge.block_mut(0..edge, terms.clone()))
        };
        dispatch(isa, Pack { from, terms: terms.len(), columns: n - edge, width, panels, edges });
    }
}

/// Where packed columns come from.
#[derive(Clone, Copy, Debug)]
pub struct Unpacked<'a> {
    /// The operand: terms × columns, or columns × terms if it is transposed.
    pub rows: Rows<'a, f32>,
    /// Rows are columns of the product.
    pub transposed: bool,
    /// The first term.
    pub first_term: usize,
    /// The first column.
    pub first_column: usize,
}

struct Pack<'a> {
    from: Unpacked<'a>,
    terms: usize,
    /// Columns of all panels.
    columns: usize,
    width: usize,
    panels: RowsMut<'a, f32>,
    edges: RowsMut<'a, f32>,
}

impl Body for Pack<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        let Unpacked { rows, transposed, first_term, first_column } = self.from;
        let terms = first_term..first_term + self.terms;
        let columns = first_column..first_column + self.columns;
        pack::right(simd, &rows, transposed, terms, columns, self.width, &mut self.panels);
        let mut at = 0;
        while at < self.edges.rows() {
            let column = first_column + self.columns + at;
            let to = self.edges.row_mut(at);
            let mut term = 0;
            while term < to.len() {
                let from = first_term + term;
                to[term] = if transposed { rows.row(column)[from] } else { rows.row(from)[column] };
                term += 1;
            }
            at += 1;
        }
    }
}

/// One product `C = A·B` on one thread, or the rows and panels of one that fall to it.
#[derive(Debug)]
pub struct Streamed<'a> {
    /// The left operand, `m × k`.
    pub left: Rows<'a, f32>,
    /// How the right operand lies.
    pub packed: Columns,
    /// What [`Packing`] made of it.
    pub right: &'a [f32],
    /// The columns wanted, in whole panels but for the last.
    pub columns: Range<usize>,
    /// Where they go, `m` rows.
    pub output: RowsMut<'a, f32>,
    /// What is done to the sums.
    pub epilogue: Epilogue<'a, f32>,
    /// The column of the epilogue that the first packed one belongs to.
    pub first_column: usize,
}

impl Body for Streamed<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        // The level is a constant of `S`, so one arm is left in each instance.
        match S::ISA {
            Isa::Scalar => self.rows::<S, 4>(simd),
            Isa::Avx2 => self.rows::<S, 6>(simd),
            Isa::Avx512 => self.rows::<S, 8>(simd),
        }
    }
}

impl Streamed<'_> {
    #[inline(always)]
    fn rows<S: Simd, const MR: usize>(mut self, simd: S) {
        let (m, k) = (self.left.rows(), self.left.cols());
        let Columns { isa, k: depth, n } = self.packed;
        let has_room = self.right.len() >= self.packed.floats() && self.columns.end <= n;
        assert!((isa, depth) == (S::ISA, k) && has_room, "columns packed for another product");
        assert!((self.output.rows(), self.output.cols()) == (m, self.columns.len()), "output");
        let mut row = 0;
        while row < m {
            // The last tile ends where the rows do and repeats some of the tile before.
            if m >= MR {
                let first = row.min(m - MR);
                self.tiles::<S, MR>(simd, first);
                row = first + MR;
            } else {
                self.tiles::<S, 1>(simd, row);
                row += 1;
            }
        }
    }

    /// All columns of `MR` rows.
    #[inline(always)]
    fn tiles<S: Simd, const MR: usize>(&mut self, simd: S, row: usize) {
        let (k, width) = (self.left.cols(), Columns::width(S::ISA));
        let left = self.left.range(row..row + MR);
        let mut output = self.output.range(row..row + MR);
        let first = self.columns.start;
        let across = (self.packed.n - self.packed.edge()).min(self.columns.end);
        let mut column = first;
        while column < across {
            let count = width.min(across - column);
            let right = &self.right[column * k..][..width * k];
            let output = output.columns(column - first..column - first + count);
            match count.div_ceil(S::LANES) {
                1 => simd.apart(Tile::<MR, 1> { left, right, output }),
                2 => simd.apart(Tile::<MR, 2> { left, right, output }),
                3 => simd.apart(Tile::<MR, 3> { left, right, output }),
                _ => simd.apart(Tile::<MR, 4> { left, right, output }),
            }
            column += count;
        }
        while column < self.columns.end {
            let at = self.packed.panels() * width + column - across;
            let output = output.columns(column - first..column - first + 1);
            let right = &self.right[at * k..][..k];
            simd.apart(Dots::<MR> { left, right, output });
            column += 1;
        }
        if !self.epilogue.is_none() {
            self.end(simd, row..row + MR);
        }
    }

    /// Ends the sums of some rows.
    #[inline(always)]
    fn end<S: Simd>(&mut self, simd: S, rows: Range<usize>) {
        let mut sums = [0.0_f32; 64];
        let mut row = rows.start;
        while row < rows.end {
            let line = self.output.row_mut(row);
            let mut at = 0;
            while at < line.len() {
                let to = &mut line[at..];
                let count = to.len().min(sums.len());
                sums[..count].copy_from_slice(&to[..count]);
                let column = self.first_column + self.columns.start + at;
                self.epilogue.store(simd, &sums[..count], column, &mut to[..count]);
                at += count;
            }
            row += 1;
        }
    }
}

/// A register tile of `MR` rows and `NV` vectors of columns. It is a separate function, so that its
/// addresses have the registers to themselves.
struct Tile<'a, const MR: usize, const NV: usize> {
    left: Rows<'a, f32>,
    /// A panel.
    right: &'a [f32],
    output: RowsMut<'a, f32>,
}

impl<const MR: usize, const NV: usize> Body for Tile<'_, MR, NV> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        let (k, stride) = (self.left.cols(), self.left.row_stride());
        let width = Columns::width(S::ISA);
        let is_tile = self.left.rows() == MR && self.output.rows() == MR;
        assert!(is_tile && self.right.len() == k * width, "operands that are not a tile's");
        assert!(NV * S::LANES <= width && MR * width <= MOST_SUMS, "a tile of another panel");
        // Only every third row has its own address. The two rows after it are one and two strides
        // away, which an address of this machine can express; eight separate addresses would not
        // fit its registers.
        let mut thirds = [0, 3, 6].map(|row| self.left.as_ptr().wrapping_add(row * stride));
        let mut at = self.right.as_ptr();
        let mut sums = [[simd.zero(); NV]; MR];
        // Not a closure: that would hold the sums by reference, and so in memory.
        macro_rules! step {
            ($term:expr) => {{
                let mut vectors = [simd.zero(); NV];
                for v in 0..NV {
                    // SAFETY: the panel holds `width` floats for each of `k` terms, and `at` has
                    // moved by as many terms as `left`.
                    vectors[v] = unsafe { simd.load_ptr(at.add($term * width + v * S::LANES)) };
                }
                for i in 0..MR {
                    // SAFETY: row `i` of `MR` has `k` terms, and none past them is counted.
                    let scalar = unsafe { *thirds[i / 3].wrapping_add(i % 3 * stride + $term) };
                    let scalar = simd.splat(scalar);
                    for v in 0..NV {
                        sums[i][v] = simd.fma(scalar, vectors[v], sums[i][v]);
                    }
                }
            }};
        }
        let mut rest = k;
        while rest >= 4 {
            step!(0);
            step!(1);
            step!(2);
            step!(3);
            thirds = thirds.map(|row| row.wrapping_add(4));
            at = at.wrapping_add(4 * width);
            rest -= 4;
        }
        while rest > 0 {
            step!(0);
            thirds = thirds.map(|row| row.wrapping_add(1));
            at = at.wrapping_add(width);
            rest -= 1;
        }
        // The loops are so short that they are unrolled completely: an index known only at run time
        // would force the sums out of their registers.
        if self.output.cols() == NV * S::LANES {
            let (to, stride) = (self.output.as_mut_ptr(), self.output.row_stride());
            for i in 0..MR {
                for v in 0..NV {
                    // SAFETY: the output has `MR` rows of `NV` vectors.
                    unsafe { simd.store_ptr(sums[i][v], to.add(i * stride + v * S::LANES)) };
                }
            }
            return;
        }
        let mut edge = [0.0_f32; MOST_SUMS];
        for i in 0..MR {
            for v in 0..NV {
                simd.store(sums[i][v], &mut edge[(i * NV + v) * S::LANES..]);
            }
        }
        let mut i = 0;
        while i < MR {
            let row = self.output.row_mut(i);
            let length = row.len();
            row.copy_from_slice(&edge[i * NV * S::LANES..][..length]);
            i += 1;
        }
    }
}

/// One column of the edge for `MR` rows: a vector of sums for each.
struct Dots<'a, const MR: usize> {
    left: Rows<'a, f32>,
    right: &'a [f32],
    /// One column.
    output: RowsMut<'a, f32>,
}

impl<const MR: usize> Body for Dots<'_, MR> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        let mut sums = [simd.zero(); MR];
        let rows: [&[f32]; MR] = std::array::from_fn(|i| self.left.row(i));
        let mut at = 0;
        while at < self.right.len() {
            let terms = at..self.right.len().min(at + S::LANES);
            let right = load(simd, &self.right[terms.clone()]);
            for i in 0..MR {
                // Lanes past the last term are zeros on both sides.
                sums[i] = simd.fma(load(simd, &rows[i][terms.clone()]), right, sums[i]);
            }
            at = terms.end;
        }
        for i in 0..MR {
            self.output.row_mut(i)[0] = simd.reduce_sum(sums[i]);
        }
    }
}
