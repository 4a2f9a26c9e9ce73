//! A comparison that is over, read from its run.

use crate::race::{Evidence, third_round, two_rounds};
use proofmark_analyze::policy::Open;
use proofmark_schema::decision::{CaseDecision, Decided, Round, Standing};
use proofmark_schema::plan::{Item, RunKind};
use proofmark_store::{ItemEntry, Run};
use std::collections::BTreeMap;
use std::convert::Infallible;

/// What a stored comparison decided.
#[derive(Clone, Debug)]
pub struct StoredComparison {
    /// The arm that was compared with, as it was asked for.
    pub base: String,
    /// The other arm.
    pub other: String,
    /// Error rate of the whole comparison.
    pub alpha: f64,
    /// The cases in the order of the plan.
    pub decisions: Vec<CaseDecision>,
}

/// The comparison that a run keeps; nothing if it keeps another kind of run, if it was cut off, or
/// if no case was raced.
pub fn stored_comparison(run: &Run) -> Option<StoredComparison> {
    if run.plan.kind != RunKind::Compare || !run.sealed {
        return None;
    }
    let items = &run.plan.items;
    // The plan repeats its cases: once for each round.
    let first = items.first()?;
    let cases = (1..items.len()).find(|&at| items[at].case == first.case)?;
    // A sealed run has an empty entry for each race that was not needed.
    let held = run.items.iter().filter(|entry| entry.race.is_some() || !entry.records.is_empty());
    let entries: BTreeMap<u64, &ItemEntry> = held.map(|entry| (entry.item, entry)).collect();
    let entry_of =
        |lap: usize, case: usize| entries.get(&items.get(lap * cases + case)?.index).copied();
    let decided_of = |lap: usize, case: usize| entry_of(lap, case)?.decided.as_ref();
    let any = (0..cases).find_map(|case| decided_of(0, case))?;
    let alpha = any.ruling.alpha;
    let mut race = |round: Round, case: usize, _: f64| {
        let lap = usize::from(round == Round::Confirmation);
        let is_raced_again = lap == 0 && entry_of(1, case).is_some();
        Ok::<_, Infallible>(decided_of(lap, case).map(|decided| evidence(decided, is_raced_again)))
    };
    let Ok(mut standings) = two_rounds(cases, alpha, any.ruling.report_margin, &mut race);
    let settled: Vec<(usize, Open)> = (0..cases)
        .filter(|&case| entry_of(2, case).is_some())
        .map(|case| (case, Open::Unclear))
        .collect();
    let mut race = |case: usize, _: Open, _: f64| {
        Ok::<_, Infallible>(decided_of(2, case).map(|decided| evidence(decided, false)))
    };
    let Ok(()) = third_round(&mut standings, &settled, alpha, &mut race);
    let rounds = items.len() / cases;
    let decisions = (0..cases).zip(standings).map(|(case, standing)| {
        let laps: Vec<&ItemEntry> = (0..rounds).filter_map(|lap| entry_of(lap, case)).collect();
        decision(&items[case], &laps, standing)
    });
    let [base, other] = &any.arms;
    Some(StoredComparison {
        base: base.arm.clone(),
        other: other.arm.clone(),
        // A check reserves half of its error rate for a third round.
        alpha: if rounds > 2 { 2.0 * alpha } else { alpha },
        decisions: decisions.collect(),
    })
}

fn evidence(decided: &Decided, has_time_left: bool) -> Evidence {
    let comparison = &decided.ruling.comparison;
    Evidence {
        verdict: comparison.verdict,
        ratio: comparison.ratio.estimate,
        p_value: decided.p_value,
        has_time_left,
    }
}

/// One case from the entries of its rounds.
fn decision(item: &Item, laps: &[&ItemEntry], standing: Standing) -> CaseDecision {
    let mut decision = CaseDecision::open(item.case.clone(), item.threads);
    for entry in laps {
        if let Some(decided) = &entry.decided {
            decision.ratio = Some(decided.ruling.comparison.ratio);
            let place = match decided.round {
                Round::Screen => &mut decision.screen,
                Round::Confirmation => &mut decision.confirmation,
            };
            *place = Some(decided.clone());
        } else if let Some(record) = entry.records.first() {
            let arm = item.field.iter().position(|who| *who == record.contender);
            decision.refuse(arm.unwrap_or_default(), Box::new(record.judged.proof().clone()));
        }
        if let Some(race) = &entry.race {
            decision.slices += race.slices.len();
            decision.checked_elements += race.checked;
        }
    }
    decision.standing = standing;
    decision
}
