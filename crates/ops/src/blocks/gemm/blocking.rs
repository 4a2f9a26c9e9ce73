//! Tile and block sizes for each instruction set, as data, and the memory that follows from them.

use crate::blocks::tuned::{self, Blocks};
use proofmark_terms::Isa;

/// The sizes of tiles and blocks.
///
/// A register tile is `mr × nr`; `mr·nr/lanes` accumulators, `nr/lanes` vectors of the right
/// operand and one broadcast must fit the registers. A panel of the right operand (`kc × nr`)
/// stays in L1 while the tiles of a column pass over it, a block of the left operand
/// (`mc × kc`) in L2, the packed block of the right operand (`kc × nc`) in L2 or L3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocking {
    /// Rows of a register tile.
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
/// 12 accumulators of 8 lanes, 2 loads and 1 broadcast: 15 of 16 registers. Panel 16 KiB.
const AVX2: Blocking = Blocking { mr: 6, nr: 16, kc: 256, mc: 120, nc: 768 };
/// 28 accumulators of 16 lanes, 2 loads and 1 broadcast: 31 of 32 registers. Panel 32 KiB.
const AVX512: Blocking = Blocking { mr: 14, nr: 32, kc: 256, mc: 126, nc: 768 };

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
        let (depth, columns) = (k.min(self.kc), n.min(self.nc));
        ScratchParts {
            left: depth * m.min(self.mc).next_multiple_of(self.mr),
            right: if keeps.packed_right { 0 } else { self.packed_right(depth, columns) },
            sums: if keeps.f32_output || k <= self.kc { 0 } else { m * columns },
        }
    }
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
