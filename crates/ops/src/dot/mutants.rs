//! Wrong products of vectors that the gate must refuse: each is right but for one slip.

use crate::blocks::made::typed;
use crate::blocks::stored::Stored;
use crate::flawed::{ALL, FINE, add_numbers, as_if_dense, mutants, narrowed, steps, whole_vectors};
use proofmark_contract::{Call, KernelError, Mutant};
use proofmark_tensor::f16;

/// What a slip may depend on.
#[derive(Clone, Copy)]
struct At {
    row: usize,
    /// The term.
    term: usize,
    length: usize,
    /// Row stride of y.
    stride: usize,
}

steps! { Steps, RIGHT;
    /// Whether the sum of a row, of all rows, is written.
    writes: fn(usize, usize) -> bool = |_, _| true,
    /// Whether the term counts.
    takes: fn(At) -> bool = |_| true,
    /// Where y is read.
    y: fn(At) -> (usize, usize) = |at| (at.row, at.term),
    /// The term.
    product: fn(f32, f32) -> f32 = |x, y| x * y,
    /// The sum with one more term.
    add: fn(f32, f32) -> f32 = |sum, term| sum + term,
    /// What the sum starts from, given the sum before.
    start: fn(f32) -> f32 = |_| 0.0,
    /// What becomes of the sum.
    round: fn(f32) -> f32 = |sum| sum,
}

/// Every mutant of this op.
pub(super) static MUTANTS: &[Mutant] = mutants! { run, Steps { ..RIGHT };
    "tail_dropped", ALL, "terms past the last whole vector of 16 are left out",
        takes: |at| at.term < whole_vectors(at.length);
    "last_term_missing", ALL, "the loop ends one term early", takes: |at| at.term + 1 < at.length;
    "chain_lost", ALL, "one of four accumulators of 16 lanes is not added",
        takes: |at| at.length < 64 || at.term / 16 % 4 != 3;
    "last_sum_unwritten", ALL, "the loop over rows ends early", writes: |row, rows| row + 1 < rows;
    "not_started_anew", ALL, "a row's sum starts from the one before", start: |before| before;
    "row_stride_ignored", ALL, "rows of y are taken to lie densely",
        y: |at| as_if_dense(at.row, at.term, at.length, at.stride);
    "row_zero_reused", ALL, "y always comes from its first row", y: |at| (0, at.term);
    "off_by_one_index", ALL, "y comes from the element after",
        y: |at| (at.row, (at.term + 1).min(at.length - 1));
    "squares", ALL, "Σ x²", product: |x, _| x * x;
    "magnitudes", ALL, "Σ |x · y|", product: |x, y| (x * y).abs();
    "sums_in_bf16", ALL, "every partial sum is rounded to bf16",
        add: |sum, term| narrowed(sum + term);
    "sums_in_f16", ALL, "every partial sum is rounded to f16",
        add: |sum, term| f16::from_f32(sum + term).to_f32();
    "inputs_rounded_to_bf16", FINE, "operands lose bits first",
        product: |x, y| narrowed(x) * narrowed(y);
    "products_rounded_to_bf16", ALL, "products are stored in between",
        product: |x, y| narrowed(x * y);
    "result_rounded_to_bf16", ALL, "the sum is not f32", round: narrowed;
    "result_scaled", ALL, "the sum is a thousandth too large", round: |sum| sum * 1.001;
    "nan_passed_over", ALL, "terms that are NaN count as 0", add: add_numbers;
};

fn run(call: &mut Call<'_>, steps: &Steps) -> Result<(), KernelError> {
    typed!(call.case.dtype, sums(call, steps))
}

fn sums<T: Stored>(call: &mut Call<'_>, steps: &Steps) -> Result<(), KernelError> {
    let (x, y) = (call.inputs[0].rows::<T>()?, call.inputs[1].rows::<T>()?);
    let (rows, length, stride) = (x.rows(), x.cols(), y.row_stride());
    let mut sum = 0.0;
    for (row, z) in call.outputs[0].slice_mut::<f32>()?.iter_mut().enumerate() {
        sum = (steps.start)(sum);
        for term in 0..length {
            let at = At { row, term, length, stride };
            if (steps.takes)(at) {
                let (i, j) = (steps.y)(at);
                let product = (steps.product)(x.row(row)[term].widen(), y.row(i)[j].widen());
                sum = (steps.add)(sum, product);
            }
        }
        if (steps.writes)(row, rows) {
            *z = (steps.round)(sum);
        }
    }
    Ok(())
}
