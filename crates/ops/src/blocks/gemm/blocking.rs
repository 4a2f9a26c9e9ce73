//! Tile and block sizes for each instruction set, as data, and the memory that follows from them.

use crate::blocks::tuned::{self, Blocks};
use proofmark_terms::Isa;

/// The sizes of tiles and blocks.
///
/// A register tile is `mr × nr`; `mr·nr/lanes` accumulators, `nr/lanes` vectors of the right
/// operand and one broadcast must fit the registers. A block of the left operand (`mc × kc`) stays
/// in L2, and so does a panel of the right operand (`kc × nr`) while the tiles of a column pass
/// over it; the packed block of the right operand (`kc × nc`) lies in L3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocking {
    /// Rows of the highest register tile; [`Blocking::height`] may choose a lower one.
    pub mr: usize,
    /// Columns of a register tile.
    pub nr: usize,
    /// Terms that are summed in registers before the sum is added to the output.
    pub kc: usize,
    /// Rows of a packed block of the left operand; a multiple of `mr`.
    pub mc: usize,
    /// Columns of a packed block of the right operand; a multiple of `nr`.
    pub nc: usize,
}

/// 16 accumulators: the compiler keeps them in the baseline's 16 registers as far as it can.
const SCALAR: Blocking = Blocking { mr: 4, nr: 4, kc: 256, mc: 120, nc: 768 };
/// 12 accumulators of 8 lanes, 2 loads and 1 broadcast: 15 of 16 registers. Panel 32 KiB.
const AVX2: Blocking = Blocking { mr: 6, nr: 16, kc: 512, mc: 252, nc: 2048 };
/// 28 accumulators of 16 lanes, 2 loads and 1 broadcast: 31 of 32 registers. Panel 128 KiB.
const AVX512: Blocking = Blocking { mr: 14, nr: 32, kc: 1024, mc: 168, nc: 1024 };

impl Blocking {
    /// The sizes for one instruction set: those of this machine's tuning, or those built in.
    pub fn of(isa: Isa) -> Blocking {
        match tuned::blocks() {
            Some(blocks) if isa > Isa::Scalar => Blocking::built_in(isa).cut(blocks),
            _ => Blocking::built_in(isa),
        }
    }

    /// The same register tile with other blocks, in whole tiles.
    fn cut(self, Blocks { kc, mc, nc }: Blocks) -> Blocking {
        let whole = |size: usize, tile: usize| (size / tile).max(1) * tile;
        Blocking { kc, mc: whole(mc, self.mr), nc: whole(nc, self.nr), ..self }
    }

    /// The sizes for one instruction set that hold unless a machine was tuned.
    pub const fn built_in(isa: Isa) -> Blocking {
        match isa {
            Isa::Scalar => SCALAR,
            Isa::Avx2 => AVX2,
            Isa::Avx512 => AVX512,
        }
    }

    /// The rows of a register tile for `rows` rows: of the tiles that there is code for, the one
    /// that computes the fewest rows past the edge.
    pub fn height(&self, rows: usize) -> usize {
        let heights: &[usize] = match self.mr {
            14 => &[14, 12, 11, 10, 8, 6, 4],
            6 => &[6, 5, 4],
            _ => &[4],
        };
        // The first of equal ones is the highest, which loads the least for each product.
        heights.iter().copied().min_by_key(|height| rows.next_multiple_of(*height)).unwrap_or(4)
    }

    /// Columns that a thread packs before the next ones. All of them, if the left operand is one
    /// block: then each operand is packed once, and a panel of the right one just before its use.
    pub(super) fn across(&self, m: usize, n: usize, keeps: Keeps) -> usize {
        if m <= self.mc && keeps.f32_output { n } else { n.min(self.nc) }
    }

    /// Elements of a `k × n` right operand when it is packed whole.
    pub fn packed_right(&self, k: usize, n: usize) -> usize {
        k * n.next_multiple_of(self.nr)
    }

    /// Floats of scratch memory that one thread needs for an `m × n` product over `k`.
    pub fn scratch(&self, m: usize, n: usize, k: usize, keeps: Keeps) -> usize {
        let ScratchParts { left, right, sums } = self.scratch_parts(m, n, k, keeps);
        left + right + sums
    }

    pub(super) fn scratch_parts(&self, m: usize, n: usize, k: usize, keeps: Keeps) -> ScratchParts {
        let (depth, columns) = (k.min(self.kc), self.across(m, n, keeps));
        // Panels of one block of rows are used once, so that all groups have the same place.
        let kept = if m <= self.mc { columns.min(GROUP) } else { columns };
        ScratchParts {
            left: depth * (m.min(self.mc) + self.mr),
            right: if keeps.packed_right { 0 } else { self.packed_right(depth, kept) },
            sums: if keeps.f32_output || k <= self.kc { 0 } else { m * columns },
        }
    }
}

/// Columns that are packed at a time if rows of the right operand are terms, so that each row is
/// read as a stream: 1 MiB of 1024 terms.
const GROUP: usize = 256;

/// Columns that are packed at a time: whole panels. Columns that are stored as rows are streams
/// by themselves, so that each panel is packed just before its use and stays in L2.
pub(super) fn group_of(transposed: bool, nr: usize) -> usize {
    if transposed { nr } else { GROUP / nr * nr }
}

/// Floats of each part of a thread's scratch memory, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ScratchParts {
    /// A packed block of the left operand.
    pub(super) left: usize,
    /// A packed block of the right operand.
    pub(super) right: usize,
    /// Partial sums that the output cannot hold.
    pub(super) sums: usize,
}

/// What a product need not hold in scratch memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keeps {
    /// The right operand comes packed.
    pub packed_right: bool,
    /// The output itself holds partial sums.
    pub f32_output: bool,
}
