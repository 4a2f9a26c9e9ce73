//! Laws of products: what must hold between two runs, whatever the right answer is.

use super::definition::{ACTIVATION, LEFT, Matmul, RIGHT, Shape, bias_of, output_dtype};
use proofmark_contract::{Law, Observed, Op, Values};
use proofmark_tensor::mix;
use proofmark_terms::{Case, DType};

/// All laws of matmul.
pub(super) static LAWS: &[Law] = &[
    Law {
        name: "linear_in_a",
        statement: "without activation, adding A' to A adds A'B to C (exactly on integers)",
        change: add_one_term_in_each_row,
        holds: result_moves_by_the_change,
    },
    Law {
        name: "order_of_terms",
        statement: "the same rotation of A's columns and B's rows leaves C (exactly on integers)",
        change: rotate_terms,
        holds: result_stays,
    },
    Law {
        name: "rows_are_independent",
        statement: "negating one row of A negates that row of C and leaves the others",
        change: negate_one_row,
        holds: result_moves_by_the_change,
    },
    Law {
        name: "zero_times_nan_is_nan",
        statement: "a NaN in B reaches its column of C through a zero in A, and no other column",
        change: plant_zero_and_nan,
        holds: nan_fills_its_column,
    },
];

/// Elements a law looks at: all of a small result, evenly spread ones of a large one.
const SAMPLES: usize = 512;

fn is_empty(shape: Shape) -> bool {
    shape.batches * shape.m * shape.n * shape.k == 0
}

/// Whether results are sums, of which the linear laws speak.
fn is_linear(case: &Case) -> bool {
    ACTIVATION.word(case) == "none"
}

fn add_one_term_in_each_row(case: &Case, inputs: &mut Values, seed: u64) -> bool {
    let shape = Shape::of(case);
    if is_empty(shape) || !is_linear(case) {
        return false;
    }
    for row in 0..shape.batches * shape.m {
        let p = (mix(seed, 0, row as u64) % shape.k as u64) as usize;
        inputs.tensors[LEFT][row * shape.k + p] += 1.0;
    }
    true
}

fn rotate_terms(case: &Case, inputs: &mut Values, seed: u64) -> bool {
    let shape = Shape::of(case);
    if is_empty(shape) || shape.k < 2 || !is_linear(case) {
        return false;
    }
    let by = 1 + (mix(seed, 0, 0) % (shape.k as u64 - 1)) as usize;
    for row in inputs.tensors[LEFT].chunks_exact_mut(shape.k) {
        row.rotate_left(by);
    }
    let (unit, step) =
        if shape.is_transposed { (shape.k, 1) } else { (shape.k * shape.n, shape.n) };
    for block in inputs.tensors[RIGHT].chunks_exact_mut(unit) {
        block.rotate_left(by * step);
    }
    true
}

fn negate_one_row(case: &Case, inputs: &mut Values, seed: u64) -> bool {
    let shape = Shape::of(case);
    if is_empty(shape) || !is_linear(case) {
        return false;
    }
    let row = (mix(seed, 0, 0) % (shape.batches * shape.m) as u64) as usize;
    inputs.tensors[LEFT][row * shape.k..][..shape.k].iter_mut().for_each(|value| *value = -*value);
    true
}

/// The term and column that [`plant_zero_and_nan`] uses, in the last batch's last row.
fn planted(shape: Shape) -> (usize, usize) {
    (shape.k / 2, shape.n / 2)
}

fn plant_zero_and_nan(case: &Case, inputs: &mut Values, _seed: u64) -> bool {
    let shape = Shape::of(case);
    if is_empty(shape) {
        return false;
    }
    let (p, column) = planted(shape);
    let row = shape.batches * shape.m - 1;
    inputs.tensors[LEFT][row * shape.k + p] = 0.0;
    inputs.tensors[RIGHT][shape.right_index(shape.batches - 1, p, column)] = f64::NAN;
    true
}

fn nan_fills_its_column(
    case: &Case,
    _before: Observed<'_>,
    after: Observed<'_>,
) -> Result<(), String> {
    let shape = Shape::of(case);
    let (_, column) = planted(shape);
    let row = shape.batches * shape.m - 1;
    for (at, value) in after.outputs[0][row * shape.n..][..shape.n].iter().enumerate() {
        if value.is_nan() != (at == column) {
            return Err(format!(
                "row {row} column {at} is {value}; NaN belongs to column {column}"
            ));
        }
    }
    Ok(())
}

fn result_stays(case: &Case, before: Observed<'_>, after: Observed<'_>) -> Result<(), String> {
    each_sample(case, |row, column, at| {
        let allowed = allowance(case, after.inputs, row, column);
        agree(row, column, after.outputs[0][at], before.outputs[0][at], allowed)
    })
}

/// C' − C = (A' − A)·B, with the difference of the inputs as they were given.
fn result_moves_by_the_change(
    case: &Case,
    before: Observed<'_>,
    after: Observed<'_>,
) -> Result<(), String> {
    let shape = Shape::of(case);
    let (old, new) = (before.inputs.of(LEFT), after.inputs.of(LEFT));
    let right = after.inputs.of(RIGHT);
    each_sample(case, |row, column, at| {
        let change: f64 = (0..shape.k)
            .filter(|p| old[row * shape.k + p] != new[row * shape.k + p])
            .map(|p| {
                let term = new[row * shape.k + p] - old[row * shape.k + p];
                term * right[shape.right_index(row / shape.m, p, column)]
            })
            .sum();
        let allowed = allowance(case, before.inputs, row, column)
            + allowance(case, after.inputs, row, column);
        agree(row, column, after.outputs[0][at], before.outputs[0][at] + change, allowed)
    })
}

fn each_sample(
    case: &Case,
    check: impl Fn(usize, usize, usize) -> Result<(), String>,
) -> Result<(), String> {
    let shape = Shape::of(case);
    let elements = shape.batches * shape.m * shape.n;
    // An odd step visits every column of the usual even widths in turn.
    let step = (elements / SAMPLES).max(1) | 1;
    (0..elements).step_by(step).try_for_each(|at| check(at / shape.n, at % shape.n, at))
}

/// What two right results may differ by: nothing if every sum is exact, else twice the gate's
/// limit and a rounding each.
fn allowance(case: &Case, inputs: &Values, row: usize, column: usize) -> f64 {
    let shape = Shape::of(case);
    let right = |p: usize| inputs.of(RIGHT)[shape.right_index(row / shape.m, p, column)];
    let left = &inputs.of(LEFT)[row * shape.k..][..shape.k];
    let bias = bias_of(case).map_or(0.0, |operand| inputs.of(operand)[column]);
    let terms: f64 = left.iter().enumerate().map(|(p, a)| (a * right(p)).abs()).sum();
    let scale = terms + bias.abs();
    let output = output_dtype(case);
    let is_whole = bias.fract() == 0.0
        && left.iter().enumerate().all(|(p, a)| a.fract() == 0.0 && right(p).fract() == 0.0);
    if is_whole && scale <= 2f64.powi(output.significand_bits() as i32) {
        return 0.0;
    }
    let limit = Matmul.limits(case).structured * (1.0 + (shape.k as f64).sqrt() / 4.0);
    2.0 * limit * DType::F32.unit() * scale + output.ulp(scale)
}

fn agree(row: usize, column: usize, got: f64, want: f64, allowed: f64) -> Result<(), String> {
    if (got - want).abs() <= allowed {
        return Ok(());
    }
    Err(format!("row {row} column {column}: {got}, not {want} (within {allowed:e})"))
}
