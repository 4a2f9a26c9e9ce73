//! Wrong reductions that the gate must refuse: the slips of all members once, then each one's own.

use super::definition::{Over, Problem};
use crate::flawed::{self, stepped};
use proofmark_contract::{Call, KernelError, Mutant};
use proofmark_tensor::{bf16, round_to};
use proofmark_terms::DType;

/// A slip on every element type.
const ALL: &[DType] = &[DType::F32, DType::Bf16, DType::F16];
/// A slip that fewer bits hide.
const FINE: &[DType] = &[DType::F32, DType::F16];
/// A slip in the last bits.
const SINGLE: &[DType] = &[DType::F32];
/// A slip in rounding to fewer bits.
const NARROW: &[DType] = &[DType::Bf16, DType::F16];

/// What a slip may depend on.
#[derive(Clone, Copy)]
struct At {
    problem: Problem,
    output: usize,
    term: usize,
}

/// The steps; a mutant replaces one.
#[derive(Clone, Copy)]
struct Steps {
    /// Rows of x are taken to lie densely.
    is_dense: bool,
    /// Whether the output is written.
    writes: fn(output: usize, outputs: usize) -> bool,
    /// Whether the term counts.
    takes: fn(At) -> bool,
    /// Where the term is read, padding not counted.
    place: fn(At) -> usize,
    /// What happens to each term.
    input: fn(f32) -> f32,
    /// The reduction of terms, given the correction.
    formula: fn(&[f32], f32) -> f32,
    /// What happens to the result.
    round: fn(f32, &Problem, DType) -> f32,
}

const RIGHT: Steps = Steps {
    is_dense: false,
    writes: |_, _| true,
    takes: |_| true,
    place: |at| at.problem.flat(at.output, at.term),
    input: |x| x,
    formula: sum,
    round: |result, _, _| result,
};

fn sum(terms: &[f32], _: f32) -> f32 {
    terms.iter().sum()
}

fn mean(terms: &[f32], _: f32) -> f32 {
    sum(terms, 0.0) / terms.len() as f32
}

fn max(terms: &[f32], _: f32) -> f32 {
    let larger = |a: f32, b: f32| if a.is_nan() || a > b { a } else { b };
    terms.iter().copied().fold(f32::NEG_INFINITY, larger)
}

fn argmax(terms: &[f32], _: f32) -> f32 {
    let max = max(terms, 0.0);
    let is_it = |x: &f32| *x == max || max.is_nan() && x.is_nan();
    terms.iter().position(is_it).unwrap_or(0) as f32
}

fn squares(terms: &[f32], centre: f32) -> f32 {
    terms.iter().map(|x| (x - centre).powi(2)).sum()
}

fn variance(terms: &[f32], correction: f32) -> f32 {
    squares(terms, mean(terms, 0.0)) / (terms.len() as f32 - correction).max(0.0)
}

fn narrowed(value: f32) -> f32 {
    bf16::from_f32(value).to_f32()
}

fn padded(terms: &[f32]) -> f32 {
    terms.len().next_multiple_of(16) as f32
}

/// Each line: name, element types, the flaw, and the steps that are wrong.
macro_rules! mutants {
    ($formula:ident; $($name:literal, $dtypes:expr, $flaw:literal, $steps:expr;)*) => {
        stepped! { run;
            "last_output_unwritten", ALL, "the loop over outputs ends early",
                Steps { writes: |at, outputs| at + 1 < outputs, formula: $formula, ..RIGHT };
            "tail_dropped", ALL, "terms past the last whole vector of 16 are left out",
                Steps {
                    takes: |at| at.term < at.problem.terms() / 16 * 16,
                    formula: $formula,
                    ..RIGHT
                };
            "last_term_missing", ALL, "the loop ends one term early",
                Steps { takes: |at| at.term + 1 < at.problem.terms(), formula: $formula, ..RIGHT };
            "piece_lost", ALL, "the last of several pieces of 512 terms is not joined",
                Steps {
                    takes: |at| at.term < 512 || at.term < at.problem.terms() / 512 * 512,
                    formula: $formula,
                    ..RIGHT
                };
            "row_stride_ignored", ALL, "rows of x are taken to lie densely",
                Steps { is_dense: true, formula: $formula, ..RIGHT };
            "first_output_repeated", ALL, "terms are always those of the first output",
                Steps { place: |at| at.problem.flat(0, at.term), formula: $formula, ..RIGHT };
            "neighbours_swapped", ALL, "even and odd outputs change places",
                Steps { place: neighbour, formula: $formula, ..RIGHT };
            "axes_confused", ALL, "along s the terms are those along b, and the other way",
                Steps { place: other_axis, formula: $formula, ..RIGHT };
            "input_rounded_to_bf16", FINE, "terms lose bits first",
                Steps { input: narrowed, formula: $formula, ..RIGHT };
            "nan_swallowed", ALL, "NaN counts as 0",
                Steps {
                    input: |x| if x.is_nan() { 0.0 } else { x },
                    formula: $formula,
                    ..RIGHT
                };
            $($name, $dtypes, $flaw, $steps;)*
        }
    };
}

fn neighbour(at: At) -> usize {
    let other = at.output ^ 1;
    at.problem.flat(if other < at.problem.outputs() { other } else { at.output }, at.term)
}

fn other_axis(at: At) -> usize {
    let [b, _, d] = at.problem.sizes;
    let (row, col) = (at.output / d.max(1), at.output % d.max(1));
    match at.problem.over {
        Over::S => (at.term * b + row) * d + col,
        Over::B => (row * b + at.term) * d + col,
        _ => at.problem.flat(at.output, at.term),
    }
}

/// Every mutant of `sum`.
pub(super) static SUM: &[Mutant] = mutants! { sum;
    "averages", ALL, "the sum is divided by the count", Steps { formula: mean, ..RIGHT };
    "magnitudes", ALL, "Σ |x|", Steps { input: f32::abs, ..RIGHT };
    "sums_in_bf16", ALL, "every partial sum is rounded to bf16",
        Steps { formula: |x, _| x.iter().fold(0.0, |sum, x| narrowed(sum + x)), ..RIGHT };
    "result_scaled", ALL, "the sum is half a hundredth too large",
        Steps { round: |sum, _, _| sum * 1.005, ..RIGHT };
    "result_rounded_to_bf16", FINE, "the sum loses bits",
        Steps { round: |sum, _, _| narrowed(sum), ..RIGHT };
};

/// Every mutant of `mean`.
pub(super) static MEAN: &[Mutant] = mutants! { mean;
    "not_divided", ALL, "the sum itself", Steps { formula: sum, ..RIGHT };
    "one_less", ALL, "the sum is divided by the count minus one",
        Steps { formula: |x, _| sum(x, 0.0) / (x.len() as f32 - 1.0), ..RIGHT };
    "padding_counted", ALL, "the sum is divided by the padded count",
        Steps { formula: |x, _| sum(x, 0.0) / padded(x), ..RIGHT };
    "sum_rounded", NARROW, "the sum is rounded to the element type before it is divided",
        Steps {
            formula: sum,
            round: |sum, problem, dtype| {
                round_to(dtype, f64::from(sum)) as f32 / problem.terms() as f32
            },
            ..RIGHT
        };
    "terms_divided_in_bf16", ALL, "each term is divided and rounded to bf16",
        Steps {
            formula: |x, _| x.iter().map(|term| narrowed(term / x.len() as f32)).sum(),
            ..RIGHT
        };
};

/// Every mutant of `max`.
pub(super) static MAX: &[Mutant] = mutants! { max;
    "starts_from_zero", ALL, "negative elements are below the start",
        Steps { formula: |x, _| max(x, 0.0).max(0.0), ..RIGHT };
    "starts_from_least", SINGLE, "-infinity is below the start",
        Steps {
            formula: |x, _| if max(x, 0.0) < f32::MIN { f32::MIN } else { max(x, 0.0) },
            ..RIGHT
        };
    "smallest", ALL, "the least element",
        Steps { formula: |x, _| -max(&x.iter().map(|x| -x).collect::<Vec<_>>(), 0.0), ..RIGHT };
    "magnitudes", ALL, "max |x|", Steps { input: f32::abs, formula: max, ..RIGHT };
    "nan_only_at_the_end", ALL, "NaN before a number is lost",
        Steps {
            formula: |x, _| x.iter().fold(f32::NEG_INFINITY, |a, &b| if a > b { a } else { b }),
            ..RIGHT
        };
};

/// Every mutant of `argmax`.
pub(super) static ARGMAX: &[Mutant] = mutants! { argmax;
    "last_of_ties", ALL, "of equal elements the last counts",
        Steps {
            formula: |x, _| {
                let max = max(x, 0.0);
                let is_it = |x: &f32| *x == max || max.is_nan() && x.is_nan();
                x.iter().rposition(is_it).unwrap_or(0) as f32
            },
            ..RIGHT
        };
    "counts_from_one", ALL, "the first place is 1",
        Steps { formula: |x, _| argmax(x, 0.0) + 1.0, ..RIGHT };
    "magnitudes", ALL, "the place of max |x|",
        Steps { input: f32::abs, formula: argmax, ..RIGHT };
    "smallest", ALL, "the place of the least element",
        Steps { input: |x| -x, formula: argmax, ..RIGHT };
    "counts_in_the_row", ALL, "a place in all of x counts from its row",
        Steps {
            formula: argmax,
            round: |place, problem, _| match problem.over {
                Over::All => place % problem.sizes[2].max(1) as f32,
                _ => place,
            },
            ..RIGHT
        };
    "last_nan_wins", ALL, "NaN replaces the NaN before",
        Steps {
            formula: |x, _| {
                x.iter().rposition(|x| x.is_nan()).map_or_else(|| argmax(x, 0.0), |i| i as f32)
            },
            ..RIGHT
        };
};

/// Every mutant of `variance`.
pub(super) static VARIANCE: &[Mutant] = mutants! { variance;
    "of_squares", SINGLE, "mean of x² minus mean², which cancels",
        Steps {
            formula: |x, correction| {
                let count = x.len() as f32;
                let raw = (squares(x, 0.0) / count - mean(x, 0.0).powi(2)).max(0.0);
                raw * (count / (count - correction).max(0.0))
            },
            ..RIGHT
        };
    "correction_ignored", ALL, "always that of a population",
        Steps { formula: |x, _| variance(x, 0.0), ..RIGHT };
    "correction_fixed", ALL, "always that of a sample",
        Steps { formula: |x, _| variance(x, 1.0), ..RIGHT };
    "about_zero", ALL, "the mean is not taken off",
        Steps { formula: |x, c| squares(x, 0.0) / (x.len() as f32 - c), ..RIGHT };
    "deviation", ALL, "its root",
        Steps { formula: |x, correction| variance(x, correction).sqrt(), ..RIGHT };
    "padding_counted", ALL, "the tail's padding counts as zeros of x",
        Steps {
            formula: |x, correction| {
                let centre = mean(x, 0.0);
                let padding = padded(x) - x.len() as f32;
                let squares = squares(x, centre) + padding * centre * centre;
                squares / (x.len() as f32 - correction).max(0.0)
            },
            ..RIGHT
        };
    "mean_in_bf16", ALL, "the mean loses bits",
        Steps {
            formula: |x, c| squares(x, narrowed(mean(x, 0.0))) / (x.len() as f32 - c).max(0.0),
            ..RIGHT
        };
    "pieces_averaged", ALL, "variances of pieces of 64 are averaged, their means forgotten",
        Steps {
            formula: |x, correction| {
                let of_piece = |x: &[f32]| squares(x, mean(x, 0.0));
                let squares: f32 = x.chunks(64).map(of_piece).sum();
                squares / (x.len() as f32 - correction).max(0.0)
            },
            ..RIGHT
        };
};

fn run(call: &mut Call<'_>, steps: Steps) -> Result<(), KernelError> {
    let (problem, dtype) = (Problem::of(call.case), call.case.dtype);
    let x = match steps.is_dense {
        true => flawed::read_densely(&call.inputs[0]),
        false => flawed::read(&call.inputs[0]),
    };
    let x = x.concat();
    let (outputs, mut y) = (problem.outputs(), call.outputs[0].to_f64());
    for (output, y) in y.iter_mut().enumerate() {
        if !(steps.writes)(output, outputs) {
            continue;
        }
        let at = |term| At { problem, output, term };
        let taken = (0..problem.terms()).map(at).filter(|&at| (steps.takes)(at));
        let terms: Vec<f32> = taken.map(|at| (steps.input)(x[(steps.place)(at)])).collect();
        let result = (steps.formula)(&terms, problem.correction as f32);
        *y = f64::from((steps.round)(result, &problem, dtype));
    }
    call.outputs[0].from_f64(&y);
    Ok(())
}
