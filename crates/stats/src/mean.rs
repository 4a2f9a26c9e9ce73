//! Mean, variance and Student's interval for the mean.

use crate::tail::student_point;

/// An estimate between two bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval3 {
    /// Best estimate.
    pub estimate: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

/// The mean; `None` if there are no values or one is not finite.
pub fn mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let result = values.iter().sum::<f64>() / values.len() as f64;
    result.is_finite().then_some(result)
}

/// The unbiased sample variance; `None` for fewer than two values.
///
/// Two passes with the correction of Chan, Golub and LeVeque (1983), because one pass loses every
/// digit on times that differ in their last places.
pub fn variance(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let centre = mean(values)?;
    let (mut squares, mut rest) = (0.0, 0.0);
    for value in values {
        let distance = value - centre;
        squares += distance * distance;
        rest += distance;
    }
    let n = values.len() as f64;
    let result = (squares - rest * rest / n) / (n - 1.0);
    result.is_finite().then_some(result.max(0.0))
}

/// Student's interval for the mean; `None` for fewer than two values.
pub fn t_interval(values: &[f64], confidence: f64) -> Option<Interval3> {
    if !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let estimate = mean(values)?;
    let error = (variance(values)? / values.len() as f64).sqrt();
    let half = student_point((values.len() - 1) as f64, (1.0 - confidence) / 2.0)? * error;
    Some(Interval3 { estimate, low: estimate - half, high: estimate + half })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stream;

    const X: [f64; 9] = [3.1, 2.7, 9.4, 1.2, 5.5, 4.8, 7.3, 2.2, 6.6];

    fn near(got: f64, want: f64) -> bool {
        (got - want).abs() <= 1e-10 * want.abs()
    }

    #[test]
    fn agrees_with_scipy() {
        // numpy.mean(x), numpy.var(x, ddof=1),
        // scipy.stats.t.interval(c, 8, numpy.mean(x), scipy.stats.sem(x)) for c in (.95, .99)
        assert!(near(mean(&X).unwrap(), 4.755555555555556));
        assert!(near(variance(&X).unwrap(), 7.267777777777778));
        for (confidence, low, high) in [
            (0.95, 2.6833174911777347, 6.827793619933378),
            (0.99, 1.7403131964586724, 7.770797914652441),
        ] {
            let interval = t_interval(&X, confidence).unwrap();
            assert!(near(interval.low, low) && near(interval.high, high), "{interval:?}");
        }
    }

    #[test]
    fn the_95_percent_interval_covers_in_94_to_96_percent() {
        let mut stream = Stream::new(2026);
        let held = (0..2000)
            .filter(|_| {
                let values: Vec<f64> = (0..10).map(|_| 3.0 + 0.5 * stream.normal()).collect();
                let interval = t_interval(&values, 0.95).unwrap();
                interval.low <= 3.0 && 3.0 <= interval.high
            })
            .count();
        assert!((1880..=1920).contains(&held), "{held} of 2000");
    }

    #[test]
    fn variance_keeps_its_digits_far_from_zero() {
        let values: Vec<f64> = [4.0, 7.0, 13.0, 16.0].iter().map(|v| v + 1e9).collect();
        assert_eq!(variance(&values), Some(30.0));
    }

    #[test]
    fn says_nothing_where_nothing_can_be_said() {
        assert_eq!(mean(&[]), None);
        assert_eq!(variance(&[1.0]), None);
        assert_eq!(t_interval(&[1.0], 0.95), None);
        assert_eq!(t_interval(&[1.0, f64::NAN], 0.95), None);
        for confidence in [0.0, 1.0, -1.0, f64::NAN] {
            assert_eq!(t_interval(&X, confidence), None);
        }
    }
}
