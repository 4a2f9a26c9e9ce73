//! What a set of records says, in words a person can act on.

use crate::metrics;
use crate::winner::winner;
use proofmark_schema::finding::{Finding, Severity};
use proofmark_schema::quantity::{Nanos, three_digits};
use proofmark_schema::record::{Limits, Record};
use proofmark_schema::{DType, Outcome};

/// Efficiency above which a record is flagged: probes and times each err by a few per cent.
const FLAG_PERCENT: f64 = 105.0;
/// Efficiency above which no error of a short probe explains a record.
const IMPOSSIBLE_PERCENT: f64 = 200.0;
/// Half-width of an interval above which a time is not worth much.
const WIDE: f64 = 0.10;

/// Every finding on the records, refusals first.
pub fn findings(records: &[Record]) -> Vec<Finding> {
    let mut found: Vec<Finding> = records.iter().filter_map(refusal).collect();
    found.extend(records.iter().filter_map(too_fast));
    found.extend(records.iter().filter_map(wide_interval));
    found.extend(cells(records).iter().filter_map(|cell| fastest(cell)));
    found
}

/// The worst severity, which decides the exit code; `None` if nothing was found.
pub fn exit_severity(findings: &[Finding]) -> Option<Severity> {
    findings.iter().map(|finding| finding.severity).max()
}

/// The records of each case and thread count, in the order in which they first appear.
fn cells(records: &[Record]) -> Vec<Vec<&Record>> {
    let mut cells: Vec<Vec<&Record>> = Vec::new();
    for record in records {
        let same = |cell: &&mut Vec<&Record>| {
            cell[0].case == record.case
                && cell[0].threads == record.threads
                && cell[0].run == record.run
        };
        match cells.iter_mut().find(same) {
            Some(cell) => cell.push(record),
            None => cells.push(vec![record]),
        }
    }
    cells
}

fn refusal(record: &Record) -> Option<Finding> {
    let refusal = record.judged.proof().refusal.as_ref()?;
    let severity = match refusal.outcome {
        Outcome::Wrong | Outcome::Mistrusted => Severity::Incorrect,
        Outcome::Crashed | Outcome::TimedOut => Severity::Crashed,
        Outcome::Unsupported | Outcome::Absent | Outcome::Skipped | Outcome::Proven => {
            Severity::Note
        }
    };
    let claim = format!(
        "{} on {} is {}: {}",
        record.contender, record.case, refusal.outcome, refusal.reason
    );
    Some(Finding { severity, claim, items: vec![record.item], advice: refusal.repro.clone() })
}

/// A call that took less time than the limits allow.
///
/// The arithmetic limit is that of f32 multiply-adds; narrower types have faster instructions,
/// so for them an excess over it accuses nobody.
fn too_fast(record: &Record) -> Option<Finding> {
    let efficiency = metrics::value("efficiency", record)?;
    let performance = record.judged.performance()?;
    // What is left of the excess if the true time is the longest that the interval allows.
    let sure = efficiency * performance.wall_ns.estimate / performance.wall_ns.high;
    if efficiency <= FLAG_PERCENT {
        return None;
    }
    let is_bound = matches!(record.case.dtype, DType::F32 | DType::F64)
        || is_bound_by_traffic(record, &performance.limits?);
    let (severity, word) = if is_bound && sure > IMPOSSIBLE_PERCENT {
        (Severity::Integrity, "impossible speed")
    } else {
        (Severity::Note, "faster than the limits probed here")
    };
    let claim = format!(
        "{word}: {} on {} reaches {} % of the machine's limit",
        record.contender,
        record.case,
        three_digits(efficiency)
    );
    let advice = "probe again on a quiet machine; if it stays, the call skips work that the op \
                  defines, or keeps results from an earlier call";
    Some(Finding { severity, claim, items: vec![record.item], advice: advice.to_owned() })
}

fn is_bound_by_traffic(record: &Record, limits: &Limits) -> bool {
    record.work.bytes() as f64 / limits.bytes_per_second
        >= record.work.flops as f64 / limits.flops_per_second
}

fn wide_interval(record: &Record) -> Option<Finding> {
    let performance = record.judged.performance()?;
    let width = performance.wall_ns.relative_half_width();
    if width <= WIDE {
        return None;
    }
    let claim = format!(
        "{} on {} is known only to ±{} %: {} over {} trials",
        record.contender,
        record.case,
        three_digits(width * 100.0),
        Nanos(performance.wall_ns.estimate),
        performance.trials
    );
    let advice = "let nothing else run on the machine (`proofmark doctor` shows what does), or \
                  give the case more trials";
    let severity = Severity::Undecided;
    Some(Finding { severity, claim, items: vec![record.item], advice: advice.to_owned() })
}

fn fastest(cell: &[&Record]) -> Option<Finding> {
    let outcome = winner(cell);
    let place = format!("{} with {}", cell[0].case, threads(cell[0].threads));
    let (names, claim, advice) = match &outcome.best {
        Some(best) => {
            let record = cell.iter().find(|record| record.contender == *best)?;
            let wall = record.judged.performance()?.wall_ns;
            let width = three_digits(wall.relative_half_width() * 100.0);
            let time = format!("{} ±{width} %", Nanos(wall.estimate));
            let claim = format!("{best} is fastest on {place}: {time}");
            (vec![best], claim, String::new())
        }
        None if outcome.tie.is_empty() => return None,
        None => {
            let names: Vec<String> = outcome.tie.iter().map(ToString::to_string).collect();
            let claim = format!("tie on {place}: {}", names.join(", "));
            (outcome.tie.iter().collect(), claim, "more trials may part them".to_owned())
        }
    };
    let holds = |record: &&&Record| names.contains(&&record.contender);
    let items = cell.iter().filter(holds).map(|record| record.item).collect();
    Some(Finding { severity: Severity::Note, claim, items, advice })
}

fn threads(count: usize) -> String {
    if count == 1 { "1 thread".to_owned() } else { format!("{count} threads") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{compared, example, performance, refused, timed};

    #[test]
    fn refusals_weigh_by_their_outcome() {
        for (outcome, severity) in [
            (Outcome::Wrong, Severity::Incorrect),
            (Outcome::Mistrusted, Severity::Incorrect),
            (Outcome::Crashed, Severity::Crashed),
            (Outcome::TimedOut, Severity::Crashed),
            (Outcome::Unsupported, Severity::Note),
            (Outcome::Absent, Severity::Note),
            (Outcome::Skipped, Severity::Note),
        ] {
            let found = findings(&[refused(outcome)]);
            assert_eq!(found.len(), 1);
            assert_eq!(found[0].severity, severity, "{outcome}");
            assert_eq!(found[0].advice, "proofmark prove matmul");
        }
    }

    #[test]
    fn the_worst_finding_decides_the_exit() {
        assert_eq!(exit_severity(&[]), None);
        let found = findings(&[refused(Outcome::Absent), refused(Outcome::Wrong)]);
        assert_eq!(exit_severity(&found), Some(Severity::Incorrect));
    }

    #[test]
    fn a_clear_winner_is_named_with_its_time() {
        let records = [
            timed("native/scalar", 0, 100.0),
            compared("native/simd@avx2", 1, 25.0, (0.24, 0.25, 0.26)),
        ];
        let found = findings(&records);
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].claim,
            "native/simd@avx2 is fastest on matmul:f32[m=8,n=8,k=8] with 1 thread: \
             25.0 ns ±1.00 %"
        );
        assert_eq!(found[0].items, [1]);
    }

    #[test]
    fn a_tie_is_called_a_tie() {
        let records = [
            timed("native/scalar", 0, 100.0),
            compared("native/simd@avx2", 1, 100.0, (0.95, 1.0, 1.05)),
        ];
        let found = findings(&records);
        assert!(found[0].claim.starts_with("tie on "), "{}", found[0].claim);
        assert_eq!(found[0].items, [0, 1]);
    }

    #[test]
    fn thread_counts_are_not_compared_with_each_other() {
        let mut other = compared("native/simd@avx2", 1, 25.0, (0.24, 0.25, 0.26));
        other.threads = 2;
        assert_eq!(findings(&[timed("native/scalar", 0, 100.0), other]), []);
    }

    #[test]
    fn speed_over_the_limit_is_noted_and_far_over_it_is_impossible() {
        for (bound_share, expected) in [
            (1.0, None),
            (1.04, None),
            (1.5, Some(Severity::Note)),
            (2.5, Some(Severity::Integrity)),
        ] {
            let mut record = example();
            let wall = performance(&mut record).wall_ns.estimate;
            performance(&mut record).limits.as_mut().unwrap().bound_ns = bound_share * wall;
            let found = findings(&[record]);
            assert_eq!(found.first().map(|finding| finding.severity), expected, "{bound_share}");
        }
    }

    #[test]
    fn narrow_types_are_not_accused_of_beating_the_f32_rate() {
        let mut record = example();
        record.case.dtype = DType::Bf16;
        let wall = performance(&mut record).wall_ns.estimate;
        let limits = performance(&mut record).limits.as_mut().unwrap();
        (limits.bound_ns, limits.flops_per_second) = (8.0 * wall, 1e9);
        assert_eq!(findings(&[record])[0].severity, Severity::Note);
    }

    #[test]
    fn a_wide_interval_is_undecided() {
        let mut record = example();
        performance(&mut record).wall_ns.high *= 1.5;
        let found = findings(&[record]);
        assert_eq!(exit_severity(&found), Some(Severity::Undecided));
        assert!(found[0].claim.contains("100 ms"), "{}", found[0].claim);
    }
}
