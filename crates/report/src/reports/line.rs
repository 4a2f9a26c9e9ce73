//! The results of one case in a line.

use crate::reports::names;
use proofmark_analyze::{field, winner};
use proofmark_schema::quantity::{Nanos, three_digits};
use proofmark_schema::record::Record;

/// The fastest contender of a case with its time, and by what factor the others take longer; for
/// a person who waits for the other cases. None if nothing was measured.
pub fn line(records: &[Record]) -> Option<String> {
    let cell: Vec<&Record> = records.iter().collect();
    let field = field(&cell);
    let (best, of_best) = field.first()?;
    let time = Nanos(best.judged.performance()?.wall_ns.estimate);
    let tie = winner(&cell).tie;
    let mut line = format!("{}: {} {time}", names::case(best, records), best.contender);
    for (record, of) in &field[1..] {
        let times = three_digits(of.estimate / of_best.estimate);
        let close = if tie.contains(&record.contender) { " (too close to call)" } else { "" };
        line += &format!(", {} {times}×{close}", record.contender);
    }
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{compared, first, refused};
    use proofmark_schema::record::Judged;

    #[test]
    fn the_fastest_comes_first_and_the_others_are_multiples_of_it() {
        let line = line(&[first(), compared(), refused()]).unwrap();
        assert_eq!(
            line,
            "matmul m=64 n=32 k=63: native/simd@avx2 10.0 µs, native/scalar@scalar 4.00×"
        );
    }

    #[test]
    fn contenders_whose_intervals_meet_are_too_close_to_call() {
        let mut level = compared();
        if let Judged::Proven { performance: Some(performance), .. } = &mut level.judged {
            let ratio = &mut performance.comparison.as_mut().unwrap().ratio;
            (ratio.low, ratio.estimate, ratio.high) = (0.9, 0.98, 1.1);
        }
        let line = line(&[first(), level]).unwrap();
        assert!(line.ends_with(", native/scalar@scalar 1.02× (too close to call)"), "{line}");
    }

    #[test]
    fn a_case_without_times_has_no_line() {
        assert_eq!(line(&[refused()]), None);
    }
}
