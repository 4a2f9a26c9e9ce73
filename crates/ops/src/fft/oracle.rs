//! The slow truth of the Fourier transform in f64: by the least factor, primes by the sum itself
//! or, where they are long, by Bluestein's convolution.
#![forbid(unsafe_code)]

use super::definition::{Kind, Problem};
use proofmark_contract::{Truth, Want};
use std::f64::consts::TAU;

type Number = [f64; 2];

/// Primes up to here are summed as the definition says.
const SUMMED: usize = 512;

fn product(a: Number, b: Number) -> Number {
    [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]
}

/// The n roots exp(sign·2πi·k/n).
fn roots(n: usize, sign: f64) -> Vec<Number> {
    // Eighths of a turn are mirrored, so that no angle beyond π/4 is rounded.
    let root = |k: usize| {
        let angle = |part: usize| TAU * (part as f64 / n as f64);
        let eighth = 8 * k / n;
        let (cos, sin) = match eighth {
            0 => (angle(k).cos(), angle(k).sin()),
            7 => (angle(n - k).cos(), -angle(n - k).sin()),
            1 | 2 => {
                let (sin, cos) = (TAU * ((4 * k) as f64 - n as f64) / (4 * n) as f64).sin_cos();
                (-sin, cos)
            }
            3 | 4 => {
                let (sin, cos) = (TAU * ((2 * k) as f64 - n as f64) / (2 * n) as f64).sin_cos();
                (-cos, -sin)
            }
            _ => {
                let turned = TAU * ((4 * k) as f64 - (3 * n) as f64) / (4 * n) as f64;
                let (sin, cos) = turned.sin_cos();
                (sin, -cos)
            }
        };
        [cos, sign * sin]
    };
    (0..n).map(root).collect()
}

/// The transform of a line, without any factor, by the roots of a multiple of its points.
fn transform(x: &[Number], roots: &[Number]) -> Vec<Number> {
    let n = x.len();
    let Some(p) = (2..=n).find(|p| n.is_multiple_of(*p)) else { return x.to_vec() };
    let step = roots.len() / n;
    if p == n && p > SUMMED {
        return convolved(x, roots[step][1].signum());
    }
    let parts: Vec<Vec<Number>> = (0..p)
        .map(|i| x.iter().skip(i).step_by(p).copied().collect::<Vec<_>>())
        .map(|part| if p == n { part } else { transform(&part, roots) })
        .collect();
    let sum = |k: usize| {
        let term = |i: usize| product(parts[i][k % (n / p)], roots[i * k % n * step]);
        (0..p).map(term).fold([0.0; 2], |a, b| [a[0] + b[0], a[1] + b[1]])
    };
    (0..n).map(sum).collect()
}

/// jk = (j² + k² − (k − j)²)/2 makes a convolution of the sum, done by transforms of 2^m points.
fn convolved(x: &[Number], sign: f64) -> Vec<Number> {
    let n = x.len();
    let m = (2 * n - 1).next_power_of_two();
    let halves = roots(2 * n, sign);
    let chirp = |j: usize| halves[(j as u128 * j as u128 % (2 * n) as u128) as usize];
    let conjugate = |[re, im]: Number| [re, -im];
    let (mut u, mut v) = (vec![[0.0; 2]; m], vec![[0.0; 2]; m]);
    for j in 0..n {
        u[j] = product(x[j], chirp(j));
        v[j] = conjugate(chirp(j));
        v[(m - j) % m] = conjugate(chirp(j));
    }
    let forward = roots(m, -1.0);
    let (u, v) = (transform(&u, &forward), transform(&v, &forward));
    let both: Vec<Number> = u.into_iter().zip(v).map(|(u, v)| product(u, v)).collect();
    let back = transform(&both, &roots(m, 1.0));
    let scaled = |k: usize| product(back[k], chirp(k)).map(|part| part / m as f64);
    (0..n).map(scaled).collect()
}

/// Transforms along one axis of `outer × n × inner` numbers.
fn along(numbers: &mut [Number], n: usize, inner: usize, sign: f64) {
    let roots = roots(n, sign);
    for matrix in numbers.chunks_mut(n * inner).filter(|_| n > 1) {
        for column in 0..inner {
            let line: Vec<Number> = (0..n).map(|i| matrix[i * inner + column]).collect();
            let line = transform(&line, &roots);
            line.into_iter().enumerate().for_each(|(i, x)| matrix[i * inner + column] = x);
        }
    }
}

/// The numbers of a batch, with the half of a spectrum that is only implied, after the axes
/// before z were transformed.
fn numbers(problem: &Problem, x: &[f64], sign: f64) -> Vec<Number> {
    let Problem { x: planes, y, z, kind, .. } = *problem;
    if kind == Kind::FromReal {
        return x.iter().map(|&x| [x, 0.0]).collect();
    }
    let mut given: Vec<Number> = x.as_chunks::<2>().0.to_vec();
    if kind == Kind::Complex {
        return given;
    }
    let bins = problem.bins();
    along(&mut given, planes, y * bins, sign);
    along(&mut given, y, bins, sign);
    let mut whole = Vec::with_capacity(problem.points());
    for row in given.chunks(bins) {
        let is_real = |k: usize| k == 0 || 2 * k == z;
        let bin = |k: usize| [row[k][0], if is_real(k) { 0.0 } else { row[k][1] }];
        whole.extend((0..bins).map(bin));
        whole.extend((bins..z).map(|k| [bin(z - k)[0], -bin(z - k)[1]]));
    }
    whole
}

/// The transform of one batch, and the root of the sum of squares that it was made of.
fn batch(problem: &Problem, x: &[f64]) -> (Vec<f64>, f64) {
    let Problem { x: planes, y, z, kind, is_inverse, .. } = *problem;
    let sign = if is_inverse { 1.0 } else { -1.0 };
    let mut numbers = numbers(problem, x, sign);
    // A result has the size of the root of the sum of squares of all points; half a spectrum stands
    // for the other half, and parts of it that turn out not to matter were carried along.
    let halves = if kind == Kind::ToReal { 2.0 } else { 1.0 };
    let squares = halves * x.iter().map(|x| x * x).sum::<f64>();
    if kind != Kind::ToReal {
        along(&mut numbers, planes, y * z, sign);
        along(&mut numbers, y, z, sign);
    }
    along(&mut numbers, z, 1, sign);
    let scale = problem.scale();
    let value = match kind {
        Kind::ToReal => numbers.iter().map(|[re, _]| scale * re).collect(),
        _ => {
            let rows = numbers.chunks(z).flat_map(|row| &row[..problem.bins()]);
            rows.flat_map(|number| number.map(|part| scale * part)).collect()
        }
    };
    (value, scale * squares.sqrt())
}

/// The truth about the wanted numbers: errors of a fast transform grow with the number of its
/// stages and have the size of the norm, whatever the size of a result.
pub(super) fn truth(problem: &Problem, x: &[f64], want: &Want) -> Truth {
    let [read, written] = problem.batch_floats();
    let cols = if problem.kind == Kind::ToReal { problem.z } else { 2 };
    let indices = want.indices(problem.batch * written / cols, cols);
    let mut truth = Truth::with_capacity(indices.len());
    let stages = (problem.points() as f64).log2();
    let mut known = (usize::MAX, Vec::new(), 0.0);
    for index in indices {
        let of = index / written;
        if known.0 != of {
            let (values, norm) = batch(problem, &x[of * read..][..read]);
            // Results that are far larger, as for data with a mean, lose digits that the others
            // had.
            let peak = values.iter().fold(0.0, |peak: f64, value| peak.max(value.abs()));
            known = (of, values, norm.max(peak / 16.0));
        }
        let value = known.1[index % written];
        truth.push(value, known.2.max(value.abs()) * stages);
    }
    truth
}
