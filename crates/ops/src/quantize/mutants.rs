//! Wrong quantisers that the gate must refuse.

use super::definition::{Format, Plan};
use super::flaw::{
    RIGHT, Step, Steps, code, coded, fp8, fp8_code, range, run, step, stepped, value,
};
use crate::flawed::{SINGLE, WIDE, keep_last, mutants, narrowed, whole_vectors};
use proofmark_contract::Mutant;
use proofmark_tensor::{F8E4m3, Overflow, bf16, f16};

/// Every mutant of `quantize_int8`.
pub(super) static QUANTIZE_INT8: &[Mutant] = mutants! { run, Steps { ..RIGHT };
    "truncated", WIDE, "codes are rounded towards zero", code: truncated;
    "ties_away_from_zero", WIDE, "ties are rounded away from zero", code: ties_away;
    "steps_one_too_many", WIDE, "the range is divided into one step too many", step: one_too_many;
    "range_of_signed", WIDE, "the range forgets that negative elements may be larger",
        range: signed_range;
    "range_tail_left_out", WIDE, "only whole vectors of 16 count for the range",
        range: range_of_whole_vectors;
    "nan_left_out", WIDE, "NaN does not count for the range",
        range: |plan, x| {
            let numbers: Vec<f32> = x.iter().copied().filter(|x| !x.is_nan()).collect();
            range(plan, &numbers)
        };
    "tiny_groups_scaled", WIDE, "a group whose inverse overflows keeps its scale",
        step: tiny_scaled;
    "inverse_stored", WIDE, "the scale is the inverse of the rounded inverse",
        step: inverse_of_inverse;
    "input_rounded_to_bf16", SINGLE, "elements lose bits before they are scaled",
        code: |plan, step, x| code(plan, step, narrowed(x));
    "next_group", WIDE, "each group gets its neighbour's place", group: next_group;
    "first_group", WIDE, "every element counts for the first group", group: |_, _, _| 0;
    "range_without_zero", WIDE, "the range of a group need not contain 0",
        range: |plan, x| {
            let (low, high) = range(plan, x);
            if plan.is_symmetric || x.is_empty() || low.is_nan() {
                return (low, high);
            }
            let least = x.iter().copied().fold(f32::INFINITY, f32::min);
            (least, x.iter().copied().fold(f32::NEG_INFINITY, f32::max))
        };
    "zero_truncated", WIDE, "the zero is rounded towards zero",
        step: |plan, low, high| {
            let (scale, inverse, zero) = step(plan, low, high);
            let is_kept = plan.is_symmetric || inverse == 0.0;
            (scale, inverse, if is_kept { zero } else { (-128.0 - low * inverse).trunc() })
        };
    "last_element_unwritten", WIDE, "the last code stays as it was",
        spoil: |_, codes, before| keep_last(codes, before);
    "last_row_stale", WIDE, "the last row repeats the one before", spoil: last_row_stale;
};

/// Every mutant of `dequantize_int8`.
pub(super) static DEQUANTIZE_INT8: &[Mutant] = mutants! { run, Steps { ..RIGHT };
    "next_group", WIDE, "each group gets its neighbour's scale", group: next_group;
    "first_group", WIDE, "every group gets the first one's scale", group: |_, _, _| 0;
    "whole_groups_only", WIDE, "a short last group gets the scale of the one before",
        group: whole_groups_only;
    "product_truncated", SINGLE, "products are rounded towards zero", element: truncated_product;
    "zero_ignored", WIDE, "zeros are not subtracted",
        element: |_, code, scale, _| code as f32 * scale as f32;
    "zero_added", WIDE, "zeros are added",
        element: |_, code, scale, zero| (code + zero) as f32 * scale as f32;
    "zero_scaled_apart", SINGLE, "code and zero are scaled before they are subtracted",
        element: |_, code, scale, zero| {
            let scale = scale as f32;
            code as f32 * scale - zero as f32 * scale
        };
    "codes_unsigned", WIDE, "negative codes are taken for large ones",
        element: |_, code, scale, zero| {
            let code = if code < 0.0 { code + 256.0 } else { code };
            (code - zero) as f32 * scale as f32
        };
    "scale_rounded_to_bf16", WIDE, "scales lose bits", element: narrow_scale;
    "nan_scale_dropped", WIDE, "a scale that is NaN gives 0", element: nan_scale_dropped;
    "last_element_unwritten", WIDE, "the last element stays as it was",
        spoil: |_, y, before| keep_last(y, before);
    "last_row_stale", WIDE, "the last row repeats the one before", spoil: last_row_stale;
};

/// Every mutant of `quantize_fp8`.
pub(super) static QUANTIZE_FP8: &[Mutant] = mutants! { run, Steps { ..RIGHT };
    "truncated", WIDE, "codes are rounded towards zero", code: truncated;
    "ties_away_from_zero", WIDE, "ties are rounded away from zero", code: ties_away;
    "steps_one_too_many", WIDE, "the range is mapped beyond the largest number", step: one_too_many;
    "range_of_signed", WIDE, "the range forgets that negative elements may be larger",
        range: signed_range;
    "range_tail_left_out", WIDE, "only whole vectors of 16 count for the range",
        range: range_of_whole_vectors;
    "tiny_groups_scaled", WIDE, "a block whose inverse overflows keeps its scale",
        step: tiny_scaled;
    "inverse_stored", WIDE, "the scale is the inverse of the rounded inverse",
        step: inverse_of_inverse;
    "subnormal_codes_flushed", WIDE, "codes below the normal numbers become 0",
        code: |plan, step, x| {
            let value = code(plan, step, x);
            if is_subnormal(plan, value) { 0.0 } else { value }
        };
    "overflow_always_saturates", WIDE, "what overflows saturates although NaN is asked for",
        code: |plan, step, x| if step.1 == 0.0 { 0.0 } else { fp8(plan, x * step.1, false) };
    "overflow_at_the_largest", WIDE, "what would round to the largest number overflows",
        code: |plan, step, x| {
            let is_early = f64::from(x * step.1).abs() > plan.code_dtype().largest();
            let is_nan = plan.is_unit && plan.to_nan && is_early;
            if is_nan { f64::NAN } else { code(plan, step, x) }
        };
    "rounded_through_f16", WIDE, "elements are rounded to f16 first",
        code: |plan, step, x| match step.1 == 0.0 {
            true => 0.0,
            false => fp8(plan, f16::from_f32(x * step.1).to_f32(), plan.to_nan),
        };
    "nan_saturates", WIDE, "NaN becomes the largest number",
        code: |plan, step, x| match x.is_nan() && plan.is_unit {
            true => plan.code_dtype().largest(),
            false => code(plan, step, x),
        };
    "format_ignored", WIDE, "codes are always e4m3",
        code: |plan, step, x| code(&Plan { format: Format::E4m3, ..*plan }, step, x);
    "one_row_blocks", WIDE, "blocks are taken to be one row high", group: one_row_blocks;
    "sign_lost", WIDE, "codes are those of magnitudes",
        code: |plan, step, x| code(plan, step, x.abs());
    "last_element_unwritten", WIDE, "the last code stays as it was",
        spoil: |_, codes, before| keep_last(codes, before);
    "last_row_stale", WIDE, "the last row repeats the one before", spoil: last_row_stale;
};

/// Every mutant of `dequantize_fp8`.
pub(super) static DEQUANTIZE_FP8: &[Mutant] = mutants! { run, Steps { ..RIGHT };
    "next_group", WIDE, "each block gets its neighbour's scale", group: next_group;
    "first_group", WIDE, "every block gets the first one's scale", group: |_, _, _| 0;
    "one_row_blocks", WIDE, "blocks are taken to be one row high", group: one_row_blocks;
    "whole_groups_only", WIDE, "a short last group gets the scale of the one before",
        group: whole_groups_only;
    "product_truncated", SINGLE, "products are rounded towards zero", element: truncated_product;
    "subnormal_codes_flushed", WIDE, "codes below the normal numbers count as 0",
        element: |plan, code, scale, _| {
            if is_subnormal(plan, code) { 0.0 } else { code as f32 * scale as f32 }
        };
    "nan_code_as_number", WIDE, "NaN is decoded as the number that its bits would be",
        element: |plan, code, scale, _| {
            let code = if code.is_nan() { plan.code_dtype().largest() * 1.25 } else { code };
            code as f32 * scale as f32
        };
    "format_ignored", WIDE, "codes are taken for e4m3",
        element: |_, code, scale, _| {
            F8E4m3::from_f32(code as f32, Overflow::Saturate).to_f32() * scale as f32
        };
    "sign_lost", WIDE, "the sign of codes is lost",
        element: |_, code, scale, zero| (code.abs() - zero) as f32 * scale as f32;
    "scale_rounded_to_bf16", WIDE, "scales lose bits", element: narrow_scale;
    "nan_scale_dropped", WIDE, "a scale that is NaN gives 0", element: nan_scale_dropped;
    "last_element_unwritten", WIDE, "the last element stays as it was",
        spoil: |_, y, before| keep_last(y, before);
    "last_row_stale", WIDE, "the last row repeats the one before", spoil: last_row_stale;
};

fn truncated(plan: &Plan, step: Step, x: f32) -> f64 {
    match plan.format {
        Format::Int8 => coded(plan, step, x, f32::trunc),
        _ if step.1 == 0.0 => 0.0,
        _ => {
            let scaled = x * step.1;
            let nearest = fp8_code(plan, scaled, plan.to_nan);
            let is_above = value(plan, nearest).abs() > f64::from(scaled).abs();
            value(plan, nearest - u8::from(is_above && scaled.is_finite()))
        }
    }
}

fn ties_away(plan: &Plan, step: Step, x: f32) -> f64 {
    let scaled = x * step.1;
    // The next number of greater magnitude, so that ties are ties no longer.
    let more = f32::from_bits(scaled.to_bits() + u32::from(x != 0.0 && x.is_finite()));
    match plan.format {
        Format::Int8 => coded(plan, step, x, f32::round),
        _ if step.1 == 0.0 => 0.0,
        _ => fp8(plan, more, plan.to_nan),
    }
}

fn one_too_many(plan: &Plan, low: f32, high: f32) -> Step {
    let range = if plan.is_symmetric { high } else { high - low };
    stepped(plan, low, range, plan.steps() + 1.0)
}

fn signed_range(_plan: &Plan, x: &[f32]) -> (f32, f32) {
    let of = |pick: fn(f32, f32) -> f32| x.iter().fold(0.0, |most, &x| pick(most, x));
    let nan = x.iter().any(|x| x.is_nan());
    if nan { (f32::NAN, f32::NAN) } else { (of(f32::min), of(f32::max)) }
}

fn range_of_whole_vectors(plan: &Plan, x: &[f32]) -> (f32, f32) {
    range(plan, &x[..whole_vectors(x.len())])
}

fn tiny_scaled(plan: &Plan, low: f32, high: f32) -> Step {
    let range = if plan.is_symmetric { high } else { high - low };
    let (scale, inverse, zero) = step(plan, low, high);
    (if scale == 0.0 { range / plan.steps() } else { scale }, inverse, zero)
}

fn inverse_of_inverse(plan: &Plan, low: f32, high: f32) -> Step {
    let (scale, inverse, zero) = step(plan, low, high);
    (if inverse == 0.0 { scale } else { 1.0 / inverse }, inverse, zero)
}

fn next_group(plan: &Plan, row: usize, col: usize) -> usize {
    (plan.group_of(row, col) + 1) % plan.groups()
}

fn whole_groups_only(plan: &Plan, row: usize, col: usize) -> usize {
    let last = (plan.cols / plan.tile_cols).saturating_sub(1);
    row / plan.tile_rows * plan.across + (col / plan.tile_cols).min(last)
}

fn one_row_blocks(plan: &Plan, row: usize, col: usize) -> usize {
    match plan.across {
        0 => 0,
        across => (row * across + col / plan.tile_cols) % plan.groups(),
    }
}

fn last_row_stale(plan: &Plan, result: &mut [f64], _before: &[f64]) {
    if plan.rows > 1 {
        let at = (plan.rows - 2) * plan.cols;
        result.copy_within(at..at + plan.cols, at + plan.cols);
    }
}

fn is_subnormal(plan: &Plan, code: f64) -> bool {
    code.abs() < 2f64.powi(plan.code_dtype().min_exponent())
}

fn truncated_product(_plan: &Plan, code: f64, scale: f64, zero: f64) -> f32 {
    let exact = (code - zero) * scale;
    let nearest = exact as f32;
    let is_above = f64::from(nearest).abs() > exact.abs() && nearest.is_finite();
    f32::from_bits(nearest.to_bits() - u32::from(is_above))
}

fn narrow_scale(_plan: &Plan, code: f64, scale: f64, zero: f64) -> f32 {
    (code - zero) as f32 * bf16::from_f64(scale).to_f32()
}

fn nan_scale_dropped(_plan: &Plan, code: f64, scale: f64, zero: f64) -> f32 {
    if scale.is_nan() { 0.0 } else { (code - zero) as f32 * scale as f32 }
}
