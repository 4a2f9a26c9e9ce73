//! Wrong quantisers that the gate must refuse.

use super::definition::{Format, Plan};
use super::flaw::{Flaw, RIGHT, code, coded, fp8, fp8_code, range, step, stepped, value};
use proofmark_contract::Mutant;
use proofmark_tensor::{F8E4m3, Overflow, bf16, f16};
use proofmark_terms::DType;

const LAST_UNWRITTEN: Flaw = Flaw {
    name: "last_element_unwritten",
    spoil: |_, result, before| {
        if let (Some(last), Some(&held)) = (result.last_mut(), before.last()) {
            *last = held;
        }
    },
    ..RIGHT
};

const LAST_ROW_STALE: Flaw = Flaw {
    name: "last_row_stale",
    spoil: |plan, result, _| {
        if plan.rows > 1 {
            let at = (plan.rows - 2) * plan.cols;
            result.copy_within(at..at + plan.cols, at + plan.cols);
        }
    },
    ..RIGHT
};

const NEXT_GROUP: Flaw = Flaw {
    name: "next_group",
    group: |plan, row, col| (plan.group_of(row, col) + 1) % plan.groups(),
    ..RIGHT
};

const FIRST_GROUP: Flaw = Flaw { name: "first_group", group: |_, _, _| 0, ..RIGHT };

const RANGE_TAIL_LEFT_OUT: Flaw = Flaw {
    name: "range_tail_left_out",
    range: |plan, x| range(plan, &x[..x.len() / 16 * 16]),
    ..RIGHT
};

const RANGE_OF_SIGNED: Flaw = Flaw {
    name: "range_of_signed",
    range: |_, x| {
        let of = |pick: fn(f32, f32) -> f32| x.iter().fold(0.0, |most, &x| pick(most, x));
        let nan = x.iter().any(|x| x.is_nan());
        if nan { (f32::NAN, f32::NAN) } else { (of(f32::min), of(f32::max)) }
    },
    step: |plan, low, high| {
        stepped(plan, low, if plan.is_symmetric { high } else { high - low }, plan.steps())
    },
    ..RIGHT
};

const NAN_LEFT_OUT: Flaw = Flaw {
    name: "nan_left_out",
    range: |plan, x| {
        let numbers: Vec<f32> = x.iter().copied().filter(|x| !x.is_nan()).collect();
        range(plan, &numbers)
    },
    ..RIGHT
};

const TINY_GROUPS_SCALED: Flaw = Flaw {
    name: "tiny_groups_scaled",
    step: |plan, low, high| {
        let range = if plan.is_symmetric { high } else { high - low };
        let (scale, inverse, zero) = step(plan, low, high);
        if scale == 0.0 { (range / plan.steps(), inverse, zero) } else { (scale, inverse, zero) }
    },
    ..RIGHT
};

const INVERSE_STORED: Flaw = Flaw {
    name: "inverse_stored",
    spoil: |_, _, _| {},
    step: |plan, low, high| {
        let (scale, inverse, zero) = step(plan, low, high);
        (if inverse == 0.0 { scale } else { 1.0 / inverse }, inverse, zero)
    },
    ..RIGHT
};

const ROUNDED_INPUT: Flaw = Flaw {
    name: "input_rounded_to_bf16",
    dtypes: &[DType::F32],
    code: |plan, step, x| code(plan, step, bf16::from_f32(x).to_f32()),
    ..RIGHT
};

const TRUNCATED: Flaw = Flaw {
    name: "truncated",
    code: |plan, step, x| match plan.format {
        Format::Int8 => coded(plan, step, x, f32::trunc),
        _ if step.1 == 0.0 => 0.0,
        _ => {
            let scaled = x * step.1;
            let nearest = fp8_code(plan, scaled, plan.to_nan);
            let is_above = value(plan, nearest).abs() > f64::from(scaled).abs();
            value(plan, nearest - u8::from(is_above && scaled.is_finite()))
        }
    },
    ..RIGHT
};

const HALF_AWAY: Flaw = Flaw {
    name: "ties_away_from_zero",
    code: |plan, step, x| match plan.format {
        Format::Int8 => coded(plan, step, x, f32::round),
        _ if step.1 == 0.0 => 0.0,
        // The least more in magnitude: ties no longer are.
        _ => fp8(
            plan,
            f32::from_bits((x * step.1).to_bits() + u32::from(x != 0.0 && x.is_finite())),
            plan.to_nan,
        ),
    },
    ..RIGHT
};

const STEPS_ONE_TOO_MANY: Flaw = Flaw {
    name: "steps_one_too_many",
    step: |plan, low, high| {
        let range = if plan.is_symmetric { high } else { high - low };
        stepped(plan, low, range, plan.steps() + 1.0)
    },
    ..RIGHT
};

const ZERO_OUTSIDE: Flaw = Flaw {
    name: "range_without_zero",
    range: |plan, x| {
        let (low, high) = range(plan, x);
        if plan.is_symmetric || x.is_empty() || low.is_nan() {
            return (low, high);
        }
        let of = |start, pick: fn(f32, f32) -> f32| x.iter().fold(start, |most, &x| pick(most, x));
        (of(f32::INFINITY, f32::min), of(f32::NEG_INFINITY, f32::max))
    },
    ..RIGHT
};

const ZERO_TRUNCATED: Flaw = Flaw {
    name: "zero_truncated",
    step: |plan, low, high| {
        let (scale, inverse, zero) = step(plan, low, high);
        if plan.is_symmetric || inverse == 0.0 {
            return (scale, inverse, zero);
        }
        (scale, inverse, (-128.0 - low * inverse).trunc())
    },
    ..RIGHT
};

const SUBNORMAL_CODES_FLUSHED: Flaw = Flaw {
    name: "subnormal_codes_flushed",
    code: |plan, step, x| {
        let value = code(plan, step, x);
        if value.abs() < 2f64.powi(plan.code_dtype().min_exponent()) { 0.0 } else { value }
    },
    element: |plan, code, scale, _| {
        let is_subnormal = code.abs() < 2f64.powi(plan.code_dtype().min_exponent());
        if is_subnormal { 0.0 } else { code as f32 * scale as f32 }
    },
    ..RIGHT
};

const POLICY_IGNORED: Flaw = Flaw {
    name: "overflow_always_saturates",
    code: |plan, step, x| if step.1 == 0.0 { 0.0 } else { fp8(plan, x * step.1, false) },
    ..RIGHT
};

const OVERFLOW_TOO_EARLY: Flaw = Flaw {
    name: "overflow_at_the_largest",
    code: |plan, step, x| {
        let largest = plan.code_dtype().largest();
        let scaled = f64::from(x * step.1);
        let early = plan.is_unit && plan.to_nan && scaled.abs() > largest;
        if early { f64::NAN } else { code(plan, step, x) }
    },
    ..RIGHT
};

const THROUGH_F16: Flaw = Flaw {
    name: "rounded_through_f16",
    code: |plan, step, x| match step.1 == 0.0 {
        true => 0.0,
        false => fp8(plan, f16::from_f32(x * step.1).to_f32(), plan.to_nan),
    },
    ..RIGHT
};

const NAN_SATURATES: Flaw = Flaw {
    name: "nan_saturates",
    code: |plan, step, x| match x.is_nan() && plan.is_unit {
        true => plan.code_dtype().largest(),
        false => code(plan, step, x),
    },
    ..RIGHT
};

const FORMAT_IGNORED: Flaw = Flaw {
    name: "format_ignored",
    code: |plan, step, x| code(&Plan { format: Format::E4m3, ..*plan }, step, x),
    element: |_, code, scale, _| {
        F8E4m3::from_f32(code as f32, Overflow::Saturate).to_f32() * scale as f32
    },
    ..RIGHT
};

const ONE_ROW_BLOCKS: Flaw = Flaw {
    name: "one_row_blocks",
    group: |plan, row, col| {
        if plan.across == 0 {
            0
        } else {
            (row * plan.across + col / plan.tile_cols) % plan.groups()
        }
    },
    ..RIGHT
};

const SIGN_LOST: Flaw = Flaw {
    name: "sign_lost",
    code: |plan, step, x| code(plan, step, x.abs()),
    element: |_, code, scale, zero| (code.abs() - zero) as f32 * scale as f32,
    ..RIGHT
};

const ZERO_IGNORED: Flaw =
    Flaw { name: "zero_ignored", element: |_, code, scale, _| code as f32 * scale as f32, ..RIGHT };

const ZERO_ADDED: Flaw = Flaw {
    name: "zero_added",
    element: |_, code, scale, zero| (code + zero) as f32 * scale as f32,
    ..RIGHT
};

const ZERO_SCALED_APART: Flaw = Flaw {
    name: "zero_scaled_apart",
    dtypes: &[DType::F32],
    element: |_, code, scale, zero| {
        let scale = scale as f32;
        code as f32 * scale - zero as f32 * scale
    },
    ..RIGHT
};

const CODES_UNSIGNED: Flaw = Flaw {
    name: "codes_unsigned",
    element: |_, code, scale, zero| {
        let code = if code < 0.0 { code + 256.0 } else { code };
        (code - zero) as f32 * scale as f32
    },
    ..RIGHT
};

const SCALE_ROUNDED: Flaw = Flaw {
    name: "scale_rounded_to_bf16",
    element: |_, code, scale, zero| (code - zero) as f32 * bf16::from_f64(scale).to_f32(),
    ..RIGHT
};

const NAN_SCALE_DROPPED: Flaw = Flaw {
    name: "nan_scale_dropped",
    element: |_, code, scale, zero| {
        if scale.is_nan() { 0.0 } else { (code - zero) as f32 * scale as f32 }
    },
    ..RIGHT
};

const NAN_AS_NUMBER: Flaw = Flaw {
    name: "nan_code_as_number",
    element: |plan, code, scale, _| {
        let code = if code.is_nan() { plan.code_dtype().largest() * 1.25 } else { code };
        code as f32 * scale as f32
    },
    ..RIGHT
};

const WHOLE_GROUPS_ONLY: Flaw = Flaw {
    name: "whole_groups_only",
    group: |plan, row, col| {
        let last = (plan.cols / plan.tile_cols).saturating_sub(1);
        row / plan.tile_rows * plan.across + (col / plan.tile_cols).min(last)
    },
    ..RIGHT
};

const PRODUCT_TRUNCATED: Flaw = Flaw {
    name: "product_truncated",
    dtypes: &[DType::F32],
    element: |_, code, scale, zero| {
        let exact = (code - zero) * scale;
        let nearest = exact as f32;
        let is_above = f64::from(nearest).abs() > exact.abs() && nearest.is_finite();
        f32::from_bits(nearest.to_bits() - u32::from(is_above))
    },
    ..RIGHT
};

macro_rules! mutants {
    ($list:ident: $($flaw:ident $text:literal;)*) => {
        pub(super) const $list: &[Mutant] = &[$(Mutant {
            name: $flaw.name,
            flaw: $text,
            kernel: const { &$flaw },
        }),*];
    };
}

mutants! { QUANTIZE_INT8:
    TRUNCATED "codes are rounded towards zero";
    HALF_AWAY "ties are rounded away from zero";
    STEPS_ONE_TOO_MANY "the range is divided into one step too many";
    RANGE_OF_SIGNED "the range forgets that negative elements may be larger";
    RANGE_TAIL_LEFT_OUT "only whole vectors of 16 count for the range";
    NAN_LEFT_OUT "NaN does not count for the range";
    TINY_GROUPS_SCALED "a group whose inverse overflows keeps its scale";
    INVERSE_STORED "the scale is the inverse of the rounded inverse";
    ROUNDED_INPUT "elements lose bits before they are scaled";
    NEXT_GROUP "each group gets its neighbour's place";
    FIRST_GROUP "every element counts for the first group";
    ZERO_OUTSIDE "the range of a group need not contain 0";
    ZERO_TRUNCATED "the zero is rounded towards zero";
    LAST_UNWRITTEN "the last code stays as it was";
    LAST_ROW_STALE "the last row repeats the one before";
}

mutants! { DEQUANTIZE_INT8:
    NEXT_GROUP "each group gets its neighbour's scale";
    FIRST_GROUP "every group gets the first one's scale";
    WHOLE_GROUPS_ONLY "a short last group gets the scale of the one before";
    PRODUCT_TRUNCATED "products are rounded towards zero";
    ZERO_IGNORED "zeros are not subtracted";
    ZERO_ADDED "zeros are added";
    ZERO_SCALED_APART "code and zero are scaled before they are subtracted";
    CODES_UNSIGNED "negative codes are taken for large ones";
    SCALE_ROUNDED "scales lose bits";
    NAN_SCALE_DROPPED "a scale that is NaN gives 0";
    LAST_UNWRITTEN "the last element stays as it was";
    LAST_ROW_STALE "the last row repeats the one before";
}

mutants! { QUANTIZE_FP8:
    TRUNCATED "codes are rounded towards zero";
    HALF_AWAY "ties are rounded away from zero";
    STEPS_ONE_TOO_MANY "the range is mapped beyond the largest number";
    RANGE_OF_SIGNED "the range forgets that negative elements may be larger";
    RANGE_TAIL_LEFT_OUT "only whole vectors of 16 count for the range";
    TINY_GROUPS_SCALED "a block whose inverse overflows keeps its scale";
    INVERSE_STORED "the scale is the inverse of the rounded inverse";
    SUBNORMAL_CODES_FLUSHED "codes below the normal numbers become 0";
    POLICY_IGNORED "what overflows saturates although NaN is asked for";
    OVERFLOW_TOO_EARLY "what would round to the largest number overflows";
    THROUGH_F16 "elements are rounded to f16 first";
    NAN_SATURATES "NaN becomes the largest number";
    FORMAT_IGNORED "codes are always e4m3";
    ONE_ROW_BLOCKS "blocks are taken to be one row high";
    SIGN_LOST "codes are those of magnitudes";
    LAST_UNWRITTEN "the last code stays as it was";
    LAST_ROW_STALE "the last row repeats the one before";
}

mutants! { DEQUANTIZE_FP8:
    NEXT_GROUP "each block gets its neighbour's scale";
    FIRST_GROUP "every block gets the first one's scale";
    ONE_ROW_BLOCKS "blocks are taken to be one row high";
    WHOLE_GROUPS_ONLY "a short last group gets the scale of the one before";
    PRODUCT_TRUNCATED "products are rounded towards zero";
    SUBNORMAL_CODES_FLUSHED "codes below the normal numbers count as 0";
    NAN_AS_NUMBER "NaN is decoded as the number that its bits would be";
    FORMAT_IGNORED "codes are taken for e4m3";
    SIGN_LOST "the sign of codes is lost";
    SCALE_ROUNDED "scales lose bits";
    NAN_SCALE_DROPPED "a scale that is NaN gives 0";
    LAST_UNWRITTEN "the last element stays as it was";
    LAST_ROW_STALE "the last row repeats the one before";
}
