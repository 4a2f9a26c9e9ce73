//! A comparison that is over, read from its run.

use crate::race::{Evidence, third_round, two_rounds};
use proofmark_analyze::policy::Open;
use proofmark_schema::decision::{CaseDecision, Round, Standing};
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
    // A sealed run has an empty entry for each race that was not needed.
    let held = run.items.iter().filter(|entry| entry.race.is_some() || !entry.records.is_empty());
    let entries: BTreeMap<u64, &ItemEntry> = held.map(|entry| (entry.item, entry)).collect();
    let rounds = [2, 3].into_iter().find(|&rounds| is_repeated(items, &entries, rounds))?;
    let cases = items.len() / rounds;
    let entry_of =
        |lap: usize, case: usize| entries.get(&items.get(lap * cases + case)?.index).copied();
    let decided_of = |lap: usize, case: usize| entry_of(lap, case)?.decided.as_ref();
    let any = (0..cases).find_map(|case| decided_of(0, case))?;
    let alpha = any.ruling.alpha;
    let mut race = |round: Round, case: usize, _: f64| {
        let lap = usize::from(round == Round::Confirmation);
        let is_raced_again = lap == 0 && entry_of(1, case).is_some();
        Ok::<_, Infallible>(
            decided_of(lap, case).map(|decided| Evidence::of(decided, is_raced_again)),
        )
    };
    let Ok(mut standings) = two_rounds(cases, alpha, any.ruling.report_margin, &mut race);
    let settled: Vec<(usize, Open)> = (0..cases)
        .filter(|&case| entry_of(2, case).is_some())
        .map(|case| (case, Open::Unclear))
        .collect();
    let mut race = |case: usize, _: Open, _: f64| {
        Ok::<_, Infallible>(decided_of(2, case).map(|decided| Evidence::of(decided, false)))
    };
    let Ok(()) = third_round(&mut standings, &settled, alpha, &mut race);
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

/// Whether the plan repeats its cases for this many rounds. Every case is screened or refused in
/// the first round, which also tells the rounds apart if a case was asked for twice.
fn is_repeated(items: &[Item], entries: &BTreeMap<u64, &ItemEntry>, rounds: usize) -> bool {
    let cases = items.len() / rounds;
    let is_screened = |item: &Item| {
        let entry = entries.get(&item.index);
        let round = |entry: &ItemEntry| entry.decided.as_ref().map(|decided| decided.round);
        entry.is_some_and(|entry| round(entry) != Some(Round::Confirmation))
    };
    cases > 0
        && items.len().is_multiple_of(rounds)
        && (cases..items.len()).all(|at| items[at].case == items[at - cases].case)
        && items[..cases].iter().all(is_screened)
}

/// One case from the entries of its rounds.
fn decision(item: &Item, laps: &[&ItemEntry], standing: Standing) -> CaseDecision {
    let mut decision = CaseDecision::open(item.case.clone(), item.threads);
    for entry in laps {
        if let (Some(race), Some(decided)) = (&entry.race, &entry.decided) {
            decision.raced(race, decided);
        } else if let Some(record) = entry.records.first() {
            let arm = item.field.iter().position(|who| *who == record.contender);
            decision.refuse(arm.unwrap_or_default(), Box::new(record.judged.proof().clone()));
        }
    }
    decision.standing = standing;
    decision
}
