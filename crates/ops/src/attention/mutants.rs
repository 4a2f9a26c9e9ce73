//! Wrong attentions that the gate must refuse.

use super::definition::{Mask, Problem};
use crate::flawed::{
    ALL, FINE, Read, SINGLE, all_but_last, largest, mutants, nan_as_zero, narrowed, read, read_as,
    read_densely, stale, steps, write,
};
use proofmark_contract::{Call, KernelError, Mutant};
use proofmark_tensor::f16;
use std::ops::Range;

/// Keys of a tile in the mutants that work in tiles.
const TILE: usize = 16;
/// Keys that a step on AMX tiles takes.
const STEP: usize = 32;

steps! { Steps, RIGHT;
    read: Read = read,
    scale: fn(&Problem) -> f32 = |problem| problem.scale as f32,
    /// The keys that a query sees.
    visible: fn(&Problem, usize) -> Range<usize> = Problem::visible,
    /// The head of keys, counted over the batch, for a head of queries.
    kv_head: fn(&Problem, usize) -> usize = |problem, head| head / problem.group(),
    /// The head of values, given that of the keys.
    value_head: fn(&Problem, usize) -> usize = |_, kv_head| kv_head,
    score: fn(f32) -> f32 = |score| score,
    /// From scores to weights and what they are divided by.
    weights: fn(&mut [f32]) -> f32 = exponentials,
    add: fn(f32, f32) -> f32 = |sum, term| sum + term,
    /// Elements of a row that are written.
    written: fn(usize) -> usize = |width| width,
    /// The row that a row of the result is computed from, of all rows.
    source: fn(usize, usize) -> usize = |row, _| row,
}

/// The greatest score; 0 where no key has any weight.
fn greatest(scores: &[f32]) -> f32 {
    let max = largest(scores);
    if max == f32::NEG_INFINITY { 0.0 } else { max }
}

fn exponentials(scores: &mut [f32]) -> f32 {
    weighed(greatest(scores), scores, f32::exp)
}

/// Replaces scores by what `exp` gives for them less `max`, and sums.
fn weighed(max: f32, scores: &mut [f32], exp: fn(f32) -> f32) -> f32 {
    scores.iter_mut().for_each(|score| *score = exp(*score - max));
    scores.iter().sum()
}

/// The right weights with two parts of each, of which `high` is one.
fn in_two_parts(scores: &mut [f32], high: fn(f32) -> f32) -> f32 {
    let total = exponentials(scores);
    scores.iter_mut().for_each(|score| *score = high(*score) + high(*score - high(*score)));
    total
}

/// Every mutant of this op.
pub(super) static MUTANTS: &[Mutant] = mutants! { run, Steps { ..RIGHT };
    "scale_of_next_width", ALL, "scores are divided by the root of d + 1",
        scale: |problem| {
            problem.scale as f32 * (problem.width as f32 / (problem.width as f32 + 1.0)).sqrt()
        };
    "scale_left_out", ALL, "scores are not scaled", scale: |_| 1.0;
    "scale_ignored", ALL, "the attribute is not read",
        scale: |problem| 1.0 / (problem.width as f32).sqrt();
    "last_key_dropped", ALL, "the last key is not seen",
        visible: |problem, query| {
            let keys = problem.visible(query);
            keys.start..if keys.len() > 1 { keys.end - 1 } else { keys.end }
        };
    "tail_dropped", ALL, "keys after the last whole tile of 16 are not seen",
        visible: |problem, query| {
            let keys = problem.visible(query);
            let whole = keys.len() / TILE * TILE;
            if whole == 0 { keys } else { keys.start..keys.start + whole }
        };
    "one_key_ahead", ALL, "a query sees the key after its own",
        visible: |problem, query| {
            let keys = problem.visible(query);
            keys.start..(keys.end + 1).min(problem.keys)
        };
    "own_position_hidden", ALL, "a query does not see the key of its position",
        visible: |problem, query| {
            let keys = problem.visible(query);
            let hidden = usize::from(problem.mask != Mask::None && keys.len() > 1);
            keys.start..keys.end - hidden
        };
    "aligned_at_first_key", ALL, "the first query stands at the first key",
        visible: |problem, query| {
            let end = (query + 1).min(problem.keys);
            match problem.mask {
                Mask::None => 0..problem.keys,
                Mask::Causal => 0..end,
                Mask::Window(window) => end.saturating_sub(window)..end,
            }
        };
    "step_unmasked", ALL, "a query sees every key of the last step of 32 that it sees",
        visible: |problem, query| {
            let keys = problem.visible(query);
            match keys.is_empty() {
                true => keys,
                false => keys.start..keys.end.next_multiple_of(STEP).min(problem.keys),
            }
        };
    "window_one_wider", ALL, "the window has one key more",
        visible: |problem, query| {
            let keys = problem.visible(query);
            let is_window = matches!(problem.mask, Mask::Window(_));
            keys.start.saturating_sub(usize::from(is_window))..keys.end
        };
    "window_is_causal", ALL, "the window has no lower end",
        visible: |problem, query| 0..problem.visible(query).end;
    "heads_interleaved", ALL, "heads h and h + kv share keys, not neighbours",
        kv_head: |problem, head| {
            let (batch, head) = (head / problem.heads, head % problem.heads);
            batch * problem.kv_heads + head % problem.kv_heads
        };
    "values_of_first_head", ALL, "values are those of the first head",
        value_head: |problem, kv_head| kv_head / problem.kv_heads * problem.kv_heads;
    "keys_of_first_batch", ALL, "every batch uses the first one's keys",
        kv_head: |problem, head| head % problem.heads / problem.group();
    "max_not_subtracted", ALL, "exponentials overflow or vanish past 88",
        weights: |scores| weighed(0.0, scores, f32::exp);
    "max_of_first_tile", ALL, "the maximum is that of the first tile",
        weights: |scores| {
            weighed(greatest(&scores[..scores.len().min(TILE)]), scores, f32::exp)
        };
    // The maximum moves from tile to tile, and what was summed before stays as it is.
    "tiles_not_rescaled", ALL, "sums stay when the running maximum moves",
        weights: |scores| {
            let mut max = f32::NEG_INFINITY;
            for tile in scores.chunks_mut(TILE) {
                max = max.max(greatest(tile));
                weighed(max, tile, f32::exp);
            }
            scores.iter().sum()
        };
    "total_not_rescaled", ALL, "the divisor stays when the maximum moves",
        weights: |scores| {
            let (mut max, mut total) = (f32::NEG_INFINITY, 0.0f32);
            for tile in scores.chunks(TILE) {
                max = max.max(greatest(tile));
                total += tile.iter().map(|score| (score - max).exp()).sum::<f32>();
            }
            weighed(max, scores, f32::exp);
            total
        };
    "total_of_last_tile", ALL, "the divisor forgets earlier tiles",
        weights: |scores| {
            exponentials(scores);
            scores.chunks(TILE).last().unwrap_or_default().iter().sum()
        };
    "padding_counted", ALL, "the divisor counts the last tile's padding",
        weights: |scores| {
            let max = greatest(scores).max(0.0);
            let missing = scores.len().next_multiple_of(TILE) - scores.len();
            weighed(max, scores, f32::exp) + missing as f32 * (-max).exp()
        };
    "small_weights_cut", ALL, "weights below exp(-4) count as 0",
        weights: |scores| {
            weighed(greatest(scores), scores, |x| if x < -4.0 { 0.0 } else { x.exp() })
        };
    "exp_by_bits", ALL, "Schraudolph's exponential, off by up to 4 %",
        weights: |scores| {
            let by_bits = |x: f32| f32::from_bits((x * 12_102_203.0 + 1_064_866_805.0) as u32);
            weighed(greatest(scores), scores, by_bits)
        };
    "weights_in_bf16", SINGLE, "weights are rounded to bf16",
        weights: |scores| weighed(greatest(scores), scores, |x| narrowed(x.exp()));
    "lowest_part_dropped", ALL, "of three bf16 parts of a weight two count",
        weights: |scores| in_two_parts(scores, |x| f32::from_bits(x.to_bits() & 0xffff_0000));
    "unraised_parts", FINE, "weights are two f16 parts: small ones lose digits",
        weights: |scores| in_two_parts(scores, |x| f16::from_f32(x).to_f32());
    "scores_in_bf16", SINGLE, "scores are rounded to bf16", score: narrowed;
    "inputs_in_bf16", SINGLE, "inputs lose bits first", read: |x| read_as(x, narrowed);
    "sums_in_bf16", ALL, "values are summed in bf16", add: |sum, term| narrowed(sum + term);
    "nan_swallowed", ALL, "NaN counts as 0", read: |x| read_as(x, nan_as_zero);
    "last_column_unwritten", ALL, "the last element of a row stays", written: all_but_last;
    "last_row_stale", ALL, "the last row repeats the one before", source: stale;
    "row_stride_ignored", ALL, "rows of the inputs are taken to lie densely", read: read_densely;
};

fn run(call: &mut Call<'_>, steps: &Steps) -> Result<(), KernelError> {
    let problem = Problem::of(call.case);
    let [q, k, v] = [0, 1, 2].map(|operand| (steps.read)(&call.inputs[operand]));
    let row = |row: usize| {
        let from = (steps.source)(row, problem.rows());
        let kv_head = (steps.kv_head)(&problem, from / problem.queries);
        let visible = (steps.visible)(&problem, from % problem.queries);
        let shift =
            |head: usize| head * problem.keys + visible.start..head * problem.keys + visible.end;
        let dot = |key: &Vec<f32>| -> f32 { q[from].iter().zip(key).map(|(q, k)| q * k).sum() };
        let scale = (steps.scale)(&problem);
        let scores = k[shift(kv_head)].iter().map(|key| (steps.score)(scale * dot(key)));
        let mut weights: Vec<f32> = scores.collect();
        let total = (steps.weights)(&mut weights);
        let mut sums = vec![0.0f32; problem.width];
        for (weight, v) in weights.iter().zip(&v[shift((steps.value_head)(&problem, kv_head))]) {
            sums.iter_mut().zip(v).for_each(|(sum, v)| *sum = (steps.add)(*sum, weight * v));
        }
        let factor = if total == 0.0 { 0.0 } else { 1.0 / total };
        let written = &sums[..(steps.written)(sums.len())];
        written.iter().map(|sum| sum * factor).collect()
    };
    let o: Vec<Vec<f32>> = (0..problem.rows()).map(row).collect();
    write(&mut call.outputs[0], &o)
}
