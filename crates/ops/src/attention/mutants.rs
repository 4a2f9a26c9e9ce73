//! Wrong attentions that the gate must refuse.

use super::definition::{Mask, Problem};
use crate::blocks::stored::Stored;
use crate::flawed::mutants;
use proofmark_contract::{Call, KernelError};
use proofmark_tensor::{Rows, bf16, f16};
use proofmark_terms::DType;
use std::ops::Range;

/// Keys of a tile in the mutants that work in tiles.
const TILE: usize = 16;
/// Keys that a step on AMX tiles takes.
const STEP: usize = 32;

/// The right computation in steps; each mutant gets one of them wrong.
trait Slip {
    const STRIDE_IGNORED: bool = false;

    fn scale(problem: &Problem) -> f32 {
        problem.scale as f32
    }

    /// The keys that a query sees.
    fn visible(problem: &Problem, query: usize) -> Range<usize> {
        problem.visible(query)
    }

    /// The head of keys, counted over the batch, for a head of queries.
    fn kv_head(problem: &Problem, head: usize) -> usize {
        head / problem.group()
    }

    /// The head of values, given that of the keys.
    fn value_head(_problem: &Problem, kv_head: usize) -> usize {
        kv_head
    }

    fn element(x: f32) -> f32 {
        x
    }

    fn score(score: f32) -> f32 {
        score
    }

    /// From scores to weights and what they are divided by.
    fn weights(scores: &mut [f32]) -> f32 {
        let max = largest(scores);
        scores.iter_mut().for_each(|score| *score = (*score - max).exp());
        scores.iter().sum()
    }

    /// Sums the values, one row for each weight.
    fn sums(weights: &[f32], values: &[Vec<f32>], width: usize) -> Vec<f32> {
        let mut sums = vec![0.0f32; width];
        for (weight, row) in weights.iter().zip(values) {
            sums.iter_mut().zip(row).for_each(|(sum, v)| *sum += weight * v);
        }
        sums
    }

    /// Elements of a row that are written.
    fn written(width: usize) -> usize {
        width
    }

    /// The row that a row of the result is computed from.
    fn source(row: usize, _rows: usize) -> usize {
        row
    }
}

/// The greatest score; 0 where no key has any weight.
fn largest(scores: &[f32]) -> f32 {
    let max = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    if max == f32::NEG_INFINITY { 0.0 } else { max }
}

fn run<M: Slip>(call: &mut Call<'_>) -> Result<(), KernelError> {
    match call.case.dtype {
        DType::Bf16 => typed::<M, bf16>(call),
        DType::F16 => typed::<M, f16>(call),
        _ => typed::<M, f32>(call),
    }
}

fn typed<M: Slip, T: Stored>(call: &mut Call<'_>) -> Result<(), KernelError> {
    let problem = Problem::of(call.case);
    let read = |operand: usize| Ok::<_, KernelError>(read::<M, T>(call.inputs[operand].rows()?));
    let (q, k, v) = (read(0)?, read(1)?, read(2)?);
    let mut o = call.outputs[0].rows_mut::<T>()?;
    for row in 0..problem.rows() {
        let from = M::source(row, problem.rows());
        let kv_head = M::kv_head(&problem, from / problem.queries);
        let visible = M::visible(&problem, from % problem.queries);
        let shift =
            |head: usize| head * problem.keys + visible.start..head * problem.keys + visible.end;
        let dot = |key: &Vec<f32>| -> f32 { q[from].iter().zip(key).map(|(q, k)| q * k).sum() };
        let scale = M::scale(&problem);
        let keys = &k[shift(kv_head)];
        let mut weights: Vec<f32> = keys.iter().map(|key| M::score(scale * dot(key))).collect();
        let total = M::weights(&mut weights);
        let values = &v[shift(M::value_head(&problem, kv_head))];
        let sums = M::sums(&weights, values, problem.width);
        let factor = if total == 0.0 { 0.0 } else { 1.0 / total };
        let written = M::written(sums.len());
        for (o, sum) in o.row_mut(row).iter_mut().zip(&sums[..written]) {
            *o = T::narrow(sum * factor);
        }
    }
    Ok(())
}

fn read<M: Slip, T: Stored>(mut x: Rows<'_, T>) -> Vec<Vec<f32>> {
    if M::STRIDE_IGNORED {
        // SAFETY: rows of the same length at a smaller or equal stride end before the last row
        // of `x` does; what lies between rows is initialised memory of the same operand.
        x = unsafe { Rows::from_raw(x.as_ptr(), x.rows(), x.cols(), x.cols()) };
    }
    let row = |i| x.row(i).iter().map(|x| M::element(x.widen())).collect();
    (0..x.rows()).map(row).collect()
}

/// A mutant is the steps that it replaces.
macro_rules! slips {
    ($($name:ident { $($step:item)* })*) => {
        $(struct $name; impl Slip for $name { $($step)* })*
    };
}

slips! {
    ScaleOfNextWidth {
        fn scale(problem: &Problem) -> f32 {
            problem.scale as f32 * (problem.width as f32 / (problem.width as f32 + 1.0)).sqrt()
        }
    }
    ScaleLeftOut { fn scale(_: &Problem) -> f32 { 1.0 } }
    ScaleIgnored {
        fn scale(problem: &Problem) -> f32 { 1.0 / (problem.width as f32).sqrt() }
    }
    LastKeyDropped {
        fn visible(problem: &Problem, query: usize) -> Range<usize> {
            let keys = problem.visible(query);
            keys.start..if keys.len() > 1 { keys.end - 1 } else { keys.end }
        }
    }
    TailDropped {
        fn visible(problem: &Problem, query: usize) -> Range<usize> {
            let keys = problem.visible(query);
            let whole = keys.len() / TILE * TILE;
            if whole == 0 { keys } else { keys.start..keys.start + whole }
        }
    }
    OneKeyAhead {
        fn visible(problem: &Problem, query: usize) -> Range<usize> {
            let keys = problem.visible(query);
            keys.start..(keys.end + 1).min(problem.keys)
        }
    }
    OwnPositionHidden {
        fn visible(problem: &Problem, query: usize) -> Range<usize> {
            let keys = problem.visible(query);
            let hidden = usize::from(problem.mask != Mask::None && keys.len() > 1);
            keys.start..keys.end - hidden
        }
    }
    AlignedAtFirstKey {
        fn visible(problem: &Problem, query: usize) -> Range<usize> {
            let end = (query + 1).min(problem.keys);
            match problem.mask {
                Mask::None => 0..problem.keys,
                Mask::Causal => 0..end,
                Mask::Window(window) => end.saturating_sub(window)..end,
            }
        }
    }
    StepUnmasked {
        fn visible(problem: &Problem, query: usize) -> Range<usize> {
            let keys = problem.visible(query);
            match keys.is_empty() {
                true => keys,
                false => keys.start..keys.end.next_multiple_of(STEP).min(problem.keys),
            }
        }
    }
    WindowOneWider {
        fn visible(problem: &Problem, query: usize) -> Range<usize> {
            let keys = problem.visible(query);
            let is_window = matches!(problem.mask, Mask::Window(_));
            keys.start.saturating_sub(usize::from(is_window))..keys.end
        }
    }
    WindowIsCausal {
        fn visible(problem: &Problem, query: usize) -> Range<usize> {
            0..problem.visible(query).end
        }
    }
    HeadsInterleaved {
        fn kv_head(problem: &Problem, head: usize) -> usize {
            let (batch, head) = (head / problem.heads, head % problem.heads);
            batch * problem.kv_heads + head % problem.kv_heads
        }
    }
    ValuesOfFirstHead {
        fn value_head(problem: &Problem, kv_head: usize) -> usize {
            kv_head / problem.kv_heads * problem.kv_heads
        }
    }
    KeysOfFirstBatch {
        fn kv_head(problem: &Problem, head: usize) -> usize {
            head % problem.heads / problem.group()
        }
    }
    MaxNotSubtracted {
        fn weights(scores: &mut [f32]) -> f32 {
            scores.iter_mut().for_each(|score| *score = score.exp());
            scores.iter().sum()
        }
    }
    MaxOfFirstTile {
        fn weights(scores: &mut [f32]) -> f32 {
            let max = largest(&scores[..scores.len().min(TILE)]);
            scores.iter_mut().for_each(|score| *score = (*score - max).exp());
            scores.iter().sum()
        }
    }
    TilesNotRescaled {
        fn weights(scores: &mut [f32]) -> f32 {
            // The maximum moves from tile to tile, and what was summed before stays as it is.
            let mut max = f32::NEG_INFINITY;
            for tile in scores.chunks_mut(TILE) {
                max = max.max(largest(tile));
                tile.iter_mut().for_each(|score| *score = (*score - max).exp());
            }
            scores.iter().sum()
        }
    }
    TotalNotRescaled {
        fn weights(scores: &mut [f32]) -> f32 {
            let (mut max, mut total) = (f32::NEG_INFINITY, 0.0f32);
            for tile in scores.chunks(TILE) {
                max = max.max(largest(tile));
                total += tile.iter().map(|score| (score - max).exp()).sum::<f32>();
            }
            scores.iter_mut().for_each(|score| *score = (*score - max).exp());
            total
        }
    }
    TotalOfLastTile {
        fn weights(scores: &mut [f32]) -> f32 {
            let max = largest(scores);
            scores.iter_mut().for_each(|score| *score = (*score - max).exp());
            scores.chunks(TILE).last().unwrap_or_default().iter().sum()
        }
    }
    PaddingCounted {
        fn weights(scores: &mut [f32]) -> f32 {
            let max = largest(scores).max(0.0);
            scores.iter_mut().for_each(|score| *score = (*score - max).exp());
            let missing = scores.len().next_multiple_of(TILE) - scores.len();
            scores.iter().sum::<f32>() + missing as f32 * (-max).exp()
        }
    }
    SmallWeightsCut {
        fn weights(scores: &mut [f32]) -> f32 {
            let max = largest(scores);
            let cut = |x: f32| if x < -4.0 { 0.0 } else { x.exp() };
            scores.iter_mut().for_each(|score| *score = cut(*score - max));
            scores.iter().sum()
        }
    }
    ExpByBits {
        fn weights(scores: &mut [f32]) -> f32 {
            let max = largest(scores);
            let by_bits = |x: f32| f32::from_bits((x * 12_102_203.0 + 1_064_866_805.0) as u32);
            scores.iter_mut().for_each(|score| *score = by_bits(*score - max));
            scores.iter().sum()
        }
    }
    WeightsInBf16 {
        fn weights(scores: &mut [f32]) -> f32 {
            let max = largest(scores);
            let rounded = |x: f32| bf16::from_f32(x.exp()).to_f32();
            scores.iter_mut().for_each(|score| *score = rounded(*score - max));
            scores.iter().sum()
        }
    }
    LowestPartDropped {
        fn weights(scores: &mut [f32]) -> f32 {
            let max = largest(scores);
            scores.iter_mut().for_each(|score| *score = (*score - max).exp());
            let total = scores.iter().sum();
            let high = |x: f32| f32::from_bits(x.to_bits() & 0xffff_0000);
            scores.iter_mut().for_each(|score| *score = high(*score) + high(*score - high(*score)));
            total
        }
    }
    UnraisedParts {
        fn weights(scores: &mut [f32]) -> f32 {
            let max = largest(scores);
            scores.iter_mut().for_each(|score| *score = (*score - max).exp());
            let total = scores.iter().sum();
            let high = |x: f32| f16::from_f32(x).to_f32();
            scores.iter_mut().for_each(|score| *score = high(*score) + high(*score - high(*score)));
            total
        }
    }
    ScoresInBf16 { fn score(score: f32) -> f32 { bf16::from_f32(score).to_f32() } }
    InputsInBf16 { fn element(x: f32) -> f32 { bf16::from_f32(x).to_f32() } }
    SumsInBf16 {
        fn sums(weights: &[f32], values: &[Vec<f32>], width: usize) -> Vec<f32> {
            let mut sums = vec![0.0f32; width];
            for (weight, row) in weights.iter().zip(values) {
                let add = |(sum, v): (&mut f32, &f32)| {
                    *sum = bf16::from_f32(*sum + weight * v).to_f32();
                };
                sums.iter_mut().zip(row).for_each(add);
            }
            sums
        }
    }
    NanSwallowed { fn element(x: f32) -> f32 { if x.is_nan() { 0.0 } else { x } } }
    LastColumnUnwritten { fn written(width: usize) -> usize { width.saturating_sub(1) } }
    LastRowStale {
        fn source(row: usize, rows: usize) -> usize {
            if row > 0 && row + 1 == rows { row - 1 } else { row }
        }
    }
    RowStrideIgnored { const STRIDE_IGNORED: bool = true; }
}

const ALL: &[DType] = &[DType::F32, DType::Bf16, DType::F16];
/// Where rounding to the element type does not hide the flaw.
const WIDE: &[DType] = &[DType::F32];
const NOT_BF16: &[DType] = &[DType::F32, DType::F16];

mutants! {
    ScaleOfNextWidth ALL, "scale_of_next_width": "scores are divided by the root of d + 1";
    ScaleLeftOut ALL, "scale_left_out": "scores are not scaled";
    ScaleIgnored ALL, "scale_ignored": "the attribute is not read";
    LastKeyDropped ALL, "last_key_dropped": "the last key is not seen";
    TailDropped ALL, "tail_dropped": "keys after the last whole tile of 16 are not seen";
    OneKeyAhead ALL, "one_key_ahead": "a query sees the key after its own";
    OwnPositionHidden ALL, "own_position_hidden": "a query does not see the key of its position";
    AlignedAtFirstKey ALL, "aligned_at_first_key": "the first query stands at the first key";
    StepUnmasked ALL, "step_unmasked": "a query sees every key of the last step of 32 that it sees";
    WindowOneWider ALL, "window_one_wider": "the window has one key more";
    WindowIsCausal ALL, "window_is_causal": "the window has no lower end";
    HeadsInterleaved ALL, "heads_interleaved": "heads h and h + kv share keys, not neighbours";
    ValuesOfFirstHead ALL, "values_of_first_head": "values are those of the first head";
    KeysOfFirstBatch ALL, "keys_of_first_batch": "every batch uses the first one's keys";
    MaxNotSubtracted ALL, "max_not_subtracted": "exponentials overflow or vanish past 88";
    MaxOfFirstTile ALL, "max_of_first_tile": "the maximum is that of the first tile";
    TilesNotRescaled ALL, "tiles_not_rescaled": "sums stay when the running maximum moves";
    TotalNotRescaled ALL, "total_not_rescaled": "the divisor stays when the maximum moves";
    TotalOfLastTile ALL, "total_of_last_tile": "the divisor forgets earlier tiles";
    PaddingCounted ALL, "padding_counted": "the divisor counts the last tile's padding";
    SmallWeightsCut ALL, "small_weights_cut": "weights below exp(-4) count as 0";
    ExpByBits ALL, "exp_by_bits": "Schraudolph's exponential, off by up to 4 %";
    WeightsInBf16 WIDE, "weights_in_bf16": "weights are rounded to bf16";
    LowestPartDropped ALL, "lowest_part_dropped": "of three bf16 parts of a weight two count";
    UnraisedParts NOT_BF16, "unraised_parts": "weights are two f16 parts: small ones lose digits";
    ScoresInBf16 WIDE, "scores_in_bf16": "scores are rounded to bf16";
    InputsInBf16 WIDE, "inputs_in_bf16": "inputs lose bits first";
    SumsInBf16 ALL, "sums_in_bf16": "values are summed in bf16";
    NanSwallowed ALL, "nan_swallowed": "NaN counts as 0";
    LastColumnUnwritten ALL, "last_column_unwritten": "the last element of a row stays";
    LastRowStale ALL, "last_row_stale": "the last row repeats the one before";
    RowStrideIgnored ALL, "row_stride_ignored": "rows of the inputs are taken to lie densely";
}
