//! Upper tails of Student's and the normal distribution, and their inverses.

use statrs::distribution::{Continuous, ContinuousCDF, Normal, StudentsT};

/// P(T > t) of Student's distribution.
pub(crate) fn student_tail(freedom: f64, t: f64) -> Option<f64> {
    if t.is_nan() || !(freedom > 0.0 && freedom.is_finite()) {
        return None;
    }
    match t.is_infinite() {
        true => Some(if t > 0.0 { 0.0 } else { 1.0 }),
        false => Some(StudentsT::new(0.0, 1.0, freedom).ok()?.sf(t)),
    }
}

/// P(Z > z) of the standard normal distribution.
pub(crate) fn normal_tail(z: f64) -> f64 {
    Normal::standard().sf(z)
}

/// The z that a standard normal value exceeds with probability `tail`.
pub(crate) fn normal_point(tail: f64) -> Option<f64> {
    (tail > 0.0 && tail < 1.0).then(|| -Normal::standard().inverse_cdf(tail))
}

/// The t that Student's distribution exceeds with probability `tail`, at most one half.
///
/// The library's own inverse carries eight digits and is not made for the tails that early looks
/// spend, so its distribution function is inverted here. ln P(T > e^u) falls and is concave in u:
/// after one step Newton's iteration approaches the root from the right and cannot overshoot it.
pub(crate) fn student_point(freedom: f64, tail: f64) -> Option<f64> {
    if !(tail > 0.0 && tail <= 0.5 && freedom > 0.0 && freedom.is_finite()) {
        return None;
    }
    let student = StudentsT::new(0.0, 1.0, freedom).ok()?;
    // Student's tail is the heavier one: the root lies to the right of the normal's.
    let mut t = normal_point(tail)?;
    for _ in 0..60 {
        let above = student.sf(t);
        let slope = student.pdf(t) * t / above;
        let step = (above / tail).ln() / slope;
        if t <= 0.0 || !step.is_finite() {
            break;
        }
        t *= step.exp();
        if step.abs() < 1e-14 {
            break;
        }
    }
    (t.is_finite() && t >= 0.0).then_some(t)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Fixture, close};

    #[test]
    fn student_points_agree_with_scipy_from_one_degree_of_freedom_to_a_million() {
        for row in Fixture::rows(include_str!("../fixtures/student.json")) {
            let (freedom, tail, want) =
                (row.number("freedom"), row.number("tail"), row.number("point"));
            // At a million degrees ν/(ν + t²) itself has fewer digits.
            let digits = if freedom > 1e4 { 1e-8 } else { 1e-10 };
            let got = student_point(freedom, tail).unwrap();
            assert!(close(got, want, digits), "{freedom} {tail}: {got} {want}");
            let back = student_tail(freedom, want).unwrap();
            assert!(close(back, tail, digits), "{freedom} {want}: {back} {tail}");
        }
    }

    #[test]
    fn normal_points_agree_with_scipy_far_into_the_tail() {
        for row in Fixture::rows(include_str!("../fixtures/normal.json")) {
            let (tail, want) = (row.number("tail"), row.number("point"));
            assert!(close(normal_point(tail).unwrap(), want, 1e-11), "{tail}");
            assert!(close(normal_tail(want), tail, 1e-10), "{want}");
        }
    }

    #[test]
    fn half_lies_above_zero_and_nothing_outside_the_range_has_a_point() {
        assert_eq!(student_point(5.0, 0.5), Some(0.0));
        for (freedom, tail) in [(5.0, 0.0), (5.0, 0.6), (0.0, 0.1), (5.0, f64::NAN)] {
            assert_eq!(student_point(freedom, tail), None);
        }
        assert_eq!(normal_point(0.0), None);
        assert_eq!(student_tail(3.0, f64::INFINITY), Some(0.0));
        assert_eq!(student_tail(3.0, f64::NEG_INFINITY), Some(1.0));
        assert_eq!(student_tail(3.0, f64::NAN), None);
    }
}
