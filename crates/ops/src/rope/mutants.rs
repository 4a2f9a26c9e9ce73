//! Wrong rotary embeddings that the gate must refuse.

use super::definition::{Problem, Scaling};
use crate::flawed::{
    ALL, NARROW, Read, SINGLE, all_but_last, mutants, nan_as_zero, read, read_densely, steps, write,
};
use proofmark_contract::{Call, KernelError, Mutant};
use proofmark_tensor::{bf16, f16, round_to};
use proofmark_terms::DType;
use std::f64::consts::TAU;

steps! { Steps, RIGHT;
    read: Read = read,
    /// What the case is taken for.
    problem: fn(Problem) -> Problem = |problem| problem,
    /// The position that a head is turned by.
    position: fn(&Problem, usize) -> usize = |problem, row| row / problem.heads % problem.positions,
    /// The frequency of a pair.
    frequency: fn(&Problem, usize) -> f64 = frequency,
    /// Cosine and sine, of a position and a frequency.
    cos_sin: fn(f64, f64) -> (f32, f32) = |position, frequency| {
        let (sin, cos) = (position * frequency).sin_cos();
        (cos as f32, sin as f32)
    },
    /// Of a pair, cosine and sine.
    turn: fn(f32, f32, f32, f32, DType) -> (f32, f32) = |a, b, cos, sin, _| turn(a, b, cos, sin),
    /// The pairs that are turned.
    pairs: fn(usize) -> usize = |half| half,
    /// What becomes of an element that is not turned.
    rest: fn(f32) -> f32 = |x| x,
}

fn plain(problem: &Problem, pair: usize, part: usize) -> f64 {
    problem.theta.powf(-2.0 * pair as f64 / part as f64)
}

fn frequency(problem: &Problem, pair: usize) -> f64 {
    let plain = plain(problem, pair, problem.part);
    let kept = ((8192.0 * plain / TAU - 1.0) / 3.0).clamp(0.0, 1.0);
    match problem.scaling {
        Scaling::None => plain,
        Scaling::Linear => plain / problem.factor,
        Scaling::Llama3 => plain * (kept + (1.0 - kept) / problem.factor),
    }
}

fn turn(a: f32, b: f32, cos: f32, sin: f32) -> (f32, f32) {
    (a * cos - b * sin, b * cos + a * sin)
}

/// Every mutant of this op.
pub(super) static MUTANTS: &[Mutant] = mutants! { run, Steps { ..RIGHT };
    "angle_in_f32", ALL, "position times frequency is rounded to f32",
        cos_sin: |position, frequency| {
            let (sin, cos) = (position as f32 * frequency as f32).sin_cos();
            (cos, sin)
        };
    "position_in_bf16", ALL, "positions lose bits",
        cos_sin: |position, frequency| {
            (RIGHT.cos_sin)(f64::from(bf16::from_f64(position).to_f32()), frequency)
        };
    "angles_in_f16", SINGLE, "sines and cosines are kept in f16",
        cos_sin: |position, frequency| {
            let (sin, cos) = (position * frequency).sin_cos();
            (f16::from_f64(cos).to_f32(), f16::from_f64(sin).to_f32())
        };
    "turned_backwards", ALL, "the sine has the other sign",
        turn: |a, b, cos, sin, _| (a * cos + b * sin, b * cos - a * sin);
    "first_overwritten", ALL, "the second of a pair is made of the new first",
        turn: |a, b, cos, sin, _| {
            let a = a * cos - b * sin;
            (a, b * cos + a * sin)
        };
    "products_rounded", NARROW, "each product is rounded to the element type",
        turn: |a, b, cos, sin, dtype| {
            let round = |x: f32| round_to(dtype, f64::from(x)) as f32;
            (round(a * cos) - round(b * sin), round(b * cos) + round(a * sin))
        };
    "nan_swallowed", ALL, "NaN counts as 0",
        turn: |a, b, cos, sin, _| turn(nan_as_zero(a), nan_as_zero(b), cos, sin);
    "pairing_ignored", ALL, "pairs are always half of the part apart",
        problem: |problem| Problem { is_interleaved: false, ..problem };
    "pairing_swapped", ALL, "each pairing is taken for the other",
        problem: |problem| Problem { is_interleaved: !problem.is_interleaved, ..problem };
    "frequency_of_whole_head", ALL, "the exponent is divided by d, not part",
        frequency: |problem, pair| {
            let plain = plain(problem, pair, problem.length);
            if problem.scaling == Scaling::Linear { plain / problem.factor } else { plain }
        };
    "frequency_off_by_one", ALL, "each pair gets the next one's frequency",
        frequency: |problem, pair| plain(problem, pair + 1, problem.part);
    "theta_ignored", ALL, "the base is always the default",
        problem: |problem| Problem { theta: 10000.0, ..problem };
    "scaling_ignored", ALL, "frequencies are never stretched",
        problem: |problem| Problem { scaling: Scaling::None, ..problem };
    "llama3_as_linear", ALL, "fast pairs are stretched too",
        problem: |problem| match problem.scaling {
            Scaling::None => problem,
            _ => Problem { scaling: Scaling::Linear, ..problem },
        };
    "llama3_without_slope", ALL, "nothing lies between kept and stretched",
        frequency: |problem, pair| {
            let plain = plain(problem, pair, problem.part);
            match problem.scaling {
                Scaling::None => plain,
                Scaling::Llama3 if TAU / plain < 8192.0 => plain,
                _ => plain / problem.factor,
            }
        };
    "position_of_row", ALL, "read as [b, h, s, d]",
        position: |problem, row| row % problem.positions;
    "position_off_by_one", ALL, "heads are turned by the next position",
        position: |problem, row| (row / problem.heads + 1) % problem.positions;
    "positions_not_read", ALL, "all are turned by the first position", position: |_, _| 0;
    "last_pair_unturned", ALL, "the last pair stays as it was", pairs: all_but_last;
    "rest_zeroed", ALL, "elements past the part become 0", rest: |_| 0.0;
    "row_stride_ignored", ALL, "heads are taken to lie densely", read: read_densely;
};

fn run(call: &mut Call<'_>, steps: &Steps) -> Result<(), KernelError> {
    let problem = (steps.problem)(Problem::of(call.case));
    let source = if problem.is_in_place { &call.outputs[0] } else { &call.inputs[0] };
    let mut rows = (steps.read)(source);
    let first = usize::from(!problem.is_in_place);
    let angles = read(&call.inputs[first]);
    let sines = if problem.is_exact { Vec::new() } else { read(&call.inputs[first + 1]) };
    let half = problem.part / 2;
    for (i, row) in rows.iter_mut().enumerate() {
        let position = (steps.position)(&problem, i);
        row.iter_mut().skip(problem.part).for_each(|x| *x = (steps.rest)(*x));
        for pair in 0..(steps.pairs)(half) {
            let (cos, sin) = match problem.is_exact {
                true => {
                    let frequency = (steps.frequency)(&problem, pair);
                    (steps.cos_sin)(f64::from(angles[0][position]), frequency)
                }
                false => (angles[position][pair], sines[position][pair]),
            };
            let (at, other) =
                if problem.is_interleaved { (2 * pair, 2 * pair + 1) } else { (pair, pair + half) };
            (row[at], row[other]) = (steps.turn)(row[at], row[other], cos, sin, call.case.dtype);
        }
    }
    write(&mut call.outputs[0], &rows)
}
