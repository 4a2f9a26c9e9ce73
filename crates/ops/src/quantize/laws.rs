//! Laws of quantisation: what must hold between two runs, whatever the right answer is.

use super::definition::Plan;
use proofmark_contract::{Law, Observed};

pub(super) const FORWARD_LAWS: &[Law] = &[
    Law {
        name: "scale_free",
        statement: "doubling x keeps every code and zero and doubles the scales",
        change: |case, inputs, _| {
            let tiny = 2f64.powi(-100);
            let is_safe = |x: &f64| *x == 0.0 || (tiny..1e30).contains(&x.abs());
            let applies = !Plan::of(case).is_unit && inputs.of(0).iter().all(is_safe);
            inputs.tensors[0].iter_mut().for_each(|x| *x *= 2.0);
            applies
        },
        holds: |_, before, after| {
            for output in 0..before.outputs.len() {
                relate(before, after, output, if output == 1 { 2.0 } else { 1.0 })?;
            }
            Ok(())
        },
    },
    Law {
        name: "odd",
        statement: "negating x negates the codes of a symmetric group and keeps its scale",
        change: |case, inputs, _| {
            inputs.tensors[0].iter_mut().for_each(|x| *x = -*x);
            Plan::of(case).is_symmetric
        },
        holds: |_, before, after| {
            for output in 0..before.outputs.len() {
                relate(before, after, output, if output == 0 { -1.0 } else { 1.0 })?;
            }
            Ok(())
        },
    },
];

pub(super) const BACKWARD_LAWS: &[Law] = &[Law {
    name: "linear_in_scales",
    statement: "doubling the scales doubles every element, to the bit",
    change: |case, inputs, _| {
        let is_unit = Plan::of(case).is_unit;
        if !is_unit {
            inputs.tensors[1].iter_mut().for_each(|scale| *scale *= 2.0);
        }
        !is_unit
    },
    holds: |_, before, after| relate(before, after, 0, 2.0),
}];

/// Whether an output is `factor` times what it was before.
fn relate(
    before: Observed<'_>,
    after: Observed<'_>,
    output: usize,
    factor: f64,
) -> Result<(), String> {
    let pairs = before.outputs[output].iter().zip(&after.outputs[output]);
    for (i, (&old, &new)) in pairs.enumerate() {
        let is_same = factor * old == new || old.is_nan() && new.is_nan();
        if !is_same {
            return Err(format!("element {i} of output {output} was {old}, became {new}"));
        }
    }
    Ok(())
}
