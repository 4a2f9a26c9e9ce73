//! One tile of keys under one strip of queries: scores, weights, weighted values.

use crate::blocks::math::{exp, exp2_flushed};
use crate::blocks::stored::Stored;
use proofmark_simd::Simd;
use proofmark_tensor::Rows;
use proofmark_terms::DType;
use std::ops::Range;

/// One strip's memory.
pub(super) struct Strip<'a> {
    /// Queries by elements, a lane for each row.
    pub(super) queries: &'a mut [f32],
    /// Weighted values by rows.
    pub(super) sums: &'a mut [f32],
    /// Where its lanes are.
    pub(super) lanes: Lanes<'a>,
}

/// The running maximum and total of the lanes of a strip, and the keys that they see.
pub(super) struct Lanes<'a> {
    /// Greatest score so far of each lane.
    pub(super) max: &'a mut [f32],
    /// Sum of the weights so far of each lane.
    pub(super) total: &'a mut [f32],
    /// First visible key of each lane; a lane that sees none has the number of keys.
    pub(super) low: &'a mut [f32],
    /// End of the visible keys of each lane; 0 if it sees none.
    pub(super) high: &'a mut [f32],
}

impl<'a> Lanes<'a> {
    /// Four floats for each lane.
    #[inline(always)]
    pub(super) fn of(state: &'a mut [f32]) -> Lanes<'a> {
        let lanes = state.len() / 4;
        let (max, state) = state.split_at_mut(lanes);
        let (total, state) = state.split_at_mut(lanes);
        let (low, high) = state.split_at_mut(lanes);
        Lanes { max, total, low, high }
    }
}

/// Rows of keys or values as f32: the first, and elements from one to the next.
#[derive(Clone, Copy)]
pub(super) struct Tile {
    base: *const f32,
    stride: usize,
}

/// Rows of f32 where they lie.
#[inline(always)]
pub(super) fn in_place<T: Stored>(rows: Rows<'_, T>) -> Tile {
    assert!(T::DTYPE == DType::F32, "only f32 is used in place");
    Tile { base: rows.as_ptr().cast(), stride: rows.row_stride() }
}

/// Rows as f32 in a tile, `wide` apart, with zeros after their end.
#[inline(always)]
pub(super) fn widen<S: Simd, T: Stored>(
    simd: S,
    rows: Rows<'_, T>,
    to: &mut [f32],
    wide: usize,
) -> Tile {
    let mut row = 0;
    while row < rows.rows() {
        let (from, to) = (rows.row(row), &mut to[row * wide..][..wide]);
        let mut at = 0;
        while at < wide {
            let rest = &from[at.min(from.len())..];
            let value = match rest.len() >= S::LANES {
                true => T::load(simd, rest),
                false => T::load_partial(simd, rest, 0.0),
            };
            simd.store(value, &mut to[at..]);
            at += S::LANES;
        }
        row += 1;
    }
    Tile { base: to.as_ptr(), stride: wide }
}

/// Which keys of a tile some lanes of a strip see.
pub(super) struct Seen {
    /// Those that some lane sees.
    pub(super) some: Range<usize>,
    /// Whether all lanes see all of them.
    by_all: bool,
}

impl Seen {
    #[inline(always)]
    pub(super) fn of(of: &Lanes<'_>, lanes: Range<usize>, tile: &Range<usize>) -> Seen {
        // Keys are small whole numbers, whose bits are in the order of their values.
        let range = |of: &[f32]| {
            let (mut least, mut most) = (u32::MAX, 0);
            for bound in of {
                (least, most) = (least.min(bound.to_bits()), most.max(bound.to_bits()));
            }
            (f32::from_bits(least), f32::from_bits(most))
        };
        let ((first, last), (least, most)) =
            (range(&of.low[lanes.clone()]), range(&of.high[lanes]));
        let start = tile.start.max(first as usize);
        let some = start..tile.end.min(most as usize).max(start);
        let by_all = last as usize <= some.start && least as usize >= some.end;
        Seen { some, by_all }
    }
}

/// Writes the scores of the keys in `some`, a row of lanes for each, to `weights`.
///
/// # Safety
/// `keys` are the rows of `tile`, with as many elements as `queries` has rows of lanes; `some`
/// lies within `tile`.
#[inline(always)]
pub(super) unsafe fn score<S: Simd, const NV: usize, const KR: usize>(
    simd: S,
    keys: Tile,
    tile: &Range<usize>,
    some: &Range<usize>,
    queries: &[f32],
    weights: &mut [f32],
) {
    let lanes = NV * S::LANES;
    let mut key = some.start;
    while key < some.end {
        let mut rows = [keys.base; KR];
        for (r, row) in rows.iter_mut().enumerate() {
            // Past the end the last key is computed again, and the result is never read.
            let at = (key + r).min(some.end - 1) - tile.start;
            *row = keys.base.wrapping_add(at * keys.stride);
        }
        let mut sums = [[simd.zero(); NV]; KR];
        let mut at = queries.as_ptr();
        for element in 0..queries.len() / lanes {
            let mut vectors = [simd.zero(); NV];
            for v in 0..NV {
                // SAFETY: `queries` has `lanes` floats for each element.
                vectors[v] = unsafe { simd.load_ptr(at.add(v * S::LANES)) };
            }
            for r in 0..KR {
                // SAFETY: each row is one of the tile and has that many elements.
                let scalar = simd.splat(unsafe { *rows[r].add(element) });
                for v in 0..NV {
                    sums[r][v] = simd.fma(scalar, vectors[v], sums[r][v]);
                }
            }
            at = at.wrapping_add(lanes);
        }
        let to = &mut weights[(key - some.start) * lanes..][..KR * lanes];
        for r in 0..KR {
            for v in 0..NV {
                simd.store(sums[r][v], &mut to[r * lanes + v * S::LANES..]);
            }
        }
        key += KR;
    }
}

/// Turns scores into weights and updates each lane's maximum and total; `factors` are what earlier
/// sums must be multiplied by. Weights are powers of e. With a `scale`, which has yet to be applied
/// to the scores, they are powers of 2 without the subnormal ones.
#[inline(always)]
pub(super) fn weigh<S: Simd, const NV: usize>(
    simd: S,
    seen: &Seen,
    scale: Option<f32>,
    state: &mut Lanes<'_>,
    weights: &mut [f32],
    factors: &mut [f32],
) {
    let lanes = NV * S::LANES;
    let least = simd.splat(f32::NEG_INFINITY);
    for v in 0..NV {
        let at = v * S::LANES;
        if !seen.by_all {
            let (low, high) = (simd.load(&state.low[at..]), simd.load(&state.high[at..]));
            for row in 0..seen.some.len() {
                let key = simd.splat((seen.some.start + row) as f32);
                let place = &mut weights[row * lanes + at..];
                let score = simd.select(simd.lt(key, high), simd.load(place), least);
                simd.store(simd.select(simd.lt(key, low), least, score), place);
            }
        }
        let old = simd.load(&state.max[at..]);
        let mut max = old;
        for row in 0..seen.some.len() {
            // A NaN is passed over here and kept by the exponential.
            max = simd.max(simd.load(&weights[row * lanes + at..]), max);
        }
        simd.store(max, &mut state.max[at..]);
        // Where every score so far is -infinity nothing is subtracted: all weights are 0.
        let shift = simd.select(simd.eq(max, least), simd.zero(), max);
        let factor = power(simd, scale, simd.sub(old, shift));
        simd.store(factor, &mut factors[at..]);
        let mut total = simd.zero();
        for row in 0..seen.some.len() {
            let place = &mut weights[row * lanes + at..];
            let weight = power(simd, scale, simd.sub(simd.load(place), shift));
            total = simd.add(total, weight);
            simd.store(weight, place);
        }
        let before = simd.load(&state.total[at..]);
        simd.store(simd.fma(before, factor, total), &mut state.total[at..]);
    }
}

/// The weight of a score, given its difference from the greatest. The scale is applied only here,
/// because the difference is 0 at the greatest score however large the scores are.
#[inline(always)]
fn power<S: Simd>(simd: S, scale: Option<f32>, x: S::F) -> S::F {
    match scale {
        Some(scale) => exp2_flushed(simd, simd.mul(x, simd.splat(scale))),
        None => exp(simd, x),
    }
}

/// Adds the weighted values of the keys in `some` to the corrected sums.
///
/// # Safety
/// `values` are the rows of `tile`, with as many elements as a row of the strip's sums; `some`
/// lies within `tile`.
#[inline(always)]
pub(super) unsafe fn add<S: Simd, const NV: usize, const PR: usize>(
    simd: S,
    values: Tile,
    tile: &Range<usize>,
    some: &Range<usize>,
    strip: &mut Strip<'_>,
    weights: &[f32],
    factors: &[f32],
) {
    let lanes = NV * S::LANES;
    let wide = strip.sums.len() / lanes;
    for column in (0..wide).step_by(lanes) {
        for lane in (0..lanes).step_by(PR) {
            // Fewer lanes see fewer keys of a tile on the mask's edge.
            let seen = Seen::of(&strip.lanes, lane..lane + PR, some).some;
            if seen.is_empty() {
                continue;
            }
            let mut sums = [[simd.zero(); NV]; PR];
            for i in 0..PR {
                let factor = simd.splat(factors[lane + i]);
                for v in 0..NV {
                    let at = (lane + i) * wide + column + v * S::LANES;
                    sums[i][v] = simd.mul(factor, simd.load(&strip.sums[at..]));
                }
            }
            let weights = &weights[(seen.start - some.start) * lanes..][..seen.len() * lanes];
            let mut weight = weights.as_ptr().wrapping_add(lane);
            let first = (seen.start - tile.start) * values.stride + column;
            let mut value = values.base.wrapping_add(first);
            for _ in 0..seen.len() {
                let mut vectors = [simd.zero(); NV];
                for v in 0..NV {
                    // SAFETY: the row lies in the tile and has `wide` elements, of which a whole
                    // block of columns is left from `column` on.
                    vectors[v] = unsafe { simd.load_ptr(value.add(v * S::LANES)) };
                }
                for i in 0..PR {
                    // SAFETY: `weights` has `lanes` floats for each key that is seen.
                    let scalar = simd.splat(unsafe { *weight.add(i) });
                    for v in 0..NV {
                        sums[i][v] = simd.fma(scalar, vectors[v], sums[i][v]);
                    }
                }
                value = value.wrapping_add(values.stride);
                weight = weight.wrapping_add(lanes);
            }
            for i in 0..PR {
                for v in 0..NV {
                    let at = (lane + i) * wide + column + v * S::LANES;
                    simd.store(sums[i][v], &mut strip.sums[at..]);
                }
            }
        }
    }
}
