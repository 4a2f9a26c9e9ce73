//! Wrong reductions that the gate must refuse: the slips of all members once, then each one's own.

use super::definition::{Over, Problem};
use crate::flawed::{
    ALL, FINE, NARROW, Read, SINGLE, mutants, nan_as_zero, narrowed, neighbour, read, read_densely,
    steps, sum_in_bf16, whole_vectors,
};
use proofmark_contract::{Call, KernelError, Mutant};
use proofmark_tensor::round_to;
use proofmark_terms::DType;

/// What a slip may depend on.
#[derive(Clone, Copy)]
struct At {
    problem: Problem,
    output: usize,
    term: usize,
}

/// The reduction of terms, given the correction.
type Formula = fn(&[f32], f32) -> f32;

steps! { Steps, RIGHT;
    read: Read = read,
    /// Whether an output, of all outputs, is written.
    writes: fn(usize, usize) -> bool = |_, _| true,
    /// Whether the term counts.
    takes: fn(At) -> bool = |_| true,
    /// Where the term is read, padding not counted.
    place: fn(At) -> usize = |at| at.problem.flat(at.output, at.term),
    /// What happens to each term.
    input: fn(f32) -> f32 = |x| x,
    /// The formula, where it is not the member's.
    formula: Option<Formula> = None,
    /// What happens to the result.
    round: fn(f32, &Problem, DType) -> f32 = |result, _, _| result,
}

/// The right formula of a member.
fn own(op: &str) -> Formula {
    match op {
        "argmax" => argmax,
        "max" => max,
        "mean" => mean,
        "variance" => variance,
        _ => sum,
    }
}

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

fn padded(terms: &[f32]) -> f32 {
    terms.len().next_multiple_of(16) as f32
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

/// The mutants that members share.
const SHARED: &[Mutant] = mutants! { run, Steps { ..RIGHT };
    "last_output_unwritten", ALL, "the loop over outputs ends early",
        writes: |at, outputs| at + 1 < outputs;
    "tail_dropped", ALL, "terms past the last whole vector of 16 are left out",
        takes: |at| at.term < whole_vectors(at.problem.terms());
    "last_term_missing", ALL, "the loop ends one term early",
        takes: |at| at.term + 1 < at.problem.terms();
    "piece_lost", ALL, "the last of several pieces of 512 terms is not joined",
        takes: |at| at.term < 512 || at.term < at.problem.terms() / 512 * 512;
    "row_stride_ignored", ALL, "rows of x are taken to lie densely", read: read_densely;
    "first_output_repeated", ALL, "terms are always those of the first output",
        place: |at| at.problem.flat(0, at.term);
    "neighbours_swapped", ALL, "even and odd outputs change places",
        place: |at| at.problem.flat(neighbour(at.output, at.problem.outputs()), at.term);
    "axes_confused", ALL, "along s the terms are those along b, and the other way",
        place: other_axis;
    "input_rounded_to_bf16", FINE, "terms lose bits first", input: narrowed;
    "nan_swallowed", ALL, "NaN counts as 0", input: nan_as_zero;
};

/// Every mutant of `sum`.
pub(super) static SUM: &[Mutant] = mutants! { after SHARED; run, Steps { ..RIGHT };
    "averages", ALL, "the sum is divided by the count", formula: Some(mean);
    "magnitudes", ALL, "Σ |x|", input: f32::abs;
    "sums_in_bf16", ALL, "every partial sum is rounded to bf16",
        formula: Some(|x, _| sum_in_bf16(x.iter().copied()));
    "result_scaled", ALL, "the sum is half a hundredth too large", round: |sum, _, _| sum * 1.005;
    "result_rounded_to_bf16", FINE, "the sum loses bits", round: |sum, _, _| narrowed(sum);
};

/// Every mutant of `mean`.
pub(super) static MEAN: &[Mutant] = mutants! { after SHARED; run, Steps { ..RIGHT };
    "not_divided", ALL, "the sum itself", formula: Some(sum);
    "one_less", ALL, "the sum is divided by the count minus one",
        formula: Some(|x, _| sum(x, 0.0) / (x.len() as f32 - 1.0));
    "padding_counted", ALL, "the sum is divided by the padded count",
        formula: Some(|x, _| sum(x, 0.0) / padded(x));
    "sum_rounded", NARROW, "the sum is rounded to the element type before it is divided",
        formula: Some(sum),
        round: |sum, problem, dtype| {
            round_to(dtype, f64::from(sum)) as f32 / problem.terms() as f32
        };
    "terms_divided_in_bf16", ALL, "each term is divided and rounded to bf16",
        formula: Some(|x, _| x.iter().map(|term| narrowed(term / x.len() as f32)).sum());
};

/// Every mutant of `max`.
pub(super) static MAX: &[Mutant] = mutants! { after SHARED; run, Steps { ..RIGHT };
    "starts_from_zero", ALL, "negative elements are below the start",
        formula: Some(|x, _| max(x, 0.0).max(0.0));
    "starts_from_least", SINGLE, "-infinity is below the start",
        formula: Some(|x, _| if max(x, 0.0) < f32::MIN { f32::MIN } else { max(x, 0.0) });
    "smallest", ALL, "the least element",
        formula: Some(|x, _| -max(&x.iter().map(|x| -x).collect::<Vec<_>>(), 0.0));
    "magnitudes", ALL, "max |x|", input: f32::abs;
    "nan_only_at_the_end", ALL, "NaN before a number is lost",
        formula: Some(|x, _| x.iter().fold(f32::NEG_INFINITY, |a, &b| if a > b { a } else { b }));
};

/// Every mutant of `argmax`.
pub(super) static ARGMAX: &[Mutant] = mutants! { after SHARED; run, Steps { ..RIGHT };
    "last_of_ties", ALL, "of equal elements the last counts",
        formula: Some(|x, _| {
            let max = max(x, 0.0);
            let is_it = |x: &f32| *x == max || max.is_nan() && x.is_nan();
            x.iter().rposition(is_it).unwrap_or(0) as f32
        });
    "counts_from_one", ALL, "the first place is 1", formula: Some(|x, _| argmax(x, 0.0) + 1.0);
    "magnitudes", ALL, "the place of max |x|", input: f32::abs;
    "smallest", ALL, "the place of the least element", input: |x| -x;
    "counts_in_the_row", ALL, "a place in all of x counts from its row",
        round: |place, problem, _| match problem.over {
            Over::All => place % problem.sizes[2].max(1) as f32,
            _ => place,
        };
    "last_nan_wins", ALL, "NaN replaces the NaN before",
        formula: Some(|x, _| {
            x.iter().rposition(|x| x.is_nan()).map_or_else(|| argmax(x, 0.0), |i| i as f32)
        });
};

/// Every mutant of `variance`.
pub(super) static VARIANCE: &[Mutant] = mutants! { after SHARED; run, Steps { ..RIGHT };
    "of_squares", SINGLE, "mean of x² minus mean², which cancels",
        formula: Some(|x, correction| {
            let count = x.len() as f32;
            let raw = (squares(x, 0.0) / count - mean(x, 0.0).powi(2)).max(0.0);
            raw * (count / (count - correction).max(0.0))
        });
    "correction_ignored", ALL, "always that of a population",
        formula: Some(|x, _| variance(x, 0.0));
    "correction_fixed", ALL, "always that of a sample", formula: Some(|x, _| variance(x, 1.0));
    "about_zero", ALL, "the mean is not taken off",
        formula: Some(|x, c| squares(x, 0.0) / (x.len() as f32 - c));
    "deviation", ALL, "its root", formula: Some(|x, correction| variance(x, correction).sqrt());
    "padding_counted", ALL, "the tail's padding counts as zeros of x",
        formula: Some(|x, correction| {
            let centre = mean(x, 0.0);
            let padding = padded(x) - x.len() as f32;
            let squares = squares(x, centre) + padding * centre * centre;
            squares / (x.len() as f32 - correction).max(0.0)
        });
    "mean_in_bf16", ALL, "the mean loses bits",
        formula: Some(|x, c| squares(x, narrowed(mean(x, 0.0))) / (x.len() as f32 - c).max(0.0));
    "pieces_averaged", ALL, "variances of pieces of 64 are averaged, their means forgotten",
        formula: Some(|x, correction| {
            let of_piece = |x: &[f32]| squares(x, mean(x, 0.0));
            let squares: f32 = x.chunks(64).map(of_piece).sum();
            squares / (x.len() as f32 - correction).max(0.0)
        });
};

fn run(call: &mut Call<'_>, steps: &Steps) -> Result<(), KernelError> {
    let (problem, dtype) = (Problem::of(call.case), call.case.dtype);
    let x = (steps.read)(&call.inputs[0]).concat();
    let formula = steps.formula.unwrap_or(own(&call.case.op));
    let (outputs, mut y) = (problem.outputs(), call.outputs[0].to_f64());
    for (output, y) in y.iter_mut().enumerate() {
        if !(steps.writes)(output, outputs) {
            continue;
        }
        let at = |term| At { problem, output, term };
        let taken = (0..problem.terms()).map(at).filter(|&at| (steps.takes)(at));
        let terms: Vec<f32> = taken.map(|at| (steps.input)(x[(steps.place)(at)])).collect();
        let result = formula(&terms, problem.correction as f32);
        *y = f64::from((steps.round)(result, &problem, dtype));
    }
    call.outputs[0].from_f64(&y);
    Ok(())
}
