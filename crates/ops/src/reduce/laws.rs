//! The laws of reductions, on any axis.

use super::definition::{Over, Problem};
use crate::blocks::row::{room, same_bits};
use proofmark_contract::{Law, Want};
use proofmark_tensor::round_to;

/// Changing the terms of one output changes no bit of the others.
pub(super) const OUTPUTS_ARE_INDEPENDENT: Law = Law {
    name: "outputs_are_independent",
    statement: "changing the terms of one output leaves every other output's bits as they were",
    change: |case, inputs, seed| {
        let problem = Problem::of(case);
        let (outputs, terms) = (problem.outputs(), problem.terms());
        if outputs < 2 || terms == 0 {
            return false;
        }
        let output = seed as usize % outputs;
        // Halved and negated: representable, another sum and another largest.
        (0..terms).for_each(|term| inputs.tensors[0][problem.flat(output, term)] *= -0.5);
        true
    },
    holds: |case, before, after| {
        let problem = Problem::of(case);
        let is_same = |&output: &usize| {
            let of = |x: &[f64], term| x[problem.flat(output, term)];
            let (old, new) = (before.inputs.of(0), after.inputs.of(0));
            (0..problem.terms()).all(|term| of(old, term) == of(new, term))
        };
        let (old, new) = (&before.outputs[0], &after.outputs[0]);
        let moved = |&output: &usize| old[output].to_bits() != new[output].to_bits();
        match (0..problem.outputs()).filter(is_same).find(moved) {
            Some(output) => Err(format!("output {output} changed although its terms did not")),
            None => Ok(()),
        }
    },
};

/// Negating x keeps a sum of squares.
pub(super) const EVEN: Law = Law {
    name: "even",
    statement: "negating x changes no bit",
    change: |_, inputs, _| {
        inputs.tensors[0].iter_mut().for_each(|x| *x = -*x);
        true
    },
    holds: |_, before, after| same_bits(before, after, |_, y| y),
};

/// Doubling x doubles the largest.
pub(super) const DOUBLES: Law = Law {
    name: "doubles",
    statement: "doubling x doubles y, to the bit",
    change: |_, inputs, _| {
        inputs.tensors[0].iter_mut().for_each(|x| *x *= 2.0);
        true
    },
    holds: |_, before, after| same_bits(before, after, |_, y| 2.0 * y),
};

/// Doubling x moves no place.
pub(super) const SCALE_FREE: Law = Law {
    name: "scale_free",
    statement: "doubling x changes no place",
    holds: |_, before, after| same_bits(before, after, |_, y| y),
    ..DOUBLES
};

/// Turning x around turns places around, where the largest is met once.
pub(super) const PLACES_TURN: Law = Law {
    name: "places_turn",
    statement: "with the terms in reverse order the place counts from the other end",
    change: |case, inputs, _| {
        let problem = Problem::of(case);
        turn(&problem, &mut inputs.tensors[0]);
        problem.terms() > 1
    },
    holds: |case, before, after| {
        let (problem, x) = (Problem::of(case), before.inputs.of(0));
        for (output, (&old, &new)) in before.outputs[0].iter().zip(&after.outputs[0]).enumerate() {
            let terms = (0..problem.terms()).map(|term| x[problem.flat(output, term)]);
            let largest = terms.clone().fold(f64::NEG_INFINITY, f64::max);
            let last = problem.terms() as f64 - 1.0;
            if terms.filter(|&x| x == largest).count() == 1 && new != last - old {
                return Err(format!("place {old} of output {output} became {new}, of {last}"));
            }
        }
        Ok(())
    },
};

/// The first of several NaNs wins.
pub(super) const FIRST_NAN_WINS: Law = Law {
    name: "first_nan_wins",
    statement: "with NaN from the middle on, the place is the middle",
    change: |case, inputs, _| {
        let problem = Problem::of(case);
        let middle = problem.terms() / 2;
        for output in 0..problem.outputs() {
            for term in middle..problem.terms() {
                inputs.tensors[0][problem.flat(output, term)] = f64::NAN;
            }
        }
        true
    },
    holds: |case, before, after| {
        let middle = (Problem::of(case).terms() / 2) as f64;
        same_bits(before, after, |_, _| middle)
    },
};

/// The order of terms does not matter but for rounding.
pub(super) const ORDER_FREE: Law = Law {
    name: "order_free",
    statement: "with the terms in reverse order y stays within the error bound",
    change: PLACES_TURN.change,
    holds: |case, before, after| stays(case, before, after),
};

/// Adding a constant keeps a variance.
pub(super) const SHIFT_FREE: Law = Law {
    name: "shift_free",
    statement: "adding a constant to x, where that is exact, leaves y within the error bound",
    change: |case, inputs, seed| {
        let constant = [64.0, -64.0][(seed % 2) as usize];
        let is_exact = |x: &f64| round_to(case.dtype, x + constant) - constant == *x;
        let applies = inputs.of(0).iter().all(is_exact);
        inputs.tensors[0].iter_mut().for_each(|x| *x += constant);
        applies
    },
    holds: |case, before, after| stays(case, before, after),
};

fn turn(problem: &Problem, x: &mut [f64]) {
    let (old, last) = (x.to_vec(), problem.terms().saturating_sub(1));
    // All terms of all outputs are all elements, each once.
    let outputs = if problem.over == Over::All { 1 } else { problem.outputs() };
    for (output, term) in (0..outputs).flat_map(|o| (0..=last).map(move |term| (o, term))) {
        if let Some(x) = x.get_mut(problem.flat(output, term)) {
            *x = old[problem.flat(output, last - term)];
        }
    }
}

fn stays(
    case: &proofmark_terms::Case,
    before: proofmark_contract::Observed<'_>,
    after: proofmark_contract::Observed<'_>,
) -> Result<(), String> {
    let op = crate::find(&case.op).expect("the law is of an op").op;
    let truth = |inputs| op.oracle(case, inputs, 0, &Want::all());
    let (old_truth, new_truth) = (truth(before.inputs), truth(after.inputs));
    for (i, (&old, &new)) in before.outputs[0].iter().zip(&after.outputs[0]).enumerate() {
        let scale = old_truth.scale[i].max(new_truth.scale[i]);
        if (old - new).abs() > room(op, case, old.abs().max(new.abs()), scale) {
            return Err(format!("output {i} was {old:e} and became {new:e}"));
        }
    }
    Ok(())
}
