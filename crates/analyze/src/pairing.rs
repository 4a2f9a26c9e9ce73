//! Case by case, our fastest kernel against the fastest of the others.

use crate::cells::{cells, field, geometric_mean};
use crate::ranking::ranking;
use proofmark_schema::quantity::Interval;
use proofmark_schema::record::Record;
use proofmark_schema::{ContenderId, Family};

/// Ends of an interval that are farther apart than this decide nothing.
const UNBOUNDED: f64 = 100.0;

/// The side whose times are divided by those of the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Every kernel that is no peer; the others are the peers.
    Ours,
    /// One contender, of a run that has no peers; the others are all others.
    Contender(ContenderId),
}

/// Whether a ratio's interval decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lead {
    /// The whole interval is below 1: the subject is faster.
    Faster,
    /// The interval holds 1: too close to call.
    Level,
    /// The whole interval is above 1: the subject is slower.
    Slower,
}

impl Lead {
    /// The word in tables, legends and files.
    pub fn name(self) -> &'static str {
        match self {
            Lead::Faster => "faster",
            Lead::Level => "too close to call",
            Lead::Slower => "slower",
        }
    }

    fn of(ratio: &Interval) -> Lead {
        let is_bounded = ratio.high <= UNBOUNDED * ratio.low;
        match ratio {
            ratio if is_bounded && ratio.high < 1.0 => Lead::Faster,
            ratio if is_bounded && ratio.low > 1.0 => Lead::Slower,
            _ => Lead::Level,
        }
    }
}

/// One case: the fastest of the subject and the fastest of the others.
#[derive(Clone, Debug, PartialEq)]
pub struct Pairing<'a> {
    /// The fastest of the subject.
    pub record: &'a Record,
    /// The fastest of the others.
    pub rival: &'a Record,
    /// Time of `record` over that of `rival`.
    pub ratio: Interval,
    /// What the interval decides.
    pub lead: Lead,
    /// Nanoseconds that the subject takes longer, over as many calls as models make; negative if
    /// it takes less.
    pub cost_ns: f64,
}

/// All cases that both sides were measured on.
#[derive(Clone, Debug, PartialEq)]
pub struct Pairings<'a> {
    /// The side that is divided.
    pub subject: Subject,
    /// The cases, the greatest ratio first.
    pub cases: Vec<Pairing<'a>>,
    /// Geometric mean of the ratios.
    pub mean: f64,
}

impl Pairings<'_> {
    /// How many cases are decided so.
    pub fn count(&self, lead: Lead) -> usize {
        self.cases.iter().filter(|case| case.lead == lead).count()
    }
}

/// Ours against the best peer of each case; in a run without peers, the contender that wins most
/// often against the best other. `None` where there is no case with both sides.
///
/// Refused results have no time, so that they are on neither side.
pub fn pairings<'a>(records: impl IntoIterator<Item = &'a Record>) -> Option<Pairings<'a>> {
    let records: Vec<&Record> = records.into_iter().collect();
    let is_ours = |record: &Record| record.contender.family != Family::Peer;
    let found = pair(&records, &is_ours);
    if !found.is_empty() {
        return Pairings::new(Subject::Ours, found);
    }
    let best = ranking(records.iter().copied()).places.into_iter().next()?.contender;
    let found = pair(&records, &|record| record.contender == best);
    Pairings::new(Subject::Contender(best), found)
}

impl<'a> Pairings<'a> {
    fn new(subject: Subject, mut cases: Vec<Pairing<'a>>) -> Option<Pairings<'a>> {
        cases.sort_by(|a, b| b.ratio.estimate.total_cmp(&a.ratio.estimate));
        let mean = geometric_mean(cases.iter().map(|case| case.ratio.estimate))?;
        Some(Pairings { subject, cases, mean })
    }
}

fn pair<'a>(records: &[&'a Record], is_subject: &dyn Fn(&Record) -> bool) -> Vec<Pairing<'a>> {
    let mut found = Vec::new();
    for cell in cells(records.iter().copied()) {
        let field = field(&cell);
        let best = |side: bool| field.iter().find(|(record, _)| is_subject(record) == side);
        let (Some(&(record, own)), Some(&(rival, other))) = (best(true), best(false)) else {
            continue;
        };
        let Some(performance) = record.judged.performance() else { continue };
        // A ratio that was formed slice by slice is narrower than one of two intervals.
        let paired = performance.best_peer.as_ref().and_then(|comparison| {
            let against = |of: &&&Record| of.contender == comparison.against;
            let rival = cell.iter().find(against).copied().filter(|of| !is_subject(of))?;
            rival.judged.performance().map(|_| (rival, comparison.ratio))
        });
        let (rival, ratio) = paired.unwrap_or((rival, over(&own, &other)));
        let calls = record.uses.iter().map(|used| used.times).sum::<u64>().max(1) as f64;
        let cost_ns = performance.wall_ns.estimate * (1.0 - 1.0 / ratio.estimate) * calls;
        found.push(Pairing { record, rival, ratio, lead: Lead::of(&ratio), cost_ns });
    }
    found
}

/// The ratio of two intervals: its ends are the worst of both.
fn over(a: &Interval, b: &Interval) -> Interval {
    let estimate = a.estimate / b.estimate;
    let confidence = a.confidence.min(b.confidence);
    Interval { estimate, low: a.low / b.high, high: a.high / b.low, confidence }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{compared, performance, refused, timed};
    use proofmark_schema::Outcome;
    use proofmark_schema::race::{Comparison, Verdict};

    fn on(mut record: Record, op: &str) -> Record {
        op.clone_into(&mut record.case.op);
        record
    }

    fn race(op: &str, ratio: (f64, f64, f64)) -> [Record; 2] {
        let ours = on(compared("native/simd", 1, 100.0 * ratio.1, ratio), op);
        [on(timed("peer/acme", 0, 100.0), op), ours]
    }

    #[test]
    fn each_case_is_decided_by_its_interval_and_the_greatest_ratio_comes_first() {
        let records: Vec<Record> = [
            race("add", (0.4, 0.5, 0.6)),
            race("mul", (1.8, 2.0, 2.2)),
            race("sub", (0.9, 1.0, 1.1)),
            race("div", (0.001, 1.5, 900.0)),
        ]
        .concat();
        let found = pairings(&records).unwrap();
        assert_eq!(found.subject, Subject::Ours);
        let order: Vec<&str> = found.cases.iter().map(|of| of.record.case.op.as_str()).collect();
        assert_eq!(order, ["mul", "div", "sub", "add"]);
        let leads: Vec<Lead> = found.cases.iter().map(|of| of.lead).collect();
        assert_eq!(leads, [Lead::Slower, Lead::Level, Lead::Level, Lead::Faster]);
        assert!((found.cases[0].cost_ns - 100.0).abs() < 1e-9, "{}", found.cases[0].cost_ns);
        assert_eq!(found.count(Lead::Level), 2);
    }

    #[test]
    fn a_ratio_that_was_paired_in_the_race_is_taken_and_a_refused_peer_is_not() {
        let [acme, mut ours] = race("add", (0.4, 0.5, 0.6));
        let ratio = Interval { estimate: 0.52, low: 0.51, high: 0.53, confidence: 0.95 };
        performance(&mut ours).best_peer = Some(Comparison {
            against: "peer/acme".parse().unwrap(),
            ratio,
            verdict: Verdict::Faster,
            trials: 6,
        });
        let mut wrong = on(refused(Outcome::Wrong), "add");
        wrong.contender = "peer/wrong".parse().unwrap();
        let records = [acme, ours, wrong.clone()];
        let found = pairings(&records).unwrap();
        assert_eq!(found.cases[0].ratio, ratio);
        assert_eq!(found.cases[0].rival.contender.name, "acme");
        assert_eq!(pairings(&[records[1].clone(), wrong]), None);
    }

    #[test]
    fn without_peers_the_winner_stands_against_the_best_other() {
        let records = [
            timed("native/scalar", 0, 100.0),
            compared("native/simd", 1, 50.0, (0.49, 0.50, 0.51)),
        ];
        let found = pairings(&records).unwrap();
        assert_eq!(found.subject, Subject::Contender("native/simd".parse().unwrap()));
        assert_eq!(found.cases[0].lead, Lead::Faster);
        assert_eq!(pairings(&records[..1]), None);
    }
}
