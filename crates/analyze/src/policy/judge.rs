//! What the rules make of one case: a word, findings, and whether more trials are needed to tell.

use super::row::Side;
use super::{Day, Limit, Row, Rules, Target, TargetWord};
use crate::findings::findings;
use proofmark_schema::decision::Standing;
use proofmark_schema::finding::{Finding, Severity};
use proofmark_schema::quantity::{Bytes, Interval, three_digits};
use proofmark_schema::record::Record;
use proofmark_schema::{ContenderId, Outcome};

/// Growth of peak memory that the size of pages alone may cause, in bytes.
const MEMORY_GRAIN: u64 = 64 << 10;
/// Allocations per call below which a call counts as making none: allocations that a process makes
/// once are not a call's.
const NO_ALLOCATION: f64 = 0.01;

/// The word for a change of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is faster.
    Faster,
    /// It is the same.
    Same,
    /// Neither could be shown, but it is not slower by more than the limit.
    Within,
    /// It is slower, but by so little that it needs no explanation.
    Slower,
    /// It is slower by more, and explained.
    Explained,
    /// It is slower by more, and not explained.
    Unexplained,
    /// It is slower by more than any explanation allows.
    Blocked,
    /// It could not be decided on which side of the limit it lies.
    Undecided,
    /// A side was refused, so there is nothing to compare.
    Refused,
}

impl Change {
    /// The word in reports.
    pub fn name(self) -> &'static str {
        match self {
            Change::Faster => "FASTER",
            Change::Same => "SAME",
            Change::Within => "within limit",
            Change::Slower => "slower, within limit",
            Change::Explained => "slower, explained",
            Change::Unexplained => "REGRESSION",
            Change::Blocked => "BLOCKED",
            Change::Undecided => "UNDECIDED",
            Change::Refused => "refused",
        }
    }
}

/// Why a case is worth another race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Open {
    /// An interval crosses a limit or a target. This is worth the maximum number of trials.
    Unclear,
    /// Memory or allocations grew in the only race: a few trials show whether that was chance.
    SeenOnce,
}

/// What follows for one case.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The word for its time.
    pub change: Change,
    /// The limit that decided.
    pub limit: Limit,
    /// Growth of peak memory as a share, the least of all races.
    pub memory: Option<f64>,
    /// Allocations of a call, base and new.
    pub allocations: Option<[f64; 2]>,
    /// Width of the interval of its time, in per cent, if it exceeds the policy's. It is reported
    /// and fails nothing.
    pub wide: Option<f64>,
    /// What is claimed; the worst decides.
    pub findings: Vec<Finding>,
    /// The entry that would explain it.
    pub accept: Option<String>,
}

impl Rules {
    /// Whether more trials may change what is said of a case, and how many are worth it.
    pub fn open(&self, row: &Row<'_>, today: Day) -> Option<Open> {
        row.races.last()?[0].judged.performance()?;
        let limit = self.limit(&row.decision.case, row.contender, today);
        let about = |target: &&Target| target.is_about(&row.decision.case, row.contender);
        let crosses = self
            .targets
            .iter()
            .filter(about)
            .any(|target| target.word(target.interval(row).as_ref()) == TargetWord::Undecided);
        // More trials also show whether an entry could help at all.
        let may_be_blocked = limit.is_critical
            && row.side(limit.percent) == Side::Above
            && row.side(self.policy.critical) == Side::Unclear;
        if row.side(limit.percent) == Side::Unclear || may_be_blocked || crosses {
            return Some(Open::Unclear);
        }
        let is_seen = self.memory(row).or_else(|| self.allocations(row)).is_some();
        (is_seen && row.races.len() < 2).then_some(Open::SeenOnce)
    }

    /// Judges a case.
    pub fn judge(&self, row: &Row<'_>, today: Day) -> Judgement {
        let limit = self.limit(&row.decision.case, row.contender, today);
        let change = self.change(row, &limit);
        let mut all = Vec::new();
        all.extend(self.time(row, &limit, change));
        all.extend(self.memory(row));
        all.extend(self.allocations(row));
        all.extend(refusal(row));
        let last: Vec<Record> = row.races.last().into_iter().flatten().cloned().collect();
        let is_cheat = |finding: &Finding| finding.severity == Severity::Integrity;
        all.extend(findings(&last).into_iter().filter(is_cheat));
        Judgement {
            change,
            limit,
            memory: row.memory().map(|(share, _)| share),
            allocations: row.allocations(),
            wide: self.wide(row),
            findings: all,
            accept: (change == Change::Unexplained).then(|| entry(row, today)),
        }
    }

    fn change(&self, row: &Row<'_>, limit: &Limit) -> Change {
        match (row.side(limit.percent), row.decision.standing) {
            (_, Standing::Refused | Standing::Weak) => Change::Refused,
            (Side::Unclear, _) => Change::Undecided,
            (Side::Above, _)
                if limit.is_critical && row.side(self.policy.critical) == Side::Above =>
            {
                Change::Blocked
            }
            (Side::Above, _) => Change::Unexplained,
            (Side::Below, Standing::Faster) => Change::Faster,
            (Side::Below, Standing::Same) => Change::Same,
            (Side::Below, Standing::Slower) if row.side(self.policy.slower) == Side::Below => {
                Change::Slower
            }
            (Side::Below, Standing::Slower) => Change::Explained,
            (Side::Below, _) => Change::Within,
        }
    }

    fn time(&self, row: &Row<'_>, limit: &Limit, change: Change) -> Option<Finding> {
        let by = row.decision.ratio.as_ref().map_or_else(String::new, in_percent);
        let place = row.place();
        let border = limit.percent;
        let (severity, claim) = match change {
            Change::Unexplained => {
                (Severity::Regression, format!("{place} is slower: {by}, more than {border} %"))
            }
            Change::Blocked => (
                Severity::Regression,
                format!(
                    "{place} is slower: {by}, more than {} % on a critical case, which no entry \
                     can accept",
                    self.policy.critical
                ),
            ),
            Change::Undecided => {
                let ruling = row.decision.last().map(|last| &last.ruling);
                let why = ruling.and_then(|ruling| ruling.undecided_because.clone());
                let why = why.unwrap_or_else(|| "the interval crosses the limit".to_owned());
                let claim = format!(
                    "{place}: whether it is slower by more than {border} % could not be told \
                     ({by}): {why}"
                );
                (Severity::Undecided, claim)
            }
            Change::Explained => {
                let entry = limit.accepted_by.map(|at| &self.accepts[at])?;
                let claim = format!(
                    "{place} is slower: {by}, explained up to {border} % on {}: {}",
                    entry.date, entry.reason
                );
                (Severity::Note, claim)
            }
            Change::Slower => (
                Severity::Note,
                format!("{place} is slower: {by}, which needs no explanation up to {border} %"),
            ),
            Change::Faster => (Severity::Note, format!("{place} is faster: {by}")),
            Change::Same | Change::Within | Change::Refused => return None,
        };
        Some(finding(row, severity, claim, row.again()))
    }

    fn memory(&self, row: &Row<'_>) -> Option<Finding> {
        let (share, bytes) = row.memory()?;
        let is_more = 100.0 * share > self.policy.memory && bytes > MEMORY_GRAIN;
        let [base, new] = row.last()?;
        is_more.then(|| {
            let claim = format!(
                "{} needs {} of memory at its peak, {} before: {:+.0} %, more than {} %",
                row.place(),
                Bytes(new.peak_bytes),
                Bytes(base.peak_bytes),
                100.0 * share,
                self.policy.memory
            );
            finding(row, Severity::Regression, claim, row.again())
        })
    }

    fn allocations(&self, row: &Row<'_>) -> Option<Finding> {
        let [base, new] = row.allocations()?;
        let begins = self.policy.allocations && base < NO_ALLOCATION && new >= NO_ALLOCATION;
        begins.then(|| {
            let place = row.place();
            let claim =
                format!("{place} allocates {} times a call, where it did not", three_digits(new));
            finding(row, Severity::Regression, claim, row.again())
        })
    }

    /// The width of a time's interval, in per cent, where it is more than it should be.
    fn wide(&self, row: &Row<'_>) -> Option<f64> {
        let [_, new] = row.last()?;
        let width = 200.0 * new.wall_ns.relative_half_width();
        (width > self.policy.variance).then_some(width)
    }
}

/// A ratio of times as a change: `+7.2 % [+6.1, +8.3]`.
pub fn in_percent(ratio: &Interval) -> String {
    let [estimate, low, high] =
        [ratio.estimate, ratio.low, ratio.high].map(|ratio| 100.0 * (ratio - 1.0));
    if high > 1e4 {
        return "an unknown share".to_owned();
    }
    format!("{estimate:+.1} % [{low:+.1}, {high:+.1}]")
}

fn finding(row: &Row<'_>, severity: Severity, claim: String, advice: String) -> Finding {
    let items = row.races.last().map_or_else(Vec::new, |[_, new]| vec![new.item]);
    Finding { severity, claim, items, advice }
}

fn refusal(row: &Row<'_>) -> Option<Finding> {
    let decision = row.decision;
    if decision.standing != Standing::Refused {
        return None;
    }
    let side = if decision.refused_arm == Some(0) { "the base's " } else { "" };
    let refusal = decision.refused.as_ref().and_then(|proof| proof.refusal.as_ref());
    let severity = match refusal.map(|refusal| refusal.outcome) {
        Some(Outcome::Wrong | Outcome::Mistrusted) => Severity::Incorrect,
        Some(Outcome::Caught) => Severity::Integrity,
        Some(Outcome::Crashed | Outcome::TimedOut) => Severity::Crashed,
        Some(Outcome::Undecided) => Severity::Undecided,
        // A case that the base does not support is no loss; one that only the new side lacks is.
        Some(Outcome::Unsupported) if decision.refused_arm == Some(0) => Severity::Note,
        _ => Severity::Environment,
    };
    let word = refusal.map_or("refused", |refusal| refusal.outcome.name());
    let why = decision.because.as_deref().unwrap_or("no reason was given");
    let claim = format!("{side}{} is {word}: {why}", row.place());
    let advice = refusal.map_or_else(String::new, |refusal| refusal.repro.clone());
    Some(finding(row, severity, claim, advice))
}

/// The entry to paste. Its reason is empty, which is an error until somebody writes one.
fn entry(row: &Row<'_>, today: Day) -> String {
    // One per cent of room, because the interval of the next check ends elsewhere.
    let up_to = row.ratio().map_or(0.0, |ratio| (100.0 * (ratio.high - 1.0)).ceil() + 1.0);
    // The entry names no path, because another machine takes another one.
    let contender = ContenderId { isa: None, ..row.contender.clone() };
    format!(
        "[[accept]]\ncase = \"{}\"\ncontender = \"{contender}\"\nup_to = {up_to}\nreason = \"\"\ndate \
         = {today}\n",
        row.decision.case
    )
}

#[cfg(test)]
mod tests {
    use super::super::tests::{TODAY, accept};
    use super::super::{CRITICAL, Tag};
    use super::*;
    use crate::fixture::{performance, timed};
    use proofmark_schema::decision::{CaseDecision, Decided, RacedArm, Round};
    use proofmark_schema::race::{Comparison, Ruling, Verdict};

    const WHO: &str = "native/simd@avx2";

    /// A case decided twice on this ratio.
    fn decision(standing: Standing, (low, estimate, high): (f64, f64, f64)) -> CaseDecision {
        let mut decision = CaseDecision::open("matmul:f32[m=8,n=8,k=8]".parse().unwrap(), 1);
        let ratio = Interval { estimate, low, high, confidence: 0.99 };
        let arm = |arm: &str| RacedArm {
            arm: arm.to_owned(),
            contender: WHO.parse().unwrap(),
            program: None,
        };
        let decided = Decided {
            round: Round::Confirmation,
            arms: [arm("rev:main"), arm("rev:.")],
            looks: vec![60],
            ruling: Ruling {
                comparison: Comparison {
                    against: WHO.parse().unwrap(),
                    ratio,
                    verdict: Verdict::Undecided,
                    trials: 60,
                },
                alpha: 0.01,
                report_margin: 0.005,
                same_margin: 0.01,
                undecided_because: None,
                detectable: None,
                seconds: 1.0,
            },
            p_value: Some(1e-6),
        };
        decision.standing = standing;
        decision.ratio = Some(ratio);
        decision.screen = Some(decided.clone());
        decision.confirmation = Some(decided);
        decision
    }

    fn pair() -> [Record; 2] {
        let mut pair = [timed(WHO, 0, 100.0), timed(WHO, 1, 107.0)];
        pair.iter_mut().for_each(|record| performance(record).allocations_per_call = 0.0);
        pair
    }

    fn judged(rules: &Rules, decision: &CaseDecision, races: &[[Record; 2]]) -> Judgement {
        rules.judge(&Row { decision, contender: &WHO.parse().unwrap(), races }, TODAY)
    }

    fn worst(judgement: &Judgement) -> Option<Severity> {
        crate::exit_severity(&judgement.findings)
    }

    #[test]
    fn the_whole_interval_decides_over_a_limit() {
        let rules = Rules::default();
        use Standing::{Faster, Same, Slower, Undecided};
        let regression = Some(Severity::Regression);
        for (standing, ratio, change, severity) in [
            (Slower, (1.06, 1.07, 1.08), Change::Unexplained, regression),
            (Slower, (1.02, 1.03, 1.04), Change::Slower, Some(Severity::Note)),
            (Slower, (1.04, 1.06, 1.08), Change::Undecided, Some(Severity::Undecided)),
            (Same, (0.995, 1.0, 1.005), Change::Same, None),
            (Undecided, (0.97, 1.0, 1.03), Change::Within, None),
            (Undecided, (0.93, 1.0, 1.07), Change::Undecided, Some(Severity::Undecided)),
            (Faster, (0.9, 0.92, 0.94), Change::Faster, Some(Severity::Note)),
        ] {
            let judgement = judged(&rules, &decision(standing, ratio), &[pair()]);
            assert_eq!((judgement.change, worst(&judgement)), (change, severity), "{ratio:?}");
            assert_eq!(judgement.accept.is_some(), change == Change::Unexplained);
        }
    }

    #[test]
    fn a_race_that_was_cut_off_decides_nothing() {
        let mut cut = decision(Standing::Undecided, (0.99, 1.0, 1.01));
        cut.confirmation = None;
        cut.screen.as_mut().unwrap().ruling.comparison.trials = 4;
        assert_eq!(judged(&Rules::default(), &cut, &[pair()]).change, Change::Undecided);
        let row = Row { decision: &cut, contender: &WHO.parse().unwrap(), races: &[pair()] };
        assert_eq!(Rules::default().open(&row, TODAY), Some(Open::Unclear));
    }

    #[test]
    fn an_entry_explains_up_to_its_limit_and_nothing_explains_a_critical_one() {
        let slower = decision(Standing::Slower, (1.06, 1.07, 1.078));
        let mut rules = Rules { accepts: vec![accept("matmul:*", 8.0, None)], ..Rules::default() };
        let explained = judged(&rules, &slower, &[pair()]);
        assert_eq!(explained.change, Change::Explained);
        assert!(explained.findings[0].claim.contains("a check of its arguments"));
        let worse = decision(Standing::Slower, (1.11, 1.12, 1.13));
        assert_eq!(judged(&rules, &worse, &[pair()]).change, Change::Unexplained);
        rules.accepts[0].up_to = 50.0;
        assert_eq!(judged(&rules, &worse, &[pair()]).change, Change::Explained);
        let ops = vec!["matmul".to_owned()];
        rules.tags = vec![Tag { name: CRITICAL.to_owned(), ops, ..Tag::default() }];
        let blocked = judged(&rules, &worse, &[pair()]);
        assert_eq!(
            (blocked.change, worst(&blocked)),
            (Change::Blocked, Some(Severity::Regression))
        );
        assert_eq!(blocked.accept, None);
    }

    #[test]
    fn memory_must_grow_in_every_race_and_by_more_than_pages() {
        let rules = Rules::default();
        let same = decision(Standing::Same, (0.995, 1.0, 1.005));
        let grown = |by: f64| {
            let mut pair = pair();
            performance(&mut pair[1]).peak_bytes = (3e6 * by) as u64;
            pair
        };
        let severity = |races: &[[Record; 2]]| worst(&judged(&rules, &same, races));
        assert_eq!(severity(&[grown(1.25), grown(1.25)]), Some(Severity::Regression));
        assert_eq!(severity(&[grown(1.25), grown(1.1)]), None);
        let who = WHO.parse().unwrap();
        let open = |races: &[[Record; 2]]| {
            rules.open(&Row { decision: &same, contender: &who, races }, TODAY)
        };
        assert_eq!(open(&[grown(1.25)]), Some(Open::SeenOnce));
        assert_eq!(open(&[grown(1.25), grown(1.25)]), None);
        assert_eq!(open(&[grown(1.1)]), None);
        let mut small = grown(1.25);
        performance(&mut small[0]).peak_bytes = 40_000;
        performance(&mut small[1]).peak_bytes = 60_000;
        assert_eq!(severity(&[small]), None);
    }

    #[test]
    fn the_first_allocation_of_a_call_blocks_and_a_wide_interval_is_only_told() {
        let same = decision(Standing::Same, (0.995, 1.0, 1.005));
        let mut rules = Rules::default();
        let mut races = pair();
        performance(&mut races[1]).allocations_per_call = 1.0;
        let judgement = judged(&rules, &same, &[races.clone()]);
        assert!(judgement.findings[0].claim.contains("allocates 1.00 times a call"));
        assert_eq!(worst(&judgement), Some(Severity::Regression));
        rules.policy.allocations = false;
        assert_eq!(worst(&judged(&rules, &same, &[races])), None);
        let mut noisy = pair();
        performance(&mut noisy[1]).wall_ns.high = 150.0;
        let judgement = judged(&rules, &same, &[noisy]);
        assert!(judgement.wide.is_some_and(|width| width > 40.0), "{:?}", judgement.wide);
        assert_eq!(worst(&judgement), None);
    }

    #[test]
    fn a_target_that_the_interval_crosses_asks_for_more_trials() {
        let same = decision(Standing::Same, (0.995, 1.0, 1.005));
        let star = || "*".to_owned();
        let (op, case, contender) = (star(), star(), star());
        let target =
            Target { op, case, contender, metric: "time_ms".to_owned(), ..Target::default() };
        let who = WHO.parse().unwrap();
        for (max, is_open) in [(107e-6, true), (120e-6, false)] {
            let targets = vec![Target { max: Some(max), ..target.clone() }];
            let rules = Rules { targets, ..Rules::default() };
            let row = Row { decision: &same, contender: &who, races: &[pair()] };
            assert_eq!(rules.open(&row, TODAY).is_some(), is_open, "{max}");
        }
    }

    #[test]
    fn the_entry_to_paste_names_the_case_and_leaves_the_reason_open() {
        let slower = decision(Standing::Slower, (1.06, 1.07, 1.078));
        let entry = judged(&Rules::default(), &slower, &[pair()]).accept.unwrap();
        let expected = "[[accept]]\ncase = \"matmul:f32[m=8,n=8,k=8]\"\n\
                        contender = \"native/simd\"\nup_to = 9\nreason = \"\"\n\
                        date = 2026-11-15\n";
        assert_eq!(entry, expected);
    }
}
