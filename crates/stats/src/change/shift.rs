//! How far a series moved: the two-sample estimate of Hodges and Lehmann, with an interval.

use crate::mean::Interval3;
use crate::tail::normal_point;

/// The median of all differences of a value after and a value before (Hodges and Lehmann, 1963),
/// with the interval that inverts the rank-sum test (Moses, 1953).
///
/// `widening` is the factor by which memory of the noise widens the interval; 1 for independent
/// values. The interval is infinite if there are too few values for the confidence. `None` unless
/// both sides have values, all are finite and 0 < confidence < 1.
pub fn shift(before: &[f64], after: &[f64], confidence: f64, widening: f64) -> Option<Interval3> {
    if before.is_empty() || after.is_empty() {
        return None;
    }
    let point = normal_point((1.0 - confidence) / 2.0)?;
    let mut differences: Vec<f64> =
        after.iter().flat_map(|a| before.iter().map(move |b| a - b)).collect();
    if !differences.iter().all(|difference| difference.is_finite()) {
        return None;
    }
    differences.sort_by(f64::total_cmp);
    let (m, n) = (before.len() as f64, after.len() as f64);
    let reach = point * widening * (m * n * (m + n + 1.0) / 12.0).sqrt();
    let count = differences.len();
    let estimate = if count % 2 == 1 {
        differences[count / 2]
    } else {
        f64::midpoint(differences[count / 2 - 1], differences[count / 2])
    };
    // With this few values no difference is extreme enough for the confidence.
    let outside = m * n / 2.0 - reach;
    if outside < 0.0 {
        return Some(Interval3 { estimate, low: f64::NEG_INFINITY, high: f64::INFINITY });
    }
    let low = (outside as usize).min((count - 1) / 2);
    Some(Interval3 { estimate, low: differences[low], high: differences[count - 1 - low] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stream;

    #[test]
    fn a_known_example_has_its_known_shift() {
        let got = shift(&[1.0, 2.0, 4.0], &[6.0, 9.0], 0.5, 1.0).unwrap();
        // Differences 5, 4, 2, 8, 7, 5.
        assert_eq!(got.estimate, 5.0);
        assert!(got.low <= 5.0 && got.high >= 5.0);
    }

    #[test]
    fn the_95_percent_interval_covers_its_truth_with_outliers_too() {
        for share in [0.0, 0.05] {
            let mut stream = Stream::new(31);
            let mut draw = |centre: f64| {
                let outlier = stream.uniform() < share;
                centre + stream.normal() + if outlier { 20.0 } else { 0.0 }
            };
            let held = (0..2000)
                .filter(|_| {
                    let before: Vec<f64> = (0..30).map(|_| draw(0.0)).collect();
                    let after: Vec<f64> = (0..20).map(|_| draw(1.0)).collect();
                    let got = shift(&before, &after, 0.95, 1.0).unwrap();
                    got.low <= 1.0 && 1.0 <= got.high
                })
                .count();
            assert!((1860..=1940).contains(&held), "{share}: {held} of 2000");
        }
    }

    #[test]
    fn says_nothing_where_nothing_can_be_said() {
        assert_eq!(shift(&[], &[1.0], 0.95, 1.0), None);
        assert_eq!(shift(&[1.0], &[f64::NAN], 0.95, 1.0), None);
        assert_eq!(shift(&[1.0], &[2.0], 1.0, 1.0), None);
    }
}
