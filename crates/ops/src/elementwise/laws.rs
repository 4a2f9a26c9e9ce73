//! Laws of elementwise ops: to the bit, or within the error bounds of both runs.

use super::definition::Variant;
use proofmark_contract::{Law, Observed, Want};
use proofmark_terms::{Case, DType};

/// Binary formulas whose operands may be exchanged.
pub(super) const COMMUTES: Law = Law {
    name: "commutes",
    statement: "exchanging the operands changes no bit",
    change: |case, inputs, _| {
        let [first, second] = binary(case);
        inputs.tensors.swap(first, second);
        true
    },
    holds: |_, before, after| same(&before.outputs[0], &after.outputs[0]),
};

/// A second operand that leaves the first as it is, to the bit.
macro_rules! neutral {
    ($name:literal, $statement:literal, $value:literal) => {
        Law {
            name: $name,
            statement: $statement,
            change: |case, inputs, _| {
                let [first, second] = binary(case);
                inputs.tensors[second].fill($value);
                // What is lost most easily: the sign of zero, and numbers next to it.
                let plants = [-0.0, case.dtype.smallest(), -case.dtype.smallest()];
                let places = inputs.tensors[first].iter_mut().step_by(2);
                places.zip(plants.into_iter().cycle()).for_each(|(place, plant)| *place = plant);
                true
            },
            holds: |case, _, after| {
                let [first, _] = binary(case);
                same(after.inputs.of(first), &after.outputs[0])
            },
        }
    };
}

/// Sums: `-0` is the neutral element for every `a`; `+0` is not, because it turns `-0` into `+0`.
pub(super) const MINUS_ZERO_IS_NEUTRAL: Law =
    neutral!("minus_zero_is_neutral", "a + -0 is a, to the bit", -0.0);
/// Differences.
pub(super) const ZERO_IS_NEUTRAL: Law = neutral!("zero_is_neutral", "a - 0 is a, to the bit", 0.0);
/// Products and quotients.
pub(super) const ONE_IS_NEUTRAL: Law =
    neutral!("one_is_neutral", "with 1 as second operand the result is a, to the bit", 1.0);

/// A relation between the results of x and of −x, as what must vanish within both error bounds.
macro_rules! mirrored {
    ($name:literal, $statement:literal, $residue:expr) => {
        Law {
            name: $name,
            statement: $statement,
            change: |_, inputs, _| {
                inputs.tensors[0].iter_mut().for_each(|x| *x = -*x);
                true
            },
            holds: |case, before, after| vanishes(case, before, after, $residue),
        }
    };
}

/// Functions `x·F(x)` with `F(x) + F(−x) = 1`.
pub(super) const ODD_PART_IS_X: Law = mirrored!(
    "odd_part_is_x",
    "y(x) − y(−x) is x within the error bounds of both",
    |x, y, mirrored| y - mirrored - x
);
/// Odd functions.
pub(super) const IS_ODD: Law =
    mirrored!("is_odd", "y(−x) is −y(x) within the error bounds of both", |_, y, mirrored| y
        + mirrored);
/// Distribution functions of a symmetric density.
pub(super) const SUMS_TO_ONE: Law = mirrored!(
    "sums_to_one",
    "y(x) + y(−x) is 1 within the error bounds of both",
    |_, y, mirrored| y + mirrored - 1.0
);

fn vanishes(
    case: &Case,
    before: Observed<'_>,
    after: Observed<'_>,
    residue: fn(f64, f64, f64) -> f64,
) -> Result<(), String> {
    let op = crate::find(&case.op).ok_or("the op is in no list")?.op;
    let truths = [before, after].map(|run| op.oracle(case, run.inputs, 0, &Want::all()));
    let limit = op.limits(case).q_max * DType::F32.unit();
    for (i, &x) in before.inputs.of(0).iter().enumerate() {
        let (y, mirrored) = (before.outputs[0][i], after.outputs[0][i]);
        // A contender that promises only the accuracy of the textbook formula obeys the law as
        // well.
        let scales = truths.iter().map(|truth| truth.scale[i] + truth.forgiven[i]).sum::<f64>();
        let room = case.dtype.ulp(y) + case.dtype.ulp(mirrored) + limit * scales;
        let error = residue(x, y, mirrored).abs();
        if error.is_nan() || error > room {
            return Err(format!("element {i}: {y:e} of {x:e} and {mirrored:e} of its negative"));
        }
    }
    Ok(())
}

/// Functions that are 0 at 0 and grow there.
pub(super) const ZERO_KEEPS_ITS_SIGN: Law = Law {
    name: "zero_keeps_its_sign",
    statement: "y(0) is 0 and y(-0) is -0",
    change: |_, inputs, _| {
        let signs = [-0.0, 0.0].into_iter().cycle();
        inputs.tensors[0].iter_mut().zip(signs).for_each(|(x, zero)| *x = zero);
        true
    },
    holds: |_, _, after| same(after.inputs.of(0), &after.outputs[0]),
};

/// Gated formulas: the second operand is a factor, and a power of two rounds nowhere.
pub(super) const UP_IS_A_FACTOR: Law = Law {
    name: "up_is_a_factor",
    statement: "doubling up doubles y, to the bit where neither is subnormal nor infinite",
    change: |case, inputs, _| {
        let [_, up] = binary(case);
        inputs.tensors[up].iter_mut().for_each(|value| *value *= 2.0);
        true
    },
    holds: |case, before, after| {
        let least = 2f64.powi(case.dtype.min_exponent() + 1);
        let pairs = before.outputs[0].iter().zip(&after.outputs[0]).enumerate();
        for (i, (y, doubled)) in pairs.filter(|(_, (y, _))| y.abs() >= least) {
            if 2.0 * y != *doubled && doubled.is_finite() {
                return Err(format!("element {i} was {y:e} and is {doubled:e}"));
            }
        }
        Ok(())
    },
};

/// `alpha·0 + y` is y, but for the sign of zero.
pub(super) const ZERO_ADDS_NOTHING: Law = Law {
    name: "zero_adds_nothing",
    statement: "where x is 0 the result is y",
    change: |case, inputs, _| {
        let [x, _] = binary(case);
        inputs.tensors[x].fill(0.0);
        true
    },
    holds: |case, _, after| {
        let [_, y] = binary(case);
        let unsigned = |values: &[f64]| values.iter().map(|v| v + 0.0).collect::<Vec<_>>();
        same(&unsigned(after.inputs.of(y)), &unsigned(&after.outputs[0]))
    },
};

/// Positions of the two operands of a binary formula.
fn binary(case: &Case) -> [usize; 2] {
    let variant = Variant::of(case);
    [variant.position(2, 0), variant.position(2, 1)]
}

/// Whether two outputs are the same bits.
fn same(want: &[f64], got: &[f64]) -> Result<(), String> {
    match (0..want.len()).find(|&i| want[i].to_bits() != got[i].to_bits()) {
        Some(i) => Err(format!("element {i} is {:e}, not {:e}", got[i], want[i])),
        None => Ok(()),
    }
}
