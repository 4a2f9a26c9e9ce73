//! A stored run as rows with the slices behind each, for other tools' formats.

use crate::EngineError;
use proofmark_analyze::Samples;
use proofmark_measure::counting;
use proofmark_schema::decision::Round;
use proofmark_schema::machine::MachineFacts;
use proofmark_schema::race::{Race, Verdict};
use proofmark_schema::record::Record;
use proofmark_store::{ItemEntry, Run, Store};

/// One record with what it rests on.
#[derive(Clone, Debug)]
pub struct StoredRow {
    /// The record.
    pub record: Record,
    /// The slices that count; none without a race.
    pub samples: Samples,
    /// Which side of a comparison it was, as it was asked for.
    pub arm: Option<String>,
    /// What the comparison decided of it.
    pub ruling: Option<Verdict>,
}

/// A stored run, read for others.
#[derive(Clone, Debug)]
pub struct StoredRun {
    /// Its id.
    pub id: String,
    /// When it was started, in seconds since 1970, where the id tells.
    pub started: Option<i64>,
    /// Its seed.
    pub seed: u64,
    /// Where it ran.
    pub machine: MachineFacts,
    /// Items of its plan that are not recorded.
    pub missing: usize,
    /// Its rows in the order of its plan.
    pub rows: Vec<StoredRow>,
}

/// Reads a run with its slices. Of a case that was confirmed, only the last race counts.
///
/// # Errors
/// If there is no such run or it is damaged.
pub fn stored_run(store: &Store, run: &str) -> Result<StoredRun, EngineError> {
    let run = store.load(run)?;
    let missing = run.missing().len();
    let mut rows = Vec::new();
    let mut entries: Vec<&ItemEntry> = run.items.iter().collect();
    entries.sort_by_key(|entry| entry.item);
    for entry in entries.into_iter().filter(|entry| !is_confirmed(&run, entry)) {
        rows.extend(entry.records.iter().map(|record| row(entry, record)));
    }
    let started = uuid::Uuid::parse_str(&run.id).ok().and_then(|id| id.get_timestamp());
    Ok(StoredRun {
        started: started.and_then(|time| i64::try_from(time.to_unix().0).ok()),
        seed: run.plan.seed,
        machine: run.machine,
        missing,
        rows,
        id: run.id,
    })
}

/// Whether a later race of the same case was run to confirm this one.
fn is_confirmed(run: &Run, entry: &ItemEntry) -> bool {
    let round = |entry: &ItemEntry| entry.decided.as_ref().map(|decided| decided.round);
    let case = |entry: &ItemEntry| entry.race.as_ref().map(|race| race.case.clone());
    round(entry) == Some(Round::Screen)
        && run
            .items
            .iter()
            .any(|other| round(other) == Some(Round::Confirmation) && case(other) == case(entry))
}

fn row(entry: &ItemEntry, record: &Record) -> StoredRow {
    let arm = record.judged.performance().map(|performance| performance.slices.arm);
    let samples = match (&entry.race, arm) {
        (Some(race), Some(arm)) => samples(race, arm),
        _ => Samples::default(),
    };
    let decided = entry.decided.as_ref();
    let side = decided.zip(arm).and_then(|(of, arm)| of.arms.get(arm as usize));
    StoredRow {
        record: record.clone(),
        samples,
        arm: side.map(|side| side.arm.clone()),
        ruling: decided.filter(|_| arm == Some(1)).map(|of| of.ruling.comparison.verdict),
    }
}

/// The slices of an arm from which its time was taken.
pub fn samples(race: &Race, arm: u32) -> Samples {
    let trial = |trial: u32| {
        counting(race, trial).into_iter().filter(|slice| slice.arm == arm).copied().collect()
    };
    Samples::new((0..race.trials.len() as u32).map(trial).collect())
}
