//! Laws of binary elementwise ops, to the bit.

use super::definition::Variant;
use proofmark_contract::Law;
use proofmark_schema::Case;

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

/// Sums: `-0` is the neutral element for every `a`; `+0` is not, for it turns `-0` over.
pub(super) const MINUS_ZERO_IS_NEUTRAL: Law = Law {
    name: "minus_zero_is_neutral",
    statement: "a + -0 is a, to the bit",
    change: |case, inputs, _| {
        let [first, second] = binary(case);
        inputs.tensors[second].fill(-0.0);
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
