//! Wrong transforms that the gate must refuse: the defining sums, right but for one slip.

use super::definition::{Kind, Problem};
use crate::flawed::{SINGLE, mutants, steps};
use proofmark_contract::{Call, KernelError, Mutant};
use proofmark_tensor::{bf16, f16};
use std::f64::consts::TAU;

steps! { Steps, RIGHT;
    /// The angle of a term in turns, of j·k and n.
    turns: fn(u64, u64) -> f64 = |jk, n| (jk % n) as f64 / n as f64,
    /// What becomes of a root.
    root: fn(f64) -> f64 = |part| f64::from(part as f32),
    /// Whether point j of n counts.
    takes: fn(usize, usize) -> bool = |_, _| true,
    /// Where result k of n goes.
    place: fn(usize, usize) -> usize = |k, _| k,
    /// What is read of a number.
    read: fn([f64; 2]) -> [f64; 2] = |number| number,
    /// What is written of a number.
    write: fn([f64; 2]) -> [f64; 2] = |number| number,
    /// The factor of results.
    scale: fn(&Problem) -> f64 = Problem::scale,
    /// Whether an axis (0 is x) is transformed.
    axis: fn(usize) -> bool = |_| true,
    /// Which transform is read.
    batch: fn(usize) -> usize = |b| b,
    /// What the mirrored half of a spectrum is times.
    mirrored: f64 = 1.0,
    /// Whether number i of n is written.
    writes: fn(usize, usize) -> bool = |_, _| true,
}

/// Every mutant of this op.
pub(super) static MUTANTS: &[Mutant] = mutants! { run, Steps { ..RIGHT };
    "other_direction", SINGLE, "the sign of the exponent is the other one",
        turns: |jk, n| -((jk % n) as f64) / n as f64;
    "inverse_unscaled", SINGLE, "results of the inverse are not divided", scale: |_| 1.0;
    "scaled_by_root", SINGLE, "both directions are divided by the root of the number of points",
        scale: |problem| 1.0 / (problem.points() as f64).sqrt();
    "forward_scaled", SINGLE, "the forward transform is divided too",
        scale: |problem| 1.0 / problem.points() as f64;
    "last_point_dropped", SINGLE, "the loop over points ends early",
        takes: |j, n| j + 1 < n || n == 1;
    "last_number_unwritten", SINGLE, "the loop over results ends early", writes: |i, n| i + 1 < n;
    "bits_reversed", SINGLE, "results stay in the order of the stages", place: reversed;
    "bins_mirrored", SINGLE, "bin k is that of n - k", place: |k, n| (n - k) % n;
    "bins_centred", SINGLE, "bin 0 comes out in the middle", place: |k, n| (k + n / 2) % n;
    "angles_in_f32", SINGLE, "angles are not reduced, and f32",
        turns: |jk, n| f64::from(1.0 / n as f32 * jk as f32);
    "angle_off_by_one", SINGLE, "the roots are those of n + 1",
        turns: |jk, n| jk as f64 / (n + 1) as f64;
    "roots_in_bf16", SINGLE, "the table of roots is bf16",
        root: |part| bf16::from_f64(part).to_f64();
    "roots_in_f16", SINGLE, "the table of roots is f16", root: |part| f16::from_f64(part).to_f64();
    "imaginary_part_unread", SINGLE, "complex numbers are taken for real ones",
        read: |[re, _]| [re, 0.0];
    "parts_exchanged", SINGLE, "real and imaginary parts are written the other way round",
        write: |[re, im]| [im, re];
    "conjugated", SINGLE, "imaginary parts have the other sign", write: |[re, im]| [re, -im];
    "y_left_out", SINGLE, "the axis between is not transformed", axis: |axis| axis != 1;
    "x_left_out", SINGLE, "the slowest axis is not transformed", axis: |axis| axis != 0;
    "first_transform_reused", SINGLE, "every transform reads the first one's points", batch: |_| 0;
    "mirrored_half_forgotten", SINGLE, "bins that stand for two count once", mirrored: 0.0;
    "nan_swallowed", SINGLE, "NaN counts as 0",
        read: |x| x.map(|part| if part.is_nan() { 0.0 } else { part });
    "results_in_bf16", SINGLE, "results lose bits",
        write: |x| x.map(|part| bf16::from_f64(part).to_f64());
};

fn reversed(k: usize, n: usize) -> usize {
    if n.is_power_of_two() && n > 1 {
        return k.reverse_bits() >> (usize::BITS - n.trailing_zeros());
    }
    k
}

fn run(call: &mut Call<'_>, steps: &Steps) -> Result<(), KernelError> {
    let problem = Problem::of(call.case);
    let [read, written] = problem.batch_floats();
    let input = call.inputs[0].slice::<f32>()?;
    let output = call.outputs[0].slice_mut::<f32>()?;
    for b in 0..problem.batch {
        let from = &input[(steps.batch)(b) * read..][..read];
        let values = transform(&problem, from, steps);
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
