//! Wrong rotary embeddings that the gate must refuse.

use super::definition::{Problem, Scaling};
use crate::flawed::{self, mutants};
use proofmark_contract::{Call, KernelError};
use proofmark_tensor::{Tensor, bf16, f16};
use proofmark_terms::DType;
use std::f64::consts::TAU;

/// The right computation in steps; each mutant gets one of them wrong.
trait Slip {
    fn read(x: &Tensor) -> Vec<Vec<f32>> {
        flawed::read(x)
    }

    /// What the case is taken for.
    fn problem(problem: Problem) -> Problem {
        problem
    }

    /// The position that head `row` is turned by.
    fn position(problem: &Problem, row: usize) -> usize {
        row / problem.heads % problem.positions
    }

    fn frequency(problem: &Problem, pair: usize) -> f64 {
        let plain = problem.theta.powf(-2.0 * pair as f64 / problem.part as f64);
        let kept = ((8192.0 * plain / TAU - 1.0) / 3.0).clamp(0.0, 1.0);
        match problem.scaling {
            Scaling::None => plain,
            Scaling::Linear => plain / problem.factor,
            Scaling::Llama3 => plain * (kept + (1.0 - kept) / problem.factor),
        }
    }

    fn cos_sin(position: f64, frequency: f64) -> (f32, f32) {
        let (sin, cos) = (position * frequency).sin_cos();
        (cos as f32, sin as f32)
    }

    fn turn(a: f32, b: f32, cos: f32, sin: f32, _dtype: DType) -> (f32, f32) {
        (a * cos - b * sin, b * cos + a * sin)
    }

    /// The pairs that are turned.
    fn pairs(half: usize) -> usize {
        half
    }

    /// What becomes of an element that is not turned.
    fn rest(x: f32) -> f32 {
        x
    }
}

fn run<M: Slip>(call: &mut Call<'_>) -> Result<(), KernelError> {
    let problem = M::problem(Problem::of(call.case));
    let source = if problem.is_in_place { &call.outputs[0] } else { &call.inputs[0] };
    let mut rows = M::read(source);
    let first = usize::from(!problem.is_in_place);
    let angles = flawed::read(&call.inputs[first]);
    let sines = if problem.is_exact { Vec::new() } else { flawed::read(&call.inputs[first + 1]) };
    let half = problem.part / 2;
    for (i, row) in rows.iter_mut().enumerate() {
        let position = M::position(&problem, i);
        row.iter_mut().skip(problem.part).for_each(|x| *x = M::rest(*x));
        for pair in 0..M::pairs(half) {
            let (cos, sin) = match problem.is_exact {
                true => {
                    let frequency = M::frequency(&problem, pair);
                    M::cos_sin(f64::from(angles[0][position]), frequency)
                }
                false => (angles[position][pair], sines[position][pair]),
            };
            let (at, other) =
                if problem.is_interleaved { (2 * pair, 2 * pair + 1) } else { (pair, pair + half) };
            (row[at], row[other]) = M::turn(row[at], row[other], cos, sin, call.case.dtype);
        }
    }
    flawed::write(&mut call.outputs[0], &rows);
    Ok(())
}

struct AngleInF32;
impl Slip for AngleInF32 {
    fn cos_sin(position: f64, frequency: f64) -> (f32, f32) {
        let (sin, cos) = (position as f32 * frequency as f32).sin_cos();
        (cos, sin)
    }
}

struct PositionInBf16;
impl Slip for PositionInBf16 {
    fn cos_sin(position: f64, frequency: f64) -> (f32, f32) {
        let (sin, cos) = (f64::from(bf16::from_f64(position).to_f32()) * frequency).sin_cos();
        (cos as f32, sin as f32)
    }
}

struct AnglesInF16;
impl Slip for AnglesInF16 {
    fn cos_sin(position: f64, frequency: f64) -> (f32, f32) {
        let (sin, cos) = (position * frequency).sin_cos();
        (f16::from_f64(cos).to_f32(), f16::from_f64(sin).to_f32())
    }
}

struct TurnedBackwards;
impl Slip for TurnedBackwards {
    fn turn(a: f32, b: f32, cos: f32, sin: f32, _dtype: DType) -> (f32, f32) {
        (a * cos + b * sin, b * cos - a * sin)
    }
}

struct FirstOverwritten;
impl Slip for FirstOverwritten {
    fn turn(a: f32, b: f32, cos: f32, sin: f32, _dtype: DType) -> (f32, f32) {
        let a = a * cos - b * sin;
        (a, b * cos + a * sin)
    }
}

struct ProductsRounded;
impl Slip for ProductsRounded {
    fn turn(a: f32, b: f32, cos: f32, sin: f32, dtype: DType) -> (f32, f32) {
        let round = |x: f32| proofmark_tensor::round_to(dtype, f64::from(x)) as f32;
        (round(a * cos) - round(b * sin), round(b * cos) + round(a * sin))
    }
}

struct NanSwallowed;
impl Slip for NanSwallowed {
    fn turn(a: f32, b: f32, cos: f32, sin: f32, _dtype: DType) -> (f32, f32) {
        let clean = |x: f32| if x.is_nan() { 0.0 } else { x };
        let (a, b) = (clean(a), clean(b));
        (a * cos - b * sin, b * cos + a * sin)
    }
}

struct PairingIgnored;
impl Slip for PairingIgnored {
    fn problem(problem: Problem) -> Problem {
        Problem { is_interleaved: false, ..problem }
    }
}

struct PairingSwapped;
impl Slip for PairingSwapped {
    fn problem(problem: Problem) -> Problem {
        Problem { is_interleaved: !problem.is_interleaved, ..problem }
    }
}

struct FrequencyOfWholeHead;
impl Slip for FrequencyOfWholeHead {
    fn frequency(problem: &Problem, pair: usize) -> f64 {
        let plain = problem.theta.powf(-2.0 * pair as f64 / problem.length as f64);
        if problem.scaling == Scaling::Linear { plain / problem.factor } else { plain }
    }
}

struct FrequencyOffByOne;
impl Slip for FrequencyOffByOne {
    fn frequency(problem: &Problem, pair: usize) -> f64 {
        problem.theta.powf(-2.0 * (pair + 1) as f64 / problem.part as f64)
    }
}

struct ThetaIgnored;
impl Slip for ThetaIgnored {
    fn problem(problem: Problem) -> Problem {
        Problem { theta: 10000.0, ..problem }
    }
}

struct ScalingIgnored;
impl Slip for ScalingIgnored {
    fn problem(problem: Problem) -> Problem {
        Problem { scaling: Scaling::None, ..problem }
    }
}

struct Llama3AsLinear;
impl Slip for Llama3AsLinear {
    fn problem(problem: Problem) -> Problem {
        let scaling = match problem.scaling {
            Scaling::None => Scaling::None,
            _ => Scaling::Linear,
        };
        Problem { scaling, ..problem }
    }
}

struct Llama3WithoutSlope;
impl Slip for Llama3WithoutSlope {
    fn frequency(problem: &Problem, pair: usize) -> f64 {
        let plain = problem.theta.powf(-2.0 * pair as f64 / problem.part as f64);
        match problem.scaling {
            Scaling::None => plain,
            Scaling::Llama3 if TAU / plain < 8192.0 => plain,
            _ => plain / problem.factor,
        }
    }
}

struct PositionOfRow;
impl Slip for PositionOfRow {
    fn position(problem: &Problem, row: usize) -> usize {
        row % problem.positions
    }
}

struct PositionOffByOne;
impl Slip for PositionOffByOne {
    fn position(problem: &Problem, row: usize) -> usize {
        (row / problem.heads + 1) % problem.positions
    }
}

struct PositionsNotRead;
impl Slip for PositionsNotRead {
    fn position(_problem: &Problem, _row: usize) -> usize {
        0
    }
}

struct LastPairUnturned;
impl Slip for LastPairUnturned {
    fn pairs(half: usize) -> usize {
        half.saturating_sub(1)
    }
}

struct RestZeroed;
impl Slip for RestZeroed {
    fn rest(_x: f32) -> f32 {
        0.0
    }
}

struct RowStrideIgnored;
impl Slip for RowStrideIgnored {
    fn read(x: &Tensor) -> Vec<Vec<f32>> {
        flawed::read_densely(x)
    }
}

const ALL: &[DType] = &[DType::F32, DType::Bf16, DType::F16];
const NARROW: &[DType] = &[DType::Bf16, DType::F16];

mutants! {
    AngleInF32 ALL, "angle_in_f32": "position times frequency is rounded to f32";
    PositionInBf16 ALL, "position_in_bf16": "positions lose bits";
    AnglesInF16 &[DType::F32], "angles_in_f16": "sines and cosines are kept in f16";
    TurnedBackwards ALL, "turned_backwards": "the sine has the other sign";
    FirstOverwritten ALL, "first_overwritten": "the second of a pair is made of the new first";
    ProductsRounded NARROW, "products_rounded": "each product is rounded to the element type";
    NanSwallowed ALL, "nan_swallowed": "NaN counts as 0";
    PairingIgnored ALL, "pairing_ignored": "pairs are always half of the part apart";
    PairingSwapped ALL, "pairing_swapped": "each pairing is taken for the other";
    FrequencyOfWholeHead ALL, "frequency_of_whole_head": "the exponent is divided by d, not part";
    FrequencyOffByOne ALL, "frequency_off_by_one": "each pair gets the next one's frequency";
    ThetaIgnored ALL, "theta_ignored": "the base is always the default";
    ScalingIgnored ALL, "scaling_ignored": "frequencies are never stretched";
    Llama3AsLinear ALL, "llama3_as_linear": "fast pairs are stretched too";
    Llama3WithoutSlope ALL, "llama3_without_slope": "nothing lies between kept and stretched";
    PositionOfRow ALL, "position_of_row": "read as [b, h, s, d]";
    PositionOffByOne ALL, "position_off_by_one": "heads are turned by the next position";
    PositionsNotRead ALL, "positions_not_read": "all are turned by the first position";
    LastPairUnturned ALL, "last_pair_unturned": "the last pair stays as it was";
    RestZeroed ALL, "rest_zeroed": "elements past the part become 0";
    RowStrideIgnored ALL, "row_stride_ignored": "heads are taken to lie densely";
}
