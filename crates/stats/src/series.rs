//! Values in the order of time: whether neighbours move together, and whether there is a drift.

use crate::mean::{Interval3, mean};
use crate::quantile::median;
use crate::tail::normal_point;
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// The correlation of values with those `lag` places later, about the common mean and divided by
/// the power of all values, so that it never exceeds 1.
///
/// `None` unless there are more than `lag` values, all finite and not all the same.
pub fn autocorrelation(values: &[f64], lag: usize) -> Option<f64> {
    if lag >= values.len() {
        return None;
    }
    let centre = mean(values)?;
    let square: f64 = values.iter().map(|v| (v - centre) * (v - centre)).sum();
    let product: f64 =
        values.iter().zip(&values[lag..]).map(|(a, b)| (a - centre) * (b - centre)).sum();
    let result = product / square;
    result.is_finite().then_some(result)
}

/// How many independent values would fix the mean as well as these do.
///
/// The autocorrelations are summed in pairs while the pairs are positive and made to fall (the
/// initial monotone sequence of Geyer, 1992). Values that alternate earn no bonus: at most n.
pub fn effective_sample_size(values: &[f64]) -> Option<f64> {
    let n = values.len();
    let (mut sum, mut last) = (0.0, f64::INFINITY);
    let mut lag = 0;
    while lag + 1 < n {
        let pair = autocorrelation(values, lag)? + autocorrelation(values, lag + 1)?;
        if pair <= 0.0 {
            break;
        }
        last = pair.min(last);
        sum += last;
        lag += 2;
    }
    (n >= 2).then(|| n as f64 / (2.0 * sum - 1.0).max(1.0))
}

/// The p-value of "the first `lags` autocorrelations are all nought" (Ljung and Box, 1978).
pub fn ljung_box_p_value(values: &[f64], lags: usize) -> Option<f64> {
    if lags == 0 || lags >= values.len() {
        return None;
    }
    let n = values.len() as f64;
    let mut sum = 0.0;
    for lag in 1..=lags {
        let r = autocorrelation(values, lag)?;
        sum += r * r / (n - lag as f64);
    }
    Some(ChiSquared::new(lags as f64).ok()?.sf(n * (n + 2.0) * sum))
}

/// The median of the slopes of all pairs of points, with the interval of Sen (1968).
///
/// Up to 29 % of the points may be anything. Time and memory grow with the square of their number.
/// `None` for unequal lengths, values that are not finite, or fewer than two different places.
pub fn theil_sen(places: &[f64], values: &[f64], confidence: f64) -> Option<Interval3> {
    let finite = places.iter().chain(values).all(|value| value.is_finite());
    if places.len() != values.len() || !finite || !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let mut slopes = pair_slopes(places, values);
    slopes.sort_by(f64::total_cmp);
    let estimate = median(&slopes)?;
    let count = slopes.len() as f64;
    let reach = normal_point((1.0 - confidence) / 2.0)? * kendall_sd(places, values);
    // The ranks of SciPy: rounded to even, and never outside the slopes.
    let high = ((count + reach) / 2.0).round_ties_even().min(count - 1.0);
    let low = (((count - reach) / 2.0).round_ties_even() - 1.0).max(0.0);
    Some(Interval3 { estimate, low: slopes[low as usize], high: slopes[high as usize] })
}

fn pair_slopes(places: &[f64], values: &[f64]) -> Vec<f64> {
    let mut slopes = Vec::new();
    for i in 0..places.len() {
        for j in 0..i {
            let (run, rise) = (places[i] - places[j], values[i] - values[j]);
            if run != 0.0 {
                slopes.push(rise / run);
            }
        }
    }
    slopes
}

/// The standard deviation of Kendall's score, corrected for ties in both coordinates.
fn kendall_sd(places: &[f64], values: &[f64]) -> f64 {
    let term = |k: f64| k * (k - 1.0) * (2.0 * k + 5.0);
    let ties = |list: &[f64]| -> f64 {
        let mut ordered = list.to_vec();
        ordered.sort_by(f64::total_cmp);
        ordered.chunk_by(|a, b| a == b).map(|run| term(run.len() as f64)).sum()
    };
    ((term(places.len() as f64) - ties(places) - ties(values)) / 18.0).max(0.0).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stream;
    use crate::fixture::{Fixture, all_close, close};

    fn first_order(seed: u64, count: usize, r: f64) -> Vec<f64> {
        let mut stream = Stream::new(seed);
        let mut last = stream.normal() / (1.0 - r * r).sqrt();
        (0..count)
            .map(|_| {
                last = r * last + stream.normal();
                last
            })
            .collect()
    }

    #[test]
    fn agrees_with_statsmodels_on_series_with_and_without_memory() {
        for row in Fixture::rows(include_str!("../fixtures/series.json")) {
            let values = row.numbers("values");
            let want = row.numbers("acf");
            let got: Vec<f64> =
                (0..want.len()).map(|lag| autocorrelation(&values, lag).unwrap()).collect();
            assert!(all_close(&got, &want, 1e-9), "{got:?} {want:?}");
            for (lags, name) in [(1, "ljung_box_1"), (5, "ljung_box_5"), (10, "ljung_box_10")] {
                let p = ljung_box_p_value(&values, lags).unwrap();
                assert!(close(p, row.number(name), 1e-9), "{name}: {p} {}", row.number(name));
            }
            let size = effective_sample_size(&values).unwrap();
            assert!(close(size, row.number("effective"), 1e-9), "{size}");
        }
    }

    #[test]
    fn the_slope_and_its_interval_agree_with_scipy_with_and_without_ties() {
        for row in Fixture::rows(include_str!("../fixtures/theil_sen.json")) {
            let (x, y) = (row.numbers("x"), row.numbers("y"));
            let got = theil_sen(&x, &y, row.number("confidence")).unwrap();
            let want = row.numbers("slope_low_high");
            assert!(
                all_close(&[got.estimate, got.low, got.high], &want, 1e-12),
                "{got:?} {want:?}"
            );
        }
    }

    #[test]
    fn a_series_with_memory_counts_for_as_much_as_theory_says() {
        // n (1 - r) / (1 + r) for a first-order process.
        for (r, share) in [(0.0, 1.0), (0.5, 1.0 / 3.0), (0.8, 1.0 / 9.0)] {
            let sizes: Vec<f64> = (0..20)
                .map(|seed| effective_sample_size(&first_order(seed, 2000, r)).unwrap() / 2000.0)
                .collect();
            let got = mean(&sizes).unwrap();
            assert!((0.85 * share..=1.15 * share).contains(&got), "{r}: {got}");
        }
    }

    #[test]
    fn values_that_alternate_earn_no_bonus() {
        assert_eq!(effective_sample_size(&[1.0, -1.0, 1.0, -1.0, 1.0, -1.0]), Some(6.0));
    }

    #[test]
    fn the_test_for_memory_errs_as_often_as_it_says_and_sees_memory() {
        let flagged = |r: f64| {
            (0..1000)
                .filter(|&seed| ljung_box_p_value(&first_order(seed, 120, r), 4).unwrap() < 0.05)
                .count()
        };
        let false_alarms = flagged(0.0);
        assert!((25..=80).contains(&false_alarms), "{false_alarms}");
        assert!(flagged(0.5) > 950);
    }

    #[test]
    fn a_quarter_of_wild_points_does_not_bend_the_slope() {
        let mut stream = Stream::new(5);
        let places: Vec<f64> = (0..80).map(f64::from).collect();
        let values: Vec<f64> = (0..80)
            .map(|i| {
                let wild = if i % 4 == 0 { 500.0 * stream.uniform() } else { 0.0 };
                0.25 * f64::from(i) + 0.1 * stream.normal() + wild
            })
            .collect();
        let slope = theil_sen(&places, &values, 0.95).unwrap();
        assert!((slope.estimate - 0.25).abs() < 0.02, "{slope:?}");
        assert!(slope.low <= 0.25 && 0.25 <= slope.high, "{slope:?}");
    }

    #[test]
    fn says_nothing_where_nothing_can_be_said() {
        assert_eq!(autocorrelation(&[1.0, 1.0, 1.0], 1), None);
        assert_eq!(autocorrelation(&[1.0, 2.0], 2), None);
        assert_eq!(autocorrelation(&[1.0, f64::NAN, 2.0], 1), None);
        assert_eq!(effective_sample_size(&[]), None);
        assert_eq!(effective_sample_size(&[1.0]), None);
        assert_eq!(ljung_box_p_value(&[1.0, 2.0, 4.0], 0), None);
        assert_eq!(ljung_box_p_value(&[1.0, 2.0, 4.0], 3), None);
        assert_eq!(theil_sen(&[1.0, 1.0], &[1.0, 2.0], 0.95), None);
        assert_eq!(theil_sen(&[1.0], &[1.0, 2.0], 0.95), None);
        assert_eq!(theil_sen(&[1.0, f64::INFINITY], &[1.0, 2.0], 0.95), None);
        assert_eq!(theil_sen(&[1.0, 2.0], &[1.0, 2.0], 1.0), None);
    }
}
