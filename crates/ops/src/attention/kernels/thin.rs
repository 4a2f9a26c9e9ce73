//! Few queries: keys and values stream past them once, at the rate of memory.
//!
//! Idea: the rows that share a head of keys (a group of heads with one query, as when a model
//! generates) are kept as f32; each key is loaded once for all of them, its products summed along
//! the elements, and each value is added to the sums of two rows at a time. Softmax runs along the
//! keys of a tile, corrected as in [`super::strip`]. 4 flops for each element of a key or value
//! and each row, and 4 bytes of it in f32, 2 in 16 bits.
//! Registers: up to 4 rows × 4 keys of sums (AVX2 4 × 2); then 2 rows × 8 vectors of columns.

use super::strip::{divide, reciprocal};
use super::tiled::{LINE, Operands, seen_keys, shared_rows};
use crate::attention::definition::Problem;
use crate::blocks::math::exp;
use crate::blocks::stored::Stored;
use proofmark_simd::Simd;
use proofmark_tensor::Rows;
use proofmark_terms::Isa;
use std::ops::Range;

/// Rows up to which this beats strips of queries.
pub(super) const MOST_ROWS: usize = 8;
/// Keys of a tile, a multiple of every vector.
pub(super) const TILE: usize = 64;

/// Elements of a row of queries or sums, in whole cache lines.
pub(super) fn padded(problem: &Problem) -> usize {
    problem.width.next_multiple_of(LINE)
}

/// Floats for the queries and scores of a head.
pub(super) fn reads(problem: &Problem) -> usize {
    shared_rows(problem) * (padded(problem) + TILE)
}

/// Floats for the state of a head: sums, then maximum and total of each row.
pub(super) fn state(problem: &Problem) -> usize {
    shared_rows(problem) * padded(problem) + LINE.max(2 * MOST_ROWS)
}

/// Floats of scratch memory that a task needs.
pub(super) fn scratch(problem: &Problem) -> usize {
    reads(problem) + state(problem)
}

/// What is known of the rows of a head after some of its keys.
pub(super) struct State<'a> {
    /// Weighted values, [`padded`] floats a row.
    pub(super) sums: &'a mut [f32],
    /// Greatest score of each row.
    pub(super) max: &'a mut [f32],
    /// Sum of the weights of each row.
    pub(super) total: &'a mut [f32],
}

impl<'a> State<'a> {
    /// Memory of [`state`] floats, as it is.
    pub(super) fn of(problem: &Problem, memory: &'a mut [f32]) -> State<'a> {
        let rows = shared_rows(problem);
        let (sums, rest) = memory.split_at_mut(rows * padded(problem));
        let (max, rest) = rest.split_at_mut(rows);
        State { sums, max, total: &mut rest[..rows] }
    }
}

/// The attention of all rows that share one head of keys.
#[inline(always)]
pub(super) fn head<S: Simd, T: Stored>(
    simd: S,
    operands: &Operands<'_, T>,
    index: usize,
    scratch: &mut [f32],
) {
    let problem = &operands.problem;
    let (own, rest) = scratch.split_at_mut(reads(problem));
    let mut state = State::of(problem, rest);
    some_keys(simd, operands, index, seen_keys(problem), own, &mut state);
    write(simd, operands, index, &state);
}

/// Divides the sums of a head by their totals and writes its rows.
#[inline(always)]
pub(super) fn write<S: Simd, T: Stored>(
    simd: S,
    operands: &Operands<'_, T>,
    index: usize,
    state: &State<'_>,
) {
    let problem = &operands.problem;
    for row in 0..shared_rows(problem) {
        let factor = reciprocal(state.total[row]);
        // SAFETY: the row is one of this head's, which belong to one task.
        let mut output = unsafe { operands.output(index * shared_rows(problem) + row) };
        divide(simd, &state.sums[row * padded(problem)..], factor, output.row_mut(0));
    }
}

/// Computes the state of a head over some of its keys.
#[inline(always)]
pub(super) fn some_keys<S: Simd, T: Stored>(
    simd: S,
    operands: &Operands<'_, T>,
    index: usize,
    keys: Range<usize>,
    own: &mut [f32],
    state: &mut State<'_>,
) {
    let problem = &operands.problem;
    let (rows, wide) = (shared_rows(problem), padded(problem));
    let (queries, scores) = own.split_at_mut(rows * wide);
    let scores = &mut scores[..rows * TILE];
    gather(operands, index, wide, queries);
    state.sums.fill(0.0);
    state.max.fill(f32::NEG_INFINITY);
    state.total.fill(0.0);
    let first = index * problem.keys;
    for start in keys.clone().step_by(TILE) {
        let tile = start..keys.end.min(start + TILE);
        let in_memory = first + tile.start..first + tile.end;
        let (k, v) = (operands.k.range(in_memory.clone()), operands.v.range(in_memory));
        let mut row = 0;
        while row + 4 <= rows {
            match S::ISA {
                Isa::Avx512 => score::<S, T, 4, 4>(simd, k, wide, row, queries, scores),
                _ => score::<S, T, 4, 2>(simd, k, wide, row, queries, scores),
            }
            row += 4;
        }
        while row < rows {
            score::<S, T, 1, 4>(simd, k, wide, row, queries, scores);
            row += 1;
        }
        let mut factors = [0.0; MOST_ROWS];
        for row in 0..rows {
            let visible = problem.visible(row % problem.queries);
            let scores = &mut scores[row * TILE..][..TILE];
            hide(&tile, &visible, scores);
            factors[row] = weigh(simd, scores, &mut state.max[row], &mut state.total[row]);
        }
        let mut row = 0;
        while row + 2 <= rows {
            add_rows::<S, T, 2>(simd, v, wide, row, scores, &factors, state.sums);
            row += 2;
        }
        if row < rows {
            add_rows::<S, T, 1>(simd, v, wide, row, scores, &factors, state.sums);
        }
    }
}

/// The scaled queries of a head as f32, zeros after their end.
#[inline(never)]
fn gather<T: Stored>(operands: &Operands<'_, T>, index: usize, wide: usize, to: &mut [f32]) {
    let scale = operands.problem.scale as f32;
    let rows = shared_rows(&operands.problem);
    to.fill(0.0);
    for (row, to) in to.chunks_exact_mut(wide).enumerate() {
        let from = operands.q.row(index * rows + row);
        to.iter_mut().zip(from).for_each(|(to, from)| *to = from.widen() * scale);
    }
}

/// Scores of `RB` rows for all keys of a tile, `KB` keys at a time.
#[inline(always)]
fn score<S: Simd, T: Stored, const RB: usize, const KB: usize>(
    simd: S,
    keys: Rows<'_, T>,
    wide: usize,
    row: usize,
    queries: &[f32],
    scores: &mut [f32],
) {
    let mut key = 0;
    while key < keys.rows() {
        // Past the end the last key is computed again and hidden afterwards.
        let mut rows = [keys.row(key); KB];
        for (k, row) in rows.iter_mut().enumerate() {
            *row = keys.row((key + k).min(keys.rows() - 1));
        }
        let mut sums = [[simd.zero(); KB]; RB];
        let mut at = 0;
        while at < keys.cols() {
            let rest = (keys.cols() - at).min(S::LANES);
            let mut vectors = [simd.zero(); KB];
            for k in 0..KB {
                // SAFETY: every row has `cols` elements, of which `rest` are left.
                let part = unsafe { rows[k].get_unchecked(at..at + rest) };
                vectors[k] = match rest == S::LANES {
                    true => T::load(simd, part),
                    false => T::load_partial(simd, part, 0.0),
                };
            }
            for r in 0..RB {
                let query = simd.load(&queries[(row + r) * wide + at..]);
                for k in 0..KB {
                    sums[r][k] = simd.fma(query, vectors[k], sums[r][k]);
                }
            }
            at += S::LANES;
        }
        for r in 0..RB {
            for k in 0..KB {
                scores[(row + r) * TILE + key + k] = simd.reduce_sum(sums[r][k]);
            }
        }
        key += KB;
    }
}

/// Gives no weight to keys that a row does not see, nor to places past the end of the tile.
#[inline(always)]
fn hide(tile: &Range<usize>, visible: &Range<usize>, scores: &mut [f32]) {
    let from = visible.start.clamp(tile.start, tile.end) - tile.start;
    let to = visible.end.clamp(tile.start, tile.end) - tile.start;
    scores[..from].fill(f32::NEG_INFINITY);
    scores[to.max(from)..].fill(f32::NEG_INFINITY);
}

/// Turns a row's scores into weights and updates its maximum and total. Returns the factor that
/// earlier sums must be multiplied by.
#[inline(always)]
fn weigh<S: Simd>(simd: S, scores: &mut [f32], max: &mut f32, total: &mut f32) -> f32 {
    let mut greatest = simd.splat(*max);
    for part in scores.chunks_exact(S::LANES) {
        // A NaN is passed over here and kept by the exponential.
        greatest = simd.max(simd.load(part), greatest);
    }
    let old = *max;
    *max = simd.reduce_max(greatest);
    // Where every score so far is -infinity nothing is subtracted: all weights are 0.
    let shift = if *max == f32::NEG_INFINITY { 0.0 } else { *max };
    let shifts = simd.splat(shift);
    let mut sum = simd.zero();
    for part in scores.chunks_exact_mut(S::LANES) {
        let weight = exp(simd, simd.sub(simd.load(part), shifts));
        sum = simd.add(sum, weight);
        simd.store(weight, part);
    }
    let factor = first_of(simd, exp(simd, simd.splat(old - shift)));
    *total = *total * factor + simd.reduce_sum(sum);
    factor
}

/// The first lane.
#[inline(always)]
pub(super) fn first_of<S: Simd>(simd: S, value: S::F) -> f32 {
    let mut first = [0.0];
    simd.store_partial(value, &mut first);
    first[0]
}

/// Adds the weighted values of a tile to the corrected sums of `RB` rows.
#[inline(always)]
fn add_rows<S: Simd, T: Stored, const RB: usize>(
    simd: S,
    values: Rows<'_, T>,
    wide: usize,
    row: usize,
    weights: &[f32],
    factors: &[f32],
    sums: &mut [f32],
) {
    let place = Place { wide, row, weights, factors };
    let mut at = 0;
    while values.cols() - at >= 8 * S::LANES {
        add::<S, T, RB, 8>(simd, values, at, &place, sums);
        at += 8 * S::LANES;
    }
    while values.cols() - at >= 2 * S::LANES {
        add::<S, T, RB, 2>(simd, values, at, &place, sums);
        at += 2 * S::LANES;
    }
    while at < values.cols() {
        add::<S, T, RB, 1>(simd, values, at, &place, sums);
        at += S::LANES;
    }
}

/// Where the rows of [`add_rows`] have their weights and sums.
struct Place<'a> {
    wide: usize,
    row: usize,
    weights: &'a [f32],
    factors: &'a [f32],
}

/// The same for `NV` vectors of columns; only a single one may pass the end of the rows.
#[inline(always)]
fn add<S: Simd, T: Stored, const RB: usize, const NV: usize>(
    simd: S,
    values: Rows<'_, T>,
    column: usize,
    place: &Place<'_>,
    sums: &mut [f32],
) {
    let &Place { wide, row, weights, factors } = place;
    let mut own = [[simd.zero(); NV]; RB];
    for r in 0..RB {
        let factor = simd.splat(factors[row + r]);
        for v in 0..NV {
            let at = (row + r) * wide + column + v * S::LANES;
            own[r][v] = simd.mul(factor, simd.load(&sums[at..]));
        }
    }
    let is_whole = values.cols() - column >= NV * S::LANES;
    assert!(is_whole || NV == 1, "several vectors past the end");
    for key in 0..values.rows() {
        let rest = &values.row(key)[column..];
        let mut vectors = [simd.zero(); NV];
        for v in 0..NV {
            vectors[v] = match is_whole {
                // SAFETY: `NV` whole vectors are left of the row.
                true => T::load(simd, unsafe { rest.get_unchecked(v * S::LANES..) }),
                false => T::load_partial(simd, rest, 0.0),
            };
        }
        for r in 0..RB {
            let weight = simd.splat(weights[(row + r) * TILE + key]);
            for v in 0..NV {
                own[r][v] = simd.fma(weight, vectors[v], own[r][v]);
            }
        }
    }
    for r in 0..RB {
        for v in 0..NV {
            let at = (row + r) * wide + column + v * S::LANES;
            simd.store(own[r][v], &mut sums[at..]);
        }
    }
}
