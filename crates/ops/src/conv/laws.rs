//! Laws of convolutions: what must hold between two runs, whatever the right answer is.

use super::definition::{BIAS, Problem, WEIGHTS, X};
use proofmark_contract::{Law, Observed, Values};
use proofmark_terms::Case;

/// All laws.
pub(super) static LAWS: &[Law] = &[
    Law {
        name: "odd_in_x",
        statement: "without its bias, the result of -x is the negative of that of x",
        change: |_, inputs, _| {
            inputs.tensors[X].iter_mut().for_each(|value| *value = -*value);
            true
        },
        holds: results_are_opposite,
    },
    Law {
        name: "images_are_independent",
        statement: "another last image leaves the results of the others to the bit",
        change: negate_last_image,
        holds: others_stay,
    },
    Law {
        name: "nan_stays_under_its_taps",
        statement: "a NaN reaches through zero weights exactly the results whose taps fall on it",
        change: plant_nan,
        holds: nan_is_where_taps_fall,
    },
];

fn results_are_opposite(
    case: &Case,
    before: Observed<'_>,
    after: Observed<'_>,
) -> Result<(), String> {
    let of = Problem::of(case);
    for (at, (&old, &new)) in before.outputs[0].iter().zip(&after.outputs[0]).enumerate() {
        let output = at / of.result_area() % of.outputs;
        let bias = if of.has_bias { before.inputs.of(BIAS)[output] } else { 0.0 };
        // The sum with the bias is rounded once more, on either side.
        let allowed = if of.has_bias { 1e-6 * (old.abs() + new.abs() + bias.abs()) } else { 0.0 };
        if (old + new - 2.0 * bias).abs() > allowed {
            return Err(format!("element {at} is {old} of x and {new} of -x, bias {bias}"));
        }
    }
    Ok(())
}

fn negate_last_image(case: &Case, inputs: &mut Values, _seed: u64) -> bool {
    let of = Problem::of(case);
    if of.batches < 2 {
        return false;
    }
    let first = (of.batches - 1) * of.channels * of.area();
    inputs.tensors[X][first..].iter_mut().for_each(|value| *value = -*value);
    true
}

fn others_stay(case: &Case, before: Observed<'_>, after: Observed<'_>) -> Result<(), String> {
    let of = Problem::of(case);
    let others = (of.batches - 1) * of.outputs * of.result_area();
    match (0..others).find(|&at| before.outputs[0][at] != after.outputs[0][at]) {
        Some(at) => Err(format!("element {at} of another image changed")),
        None => Ok(()),
    }
}

/// The middle of the last image's last channel.
fn planted(of: Problem) -> [usize; 2] {
    of.size.map(|size| size / 2)
}

fn plant_nan(case: &Case, inputs: &mut Values, _seed: u64) -> bool {
    let of = Problem::of(case);
    if of.batches * of.channels * of.area() == 0 {
        return false;
    }
    let [row, column] = planted(of);
    let channel = (of.batches * of.channels - 1) * of.area();
    inputs.tensors[X][channel + row * of.size[1] + column] = f64::NAN;
    inputs.tensors[WEIGHTS].fill(0.0);
    true
}

fn nan_is_where_taps_fall(
    case: &Case,
    _before: Observed<'_>,
    after: Observed<'_>,
) -> Result<(), String> {
    let (of, place) = (Problem::of(case), planted(Problem::of(case)));
    for (at, value) in after.outputs[0].iter().enumerate() {
        let (channel, within) = (at / of.result_area(), at % of.result_area());
        let (image, output) = (channel / of.outputs, channel % of.outputs);
        let result = [within / of.result[1], within % of.result[1]];
        let falls = |side: usize| {
            (0..of.taps[side]).any(|tap| of.place(side, result[side], tap) == Some(place[side]))
        };
        let sees = image + 1 == of.batches && output / of.group_outputs() + 1 == of.groups;
        if value.is_nan() != (sees && falls(0) && falls(1)) {
            return Err(format!("element {at} is {value}"));
        }
    }
    Ok(())
}
