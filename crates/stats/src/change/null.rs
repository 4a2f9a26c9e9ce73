//! The strongest split of a series that does not change: quantiles, and the p-value of a split.
//!
//! The statistic depends on ranks only, so its distribution is the same for every continuous noise
//! that is independent from point to point, and one table per length serves all series.

use super::scan::{Scan, Shape};
use super::table::ROWS;
use crate::Stream;
use crate::tail::normal_tail;

/// The probabilities of the table's columns: of a stronger split in a series that does not change.
pub const PROBABILITIES: [f64; 11] =
    [0.9, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005];

/// The quantiles of the strongest split of `points` independent values, at [`PROBABILITIES`].
///
/// This is the generator of the table: `cargo run --release -p proofmark-stats --example
/// change_table` prints every row.
pub fn null_quantiles(points: usize, series: usize, seed: u64) -> [f64; 11] {
    let shapes = Shape::all();
    let mut stream = Stream::new(seed ^ points as u64);
    let mut strongest: Vec<f64> = (0..series)
        .map(|_| {
            let mut scan = Scan::new(&shapes, f64::INFINITY);
            (0..points).for_each(|_| scan.push(stream.uniform()));
            scan.strongest()
        })
        .collect();
    strongest.sort_by(|a, b| b.total_cmp(a));
    PROBABILITIES.map(|probability| {
        let place = (probability * series as f64) as usize;
        // Rounded up to the table's last digit, so that the rate is not exceeded.
        let quantile = strongest.get(place).or(strongest.last()).copied().unwrap_or(0.0);
        (quantile * 1e4).ceil() / 1e4
    })
}

/// The row of the shortest length that is not shorter than the series.
fn row(points: usize) -> &'static [f64; 11] {
    let place = ROWS.iter().position(|row| row.0 >= points).unwrap_or(ROWS.len() - 1);
    &ROWS[place].1
}

/// The strength that a series of `points` points exceeds with this probability, when nothing
/// changed. `None` outside of the table's probabilities.
pub(super) fn threshold(points: usize, probability: f64) -> Option<f64> {
    let row = row(points);
    let right = PROBABILITIES.iter().position(|&p| p <= probability)?;
    if right == 0 {
        return (probability <= PROBABILITIES[0]).then_some(row[0]);
    }
    let left = right - 1;
    let share = (PROBABILITIES[left] / probability).ln()
        / (PROBABILITIES[left] / PROBABILITIES[right]).ln();
    Some(row[left] + share * (row[right] - row[left]))
}

/// The probability of a split at least this strong in a series that does not change.
///
/// Between the columns it is interpolated. Beyond the last it falls like x³ φ(x), the tail of the
/// maximum over intervals of a Gaussian series (Siegmund and Venkatraman, Annals of Statistics
/// 1995); bounded scores have a lighter tail.
pub(super) fn p_value(points: usize, strength: f64) -> f64 {
    let row = row(points);
    let last = row.len() - 1;
    if strength <= row[0] {
        return 1.0;
    }
    if strength > row[last] {
        let tail = |x: f64| x.powi(4) * normal_tail(x);
        return PROBABILITIES[last] * tail(strength) / tail(row[last]);
    }
    let right = row.iter().position(|&quantile| quantile >= strength).unwrap_or(last);
    let left = right - 1;
    let share = (strength - row[left]) / (row[right] - row[left]);
    PROBABILITIES[left] * (PROBABILITIES[right] / PROBABILITIES[left]).powf(share)
}
