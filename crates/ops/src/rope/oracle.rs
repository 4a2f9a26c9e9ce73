//! The slow truth of rotary embedding in f64: value and error scale.
#![forbid(unsafe_code)]

use super::definition::{Problem, Scaling};
use proofmark_contract::{Truth, Want};
use std::f64::consts::TAU;

/// Where the angles come from.
pub(crate) enum Angles<'a> {
    /// Cosines and sines, `part / 2` of them for each position.
    Table([&'a [f64]; 2]),
    /// Positions.
    Exact(&'a [f64]),
}

/// The truth about the wanted elements.
///
/// A rotated element is `x₁·cos ∓ x₂·sin`; the scale is the magnitudes of both products. Where the
/// kernel makes the sines and cosines itself they may be off by 2 units, whatever their size:
/// `2·(|x₁| + |x₂|)` is added. The others are copied, with the scale 0.
pub(crate) fn truth(problem: &Problem, x: &[f64], angles: &Angles<'_>, want: &Want) -> Truth {
    let length = problem.length;
    let indices = want.indices(problem.rows(), length);
    let mut truth = Truth::with_capacity(indices.len());
    for index in indices {
        let (row, i) = (index / length, index % length);
        let x = &x[row * length..][..length];
        let Some((pair, first, second)) = problem.pair_of(i) else {
            truth.push(x[i], 0.0);
            continue;
        };
        let position = row / problem.heads % problem.positions;
        let half = problem.part / 2;
        let (cos, sin, slack) = match angles {
            Angles::Table([cos, sin]) => {
                (cos[position * half + pair], sin[position * half + pair], 0.0)
            }
            Angles::Exact(positions) => {
                let (sin, cos) = (positions[position] * frequency(problem, pair)).sin_cos();
                (cos, sin, 2.0)
            }
        };
        let (a, b) = (x[first], x[second]);
        let (value, products) = if i == first {
            (a * cos - b * sin, (a * cos).abs() + (b * sin).abs())
        } else {
            (b * cos + a * sin, (b * cos).abs() + (a * sin).abs())
        };
        let scale = products + slack * (a.abs() + b.abs());
        truth.push(value, if scale.is_nan() { 0.0 } else { scale });
    }
    truth
}

/// Radians that pair `pair` turns with each position: `theta^(−2·pair/part)`, scaled.
pub(crate) fn frequency(problem: &Problem, pair: usize) -> f64 {
    let plain = problem.theta.powf(-2.0 * pair as f64 / problem.part as f64);
    match problem.scaling {
        Scaling::None => plain,
        Scaling::Linear => plain / problem.factor,
        Scaling::Llama3 => {
            // Slow pairs, of wavelengths over 8192, are stretched, fast ones, under 2048, kept.
            let turns = 8192.0 * plain / TAU;
            let kept = ((turns - 1.0) / (4.0 - 1.0)).clamp(0.0, 1.0);
            plain * (kept + (1.0 - kept) / problem.factor)
        }
    }
}
