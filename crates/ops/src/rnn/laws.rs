//! Laws of recurrent layers: what must hold between two runs, whatever the right answer is.

use super::definition::Problem;
use proofmark_contract::{Law, Observed, Values};
use proofmark_terms::Case;

/// All laws.
pub(super) static LAWS: &[Law] = &[
    Law {
        name: "later_steps_do_not_matter",
        statement: "another last input leaves the outputs of all steps before to the bit",
        change: |case, inputs, _| negate(case, inputs, |of, step, _| step + 1 == of.steps),
        holds: |case, before, after| stay(case, before, after, |of, step, _| step + 1 < of.steps),
    },
    Law {
        name: "sequences_are_independent",
        statement: "another last sequence leaves the outputs of the others to the bit",
        change: |case, inputs, _| {
            negate(case, inputs, |of, _, b| of.batch > 1 && b + 1 == of.batch)
        },
        holds: |case, before, after| stay(case, before, after, |of, _, b| b + 1 < of.batch),
    },
    Law {
        name: "the_last_output_is_the_last_state",
        statement: "hn is the output of the last step to the bit",
        change: |case, _, _| Problem::of(case).steps > 0,
        holds: last_is_last,
    },
];

/// Negates the inputs of some steps and sequences; whether there were any.
fn negate(case: &Case, inputs: &mut Values, which: fn(Problem, usize, usize) -> bool) -> bool {
    let of = Problem::of(case);
    let mut any = false;
    for row in 0..of.steps * of.batch {
        if which(of, row / of.batch, row % of.batch) {
            let row = &mut inputs.tensors[0][row * of.inputs..][..of.inputs];
            row.iter_mut().for_each(|value| *value = -*value);
            any = true;
        }
    }
    any
}

/// Whether the outputs of some steps and sequences are the same in both runs.
fn stay(
    case: &Case,
    before: Observed<'_>,
    after: Observed<'_>,
    which: fn(Problem, usize, usize) -> bool,
) -> Result<(), String> {
    let of = Problem::of(case);
    for row in 0..of.steps * of.batch {
        let (step, sequence) = (row / of.batch, row % of.batch);
        let own = |run: Observed<'_>| run.outputs[0][row * of.units..][..of.units].to_vec();
        if which(of, step, sequence) && own(before) != own(after) {
            return Err(format!("step {step} of sequence {sequence} changed"));
        }
    }
    Ok(())
}

fn last_is_last(case: &Case, _before: Observed<'_>, after: Observed<'_>) -> Result<(), String> {
    let of = Problem::of(case);
    let last = &after.outputs[0][(of.steps - 1) * of.batch * of.units..];
    match last.iter().zip(&after.outputs[1]).position(|(y, hn)| y != hn) {
        Some(at) => {
            Err(format!("element {at} is {} in y, {} in hn", last[at], after.outputs[1][at]))
        }
        None => Ok(()),
    }
}
