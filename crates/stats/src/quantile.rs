//! Order statistics: median, quantiles, an interval for the median, the MAD.

use statrs::distribution::{Binomial, DiscreteCDF};

/// The values in order; `None` if there are none or one is not finite.
fn sorted(values: &[f64]) -> Option<Vec<f64>> {
    if values.is_empty() || !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let mut ordered = values.to_vec();
    ordered.sort_by(f64::total_cmp);
    Some(ordered)
}

/// The middle value, or the mean of the middle two.
pub fn median(values: &[f64]) -> Option<f64> {
    let ordered = sorted(values)?;
    let middle = ordered.len() / 2;
    if ordered.len() % 2 == 1 {
        Some(ordered[middle])
    } else {
        Some(f64::midpoint(ordered[middle - 1], ordered[middle]))
    }
}

/// The value below which a share `p` lies: type 7 of Hyndman and Fan (1996), as in R and NumPy.
pub fn quantile(values: &[f64], p: f64) -> Option<f64> {
    if !(0.0..=1.0).contains(&p) {
        return None;
    }
    let ordered = sorted(values)?;
    let place = p * (ordered.len() - 1) as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(ordered.len() - 1);
    let share = place - place.floor();
    Some(ordered[below] + share * (ordered[above] - ordered[below]))
}

/// An interval that holds the median with at least this confidence, whatever the distribution.
///
/// The bounds are values of the sample: the k-th smallest and the k-th largest, with the
/// greatest k for which 2·P(Binomial(n, ½) < k) does not exceed 1 − confidence. `None` where even
/// the whole range does not reach the confidence (at 95 %: fewer than six values).
pub fn median_interval(values: &[f64], confidence: f64) -> Option<(f64, f64)> {
    if !(0.0..1.0).contains(&confidence) {
        return None;
    }
    let ordered = sorted(values)?;
    let n = ordered.len();
    let count = Binomial::new(0.5, n as u64).ok()?;
    let allowed = (1.0 - confidence) / 2.0;
    let k = (1..=n.div_ceil(2)).take_while(|&k| count.cdf(k as u64 - 1) <= allowed).last()?;
    Some((ordered[k - 1], ordered[n - k]))
}

/// Median absolute deviation from the median, unscaled (1.4826 times it estimates a normal sigma).
pub fn mad(values: &[f64]) -> Option<f64> {
    let centre = median(values)?;
    let distances: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    median(&distances)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stream;

    // x = [3.1,2.7,9.4,1.2,5.5,4.8,7.3,2.2,6.6]
    // numpy.median(x), numpy.quantile(x, [.1,.25,.9]), scipy.stats.median_abs_deviation(x)
    const X: [f64; 9] = [3.1, 2.7, 9.4, 1.2, 5.5, 4.8, 7.3, 2.2, 6.6];

    #[test]
    fn agrees_with_numpy_and_scipy() {
        assert_eq!(median(&X), Some(4.8));
        for (p, want) in [(0.0, 1.2), (0.1, 2.0), (0.25, 2.7), (0.9, 7.72), (1.0, 9.4)] {
            assert!((quantile(&X, p).unwrap() - want).abs() < 1e-12, "{p}");
        }
        assert!((mad(&X).unwrap() - 2.1).abs() < 1e-12);
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
    }

    #[test]
    fn the_median_interval_takes_the_binomial_order_statistics() {
        // k=0
        // while 2*scipy.stats.binom.cdf(k,n,.5)<=.05: k+=1
        for (n, k) in [(6, 1), (9, 2), (10, 2), (20, 6), (25, 8), (100, 40)] {
            let values: Vec<f64> = (1..=n).map(f64::from).collect();
            let want = (f64::from(k), f64::from(n + 1 - k));
            assert_eq!(median_interval(&values, 0.95), Some(want), "n={n}");
        }
        assert_eq!(median_interval(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95), None);
    }

    #[test]
    fn the_median_interval_covers_a_skewed_median_as_often_as_it_says() {
        let mut stream = Stream::new(20);
        let held = (0..2000)
            .filter(|_| {
                let values: Vec<f64> = (0..20).map(|_| stream.normal().exp()).collect();
                let (low, high) = median_interval(&values, 0.95).unwrap();
                low <= 1.0 && 1.0 <= high
            })
            .count();
        // At n = 20 the order statistics hold it in 95.86 % (1 - 2*binom.cdf(5,20,.5)).
        assert!((1890..=1944).contains(&held), "{held} of 2000");
    }

    #[test]
    fn says_nothing_about_no_data_or_values_that_are_not_finite() {
        for values in [&[][..], &[1.0, f64::NAN], &[f64::INFINITY]] {
            assert_eq!(median(values), None);
            assert_eq!(quantile(values, 0.5), None);
            assert_eq!(median_interval(values, 0.5), None);
            assert_eq!(mad(values), None);
        }
        assert_eq!(quantile(&X, 1.1), None);
        assert_eq!(quantile(&X, f64::NAN), None);
        assert_eq!(median_interval(&X, f64::NAN), None);
    }
}
