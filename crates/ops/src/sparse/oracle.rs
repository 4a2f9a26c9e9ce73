//! The slow truth of sparse matrices: sums of entries in f64, and places exactly.
#![forbid(unsafe_code)]

use super::convert::{Conversion, Way};
use super::definition::Problem;
use proofmark_contract::{Truth, Values, Want};

/// The row of each entry.
fn rows(is_coo: bool, places: &[f64]) -> Vec<usize> {
    if is_coo {
        return places.iter().map(|&row| row as usize).collect();
    }
    let of_row = |(row, ends): (usize, &[f64])| {
        std::iter::repeat_n(row, (ends[1] - ends[0]) as usize).collect::<Vec<_>>()
    };
    places.windows(2).enumerate().flat_map(of_row).collect()
}

/// The truth about a product; the scale is what passes through a sum.
pub(super) fn product(problem: &Problem, inputs: &Values, want: &Want) -> Truth {
    let (width, count) = (problem.columns(), problem.matrix.rows * problem.columns());
    let (values, x) = (inputs.of(2), inputs.of(3));
    let (mut sums, mut scales) = (vec![0.0; count], vec![0.0; count]);
    for (entry, row) in rows(problem.is_coo, inputs.of(0)).into_iter().enumerate() {
        let column = inputs.of(1)[entry] as usize;
        for j in 0..width {
            let term = values[entry] * x[column * width + j];
            sums[row * width + j] += term;
            scales[row * width + j] += term.abs();
        }
    }
    // A vector is one row of its elements.
    let (rows, cols) =
        if problem.width.is_some() { (count / width.max(1), width) } else { (1, count) };
    let indices = want.indices(rows, cols);
    let mut truth = Truth::with_capacity(indices.len());
    for i in indices {
        truth.push(sums[i], if scales[i].is_nan() { 0.0 } else { scales[i] });
    }
    truth
}

/// The truth about an output of a conversion: exact, so that nothing else is right.
pub(super) fn conversion(
    problem: &Conversion,
    inputs: &Values,
    output: usize,
    want: &Want,
) -> Truth {
    let all: Vec<f64> = match (problem.way, output) {
        (Way::ToCoo, 0) => rows(false, inputs.of(0)).into_iter().map(|row| row as f64).collect(),
        (Way::ToCoo, output) => inputs.of(output).to_vec(),
        (Way::ToCsr, 0) => {
            let mut pointers = vec![0.0; problem.matrix.rows + 1];
            inputs.of(0).iter().for_each(|&row| pointers[row as usize + 1] += 1.0);
            (1..pointers.len()).for_each(|row| pointers[row] += pointers[row - 1]);
            pointers
        }
        (Way::ToCsr, output) => {
            let mut order: Vec<usize> = (0..inputs.of(0).len()).collect();
            // Entries of one place stay in order.
            order.sort_by_key(|&i| (inputs.of(0)[i] as usize, inputs.of(1)[i] as usize));
            order.into_iter().map(|i| inputs.of(output)[i]).collect()
        }
    };
    let mut truth = Truth::default();
    for i in want.indices(1, all.len()) {
        truth.push(all[i], 0.0);
    }
    truth
}
