//! Every number of a stored run again from its slices: they must come out the same.

use crate::EngineError;
use proofmark_measure::{compare, time_of_call};
use proofmark_schema::record::Record;
use proofmark_store::Store;

/// What a replay found.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// The run.
    pub run: String,
    /// Records with performance that were recomputed.
    pub recomputed: usize,
    /// Records whose time, ratio or verdict came out different, in words.
    pub different: Vec<String>,
}

/// Recomputes the times, ratios and verdicts of a run from its raw slices.
///
/// # Errors
/// If there is no such run.
pub fn replay(store: &Store, run: &str) -> Result<Replayed, EngineError> {
    let run = store.load(run)?;
    let mut replayed = Replayed { run: run.id.clone(), recomputed: 0, different: Vec::new() };
    for item in &run.items {
        for record in &item.records {
            let Some(performance) = record.judged.performance() else { continue };
            replayed.recomputed += 1;
            let arm = performance.slices.arm;
            let confidence = performance.wall_ns.confidence;
            let again = item.race.as_ref().and_then(|race| {
                let time = time_of_call(race, arm, confidence)?;
                let ratio = if arm == 0 { None } else { compare(race, 0, arm, confidence) };
                Some((time, ratio))
            });
            let stored = Some((performance.wall_ns, performance.comparison.clone()));
            if again != stored {
                replayed.different.push(describe(record));
            }
        }
    }
    Ok(replayed)
}

fn describe(record: &Record) -> String {
    format!("{} on {}", record.contender, record.case)
}
