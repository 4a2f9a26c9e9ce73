//! The right quantisation in steps, each of which a mutant may get wrong.

use super::definition::{Format, Plan};
use crate::flawed::steps;
use proofmark_contract::{Call, KernelError};
use proofmark_tensor::{F8E4m3, F8E5m2, Overflow};

/// Scale, inverse and zero of a group.
pub(super) type Step = (f32, f32, f32);

steps! { pub(super) Steps, RIGHT;
    /// Least and greatest of a group.
    range: fn(&Plan, &[f32]) -> (f32, f32) = range,
    /// Of a group's least and greatest.
    step: fn(&Plan, f32, f32) -> Step = step,
    /// The code of an element, as the number it stands for.
    code: fn(&Plan, Step, f32) -> f64 = code,
    /// The element of a code, its scale and its zero.
    element: fn(&Plan, f64, f64, f64) -> f32 = |_, code, scale, zero| {
        (code - zero) as f32 * scale as f32
    },
    /// The group of an element.
    group: fn(&Plan, usize, usize) -> usize = Plan::group_of,
    /// Spoils the result: all of it, given what the memory held before.
    spoil: fn(&Plan, &mut [f64], &[f64]) = |_, _, _| {},
}

pub(super) fn range(plan: &Plan, x: &[f32]) -> (f32, f32) {
    let nan = x.iter().any(|x| x.is_nan());
    let low = x.iter().fold(0.0, |low: f32, &x| low.min(x));
    let high = x.iter().fold(0.0, |high: f32, &x| high.max(x));
    let high = if plan.is_symmetric { high.max(-low) } else { high };
    if nan { (f32::NAN, f32::NAN) } else { (low, high) }
}

pub(super) fn step(plan: &Plan, low: f32, high: f32) -> Step {
    let range = if plan.is_symmetric { high } else { high - low };
    stepped(plan, low, range, plan.steps())
}

pub(super) fn stepped(plan: &Plan, low: f32, range: f32, steps: f32) -> Step {
    if !range.is_finite() {
        return (f32::NAN, 0.0, 0.0);
    }
    let inverse = steps / range;
    if inverse.is_infinite() {
        return (0.0, 0.0, 0.0);
    }
    let zero = if plan.is_symmetric { 0.0 } else { -128.0 - low * inverse };
    (range / steps, inverse, zero.round_ties_even().clamp(-128.0, 127.0))
}

pub(super) fn code(plan: &Plan, step: Step, x: f32) -> f64 {
    coded(plan, step, x, |scaled| scaled.round_ties_even())
}

pub(super) fn coded(plan: &Plan, step: Step, x: f32, round: fn(f32) -> f32) -> f64 {
    if step.1 == 0.0 {
        return 0.0;
    }
    let scaled = x * step.1;
    match plan.format {
        Format::Int8 => f64::from((round(scaled) + step.2).clamp(-128.0, 127.0)),
        _ => fp8(plan, scaled, plan.to_nan),
    }
}

pub(super) fn fp8(plan: &Plan, scaled: f32, to_nan: bool) -> f64 {
    value(plan, fp8_code(plan, scaled, to_nan))
}

pub(super) fn fp8_code(plan: &Plan, scaled: f32, to_nan: bool) -> u8 {
    let overflow = if to_nan { Overflow::NanInf } else { Overflow::Saturate };
    match plan.format {
        Format::E5m2 => F8E5m2::from_f32(scaled, overflow).0,
        _ => F8E4m3::from_f32(scaled, overflow).0,
    }
}

pub(super) fn value(plan: &Plan, code: u8) -> f64 {
    f64::from(match plan.format {
        Format::E5m2 => F8E5m2(code).to_f32(),
        _ => F8E4m3(code).to_f32(),
    })
}

/// The computation in these steps, in either direction.
pub(super) fn run(call: &mut Call<'_>, steps: &Steps) -> Result<(), KernelError> {
    let plan = Plan::of(call.case);
    if plan.is_forward {
        steps.forward(&plan, call);
    } else {
        steps.back(&plan, call);
    }
    Ok(())
}

impl Steps {
    fn forward(&self, plan: &Plan, call: &mut Call<'_>) {
        let x = call.inputs[0].to_f64();
        let place = |at: usize| (self.group)(plan, at / plan.cols, at % plan.cols);
        let mut members = vec![Vec::new(); plan.groups()];
        for (at, &x) in x.iter().enumerate() {
            members[place(at)].push(x as f32);
        }
        let steps: Vec<Step> = members
            .iter()
            .map(|members| {
                let (low, high) = (self.range)(plan, members);
                if plan.is_unit { (1.0, 1.0, 0.0) } else { (self.step)(plan, low, high) }
            })
            .collect();
        let code = |(at, &x): (usize, &f64)| (self.code)(plan, steps[place(at)], x as f32);
        let mut codes: Vec<f64> = x.iter().enumerate().map(code).collect();
        let before = call.outputs[0].to_f64();
        (self.spoil)(plan, &mut codes, &before);
        call.outputs[0].from_f64(&codes);
        let parts: [fn(&Step) -> f64; 2] = [|step| f64::from(step.0), |step| f64::from(step.2)];
        for (output, part) in call.outputs[1..].iter_mut().zip(parts) {
            output.from_f64(&steps.iter().map(part).collect::<Vec<_>>());
        }
    }

    fn back(&self, plan: &Plan, call: &mut Call<'_>) {
        let codes = call.inputs[0].to_f64();
        let scales = if plan.is_unit { vec![1.0] } else { call.inputs[1].to_f64() };
        let zeros =
            if plan.is_symmetric { vec![0.0; scales.len()] } else { call.inputs[2].to_f64() };
        let element = |(at, &code): (usize, &f64)| {
            let group = (self.group)(plan, at / plan.cols, at % plan.cols);
            f64::from((self.element)(plan, code, scales[group], zeros[group]))
        };
        let mut y: Vec<f64> = codes.iter().enumerate().map(element).collect();
        let before = call.outputs[0].to_f64();
        (self.spoil)(plan, &mut y, &before);
        call.outputs[0].from_f64(&y);
    }
}
