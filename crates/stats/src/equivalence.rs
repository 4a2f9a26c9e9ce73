//! Two one-sided tests: shows that a ratio lies within a margin of 1, instead of failing to show
//! that it does not.

use crate::mean::{Interval3, mean, t_interval, variance};
use crate::tail::student_tail;

/// The p-value of "the ratio differs from 1 by the margin or more" (Schuirmann, 1987).
///
/// The margin is a share (0.01 is 1 %) and acts on the log scale, as in [`crate::decide`]: the
/// bounds are 1.01 and 1/1.01. The greater of the two one-sided p-values is the answer. `None` for
/// fewer than two log-ratios, values that are not finite, or a margin that is not positive.
pub fn tost_p_value(log_ratios: &[f64], margin: f64) -> Option<f64> {
    if !(margin > 0.0 && margin.is_finite()) {
        return None;
    }
    let bound = margin.ln_1p();
    let centre = mean(log_ratios)?;
    let error = (variance(log_ratios)? / log_ratios.len() as f64).sqrt();
    let distance = bound - centre.abs();
    if error == 0.0 {
        return Some(if distance > 0.0 { 0.0 } else { 1.0 });
    }
    // The nearer bound has the greater p-value.
    student_tail((log_ratios.len() - 1) as f64, distance / error)
}

/// The interval that lies within the margin exactly when [`tost_p_value`] is below `alpha`, as
/// ratios: Student's at confidence 1 − 2·alpha.
///
/// The decision of a race is stricter: it asks the same of the interval at 1 − alpha.
pub fn tost_interval(log_ratios: &[f64], alpha: f64) -> Option<Interval3> {
    let interval = t_interval(log_ratios, 1.0 - 2.0 * alpha)?;
    Some(Interval3 {
        estimate: interval.estimate.exp(),
        low: interval.low.exp(),
        high: interval.high.exp(),
    })
}

/// Whether the ratio is shown to lie within the margin at error rate `alpha`.
pub fn equivalent(log_ratios: &[f64], margin: f64, alpha: f64) -> Option<bool> {
    if !(alpha > 0.0 && alpha < 0.5) {
        return None;
    }
    Some(tost_p_value(log_ratios, margin)? < alpha)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stream;
    use crate::fixture::{Fixture, close};

    #[test]
    fn agrees_with_statsmodels() {
        for row in Fixture::rows(include_str!("../fixtures/equivalence.json")) {
            let (values, margin) = (row.numbers("values"), row.number("margin"));
            let p = tost_p_value(&values, margin).unwrap();
            assert!(close(p, row.number("p_value"), 1e-9), "{margin}: {p}");
            let interval = tost_interval(&values, row.number("alpha")).unwrap();
            assert!(close(interval.low, row.number("low"), 1e-12), "{interval:?}");
            assert!(close(interval.high, row.number("high"), 1e-12), "{interval:?}");
        }
    }

    #[test]
    fn interval_and_p_value_say_the_same() {
        let mut stream = Stream::new(31);
        let mut shown = 0;
        for _ in 0..3000 {
            let centre = 0.02 * (stream.uniform() - 0.5);
            let values: Vec<f64> = (0..8).map(|_| centre + 0.008 * stream.normal()).collect();
            let interval = tost_interval(&values, 0.05).unwrap();
            let inside = interval.low > 1.0 / 1.01 && interval.high < 1.01;
            assert_eq!(equivalent(&values, 0.01, 0.05), Some(inside));
            shown += u32::from(inside);
        }
        assert!((300..2700).contains(&shown), "{shown}");
    }

    #[test]
    fn values_that_all_agree_are_equivalent_only_within_the_margin() {
        assert_eq!(tost_p_value(&[0.001; 4], 0.01), Some(0.0));
        assert_eq!(tost_p_value(&[0.02; 4], 0.01), Some(1.0));
        assert_eq!(tost_p_value(&[-0.02; 4], 0.01), Some(1.0));
    }

    #[test]
    fn says_nothing_where_nothing_can_be_said() {
        assert_eq!(tost_p_value(&[0.0], 0.01), None);
        assert_eq!(tost_p_value(&[0.0, f64::NAN], 0.01), None);
        assert_eq!(tost_p_value(&[0.0, 0.1], 0.0), None);
        assert_eq!(tost_interval(&[0.0, 0.1], 0.5), None);
        assert_eq!(equivalent(&[0.0, 0.1], 0.01, 0.7), None);
    }
}
