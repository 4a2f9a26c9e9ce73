//! Wrong products of vectors that the gate must refuse: each is right but for one slip.

use crate::blocks::made::typed;
use crate::blocks::stored::Stored;
use crate::flawed::stepped;
use proofmark_contract::{Call, KernelError, Mutant};
use proofmark_tensor::{bf16, f16};
use proofmark_terms::DType;

/// A slip on every element type.
const ALL: &[DType] = &[DType::F32, DType::Bf16, DType::F16];

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

/// The steps; a mutant replaces one.
#[derive(Clone, Copy)]
struct Steps {
    /// Whether the sum is written.
    writes: fn(usize, usize) -> bool,
    /// Whether the term counts.
    takes: fn(At) -> bool,
    /// Where y is read.
    y: fn(At) -> (usize, usize),
    /// The term.
    product: fn(f32, f32) -> f32,
    /// The sum with one more term.
    add: fn(f32, f32) -> f32,
    /// What the sum starts from, given the sum before.
    start: fn(f32) -> f32,
    /// What becomes of the sum.
    round: fn(f32) -> f32,
}

const RIGHT: Steps = Steps {
    writes: |_, _| true,
    takes: |_| true,
    y: |at| (at.row, at.term),
    product: |x, y| x * y,
    add: |sum, term| sum + term,
    start: |_| 0.0,
    round: |sum| sum,
};

/// The mutant of these steps.
fn flawed(call: &mut Call<'_>, steps: Steps) -> Result<(), KernelError> {
    typed!(call.case.dtype, run(call, steps))
}

/// Every mutant of this op.
pub(super) static MUTANTS: &[Mutant] = stepped! { flawed;
    "tail_dropped", ALL, "terms past the last whole vector of 16 are left out",
        Steps { takes: |at| at.term < at.length - at.length % 16, ..RIGHT };
    "last_term_missing", ALL, "the loop ends one term early",
        Steps { takes: |at| at.term + 1 < at.length, ..RIGHT };
    "chain_lost", ALL, "one of four accumulators of 16 lanes is not added",
        Steps { takes: |at| at.length < 64 || at.term / 16 % 4 != 3, ..RIGHT };
    "last_sum_unwritten", ALL, "the loop over rows ends early",
        Steps { writes: |row, rows| row + 1 < rows, ..RIGHT };
    "not_started_anew", ALL, "a row's sum starts from the one before",
        Steps { start: |before| before, ..RIGHT };
    "row_stride_ignored", ALL, "rows of y are taken to lie densely",
        Steps { y: as_if_dense, ..RIGHT };
    "row_zero_reused", ALL, "y always comes from its first row",
        Steps { y: |at| (0, at.term), ..RIGHT };
    "off_by_one_index", ALL, "y comes from the element after",
        Steps { y: |at| (at.row, (at.term + 1).min(at.length - 1)), ..RIGHT };
    "squares", ALL, "Σ x²", Steps { product: |x, _| x * x, ..RIGHT };
    "magnitudes", ALL, "Σ |x · y|", Steps { product: |x, y| (x * y).abs(), ..RIGHT };
    "sums_in_bf16", ALL, "every partial sum is rounded to bf16",
        Steps { add: |sum, term| narrowed(sum + term), ..RIGHT };
    "sums_in_f16", ALL, "every partial sum is rounded to f16",
        Steps { add: |sum, term| f16::from_f32(sum + term).to_f32(), ..RIGHT };
    "inputs_rounded_to_bf16", &[DType::F32, DType::F16], "operands lose bits first",
        Steps { product: |x, y| narrowed(x) * narrowed(y), ..RIGHT };
    "products_rounded_to_bf16", ALL, "products are stored in between",
        Steps { product: |x, y| narrowed(x * y), ..RIGHT };
    "result_rounded_to_bf16", ALL, "the sum is not f32",
        Steps { round: narrowed, ..RIGHT };
    "result_scaled", ALL, "the sum is a thousandth too large",
        Steps { round: |sum| sum * 1.001, ..RIGHT };
    "nan_passed_over", ALL, "terms that are NaN count as 0",
        Steps { add: |sum, term| if term.is_nan() { sum } else { sum + term }, ..RIGHT };
};

fn narrowed(value: f32) -> f32 {
    bf16::from_f32(value).to_f32()
}

fn as_if_dense(at: At) -> (usize, usize) {
    let offset = at.row * at.length + at.term;
    // Padding cannot be read through a view of rows; any other element is as wrong.
    (offset / at.stride, (offset % at.stride).min(at.length - 1))
}

fn run<T: Stored>(call: &mut Call<'_>, steps: Steps) -> Result<(), KernelError> {
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
