//! What a set of records says, in words a person can act on.

use crate::cells::cells;
use crate::metrics;
use crate::winner::winner;
use proofmark_schema::conditions::{Conditions, Quiet, Ruler};
use proofmark_schema::finding::{Finding, Severity};
use proofmark_schema::quantity::{Nanos, three_digits};
use proofmark_schema::record::{Limits, Performance, Record};
use proofmark_schema::{DType, Outcome};

/// Efficiency above which a record is flagged: probes and times each err by a few per cent.
const FLAG_PERCENT: f64 = 105.0;
/// Efficiency above which no error of a short probe explains a record.
const IMPOSSIBLE_PERCENT: f64 = 200.0;
/// Half-width of an interval above which a time is not worth much.
const WIDE: f64 = 0.10;
/// Change of a ruler over a race, as a share, that is reported if the whole interval exceeds it.
const DRIFT: f64 = 0.02;

/// Every finding on the records, refusals first.
pub fn findings(records: &[Record]) -> Vec<Finding> {
    let mut found: Vec<Finding> = records.iter().filter_map(refusal).collect();
    found.extend(records.iter().filter_map(too_fast));
    found.extend(wide_intervals(records));
    found.extend(records.iter().flat_map(conditions));
    found.extend(cells(records).iter().filter_map(|cell| fastest(cell)));
    found
}

/// The worst severity, which decides the exit code; `None` if nothing was found.
pub fn exit_severity(findings: &[Finding]) -> Option<Severity> {
    findings.iter().map(|finding| finding.severity).max()
}

fn refusal(record: &Record) -> Option<Finding> {
    let refusal = record.judged.proof().refusal.as_ref()?;
    let severity = match refusal.outcome {
        Outcome::Wrong | Outcome::Mistrusted => Severity::Incorrect,
        Outcome::Caught => Severity::Integrity,
        Outcome::Crashed | Outcome::TimedOut => Severity::Crashed,
        Outcome::Broken => Severity::Environment,
        Outcome::Undecided => Severity::Undecided,
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

/// A call that took less time than the limits allow, if it did.
///
/// The arithmetic limit is that of f32 multiply-adds. Narrower types have faster instructions, so
/// an excess over the limit is no evidence against them.
pub fn too_fast(record: &Record) -> Option<Finding> {
    let efficiency = metrics::value("efficiency", record)?;
    let performance = record.judged.performance()?;
    // What is left of the excess if the true time is the longest that the interval allows.
    let sure = efficiency * performance.wall_ns.estimate / performance.wall_ns.high;
    if efficiency <= FLAG_PERCENT {
        return None;
    }
    let limits = performance.limits?;
    // Older records hold the rate of f32 alone, which narrow types may exceed.
    let is_bound = limits.unit.is_some()
        || matches!(record.case.dtype, DType::F32 | DType::F64)
        || is_bound_by_traffic(record, &limits);
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

/// The times that are not worth much, as one finding: they have one cause and one remedy.
fn wide_intervals(records: &[Record]) -> Option<Finding> {
    let measured = records.iter().filter_map(|of| Some((of, of.judged.performance()?)));
    let measured: Vec<_> = measured.collect();
    let width = |performance: &Performance| performance.wall_ns.relative_half_width();
    let wide: Vec<_> = measured.iter().filter(|(_, of)| width(of) > WIDE).collect();
    let (record, performance) = wide.iter().max_by(|a, b| width(a.1).total_cmp(&width(b.1)))?;
    let (contender, case) = (&record.contender, &record.case);
    let worst = format!(
        "±{} %: {} over {} trials",
        three_digits(width(performance) * 100.0),
        Nanos(performance.wall_ns.estimate),
        performance.trials
    );
    let claim = match wide.len() {
        1 => format!("{contender} on {case} is known only to {worst}"),
        many => format!(
            "{many} of {} times are known only to ±{} % or worse, {contender} on {case} only to \
             {worst}",
            measured.len(),
            three_digits(WIDE * 100.0)
        ),
    };
    let advice = "let nothing else run on the machine (`proofmark doctor` shows what does), or \
                  give the case more trials";
    let severity = Severity::Undecided;
    let mut items: Vec<u64> = wide.iter().map(|(record, _)| record.item).collect();
    items.dedup();
    Some(Finding { severity, claim, items, advice: advice.to_owned() })
}

/// What disturbed a race.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Disturbance {
    /// What others did, if the machine was not quiet.
    pub noise: Option<Quiet>,
    /// How much slower the processor became, as a share, if it clearly did.
    pub slower: Option<f64>,
    /// The change of each ruler over the race, as a share, where it is clear.
    pub drifts: Vec<(Ruler, f64)>,
}

/// What the rulers and the wait for a quiet machine say of a race; nothing of a record that is not
/// of its first arm.
pub fn disturbance(record: &Record) -> Option<Disturbance> {
    let performance = record.judged.performance().filter(|of| of.slices.arm == 0)?;
    let Conditions { quiet, throttled, rulers, .. } = performance.conditions.as_ref()?;
    let is_clear = |low: f64, high: f64| low > DRIFT || high < -DRIFT;
    let drift = rulers.iter().filter_map(|ruler| {
        let drift = ruler.drift.filter(|drift| is_clear(drift.low, drift.high))?;
        Some((ruler.ruler, drift.estimate))
    });
    Some(Disturbance {
        noise: quiet.filter(|quiet| !quiet.is_quiet),
        slower: throttled.as_ref().map(|ratio| ratio.estimate - 1.0),
        // A drift is how a slower processor shows.
        drifts: if throttled.is_some() { Vec::new() } else { drift.collect() },
    })
}

fn conditions(record: &Record) -> Vec<Finding> {
    let Some(Disturbance { noise, slower, drifts }) = disturbance(record) else {
        return Vec::new();
    };
    let percent = |share: f64| format!("{} %", three_digits(share * 100.0));
    let mut found = Vec::new();
    if let Some(quiet) = noise {
        found.push((
            format!(
                "noisy: others used {} of the processors after {} s of waiting, {} was stolen",
                percent(quiet.busy),
                three_digits(quiet.waited_seconds),
                percent(quiet.steal)
            ),
            "let nothing else run on the machine; `proofmark doctor` shows what does",
        ));
    }
    if let Some(share) = slower {
        found.push((
            format!("throttled: the processor became {} slower", percent(share)),
            "ratios hold, because arms are interleaved; times do not: let the machine cool, or \
             look for a limit on its processors",
        ));
    }
    let advice = "ratios hold, because arms are interleaved; read times with care";
    found.extend(drifts.into_iter().map(|(ruler, share)| {
        (format!("drift: the {} ruler by {}", ruler.name(), percent(share)), advice)
    }));
    let place = format!("{} with {}", record.case, threads(record.threads));
    let finding = |(claim, advice): (String, &str)| Finding {
        severity: Severity::Note,
        claim: format!("{claim} ({place})"),
        items: vec![record.item],
        advice: advice.to_owned(),
    };
    found.into_iter().map(finding).collect()
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
    use proofmark_schema::conditions::{Conditions, Quiet, Ruler, RulerStability};
    use proofmark_schema::quantity::Interval;

    #[test]
    fn noise_throttling_and_drift_are_told_once_a_race_and_fail_nothing() {
        let interval = |estimate, low, high| Interval { estimate, low, high, confidence: 0.95 };
        let chain = RulerStability {
            ruler: Ruler::Chain,
            readings: 90,
            wall_ns_median: 8000.0,
            variation: 0.01,
            drift: Some(interval(-0.06, -0.08, -0.04)),
        };
        let noisy = Quiet { busy: 0.45, waited_seconds: 5.0, ..Quiet::default() };
        let mut told =
            Conditions { rulers: vec![chain], quiet: Some(noisy), ..Conditions::default() };
        let claims = |told: &Conditions| -> Vec<String> {
            let mut records = [timed("native/scalar", 0, 1e3), timed("native/simd", 1, 1e3)];
            records.iter_mut().for_each(|r| performance(r).conditions = Some(told.clone()));
            let found: Vec<Finding> = records.iter().flat_map(conditions).collect();
            assert!(found.iter().all(|finding| finding.severity == Severity::Note));
            found.into_iter().map(|finding| finding.claim).collect()
        };
        let found = claims(&told);
        assert_eq!(found.len(), 2);
        assert!(found[0].starts_with("noisy: others used 45.0 %"), "{found:?}");
        assert!(found[1].starts_with("drift: the chain ruler by -6.00 %"), "{found:?}");
        told.throttled = Some(interval(1.12, 1.05, 1.2));
        assert!(claims(&told)[1].starts_with("throttled: the processor became 12.0 % slower"));
        told =
            Conditions { quiet: Some(Quiet { is_quiet: true, ..noisy }), ..Conditions::default() };
        assert!(claims(&told).is_empty());
    }

    #[test]
    fn refusals_weigh_by_their_outcome() {
        for (outcome, severity) in [
            (Outcome::Wrong, Severity::Incorrect),
            (Outcome::Mistrusted, Severity::Incorrect),
            (Outcome::Caught, Severity::Integrity),
            (Outcome::Crashed, Severity::Crashed),
            (Outcome::TimedOut, Severity::Crashed),
            (Outcome::Broken, Severity::Environment),
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

    #[test]
    fn many_wide_intervals_are_one_finding_that_names_the_widest() {
        let wide = |contender: &str, arm, times: f64| {
            let mut record = timed(contender, arm, 100.0);
            performance(&mut record).wall_ns.high *= times;
            record
        };
        let all = [wide("native/a", 0, 1.5), wide("native/b", 1, 3.0), timed("native/c", 2, 1.0)];
        let found = wide_intervals(&all).unwrap();
        let claim = &found.claim;
        assert!(claim.starts_with("2 of 3 times are known only to ±10.0 % or worse"), "{claim}");
        assert!(claim.contains("native/b on matmul"), "{claim}");
        assert_eq!((found.severity, &found.items[..]), (Severity::Undecided, &[0, 1][..]));
    }
}
