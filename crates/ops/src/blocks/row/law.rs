//! Laws that several ops on rows obey.

use proofmark_contract::{Law, Observed, Op, Values, Want};
use proofmark_tensor::round_to;
use proofmark_terms::{Case, DType};

/// Changing one row of operand 0 changes no bit of the other rows of any output of its shape.
///
/// For ops with an axis `d` of row lengths in which operand 0 and output 0 have the same shape.
pub const ROWS_ARE_INDEPENDENT: Law = Law {
    name: "rows_are_independent",
    statement: "changing one row leaves every other row's bits as they were",
    change: change_one_row,
    holds: other_rows_are_unchanged,
};

fn row_length(case: &Case) -> usize {
    case.size("d").unwrap_or(0) as usize
}

fn change_one_row(case: &Case, inputs: &mut Values, seed: u64) -> bool {
    let length = row_length(case);
    let x = &mut inputs.tensors[0];
    if length == 0 || x.len() < 2 * length {
        return false;
    }
    let row = (seed % (x.len() / length) as u64) as usize;
    // Halved and negated: representable, another maximum and another sum.
    x[row * length..][..length].iter_mut().for_each(|value| *value *= -0.5);
    true
}

fn other_rows_are_unchanged(
    case: &Case,
    before: Observed<'_>,
    after: Observed<'_>,
) -> Result<(), String> {
    let length = row_length(case);
    let bits = |row: &[f64]| -> Vec<u64> { row.iter().map(|value| value.to_bits()).collect() };
    let elements = before.inputs.of(0).len();
    for (old, new) in before.outputs.iter().zip(after.outputs) {
        for row in 0..if old.len() == elements { elements / length } else { 0 } {
            let of = |values: &[f64]| bits(&values[row * length..][..length]);
            let is_same_input = of(before.inputs.of(0)) == of(after.inputs.of(0));
            if is_same_input && of(old) != of(new) {
                return Err(format!("row {row} changed although its input did not"));
            }
        }
    }
    Ok(())
}

/// Rotating every operand along the row rotates the outputs.
pub(crate) const fn columns_follow<O: Op + Default>() -> Law {
    Law {
        name: "columns_follow",
        statement: "rotating the operands along the row rotates the result, within the error bound",
        change: |case, inputs, _| {
            let length = row_length(case);
            for tensor in &mut inputs.tensors {
                tensor.chunks_mut(length.max(1)).for_each(|row| row.rotate_left(1));
            }
            length > 1
        },
        holds: |case, before, after| {
            moves::<O>(case, before, after, |col, length| (col + length - 1) % length)
        },
    }
}

/// Adding a constant to operand 0 leaves the first output as it was.
pub(crate) const fn shift_free<O: Op + Default>() -> Law {
    Law {
        name: "shift_free",
        statement: "adding a constant to x, where that is exact, leaves y within the error bound",
        change: |case, inputs, seed| {
            let constant = [64.0, -64.0][(seed % 2) as usize];
            let is_exact = |x: &f64| round_to(case.dtype, x + constant) - constant == *x;
            let applies = inputs.of(0).iter().all(is_exact);
            inputs.tensors[0].iter_mut().for_each(|x| *x += constant);
            applies
        },
        holds: stays::<O>,
    }
}

/// Whether the first output is the same within both error bounds.
fn stays<O: Op + Default>(
    case: &Case,
    before: Observed<'_>,
    after: Observed<'_>,
) -> Result<(), String> {
    let op = O::default();
    let truth = |run: Observed<'_>| op.oracle(case, run.inputs, 0, &Want::all());
    let (old_truth, new_truth) = (truth(before), truth(after));
    for (i, (&old, &new)) in before.outputs[0].iter().zip(&after.outputs[0]).enumerate() {
        let scale = old_truth.scale[i].max(new_truth.scale[i]);
        if (old - new).abs() > room(&op, case, old.abs().max(new.abs()), scale) {
            return Err(format!("element {i} was {old:e} and became {new:e}"));
        }
    }
    Ok(())
}

/// Whether each element of every output is found again at the column that `to` gives, within the
/// distance that two right results may have.
pub(crate) fn moves<O: Op + Default>(
    case: &Case,
    before: Observed<'_>,
    after: Observed<'_>,
    to: fn(usize, usize) -> usize,
) -> Result<(), String> {
    let (op, length) = (O::default(), row_length(case));
    for (k, old) in before.outputs.iter().enumerate() {
        let truth = op.oracle(case, before.inputs, k, &Want::all());
        for (i, &old) in old.iter().enumerate() {
            let moved = i / length * length + to(i % length, length);
            let new = after.outputs[k][moved];
            if (old - new).abs() > room(&op, case, old.abs().max(new.abs()), truth.scale[i]) {
                return Err(format!("element {i} is {old:e}, at its new place {new:e}"));
            }
        }
    }
    Ok(())
}

/// How far apart two right results of an element may be, both computed with error.
pub(crate) fn room(op: &dyn Op, case: &Case, value: f64, scale: f64) -> f64 {
    case.dtype.ulp(value) + 2.0 * op.limits(case).q_max * DType::F32.unit() * scale
}

/// Whether every element is the given function of its place and what it was; zeros may change sign.
pub(crate) fn same_bits(
    before: Observed<'_>,
    after: Observed<'_>,
    of: impl Fn(usize, f64) -> f64,
) -> Result<(), String> {
    for (old, new) in before.outputs.iter().zip(after.outputs) {
        for (i, (&old, &new)) in old.iter().zip(new).enumerate() {
            let is_same = of(i, old) == new || old.is_nan() && new.is_nan();
            if !is_same {
                return Err(format!("element {i} became {new:e}, not {:e}", of(i, old)));
            }
        }
    }
    Ok(())
}

/// Negating operand 0 negates every output.
pub(crate) const ODD: Law = Law {
    name: "odd",
    statement: "negating x negates y, to the bit",
    change: |_, inputs, _| {
        inputs.tensors[0].iter_mut().for_each(|x| *x = -*x);
        true
    },
    holds: |_, before, after| same_bits(before, after, |_, y| -y),
};

/// Negating a row of a product's left operand negates that row of the result and touches no other.
///
/// For products with axes `k` (terms) and `n` (columns of output 0).
pub(crate) const ODD_IN_ROWS: Law = Law {
    name: "odd_in_rows",
    statement: "negating the first row of operand 0 negates the first row of the result, no other",
    change: |case, inputs, _| {
        let k = case.size("k").unwrap_or(0) as usize;
        let Some(row) = inputs.tensors[0].get_mut(..k) else { return false };
        row.iter_mut().for_each(|a| *a = -*a);
        // The range of int8 is not symmetric.
        row.iter().all(|a| a.abs() < 128.0)
    },
    holds: |case, before, after| {
        let n = case.size("n").unwrap_or(0) as usize;
        same_bits(before, after, |at, y| if at < n { -y } else { y })
    },
};
