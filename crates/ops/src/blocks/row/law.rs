//! The law of ops that treat each row alone: no row's output depends on another row.

use proofmark_contract::{Law, Observed, Values};
use proofmark_schema::Case;

/// Changing one row of operand 0 changes no bit of the other rows of output 0.
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
    let rows = before.outputs[0].len() / length;
    for row in 0..rows {
        let of = |values: &[f64]| bits(&values[row * length..][..length]);
        let is_same_input = of(before.inputs.of(0)) == of(after.inputs.of(0));
        if is_same_input && of(&before.outputs[0]) != of(&after.outputs[0]) {
            return Err(format!("row {row} of {rows} changed although its input did not"));
        }
    }
    Ok(())
}
