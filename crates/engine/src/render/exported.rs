//! A stored run as rows with the slices behind each, for other tools' formats.

use crate::EngineError;
use proofmark_analyze::Samples;
use proofmark_measure::counting;
use proofmark_schema::machine::MachineFacts;
use proofmark_schema::race::{Race, Verdict};
use proofmark_schema::record::Record;
use proofmark_schema::run_id::started_seconds;
use proofmark_store::{ItemEntry, Store};

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

/// Reads a run with its slices. Of a case that was raced again to decide it, the last race counts.
///
/// # Errors
/// If there is no such run or it is damaged.
pub fn stored_run(store: &Store, run: &str) -> Result<StoredRun, EngineError> {
    let run = store.load(run)?;
    let missing = run.missing().len();
    let mut rows = Vec::new();
    let mut entries: Vec<&ItemEntry> = run.items.iter().collect();
    entries.sort_by_key(|entry| entry.item);
    for entry in entries.into_iter().filter(|entry| !is_raced_again(&run.items, entry)) {
        rows.extend(entry.records.iter().map(|record| row(entry, record)));
    }
    Ok(StoredRun {
        started: started_seconds(&run.id),
        seed: run.plan.seed,
        machine: run.machine,
        missing,
        rows,
        id: run.id,
    })
}
/// Whether a later race decided the same case: a confirmation, or one that settled a limit.
fn is_raced_again(all: &[ItemEntry], entry: &ItemEntry) -> bool {
    let case = |entry: &ItemEntry| Some(entry.race.as_ref()?.case.clone());
    let is_later = |other: &&ItemEntry| other.item > entry.item && other.decided.is_some();
    entry.decided.is_some() && all.iter().filter(is_later).any(|other| case(other) == case(entry))
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A race of a case, as number `item`, that decided something or did not.
    fn entry(item: u64, case: &str, round: Option<&str>) -> ItemEntry {
        let interval = json!({ "estimate": 1.0, "low": 1.0, "high": 1.0, "confidence": 0.99 });
        let decided = round.map(|round| {
            json!({
                "round": round,
                "arms": [
                    { "arm": "rev:main", "contender": "native/simd@avx2" },
                    { "arm": "rev:.", "contender": "native/simd@avx2" },
                ],
                "looks": [6],
                "ruling": {
                    "comparison": {
                        "against": "native/simd@avx2", "ratio": interval, "verdict": "SAME",
                        "trials": 6,
                    },
                    "alpha": 0.01, "report_margin": 0.005, "same_margin": 0.01, "seconds": 1.0,
                },
            })
        });
        let race = json!({
            "case": case, "arms": [], "threads": 1, "seed": 0, "trials": [], "slices": [],
            "checked": 0, "peak_bytes": [],
        });
        let mut all = json!({ "item": item, "race": race, "records": [] });
        if let Some(decided) = decided {
            all["decided"] = decided;
        }
        serde_json::from_value(all).unwrap()
    }

    #[test]
    fn of_the_races_that_decide_a_case_the_last_counts() {
        let (one, other) = ("add:f32[b=1,s=1,d=8]", "add:f32[b=1,s=1,d=9]");
        let all = [
            entry(0, one, Some("screen")),
            entry(1, other, Some("screen")),
            entry(2, one, Some("confirmation")),
            entry(4, one, Some("confirmation")),
        ];
        let left: Vec<u64> =
            all.iter().filter(|it| !is_raced_again(&all, it)).map(|it| it.item).collect();
        assert_eq!(left, [1, 4]);
        // Items of a bench decide nothing: the same case with other threads stays.
        let bench = [entry(0, one, None), entry(1, one, None)];
        assert!(bench.iter().all(|it| !is_raced_again(&bench, it)));
    }
}
