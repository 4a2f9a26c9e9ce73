//! Compares stored numbers with others: an indication, never a verdict.
//!
//! Machines drift more than kernels do, so two numbers from different times show the change of code
//! and machine together. A decision needs both programs to run again, side by side.

use super::request::{CompareRequest, Compared};
use super::severity::refused;
use crate::plan::{best_path, checked};
use crate::prove::Admission;
use crate::race::{Programs, refused_while_measured};
use crate::{Arm, EngineError, Source};
use proofmark_measure::{MonotonicClock, RaceRules, race, time_of_call};
use proofmark_schema::decision::{CaseDecision, Standing};
use proofmark_schema::finding::Severity;
use proofmark_schema::quantity::Interval;
use proofmark_schema::record::Record;
use proofmark_schema::{Case, ContenderId};
use proofmark_store::Run;

const CONFIDENCE: f64 = 0.95;

/// One side: stored, or measured now.
enum Side<'a> {
    Stored(Box<Run>),
    Live(Admission<'a>),
}

pub(super) fn compare(
    programs: &Programs<'_>,
    request: &CompareRequest,
) -> Result<Compared, EngineError> {
    let live = request.arms.iter().find(|arm| !matches!(arm.source, Source::Run(_)));
    let stands = live.map(|arm| programs.stands(&[arm.clone(), arm.clone()])).transpose()?;
    let meant = stands.as_ref().and_then(|[stand, _]| stand.contender.as_ref());
    let who = request.contenders([meant, meant])?;
    let side = |arm: &Arm| -> Result<Side<'_>, EngineError> {
        match &arm.source {
            Source::Run(run) => Ok(Side::Stored(Box::new(programs.store.load(run)?))),
            _ => {
                let [stand, _] = stands.as_ref().expect("a live arm has a program");
                let (seed, cap) = (request.seed, request.cap);
                Ok(Side::Live(Admission::new(&stand.arena, seed, cap, programs.listener)))
            }
        }
    };
    let mut sides = [side(&request.arms[0])?, side(&request.arms[1])?];
    let mut cases = request.cases.clone();
    if let ([Side::Stored(first), Side::Stored(second)], true) = (&sides, cases.is_empty()) {
        cases = shared(first, second, &who, request.threads);
    }
    let mut decisions = Vec::new();
    for (entry, case) in checked(&cases, request.memory.cache)? {
        let mut decision = CaseDecision::open(case.clone(), request.threads);
        let mut times = [None, None];
        for (arm, side) in sides.iter_mut().enumerate() {
            let who = best_path(entry, &who[arm], request.cap);
            match side.time(&request.arms[arm], entry, &case, &who, request) {
                Ok(time) => times[arm] = Some(time),
                Err(Missing::Refused(proof)) => decision.refuse(arm, proof),
                Err(Missing::Said(why)) => decision.because = Some(why),
            }
        }
        if let [Some(base), Some(other)] = times {
            decision.ratio = Some(quotient(&other, &base));
            decision.standing = Standing::Weak;
        }
        decisions.push(decision);
    }
    let severity = severity(&decisions, request.same_margin);
    Ok(Compared { run: None, decisions, notes: notes(&sides), severity })
}

/// Why a side has no number.
enum Missing {
    Refused(Box<proofmark_schema::proof::Proof>),
    Said(String),
}

impl Side<'_> {
    fn time(
        &mut self,
        arm: &Arm,
        entry: &'static proofmark_contract::Entry,
        case: &Case,
        who: &ContenderId,
        request: &CompareRequest,
    ) -> Result<Interval, Missing> {
        let threads = request.threads;
        match self {
            Side::Stored(run) => {
                let found: Vec<Interval> = matching(run, case, who, threads).collect();
                let time = match found[..] {
                    [one] => Ok(one),
                    [] => Err(format!("{arm} has no time of {who} with {threads} threads")),
                    _ => Err(format!("{arm} has several times of {who}: name a run of `bench`")),
                };
                time.map_err(Missing::Said)
            }
            Side::Live(admission) => {
                let proven =
                    admission.admit(entry, case, who, threads).map_err(Missing::Refused)?;
                let rules = RaceRules::standard(request.seed);
                let race = race(std::slice::from_ref(&proven), &rules, &MonotonicClock).map_err(
                    |fault| {
                        let proof = proven.proof().clone();
                        Missing::Refused(Box::new(refused_while_measured(proof, &fault)))
                    },
                )?;
                let time = time_of_call(&race, 0, CONFIDENCE);
                time.ok_or_else(|| Missing::Said(format!("{who} gave no time")))
            }
        }
    }
}

/// The stored times of a contender on a case.
fn matching<'r>(
    run: &'r Run,
    case: &'r Case,
    who: &'r ContenderId,
    threads: usize,
) -> impl Iterator<Item = Interval> + 'r {
    let is_meant = move |record: &&Record| {
        record.case == *case
            && record.threads == threads
            && (record.contender.family, &record.contender.name) == (who.family, &who.name)
            && (who.isa.is_none() || record.contender.isa == who.isa)
    };
    run.records().filter(is_meant).filter_map(|record| Some(record.judged.performance()?.wall_ns))
}

/// The cases that both runs measured.
fn shared(first: &Run, second: &Run, who: &[ContenderId; 2], threads: usize) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for record in first.records() {
        let case = &record.case;
        let in_first = matching(first, case, &who[0], threads).next().is_some();
        let in_second = matching(second, case, &who[1], threads).next().is_some();
        if in_first && in_second && !cases.contains(case) {
            cases.push(case.clone());
        }
    }
    cases
}

/// The widest quotient that the two intervals allow.
fn quotient(other: &Interval, base: &Interval) -> Interval {
    Interval {
        estimate: other.estimate / base.estimate,
        low: other.low / base.high,
        high: other.high / base.low,
        confidence: CONFIDENCE,
    }
}

fn notes(sides: &[Side<'_>; 2]) -> Vec<String> {
    let mut notes = vec![
        "weak: machines drift more than kernels do, so stored numbers decide nothing; compare \
         with `baseline:` or `rev:`, which run the code again"
            .to_owned(),
    ];
    if let [Side::Stored(first), Side::Stored(second)] = sides
        && first.machine.fingerprint != second.machine.fingerprint
    {
        notes.push("the two runs were made on different machines".to_owned());
    }
    notes
}

/// A stored number never causes a failure: a case that looks slower is undecided.
fn severity(decisions: &[CaseDecision], same_margin: f64) -> Severity {
    let of = |decision: &CaseDecision| match (&decision.ratio, &decision.refused) {
        (Some(ratio), _) if ratio.estimate <= 1.0 + same_margin => Severity::Note,
        (_, Some(_)) => refused(decision).max(Severity::Undecided),
        _ => Severity::Undecided,
    };
    let floor = if decisions.is_empty() { Severity::Undecided } else { Severity::Note };
    decisions.iter().map(of).fold(floor, Severity::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decision(ratio: f64) -> CaseDecision {
        let mut decision = CaseDecision::open("add:f32[b=1,s=1,d=8]".parse().unwrap(), 1);
        let side = |estimate| Interval { estimate, low: estimate, high: estimate, confidence: 0.9 };
        decision.ratio = Some(quotient(&side(ratio), &side(1.0)));
        decision
    }

    #[test]
    fn stored_numbers_never_fail_anybody() {
        assert_eq!(severity(&[decision(0.5), decision(1.0)], 0.01), Severity::Note);
        assert_eq!(severity(&[decision(0.5), decision(9.0)], 0.01), Severity::Undecided);
        assert_eq!(severity(&[], 0.01), Severity::Undecided);
    }

    #[test]
    fn the_interval_of_a_quotient_is_the_widest_that_both_allow() {
        let base = Interval { estimate: 2.0, low: 1.0, high: 4.0, confidence: 0.95 };
        let got = quotient(&Interval { estimate: 4.0, low: 2.0, high: 8.0, ..base }, &base);
        assert_eq!((got.estimate, got.low, got.high), (2.0, 0.5, 8.0));
    }
}
