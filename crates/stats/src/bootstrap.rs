//! Intervals by resampling with a seed, for statistics without a formula.

use crate::mean::{Interval3, mean};
use crate::quantile::quantile;
use crate::rng::Stream;
use crate::tail::{normal_point, normal_tail};

/// How the bounds are read off the resampled statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bounds {
    /// Their quantiles.
    Percentile,
    /// Quantiles corrected for bias and skewness (BCa; Efron, 1987).
    BiasCorrected,
}

/// An interval for any statistic of independent values, from `resamples` samples drawn with
/// replacement.
///
/// Pass [`crate::median`] for the median. Slices of one trial are not independent: resample
/// trials. `None` for fewer than two values, no resamples, a confidence outside (0, 1), where the
/// statistic itself says `None`, and, bias-corrected, where all resamples lie on one side of the
/// estimate.
pub fn bootstrap(
    values: &[f64],
    statistic: impl Fn(&[f64]) -> Option<f64>,
    bounds: Bounds,
    confidence: f64,
    resamples: u32,
    stream: &mut Stream,
) -> Option<Interval3> {
    if values.len() < 2 || resamples == 0 || !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let estimate = statistic(values)?;
    let drawn = draw(values, &statistic, resamples, stream)?;
    let tail = (1.0 - confidence) / 2.0;
    let (low, high) = match bounds {
        Bounds::Percentile => (tail, 1.0 - tail),
        Bounds::BiasCorrected => corrected(values, &statistic, estimate, &drawn, tail)?,
    };
    Some(Interval3 { estimate, low: quantile(&drawn, low)?, high: quantile(&drawn, high)? })
}

fn draw(
    values: &[f64],
    statistic: impl Fn(&[f64]) -> Option<f64>,
    resamples: u32,
    stream: &mut Stream,
) -> Option<Vec<f64>> {
    let n = values.len() as u64;
    let mut sample = vec![0.0; values.len()];
    let mut drawn = Vec::with_capacity(resamples as usize);
    for _ in 0..resamples {
        for place in &mut sample {
            *place = values[stream.below(n) as usize];
        }
        drawn.push(statistic(&sample)?);
    }
    Some(drawn)
}

/// The two shares of the resampled statistics at which BCa reads its bounds.
fn corrected(
    values: &[f64],
    statistic: impl Fn(&[f64]) -> Option<f64>,
    estimate: f64,
    drawn: &[f64],
    tail: f64,
) -> Option<(f64, f64)> {
    let count = |test: fn(&f64, &f64) -> bool| {
        drawn.iter().filter(|value| test(value, &estimate)).count() as f64
    };
    // Ties count half: a median falls on few different values.
    let below = (count(|a, b| a < b) + 0.5 * count(|a, b| a == b)) / drawn.len() as f64;
    let bias = -normal_point(below)?;
    let skewness = acceleration(values, statistic)?;
    let share = |point: f64| {
        let moved = bias + point;
        normal_tail(-(bias + moved / (1.0 - skewness * moved)))
    };
    let point = normal_point(tail)?;
    Some((share(-point), share(point)))
}

/// The skewness of the jackknife values, which stands for how the error grows with the parameter.
fn acceleration(values: &[f64], statistic: impl Fn(&[f64]) -> Option<f64>) -> Option<f64> {
    let mut left_out = Vec::with_capacity(values.len());
    for i in 0..values.len() {
        let rest: Vec<f64> = [&values[..i], &values[i + 1..]].concat();
        left_out.push(statistic(&rest)?);
    }
    let centre = mean(&left_out)?;
    let sum = |power: i32| left_out.iter().map(|value| (centre - value).powi(power)).sum::<f64>();
    let squares = sum(2);
    // Equal jackknife values have no skewness.
    Some(if squares == 0.0 { 0.0 } else { sum(3) / (6.0 * squares.powf(1.5)) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Fixture, all_close};
    use crate::median;

    #[test]
    fn agrees_with_the_formulas_of_efron_evaluated_in_scipy_on_the_same_resamples() {
        for row in Fixture::rows(include_str!("../fixtures/bootstrap.json")) {
            let values = row.numbers("values");
            let (seed, resamples) = (row.count("seed") as u64, row.count("resamples") as u32);
            for (bounds, mean_name, median_name) in [
                (Bounds::Percentile, "percentile_mean", "percentile_median"),
                (Bounds::BiasCorrected, "bca_mean", "bca_median"),
            ] {
                let run = |statistic: fn(&[f64]) -> Option<f64>| {
                    let mut stream = Stream::new(seed);
                    let got = bootstrap(&values, statistic, bounds, 0.95, resamples, &mut stream)
                        .unwrap();
                    [got.low, got.high]
                };
                assert!(all_close(&run(mean), &row.numbers(mean_name), 1e-9), "{mean_name}");
                assert!(all_close(&run(median), &row.numbers(median_name), 1e-9), "{median_name}");
            }
        }
    }

    #[test]
    fn the_interval_of_a_median_covers_about_as_often_as_it_says() {
        for bounds in [Bounds::Percentile, Bounds::BiasCorrected] {
            let mut stream = Stream::new(41);
            let held = (0..600)
                .filter(|_| {
                    let values: Vec<f64> = (0..25).map(|_| stream.normal().exp()).collect();
                    let got = bootstrap(&values, median, bounds, 0.95, 400, &mut stream).unwrap();
                    got.low <= 1.0 && 1.0 <= got.high
                })
                .count();
            assert!((546..=594).contains(&held), "{bounds:?}: {held} of 600");
        }
    }

    #[test]
    fn the_seed_decides_everything() {
        let values: Vec<f64> = (0..20).map(|i| f64::from(i * i)).collect();
        let run = |seed| {
            bootstrap(&values, mean, Bounds::Percentile, 0.9, 200, &mut Stream::new(seed)).unwrap()
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }

    #[test]
    fn says_nothing_where_nothing_can_be_said() {
        let run = |values: &[f64], confidence, resamples| {
            let mut stream = Stream::new(1);
            bootstrap(values, mean, Bounds::BiasCorrected, confidence, resamples, &mut stream)
        };
        assert_eq!(run(&[1.0], 0.95, 100), None);
        assert_eq!(run(&[1.0, f64::NAN], 0.95, 100), None);
        assert_eq!(run(&[1.0, 2.0], 0.95, 0), None);
        assert_eq!(run(&[1.0, 2.0], 1.0, 100), None);
        let constant = run(&[3.0; 5], 0.95, 50).unwrap();
        assert_eq!((constant.low, constant.high), (3.0, 3.0));
    }
}
