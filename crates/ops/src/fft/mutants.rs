//! Wrong transforms that the gate must refuse: the defining sums, right but for one slip.

use super::definition::{Kind, Problem};
use crate::flawed::stepped;
use proofmark_contract::{Call, KernelError, Mutant};
use proofmark_tensor::{bf16, f16};
use proofmark_terms::DType;
use std::f64::consts::TAU;

/// All that these do.
const F32: &[DType] = &[DType::F32];

/// The steps; a mutant replaces one.
#[derive(Clone, Copy)]
struct Steps {
    /// The angle of a term in turns, of j·k and n.
    turns: fn(u64, u64) -> f64,
    /// What becomes of a root.
    root: fn(f64) -> f64,
    /// Whether point j of n counts.
    takes: fn(usize, usize) -> bool,
    /// Where result k of n goes.
    place: fn(usize, usize) -> usize,
    /// What is read of a number.
    read: fn([f64; 2]) -> [f64; 2],
    /// What is written of a number.
    write: fn([f64; 2]) -> [f64; 2],
    /// The factor of results.
    scale: fn(&Problem) -> f64,
    /// Whether an axis (0 is x) is transformed.
    axis: fn(usize) -> bool,
    /// Which transform is read.
    batch: fn(usize) -> usize,
    /// What the mirrored half of a spectrum is times.
    mirrored: f64,
    /// Whether number i of n is written.
    writes: fn(usize, usize) -> bool,
}

const RIGHT: Steps = Steps {
    turns: |jk, n| (jk % n) as f64 / n as f64,
    root: |part| f64::from(part as f32),
    takes: |_, _| true,
    place: |k, _| k,
    read: |number| number,
    write: |number| number,
    scale: Problem::scale,
    axis: |_| true,
    batch: |b| b,
    mirrored: 1.0,
    writes: |_, _| true,
};

/// Every mutant of this op.
pub(super) static MUTANTS: &[Mutant] = stepped! { run;
    "other_direction", F32, "the sign of the exponent is the other one",
        Steps { turns: |jk, n| -((jk % n) as f64) / n as f64, ..RIGHT };
    "inverse_unscaled", F32, "results of the inverse are not divided", Steps { scale: |_| 1.0, ..RIGHT };
    "scaled_by_root", F32, "both directions are divided by the root of the number of points",
        Steps { scale: |problem| 1.0 / (problem.points() as f64).sqrt(), ..RIGHT };
    "forward_scaled", F32, "the forward transform is divided too",
        Steps { scale: |problem| 1.0 / problem.points() as f64, ..RIGHT };
    "last_point_dropped", F32, "the loop over points ends early",
        Steps { takes: |j, n| j + 1 < n || n == 1, ..RIGHT };
    "last_number_unwritten", F32, "the loop over results ends early",
        Steps { writes: |i, n| i + 1 < n, ..RIGHT };
    "bits_reversed", F32, "results stay in the order of the stages",
        Steps { place: reversed, ..RIGHT };
    "bins_mirrored", F32, "bin k is that of n - k", Steps { place: |k, n| (n - k) % n, ..RIGHT };
    "bins_centred", F32, "bin 0 comes out in the middle",
        Steps { place: |k, n| (k + n / 2) % n, ..RIGHT };
    "angles_in_f32", F32, "angles are not reduced, and f32",
        Steps { turns: |jk, n| f64::from(1.0 / n as f32 * jk as f32), ..RIGHT };
    "angle_off_by_one", F32, "the roots are those of n + 1",
        Steps { turns: |jk, n| jk as f64 / (n + 1) as f64, ..RIGHT };
    "roots_in_bf16", F32, "the table of roots is bf16",
        Steps { root: |part| bf16::from_f64(part).to_f64(), ..RIGHT };
    "roots_in_f16", F32, "the table of roots is f16",
        Steps { root: |part| f16::from_f64(part).to_f64(), ..RIGHT };
    "imaginary_part_unread", F32, "complex numbers are taken for real ones",
        Steps { read: |[re, _]| [re, 0.0], ..RIGHT };
    "parts_exchanged", F32, "real and imaginary parts are written the other way round",
        Steps { write: |[re, im]| [im, re], ..RIGHT };
    "conjugated", F32, "imaginary parts have the other sign",
        Steps { write: |[re, im]| [re, -im], ..RIGHT };
    "y_left_out", F32, "the axis between is not transformed",
        Steps { axis: |axis| axis != 1, ..RIGHT };
    "x_left_out", F32, "the slowest axis is not transformed",
        Steps { axis: |axis| axis != 0, ..RIGHT };
    "first_transform_reused", F32, "every transform reads the first one's points",
        Steps { batch: |_| 0, ..RIGHT };
    "mirrored_half_forgotten", F32, "bins that stand for two count once",
        Steps { mirrored: 0.0, ..RIGHT };
    "nan_swallowed", F32, "NaN counts as 0",
        Steps { read: |x| x.map(|part| if part.is_nan() { 0.0 } else { part }), ..RIGHT };
    "results_in_bf16", F32, "results lose bits",
        Steps { write: |x| x.map(|part| bf16::from_f64(part).to_f64()), ..RIGHT };
};

fn reversed(k: usize, n: usize) -> usize {
    if n.is_power_of_two() && n > 1 {
        return k.reverse_bits() >> (usize::BITS - n.trailing_zeros());
    }
    k
}

fn run(call: &mut Call<'_>, steps: Steps) -> Result<(), KernelError> {
    let problem = Problem::of(call.case);
    let [read, written] = problem.batch_floats();
    let input = call.inputs[0].slice::<f32>()?;
    let output = call.outputs[0].slice_mut::<f32>()?;
    for b in 0..problem.batch {
        let from = &input[(steps.batch)(b) * read..][..read];
        let values = transform(&problem, from, &steps);
        let to = output[b * written..][..written].iter_mut().zip(values).enumerate();
        let to = to.filter(|(i, _)| (steps.writes)(b * written + i, problem.batch * written));
        to.for_each(|(_, (to, value))| *to = value as f32);
    }
    Ok(())
}

fn transform(problem: &Problem, from: &[f32], steps: &Steps) -> Vec<f64> {
    let Problem { x, y, z, kind, is_inverse, .. } = *problem;
    let wide: Vec<f64> = from.iter().map(|&x| f64::from(x)).collect();
    let given: Vec<[f64; 2]> = match kind {
        Kind::FromReal => wide.iter().map(|&x| (steps.read)([x, 0.0])).collect(),
        _ => wide.as_chunks::<2>().0.iter().map(|&x| (steps.read)(x)).collect(),
    };
    let sign = if is_inverse { 1.0 } else { -1.0 };
    let across = |mut numbers: Vec<[f64; 2]>, inner: usize| {
        for (axis, n, inner) in [(0, x, y * inner), (1, y, inner)] {
            if (steps.axis)(axis) {
                numbers = along(&numbers, n, inner, sign, steps);
            }
        }
        numbers
    };
    let scaled = |number: [f64; 2]| number.map(|part| (steps.scale)(problem) * part);
    if kind == Kind::ToReal {
        let bins = problem.bins();
        let half = across(given, bins);
        let whole: Vec<[f64; 2]> = half
            .chunks(bins)
            .flat_map(|row| {
                let real = |k: usize| if k == 0 || 2 * k == z { [row[k][0], 0.0] } else { row[k] };
                let mirrored = |k: usize| [row[z - k][0], -row[z - k][1]];
                let second = (bins..z).map(mirrored).map(|x| x.map(|part| steps.mirrored * part));
                (0..bins).map(real).chain(second).collect::<Vec<_>>()
            })
            .collect();
        let reals = along(&whole, z, 1, sign, steps);
        return reals.into_iter().map(|x| (steps.write)(scaled(x))[0]).collect();
    }
    let numbers = across(along(&given, z, 1, sign, steps), z);
    let rows = numbers.chunks(z).flat_map(|row| &row[..problem.bins()]);
    rows.flat_map(|&x| (steps.write)(scaled(x))).collect()
}

fn along(numbers: &[[f64; 2]], n: usize, inner: usize, sign: f64, steps: &Steps) -> Vec<[f64; 2]> {
    let mut out = vec![[0.0; 2]; numbers.len()];
    for start in (0..numbers.len()).step_by(n * inner) {
        for column in 0..inner {
            for k in 0..n {
                let mut sum = [0.0; 2];
                for j in (0..n).filter(|&j| (steps.takes)(j, n)) {
                    let angle = sign * TAU * (steps.turns)((j * k) as u64, n as u64);
                    let (sin, cos) = angle.sin_cos();
                    let (c, s) = ((steps.root)(cos), (steps.root)(sin));
                    let [re, im] = numbers[start + j * inner + column];
                    sum = [sum[0] + (re * c - im * s), sum[1] + (re * s + im * c)];
                }
                out[start + (steps.place)(k, n) * inner + column] = sum;
            }
        }
    }
    out
}
