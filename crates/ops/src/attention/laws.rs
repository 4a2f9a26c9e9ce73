//! Laws of attention: what must hold between two runs, whatever the right answer is.

use super::definition::{Attention, KEYS, Mask, Problem, QUERIES, VALUES};
use super::oracle;
use crate::blocks::row::ROWS_ARE_INDEPENDENT;
use proofmark_contract::{Law, Observed, Op, Truth, Values, Want};
use proofmark_tensor::mix;
use proofmark_terms::{Case, DType};

/// All laws of attention. The first says that queries are independent.
pub(super) const LAWS: &[Law] = &[
    ROWS_ARE_INDEPENDENT,
    Law {
        name: "ones",
        statement: "where every value is 1, so is every result of a query that sees a key",
        change: |case, inputs, _| {
            inputs.tensors[VALUES].fill(1.0);
            !is_empty(case)
        },
        holds: |case, _, after| is_right(case, after),
    },
    Law {
        name: "order_of_keys",
        statement: "without a mask, keys and values in reverse give the same result",
        change: reverse_keys,
        holds: result_stays,
    },
    Law {
        name: "truncation",
        statement: "keys that a query does not see change no bit of its result",
        change: change_later_keys,
        holds: who_sees_no_change_is_unchanged,
    },
    Law {
        name: "shared_keys",
        statement: "heads that share keys and have the same queries give the same result",
        change: repeat_queries_in_groups,
        holds: heads_of_a_group_agree,
    },
    Law {
        name: "nan_in_a_value",
        statement: "NaN in a value fills its column in the rows that see it, and no other column",
        change: |case, inputs, _| {
            let problem = Problem::of(case);
            if is_empty(case) {
                return false;
            }
            for head in inputs.tensors[VALUES].chunks_exact_mut(problem.keys * problem.width) {
                head[(problem.keys - 1) * problem.width + problem.width / 2] = f64::NAN;
            }
            true
        },
        holds: nan_fills_its_column,
    },
    Law {
        name: "scores_that_are_not_finite",
        statement: "a score of -infinity has no weight; +infinity or NaN makes its row NaN",
        change: |case, inputs, seed| {
            let applies = !is_empty(case);
            if applies {
                let (operand, value) = [
                    (QUERIES, f64::NAN),
                    (KEYS, f64::NAN),
                    (KEYS, f64::INFINITY),
                    (KEYS, f64::NEG_INFINITY),
                ][(seed % 4) as usize];
                inputs.tensors[operand][0] = value;
            }
            applies
        },
        holds: |case, _, after| is_right(case, after),
    },
    Law {
        name: "needle_first",
        statement: "if the first key has all the weight, its value is the result",
        change: |case, inputs, _| plant_needle(case, inputs, |_| 0),
        holds: |case, _, after| is_right(case, after),
    },
    Law {
        name: "needle_last",
        statement: "if the last key has all the weight, its value is the result",
        change: |case, inputs, _| plant_needle(case, inputs, |keys| keys - 1),
        holds: |case, _, after| is_right(case, after),
    },
    Law {
        name: "needle_at_edge",
        statement: "if a key beside the edge of a tile has all the weight, its value is the result",
        change: |case, inputs, seed| {
            const EDGES: [usize; 8] = [15, 16, 31, 32, 63, 64, 127, 128];
            plant_needle(case, inputs, |keys| {
                EDGES[(mix(seed, 0, keys as u64) % EDGES.len() as u64) as usize] % keys
            })
        },
        holds: |case, _, after| is_right(case, after),
    },
];

/// Rows of a result that a law looks at: all of a small one, evenly spread ones of a large one.
const MOST_ROWS: usize = 64;

fn is_empty(case: &Case) -> bool {
    let problem = Problem::of(case);
    problem.rows() * problem.keys * problem.width == 0
}

fn wanted_rows(problem: &Problem) -> Vec<usize> {
    let step = problem.rows().div_ceil(MOST_ROWS).max(1);
    (0..problem.rows()).rev().step_by(step).collect()
}

/// The wanted rows with the truth about each. Laws hold for every contract, so in 16 bits the
/// scales include what is forgiven to kernels that round the weights.
fn truths(case: &Case, run: Observed<'_>) -> (Vec<usize>, Truth) {
    let problem = Problem::of(case);
    let rows = wanted_rows(&problem);
    let want = Want::some(Some(rows.clone()), None);
    let mut truth = oracle::truth(&problem, case.dtype, run.inputs, &want);
    if case.dtype != DType::F32 {
        truth.scale.iter_mut().zip(&truth.forgiven).for_each(|(scale, more)| *scale += more);
    }
    (rows, truth)
}

/// How far apart two right results of an element may be.
fn room(case: &Case, value: f64, scale: f64) -> f64 {
    case.dtype.ulp(value) + 2.0 * Attention.limits(case).q_max * DType::F32.unit() * scale
}

fn is_right(case: &Case, run: Observed<'_>) -> Result<(), String> {
    let width = Problem::of(case).width;
    let (rows, truth) = truths(case, run);
    for (at, (&want, &scale)) in truth.value.iter().zip(&truth.scale).enumerate() {
        let (row, column) = (rows[at / width], at % width);
        let got = run.outputs[0][row * width + column];
        let is_near =
            (got - want).abs() <= room(case, want, scale) || got.is_nan() && want.is_nan();
        if !is_near {
            return Err(format!("row {row} column {column} is {got:e}, not {want:e}"));
        }
    }
    Ok(())
}

fn reverse_keys(case: &Case, inputs: &mut Values, _seed: u64) -> bool {
    let problem = Problem::of(case);
    if is_empty(case) || problem.mask != Mask::None {
        return false;
    }
    let width = problem.width;
    for operand in [KEYS, VALUES] {
        for head in inputs.tensors[operand].chunks_exact_mut(problem.keys * width) {
            head.reverse();
            head.chunks_exact_mut(width).for_each(<[f64]>::reverse);
        }
    }
    true
}

fn result_stays(case: &Case, before: Observed<'_>, after: Observed<'_>) -> Result<(), String> {
    let width = Problem::of(case).width;
    let (rows, truth) = truths(case, before);
    for (at, &scale) in truth.scale.iter().enumerate() {
        let index = rows[at / width] * width + at % width;
        let (old, new) = (before.outputs[0][index], after.outputs[0][index]);
        let is_near = (old - new).abs() <= 2.0 * room(case, old, scale);
        if !is_near {
            return Err(format!("element {index} was {old:e} and became {new:e}"));
        }
    }
    Ok(())
}

/// The keys from here on are changed: those that the middle query does not see.
fn first_changed(problem: &Problem) -> usize {
    problem.visible(problem.queries / 2).end
}

fn change_later_keys(case: &Case, inputs: &mut Values, _seed: u64) -> bool {
    let problem = Problem::of(case);
    if is_empty(case) || problem.mask == Mask::None || first_changed(&problem) == problem.keys {
        return false;
    }
    for operand in [KEYS, VALUES] {
        for head in inputs.tensors[operand].chunks_exact_mut(problem.keys * problem.width) {
            let later = &mut head[first_changed(&problem) * problem.width..];
            later.iter_mut().for_each(|value| *value *= -4.0);
        }
    }
    true
}

fn who_sees_no_change_is_unchanged(
    case: &Case,
    before: Observed<'_>,
    after: Observed<'_>,
) -> Result<(), String> {
    let problem = Problem::of(case);
    for row in 0..problem.rows() {
        let (query, _) = problem.place(row);
        if problem.visible(query).end > first_changed(&problem) {
            continue;
        }
        let of = |run: &Observed<'_>| -> Vec<u64> {
            let row = &run.outputs[0][row * problem.width..][..problem.width];
            row.iter().map(|value| value.to_bits()).collect()
        };
        if of(&before) != of(&after) {
            return Err(format!("row {row}, query {query}, changed"));
        }
    }
    Ok(())
}

fn nan_fills_its_column(
    case: &Case,
    _before: Observed<'_>,
    after: Observed<'_>,
) -> Result<(), String> {
    let problem = Problem::of(case);
    for row in wanted_rows(&problem) {
        let (query, _) = problem.place(row);
        let sees = problem.visible(query).contains(&(problem.keys - 1));
        for (column, o) in
            after.outputs[0][row * problem.width..][..problem.width].iter().enumerate()
        {
            let is_due = column == problem.width / 2;
            if o.is_nan() && !is_due || sees && is_due && !o.is_nan() {
                return Err(format!("row {row} column {column} is {o:e}"));
            }
        }
    }
    Ok(())
}

fn repeat_queries_in_groups(case: &Case, inputs: &mut Values, _seed: u64) -> bool {
    let problem = Problem::of(case);
    let head = problem.queries * problem.width;
    if is_empty(case) || problem.group() == 1 {
        return false;
    }
    for group in inputs.tensors[QUERIES].chunks_exact_mut(problem.group() * head) {
        let (first, others) = group.split_at_mut(head);
        others.chunks_exact_mut(head).for_each(|other| other.copy_from_slice(first));
    }
    true
}

fn heads_of_a_group_agree(
    case: &Case,
    _before: Observed<'_>,
    after: Observed<'_>,
) -> Result<(), String> {
    let problem = Problem::of(case);
    let (head, width) = (problem.queries * problem.width, problem.width);
    let (rows, truth) = truths(case, after);
    for (at, &scale) in truth.scale.iter().enumerate() {
        let index = rows[at / width] * width + at % width;
        let first = index / (head * problem.group()) * head * problem.group() + index % head;
        let (one, other) = (after.outputs[0][first], after.outputs[0][index]);
        let is_near = (one - other).abs() <= 2.0 * room(case, one, scale);
        if !is_near {
            return Err(format!("elements {first} and {index} are {one:e} and {other:e}"));
        }
    }
    Ok(())
}

/// Gives one key of each head a score of about 40 from every query, the others small ones.
fn plant_needle(case: &Case, inputs: &mut Values, key: impl Fn(usize) -> usize) -> bool {
    const SCORE: f64 = 40.0;
    let problem = Problem::of(case);
    if is_empty(case) {
        return false;
    }
    let width = problem.width;
    inputs.tensors[QUERIES].chunks_exact_mut(width).for_each(|query| query[0] = 4.0);
    for head in inputs.tensors[KEYS].chunks_exact_mut(problem.keys * width) {
        head.iter_mut().for_each(|value| *value /= 64.0);
        head[key(problem.keys) * width] = SCORE / (4.0 * problem.scale);
    }
    true
}
