//! 16 bits with many queries on AMX tiles: the case in tasks, keys and values packed once.
//!
//! Idea: as [`super::strip`], 32 queries a strip along the lanes, but both products are tiles of
//! 32 × 32 sums: scores are `K·Qᵀ`, and sums `Vᵀ·W` by columns. Tiles take 16 bits only, and
//! weights rounded to them would have thousands of times the error of f32. A weight, which has 24
//! bits, is therefore split into three bf16 without loss, or into two f16, which hold 22 of them.
//! Its product with the values is then that of f32, or as good for results of 11 bits.
//! Keys are copied and values turned into tiles by a first round of tasks, once for all queries and
//! heads that share them. Flops are those of the formula, but three times, or twice, as many for
//! the values; each strip reads the packed keys and values that it sees, `4·t·d` bytes, from L2
//! where they fit.
//! Tiles: 4 of sums, 2 left, 2 right (`blocks::gemm`).

use super::amx_pass::{self, Pack, Strips, Weight};
use super::strip::blocks;
use super::tiled::{self, Operands, each_task, seen_keys};
use crate::attention::definition::Problem;
use crate::attention::products;
use crate::blocks::gemm::tiles::{self, TERMS};
use crate::blocks::made::Made;
use crate::blocks::scratch::elements_mut;
use proofmark_contract::{Call, KernelError, Unsupported};
use proofmark_simd::dispatch;
use proofmark_tensor::{Rows, RowsMut, bf16, f16};
use proofmark_terms::{Case, DType, Isa, Underflow};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// Keys of a packed tile, in whole steps. Weights of a strip in three parts (24 KiB) stay in L1 for
/// all columns; those of 256 keys would not.
pub(super) const KEYS: usize = 128;
/// The least number of queries of a head: half a strip.
const LEAST_QUERIES: usize = 16;
/// Multiply-adds that keep a thread busy for longer than the pool's two hand-overs take.
const GRAIN: usize = 1 << 20;

/// The kernel.
pub(crate) static AMX: Made = Made {
    name: "amx",
    isas: &[Isa::Avx512],
    is_serial_twin: false,
    underflow: |case| match case.dtype {
        DType::Bf16 => Underflow::Flushed,
        _ => Underflow::Gradual,
    },
    supports: |case, _| supports(case),
    workspace: |case, isa, threads| {
        let problem = Problem::of(case);
        let packed = Packed::of(&problem);
        let own = packed.bytes() + threads.max(1) * amx_pass::scratch_bytes(&problem);
        own.max(tiled::workspace_bytes(case, isa, threads))
    },
    ..Made::parallel("16-bit tiles on AMX, queries shared out to threads", run)
};

fn supports(case: &Case) -> Result<(), Unsupported> {
    tiled::supports(case)?;
    let problem = Problem::of(case);
    if problem.queries < LEAST_QUERIES {
        let queries = problem.queries;
        return Err(Unsupported(format!("{queries} queries of a head, {LEAST_QUERIES} at least")));
    }
    tiles::supports(case.dtype)
}

/// How keys and values lie when they are packed: tiles of [`KEYS`] keys, head by head.
pub(super) struct Packed {
    /// Heads of keys in the batch.
    heads: usize,
    /// The tiles of a head that some query sees.
    tiles: Range<usize>,
    /// Keys of a head.
    end: usize,
    /// Elements of a row, in whole steps.
    wide: usize,
}

impl Packed {
    fn of(problem: &Problem) -> Packed {
        let seen = seen_keys(problem);
        Packed {
            heads: problem.batches * problem.kv_heads,
            tiles: seen.start / KEYS..seen.end.div_ceil(KEYS),
            end: problem.keys,
            wide: problem.width.next_multiple_of(TERMS),
        }
    }

    /// Tiles of all heads.
    fn count(&self) -> usize {
        self.heads * self.tiles.len()
    }

    /// Elements of the keys, and as many of the values, of a tile.
    pub(super) fn half(&self) -> usize {
        KEYS * self.wide
    }

    fn bytes(&self) -> usize {
        self.count() * 2 * self.half() * size_of::<bf16>()
    }

    /// The head of packed tile `at`, and its keys.
    fn keys(&self, at: usize) -> (usize, Range<usize>) {
        let tile = self.tiles.start + at % self.tiles.len();
        (at / self.tiles.len(), tile * KEYS..self.end.min((tile + 1) * KEYS))
    }

    /// The packed tiles of a head that hold these keys.
    pub(super) fn of_keys(&self, head: usize, keys: Range<usize>) -> Range<usize> {
        let place = |tile: usize| head * self.tiles.len() + tile - self.tiles.start;
        place(keys.start / KEYS)..place(keys.end.div_ceil(KEYS))
    }
}

fn run(call: &mut Call<'_>) -> Result<(), KernelError> {
    let threads = call.threads.min(products(call.case).div_ceil(GRAIN)).max(1);
    let is_done = match call.case.dtype {
        DType::F16 => in_tiles::<f16>(call, threads)?,
        _ => in_tiles::<bf16>(call, threads)?,
    };
    match is_done {
        true => Ok(()),
        // Some parts of a weight are 0 and would turn an infinite value into NaN.
        false => tiled::run(call, threads),
    }
}

/// Computes the case, unless some value is not finite.
fn in_tiles<T: Weight>(call: &mut Call<'_>, threads: usize) -> Result<bool, KernelError> {
    let (isa, pool) = (call.isa, call.pool);
    let (operands, workspace) = Operands::<T>::of(call)?;
    let problem = &operands.problem;
    if problem.rows() * problem.width == 0 {
        return Ok(true);
    }
    let packed = Packed::of(problem);
    let (tiles, own) = workspace.split_at_mut(packed.bytes());
    let (count, each) = (packed.count(), 2 * packed.half());
    let tiles = elements_mut::<bf16>(tiles, count * each, "packed tiles")?;
    // SAFETY: the view is used again only when the region of its handle has ended.
    let shared = unsafe { RowsMut::from_slice(&mut *tiles, count, each).share() };
    let is_finite = AtomicBool::new(true);
    let nothing = RowsMut::<u8>::from_slice(&mut [], threads, 0);
    each_task(pool, nothing, count, |_, at| {
        let (head, keys) = packed.keys(at);
        let first = head * problem.keys;
        let rows = first + keys.start..first + keys.end;
        // SAFETY: each tile is taken once and has the one row of its number.
        let mut to = unsafe { shared.range_mut(at..at + 1) };
        let (keys, values) = (operands.k.range(rows.clone()), operands.v.range(rows));
        if !dispatch(isa, Pack { keys, values, to: to.row_mut(0) }) {
            is_finite.store(false, Ordering::Relaxed);
        }
    });
    if !is_finite.into_inner() {
        return Ok(false);
    }
    let tiles = Rows::from_slice(tiles, count, each);
    let scratch = amx_pass::scratch_bytes(problem);
    let own = elements_mut::<u8>(own, threads * scratch, "scratch")?;
    let own = RowsMut::from_slice(own, threads, scratch);
    let tasks = packed.heads * blocks(problem);
    each_task(pool, own, tasks, |scratch, index| {
        dispatch(isa, Strips { operands: &operands, packed: &packed, tiles, index, scratch });
    });
    Ok(true)
}
