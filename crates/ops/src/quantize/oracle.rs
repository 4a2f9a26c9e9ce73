//! The truth of quantisation: results that are defined to the bit, computed group by group.
#![forbid(unsafe_code)]

use super::definition::{Format, Plan};
use proofmark_contract::Truth;
use proofmark_tensor::{F8E4m3, F8E5m2, Overflow};

/// What the elements of a group share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shared {
    /// What codes are multiplied by to get elements back.
    pub(super) scale: f32,
    /// What elements are multiplied by.
    inverse: f32,
    /// The code of 0.
    pub(super) zero: f32,
    /// Every code is 0.
    is_void: bool,
}

const VOID: Shared = Shared { scale: 0.0, inverse: 0.0, zero: 0.0, is_void: true };

/// What each group shares, in the order of the operand `scales`.
pub(super) fn shared(plan: &Plan, x: &[f64]) -> Vec<Shared> {
    if plan.is_unit {
        return vec![Shared { scale: 1.0, inverse: 1.0, zero: 0.0, is_void: false }];
    }
    let mut groups = vec![(0.0f32, 0.0f32, false); plan.groups()];
    for (at, &value) in x.iter().enumerate() {
        let (low, high, is_broken) = &mut groups[plan.group_of(at / plan.cols, at % plan.cols)];
        let value = value as f32;
        *low = low.min(value);
        *high = high.max(value);
        *is_broken |= !value.is_finite();
    }
    groups.into_iter().map(|(low, high, is_broken)| of_group(plan, low, high, is_broken)).collect()
}

fn of_group(plan: &Plan, low: f32, high: f32, is_broken: bool) -> Shared {
    let range = if plan.is_symmetric { high.max(-low) } else { high - low };
    if is_broken || range.is_infinite() {
        return Shared { scale: f32::NAN, ..VOID };
    }
    let (scale, inverse) = (range / plan.steps(), plan.steps() / range);
    if inverse.is_infinite() {
        return VOID;
    }
    let zero = if plan.is_symmetric { 0.0 } else { -128.0 - low * inverse };
    let zero = zero.round_ties_even().clamp(-128.0, 127.0);
    Shared { scale, inverse, zero, is_void: false }
}

/// The value that the code of `x` stands for: an integer, or an 8-bit float.
fn code(plan: &Plan, shared: &Shared, x: f64) -> f64 {
    if shared.is_void {
        return 0.0;
    }
    let scaled = x as f32 * shared.inverse;
    let overflow = if plan.to_nan { Overflow::NanInf } else { Overflow::Saturate };
    match plan.format {
        Format::Int8 => f64::from((scaled.round_ties_even() + shared.zero).clamp(-128.0, 127.0)),
        Format::E4m3 => f64::from(F8E4m3::from_f32(scaled, overflow).to_f32()),
        Format::E5m2 => f64::from(F8E5m2::from_f32(scaled, overflow).to_f32()),
    }
}

/// The truth about the codes at these flat indices.
pub(super) fn codes(plan: &Plan, x: &[f64], indices: &[usize]) -> Truth {
    let shared = shared(plan, x);
    let mut truth = Truth::with_capacity(indices.len());
    for &at in indices {
        let group = plan.group_of(at / plan.cols, at % plan.cols);
        // + 0 makes the zero of an integer positive; a float's keeps its sign.
        let value = code(plan, &shared[group], x[at]);
        truth.push(if plan.format == Format::Int8 { value + 0.0 } else { value }, 0.0);
    }
    truth
}

/// The truth about dequantised elements. The scale is the magnitude: a product of two numbers is
/// rounded to f32, and once more to a narrower type.
pub(super) fn values(
    plan: &Plan,
    codes: &[f64],
    scales: &[f64],
    zeros: Option<&[f64]>,
    indices: &[usize],
) -> Truth {
    let mut truth = Truth::with_capacity(indices.len());
    for &at in indices {
        let group = plan.group_of(at / plan.cols, at % plan.cols);
        let scale = if plan.is_unit { 1.0 } else { scales[group] };
        let value = (codes[at] - zeros.map_or(0.0, |zeros| zeros[group])) * scale;
        truth.push(value, if value.is_finite() { value.abs() } else { 0.0 });
    }
    truth
}
