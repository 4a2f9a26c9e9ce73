//! The fastest contender on a case, if the intervals single one out.

use crate::cells::field;
use proofmark_schema::ContenderId;
use proofmark_schema::quantity::Interval;
use proofmark_schema::record::Record;

/// The outcome of one case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Winner {
    /// The one whose interval stands clear of every other's.
    pub best: Option<ContenderId>,
    /// Contenders that could each be the fastest, if none stands clear; lowest estimate first.
    pub tie: Vec<ContenderId>,
}

impl Winner {
    /// Whether this contender is the winner.
    pub fn is(&self, contender: &ContenderId) -> bool {
        self.best.as_ref() == Some(contender)
    }
}

/// The winner among the records of one case and thread count.
///
/// Ratios to the first arm decide, since slow drifts of the machine cancel in them; times only
/// where a ratio is missing. Fewer than two measured contenders have neither winner nor tie.
pub fn winner(records: &[&Record]) -> Winner {
    let field: Vec<(&ContenderId, Interval)> =
        field(records).into_iter().map(|(record, of)| (&record.contender, of)).collect();
    let Some(((best, reach), others)) = field.split_first() else { return Winner::default() };
    let rivals: Vec<ContenderId> = others
        .iter()
        .filter(|(_, interval)| interval.low <= reach.high)
        .map(|(contender, _)| (*contender).clone())
        .collect();
    match (others.is_empty(), rivals.is_empty()) {
        (true, _) => Winner::default(),
        (false, true) => Winner { best: Some((*best).clone()), tie: Vec::new() },
        (false, false) => {
            Winner { best: None, tie: std::iter::once((*best).clone()).chain(rivals).collect() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{compared, timed};

    fn id(text: &str) -> ContenderId {
        text.parse().unwrap()
    }

    #[test]
    fn an_interval_that_stands_clear_wins() {
        let first = timed("native/scalar", 0, 100.0);
        let second = compared("native/simd@avx2", 1, 25.0, (0.24, 0.25, 0.26));
        let third = compared("native/simd@avx512", 2, 20.0, (0.19, 0.20, 0.21));
        let outcome = winner(&[&first, &second, &third]);
        assert_eq!(outcome, Winner { best: Some(id("native/simd@avx512")), tie: Vec::new() });
    }

    #[test]
    fn overlapping_intervals_tie_and_leave_the_slow_out() {
        let first = timed("native/scalar", 0, 100.0);
        let second = compared("native/simd@avx2", 1, 25.0, (0.20, 0.25, 0.30));
        let third = compared("native/simd@avx512", 2, 24.0, (0.19, 0.24, 0.29));
        let outcome = winner(&[&first, &second, &third]);
        assert_eq!(outcome.best, None);
        assert_eq!(outcome.tie, [id("native/simd@avx512"), id("native/simd@avx2")]);
    }

    #[test]
    fn one_contender_alone_wins_nothing() {
        assert_eq!(winner(&[&timed("native/scalar", 0, 100.0)]), Winner::default());
        assert_eq!(winner(&[]), Winner::default());
    }

    #[test]
    fn intervals_that_are_no_numbers_do_not_win() {
        let first = timed("native/scalar", 0, 100.0);
        let second = compared("native/simd@avx2", 1, f64::NAN, (f64::NAN, f64::NAN, f64::NAN));
        assert_eq!(winner(&[&first, &second]), Winner::default());
    }

    #[test]
    fn times_decide_where_a_ratio_is_missing() {
        let first = timed("native/scalar", 1, 100.0);
        let second = timed("native/simd@avx2", 2, 50.0);
        assert!(winner(&[&first, &second]).is(&id("native/simd@avx2")));
    }
}
