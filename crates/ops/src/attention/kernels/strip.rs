//! Many queries: tiles of keys pass under strips of queries, one lane a query.
//!
//! Idea: a strip is `NV` vectors of queries, transposed once, so that scores come out with
//! queries along the lanes: maximum, exponential and sum over keys need no step across lanes, and
//! the weights of one key lie as the second product wants them. Keys are broadcast from where
//! they lie and values loaded from there; only 16-bit ones, and values whose rows are no whole
//! vectors, are widened first, once for all strips of a task. The running maximum, sum and
//! weighted values of a query are corrected once for each tile (Milakov and Gimelshein 2018; Dao
//! and others 2022).
//! Registers: AVX-512 8 keys × 2 vectors of queries, then 8 queries × 2 vectors of columns (16
//! accumulators, 2 loads, 1 broadcast); AVX2 6 × 2 and 4 × 2; scalar 4 × 4.

use super::strip_pass::{Lanes, Seen, Strip, add, in_place, score, weigh, widen};
use super::tiled::{LINE, Operands};
use crate::attention::definition::Problem;
use crate::blocks::stored::Stored;
use proofmark_simd::Simd;
use proofmark_terms::{DType, Isa};
use std::ops::Range;

/// Keys of a tile: their weights for a strip (8 KiB) and a strip of their values stay in L1.
const TILE: usize = 64;
/// The least number of rows of a task, where there are that many: a tile of keys that was fetched
/// and widened serves them all. Their transposed queries and sums (1 KiB a row at d = 128) stay in
/// L2.
const ROWS: usize = 128;
/// Keys that may be computed past the end of a tile.
const SPARE: usize = 8;

/// Lanes of a strip.
const fn lanes(isa: Isa) -> usize {
    match isa {
        Isa::Scalar => 4,
        Isa::Avx2 => 16,
        Isa::Avx512 => 32,
    }
}

/// Queries of each head in a task.
fn block_queries(problem: &Problem) -> usize {
    /// The widest strip: blocks of whole strips do not mix heads within one.
    const STRIP: usize = lanes(Isa::Avx512);
    let each = (ROWS / problem.group()).max(1);
    let each = if each >= STRIP { each / STRIP * STRIP } else { each };
    each.min(problem.queries)
}

/// Tasks of a head of keys.
pub(super) fn blocks(problem: &Problem) -> usize {
    problem.queries.div_ceil(block_queries(problem).max(1))
}

/// Floats of each part of a task's scratch memory, in this order.
struct Parts {
    /// Transposed queries of all strips.
    queries: usize,
    /// Weighted sums of all strips, a row for each lane.
    sums: usize,
    /// Maximum, total, first and last visible key of each lane of all strips.
    state: usize,
    /// Scores, then weights, of one strip for one tile.
    weights: usize,
    /// The factors that correct the sums of each lane of one strip.
    factors: usize,
    /// Widened keys of a tile.
    keys: usize,
    /// Widened values of a tile.
    values: usize,
}

/// Elements of a row that is widened to whole register tiles.
fn padded(width: usize, isa: Isa) -> usize {
    width.next_multiple_of(lanes(isa))
}

/// Whether values are used where they lie.
fn is_direct(problem: &Problem, isa: Isa, is_f32: bool) -> bool {
    is_f32 && padded(problem.width, isa) == problem.width
}

impl Parts {
    fn of(problem: &Problem, isa: Isa, is_f32: bool) -> Parts {
        let (lanes, wide) = (lanes(isa), padded(problem.width, isa));
        let strips = (problem.group() * block_queries(problem)).div_ceil(lanes);
        let line = |floats: usize| floats.next_multiple_of(LINE);
        Parts {
            queries: line(strips * lanes * problem.width),
            sums: line(strips * lanes * wide),
            state: line(strips * lanes * 4),
            weights: line((TILE + SPARE) * lanes),
            factors: line(lanes),
            keys: if is_f32 { 0 } else { TILE * line(wide) },
            values: if is_direct(problem, isa, is_f32) { 0 } else { TILE * line(wide) },
        }
    }
}

/// Floats of scratch memory that a task needs.
pub(super) fn scratch(problem: &Problem, isa: Isa, is_f32: bool) -> usize {
    let Parts { queries, sums, state, weights, factors, keys, values } =
        Parts::of(problem, isa, is_f32);
    queries + sums + state + weights + factors + keys + values
}

/// The rows of a task: some queries of each head that shares the keys.
#[derive(Clone, Copy)]
pub(super) struct Block {
    /// First row of the head group in the queries.
    base: usize,
    /// First query of each head.
    start: usize,
    /// Queries of each head.
    count: usize,
    /// Rows of all heads.
    pub(super) rows: usize,
}

impl Block {
    /// Part `part` of a head of keys.
    pub(super) fn of(problem: &Problem, head: usize, part: usize) -> Block {
        let start = part * block_queries(problem);
        let count = block_queries(problem).min(problem.queries - start);
        let base = head * problem.group() * problem.queries;
        Block { base, start, count, rows: problem.group() * count }
    }

    /// The keys that some of its queries see.
    fn keys(&self, problem: &Problem) -> Range<usize> {
        let end = problem.visible(self.start + self.count - 1).end;
        problem.visible(self.start).start.min(end)..end
    }

    /// The query of its head, and the row of the operand, of the task's row `at`. Past the last
    /// row it is the last again, so that lanes there see what it sees.
    #[inline(always)]
    pub(super) fn place(&self, problem: &Problem, at: usize) -> (usize, usize) {
        let at = at.min(self.rows - 1);
        let (head, query) = (at / self.count, self.start + at % self.count);
        (query, self.base + head * problem.queries + query)
    }

    /// The lanes of its rows from `first` on, before the first key.
    pub(super) fn begin(&self, problem: &Problem, first: usize, lanes: &mut Lanes<'_>) {
        lanes.max.fill(f32::NEG_INFINITY);
        lanes.total.fill(0.0);
        for lane in 0..lanes.low.len() {
            let keys = problem.visible(self.place(problem, first + lane).0);
            let sees = !keys.is_empty();
            lanes.low[lane] = if sees { keys.start } else { problem.keys } as f32;
            lanes.high[lane] = if sees { keys.end } else { 0 } as f32;
        }
    }
}

/// The memory of a task.
struct Memory<'a> {
    queries: &'a mut [f32],
    sums: &'a mut [f32],
    state: &'a mut [f32],
    weights: &'a mut [f32],
    factors: &'a mut [f32],
    keys: &'a mut [f32],
    values: &'a mut [f32],
}

impl<'a> Memory<'a> {
    fn of(parts: &Parts, scratch: &'a mut [f32]) -> Memory<'a> {
        let (queries, rest) = scratch.split_at_mut(parts.queries);
        let (sums, rest) = rest.split_at_mut(parts.sums);
        let (state, rest) = rest.split_at_mut(parts.state);
        let (weights, rest) = rest.split_at_mut(parts.weights);
        let (factors, rest) = rest.split_at_mut(parts.factors);
        let (keys, rest) = rest.split_at_mut(parts.keys);
        let values = &mut rest[..parts.values];
        Memory { queries, sums, state, weights, factors, keys, values }
    }

    /// Strip number `at`, with what all strips share.
    #[inline(always)]
    fn strip(&mut self, at: usize, sizes: &Sizes) -> (Strip<'_>, &mut [f32], &mut [f32]) {
        let Sizes { lanes, width, wide } = *sizes;
        let strip = Strip {
            queries: &mut self.queries[at * lanes * width..][..lanes * width],
            sums: &mut self.sums[at * lanes * wide..][..lanes * wide],
            lanes: Lanes::of(&mut self.state[at * 4 * lanes..][..4 * lanes]),
        };
        (strip, self.weights, self.factors)
    }
}

/// Sizes that all strips of a task share.
#[derive(Clone, Copy)]
struct Sizes {
    lanes: usize,
    width: usize,
    /// Elements of a row of sums, and of widened values.
    wide: usize,
}

/// The attention of the rows of one task.
#[inline(always)]
pub(super) fn block<S, T, const NV: usize, const KR: usize, const PR: usize>(
    simd: S,
    operands: &Operands<'_, T>,
    index: usize,
    scratch: &mut [f32],
) where
    S: Simd,
    T: Stored,
{
    let (problem, is_f32) = (&operands.problem, T::DTYPE == DType::F32);
    let sizes =
        Sizes { lanes: NV * S::LANES, width: problem.width, wide: padded(problem.width, S::ISA) };
    assert!(lanes(S::ISA) == sizes.lanes && KR <= SPARE, "tiles of another level");
    let (head, part) = (index / blocks(problem), index % blocks(problem));
    let block = Block::of(problem, head, part);
    let mut memory = Memory::of(&Parts::of(problem, S::ISA, is_f32), scratch);
    let strips = block.rows.div_ceil(sizes.lanes);
    for at in 0..strips {
        let (mut strip, ..) = memory.strip(at, &sizes);
        begin(operands, &block, at * sizes.lanes, &mut strip);
    }
    let (first, keys) = (head * problem.keys, block.keys(problem));
    for start in keys.clone().step_by(TILE) {
        let tile = start..keys.end.min(start + TILE);
        let rows = first + tile.start..first + tile.end;
        let (k, v) = (operands.k.range(rows.clone()), operands.v.range(rows));
        let (k, v) = (
            if is_f32 { in_place(k) } else { widen(simd, k, memory.keys, sizes.wide) },
            match is_direct(problem, S::ISA, is_f32) {
                true => in_place(v),
                false => widen(simd, v, memory.values, sizes.wide),
            },
        );
        for at in 0..strips {
            let (mut strip, weights, factors) = memory.strip(at, &sizes);
            let seen = Seen::of(&strip.lanes, 0..sizes.lanes, &tile);
            if seen.some.is_empty() {
                continue;
            }
            // SAFETY: the keys hold the rows of `tile` with `width` elements each.
            unsafe { score::<S, NV, KR>(simd, k, &tile, &seen.some, strip.queries, weights) };
            weigh::<S, NV>(simd, &seen, None, &mut strip.lanes, weights, factors);
            // SAFETY: the values hold the rows of `tile` with `wide` elements each, in place
            // only where `width` is as much.
            unsafe { add::<S, NV, PR>(simd, v, &tile, &seen.some, &mut strip, weights, factors) };
        }
    }
    for at in 0..strips {
        let (strip, ..) = memory.strip(at, &sizes);
        finish(simd, operands, &block, at * sizes.lanes, &strip);
    }
}

/// Transposes and scales the queries of a strip; nothing is summed yet.
///
/// It is a separate function without vectors, because the compiler leaves iterators as calls within
/// a kernel's one large function.
#[inline(never)]
fn begin<T: Stored>(
    operands: &Operands<'_, T>,
    block: &Block,
    first: usize,
    strip: &mut Strip<'_>,
) {
    /// Elements at a time: a cache line of f32 in each row.
    const ELEMENTS: usize = 16;
    let (problem, lanes) = (&operands.problem, strip.lanes.max.len());
    let scale = problem.scale as f32;
    strip.sums.fill(0.0);
    block.begin(problem, first, &mut strip.lanes);
    for lane in 0..lanes {
        let (_, row) = block.place(problem, first + lane);
        let columns = strip.queries.chunks_mut(ELEMENTS * lanes);
        for (from, to) in operands.q.row(row).chunks(ELEMENTS).zip(columns) {
            for (from, to) in from.iter().zip(to.chunks_exact_mut(lanes)) {
                to[lane] = from.widen() * scale;
            }
        }
    }
}

/// Divides the sums of a strip by their totals and writes the rows that they belong to.
#[inline(always)]
fn finish<S: Simd, T: Stored>(
    simd: S,
    operands: &Operands<'_, T>,
    block: &Block,
    first: usize,
    strip: &Strip<'_>,
) {
    let (problem, lanes) = (&operands.problem, strip.lanes.max.len());
    let wide = strip.sums.len() / lanes;
    for lane in 0..lanes.min(block.rows - first) {
        let (_, row) = block.place(problem, first + lane);
        let factor = reciprocal(strip.lanes.total[lane]);
        // SAFETY: the row is one of this task's block.
        let mut output = unsafe { operands.output(row) };
        divide(simd, &strip.sums[lane * wide..], factor, output.row_mut(0));
    }
}

/// One over a total; 0 where no key has any weight.
#[inline(always)]
pub(super) fn reciprocal(total: f32) -> f32 {
    if total == 0.0 { 0.0 } else { 1.0 / total }
}

/// Writes sums times a factor, rounded once.
#[inline(always)]
pub(super) fn divide<S: Simd, T: Stored>(simd: S, sums: &[f32], factor: f32, to: &mut [T]) {
    let factor = simd.splat(factor);
    let mut at = 0;
    while at + S::LANES <= to.len() {
        T::store(simd, simd.mul(simd.load(&sums[at..]), factor), &mut to[at..]);
        at += S::LANES;
    }
    if at < to.len() {
        let value = simd.load_partial(&sums[at..to.len()], 0.0);
        T::store_partial(simd, simd.mul(value, factor), &mut to[at..]);
    }
}
