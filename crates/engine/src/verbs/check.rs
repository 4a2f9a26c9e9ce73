//! A check: base against new over a family of cases, judged by a project's rules.

use super::compare::{ProgramsCompared, ProgramsRequest, Sides, compare_programs, decide};
use crate::race::Programs;
use crate::{Arm, CompareRequest, EngineError, Source, find_op};
use proofmark_analyze::policy::{
    Checked, CheckedCase, CheckedTarget, Day, Open, Origin, RATIO, Row, Rules, Target, TargetWord,
};
use proofmark_peers::PeerShelf;
use proofmark_schema::decision::CaseDecision;
use proofmark_schema::record::Record;
use proofmark_schema::{Case, ContenderId, Family, Isa, Memory};

/// What to check.
#[derive(Clone, Debug)]
pub struct CheckRequest {
    /// The side that is compared with.
    pub base: Arm,
    /// The other.
    pub new: Arm,
    /// The cases.
    pub cases: Vec<Case>,
    /// The contenders that are checked; if empty, those that the sides name.
    pub contenders: Vec<ContenderId>,
    /// Thread counts.
    pub threads: Vec<usize>,
    /// Seconds after which no further trial of a race starts.
    pub seconds: f64,
    /// The most seconds to wait for a quiet machine before each race; 0 means no wait.
    pub quiet_seconds: f64,
    /// Error rate of the whole check.
    pub alpha: f64,
    /// Seed of inputs, layouts and orders.
    pub seed: u64,
    /// Highest path.
    pub cap: Isa,
    /// Where peers are.
    pub shelf: PeerShelf,
    /// Limits, accepted changes, tags, targets.
    pub rules: Rules,
    /// Where the rules come from, if the base is a revision.
    pub origin: Option<Origin>,
    /// The day that entries expire by.
    pub today: Day,
}

/// One contender with one number of threads on all its cases.
struct Group {
    decisions: Vec<CaseDecision>,
    races: Vec<Sides>,
    who: Vec<ContenderId>,
    threads: usize,
}

/// Races programs of both sides, which the tolerance of the request judges.
///
/// # Errors
/// If a side cannot be had, the store fails, or git tracks files of a place that the check relies
/// on.
pub fn check_programs(
    programs: &Programs<'_>,
    shelf: &PeerShelf,
    request: &ProgramsRequest,
) -> Result<ProgramsCompared, EngineError> {
    programs.check_places(shelf)?;
    compare_programs(programs, request)
}

/// Races base against new on every case, with more trials where a limit or target is near, and
/// judges what came out.
///
/// # Errors
/// If a side cannot be had, a case cannot be read or does not fit its op, the store fails, or git
/// tracks files of a place that the check relies on.
pub fn check(programs: &Programs<'_>, request: &CheckRequest) -> Result<Checked, EngineError> {
    if matches!(request.base.source, Source::Revision(_) | Source::Baseline(_)) {
        programs.check_places(&request.shelf)?;
    }
    let mut checked = Checked {
        base: name(&request.base),
        new: name(&request.new),
        origin: request.origin.clone(),
        alpha: request.alpha,
        runs: Vec::new(),
        cases: Vec::new(),
        targets: Vec::new(),
        notes: Vec::new(),
    };
    let named: Vec<Option<&ContenderId>> = match &request.contenders[..] {
        [] => vec![None],
        some => some.iter().map(Some).collect(),
    };
    let mut groups = Vec::new();
    for &who in &named {
        for &threads in &request.threads {
            groups.push(group(programs, request, who, threads, &mut checked)?);
        }
    }
    let rows: Vec<Row<'_>> = groups.iter().flat_map(Group::rows).collect();
    checked.notes.extend(request.rules.idle(&rows, request.today));
    checked.notes.extend(planted(&rows));
    for group in &groups {
        for target in &request.rules.targets {
            targets(programs, request, group, target, &mut checked)?;
        }
    }
    checked.cases = rows.iter().map(|row| judged(row, request)).collect();
    Ok(checked)
}

fn name(arm: &Arm) -> String {
    match (&arm.source, &arm.contender) {
        (Source::Here, None) => "this program".to_owned(),
        _ => arm.to_string(),
    }
}

impl CheckRequest {
    /// The error rate of one comparison: the total rate divided by the most comparisons there may
    /// be.
    fn share(&self) -> f64 {
        let is_ratio = |target: &&Target| target.metric == RATIO && target.to.is_some();
        let ratios = self.rules.targets.iter().filter(is_ratio).count();
        self.alpha / (self.contenders.len().max(1) * self.threads.len() * (1 + ratios)) as f64
    }

    fn comparison(&self, arms: [Arm; 2], cases: Vec<Case>, threads: usize) -> CompareRequest {
        CompareRequest {
            arms,
            contender: None,
            cases,
            threads,
            memory: Memory::default(),
            quiet_seconds: self.quiet_seconds,
            seed: self.seed,
            alpha: self.share(),
            report_margin: proofmark_stats::REPORT_MARGIN,
            same_margin: proofmark_stats::SAME_MARGIN,
            seconds: self.seconds,
            cap: self.cap,
            shelf: self.shelf.clone(),
        }
    }
}

impl Group {
    fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        let sides = self.decisions.iter().zip(&self.who).zip(&self.races);
        sides.map(|((decision, contender), races)| Row { decision, contender, races })
    }
}

/// The contender that was meant on the new side.
fn contender_of(decision: &CaseDecision) -> Option<ContenderId> {
    let raced = decision.last().map(|last| last.arms[1].contender.clone());
    raced.or_else(|| decision.refused.as_ref().map(|proof| proof.contender.clone()))
}

fn group(
    programs: &Programs<'_>,
    request: &CheckRequest,
    who: Option<&ContenderId>,
    threads: usize,
    checked: &mut Checked,
) -> Result<Group, EngineError> {
    let arms = [request.base.clone(), request.new.clone()];
    let cases = present(request, &arms, who, checked)?;
    let comparison =
        CompareRequest { contender: who.cloned(), ..request.comparison(arms, cases, threads) };
    let open = |decision: &CaseDecision, races: &[[Record; 2]]| {
        let row = Row { decision, contender: &contender_of(decision)?, races };
        request.rules.open(&row, request.today)
    };
    let (compared, races) = decide(programs, &comparison, Some(&open))?;
    checked.runs.extend(compared.run);
    for note in compared.notes {
        if !checked.notes.contains(&note) {
            checked.notes.push(note);
        }
    }
    let nobody = || ContenderId::native("unknown", request.cap);
    let who = compared.decisions.iter().map(|it| contender_of(it).unwrap_or_else(nobody));
    Ok(Group { who: who.collect(), decisions: compared.decisions, races, threads })
}

/// The cases whose ops have the kernel, if this program is one of the arms; else all cases.
fn present(
    request: &CheckRequest,
    arms: &[Arm; 2],
    who: Option<&ContenderId>,
    checked: &mut Checked,
) -> Result<Vec<Case>, EngineError> {
    let is_here = arms.iter().any(|arm| arm.source == Source::Here);
    let Some(who) = who.filter(|who| is_here && who.family == Family::Native) else {
        return Ok(request.cases.clone());
    };
    let mut cases = Vec::new();
    for case in &request.cases {
        if find_op(&case.op)?.kernel(&who.name).is_some() {
            cases.push(case.clone());
        }
    }
    if cases.is_empty() {
        // If no op has the kernel, its name is a typo, and the comparison reports the nearest name.
        return Ok(request.cases.clone());
    }
    let left = request.cases.len() - cases.len();
    let count = if left == 1 { "1 case".to_owned() } else { format!("{left} cases") };
    let note = format!("{who}: {count} left out, whose ops have no such kernel");
    if left > 0 && !checked.notes.contains(&note) {
        checked.notes.push(note);
    }
    Ok(cases)
}

fn judged(row: &Row<'_>, request: &CheckRequest) -> CheckedCase {
    CheckedCase {
        decision: row.decision.clone(),
        contender: row.contender.clone(),
        judgement: request.rules.judge(row, request.today),
    }
}

/// A target on the cases of a group; a ratio to another contender is raced for.
fn targets(
    programs: &Programs<'_>,
    request: &CheckRequest,
    group: &Group,
    target: &Target,
    checked: &mut Checked,
) -> Result<(), EngineError> {
    let about: Vec<Row<'_>> =
        group.rows().filter(|row| target.is_about(&row.decision.case, row.contender)).collect();
    let (Some(first), Some(to)) = (about.first(), &target.to) else {
        checked.targets.extend(about.iter().map(|row| {
            let interval = target.interval(row);
            reached(target, row.decision.case.clone(), row.contender, group.threads, interval)
        }));
        return Ok(());
    };
    // A peer library is the same on both sides; a kernel is taken from the new side.
    let source = if to.family == Family::Peer { Source::Here } else { request.new.source.clone() };
    let divided = Arm { source, contender: Some(to.clone()) };
    // Each case takes its best path, unless all cases ran on the same one.
    let is_same = about.iter().all(|row| row.contender.isa == first.contender.isa);
    let isa = first.contender.isa.filter(|_| is_same);
    let who = ContenderId { isa, ..first.contender.clone() };
    let new = Arm { contender: Some(who), ..request.new.clone() };
    let cases = about.iter().map(|row| row.decision.case.clone()).collect();
    let comparison = request.comparison([divided, new], cases, group.threads);
    let ratio = |decision: &CaseDecision, races: &[[Record; 2]]| {
        Row { decision, contender: first.contender, races }.ratio()
    };
    let open = |decision: &CaseDecision, races: &[[Record; 2]]| {
        let word = target.word(ratio(decision, races).as_ref());
        matches!(word, TargetWord::Undecided | TargetWord::Unmeasured).then_some(Open::Unclear)
    };
    let (compared, races) = decide(programs, &comparison, Some(&open))?;
    checked.runs.extend(compared.run);
    for (decision, races) in compared.decisions.iter().zip(&races) {
        if let Some(why) = decision.because.as_ref().filter(|_| decision.last().is_none()) {
            checked.notes.push(format!("the target {target} on {}: {why}", decision.case));
        }
        let interval = ratio(decision, races);
        let (case, who) = (decision.case.clone(), first.contender);
        checked.targets.push(reached(target, case, who, group.threads, interval));
    }
    Ok(())
}

fn reached(
    target: &Target,
    case: Case,
    contender: &ContenderId,
    threads: usize,
    interval: Option<proofmark_schema::quantity::Interval>,
) -> CheckedTarget {
    CheckedTarget {
        target: target.clone(),
        case,
        contender: contender.clone(),
        threads,
        interval,
        word: target.word(interval.as_ref()),
    }
}

/// A worker with a planted fault must not be mistaken for a real one.
fn planted(rows: &[Row<'_>]) -> Option<String> {
    let mut records = rows.iter().flat_map(|row| row.races.iter().flatten());
    let what = records.find_map(|record| record.receipt.planted.as_ref())?;
    Some(format!("PLANTED ({what}): a worker of this check is a test of the tool, not real code"))
}
