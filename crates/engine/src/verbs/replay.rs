//! Recomputes every number of a stored run from its slices: the results must be the same.

use crate::EngineError;
use crate::race::decided;
use proofmark_measure::{compare, time_of_call};
use proofmark_schema::decision::Decided;
use proofmark_schema::race::Race;
use proofmark_schema::record::Record;
use proofmark_stats::{Looks, Spending, Stopping};
use proofmark_store::Store;

/// What a replay found.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// The run.
    pub run: String,
    /// Records with performance that were recomputed.
    pub recomputed: usize,
    /// Rulings that were recomputed.
    pub rulings: usize,
    /// Records whose time, ratio or verdict came out different, in words.
    pub different: Vec<String>,
    /// Rulings that came out different, in words.
    pub different_rulings: Vec<String>,
}

/// Recomputes the times, ratios, verdicts and rulings of a run from its raw slices.
///
/// # Errors
/// If there is no such run.
pub fn replay(store: &Store, run: &str) -> Result<Replayed, EngineError> {
    let run = store.load(run)?;
    let mut replayed = Replayed {
        run: run.id.clone(),
        recomputed: 0,
        rulings: 0,
        different: Vec::new(),
        different_rulings: Vec::new(),
    };
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
        if let Some(stored) = &item.decided {
            replayed.rulings += 1;
            let again = item.race.as_ref().and_then(|race| again(race, stored));
            let bytes = |decided: &Decided| serde_json::to_vec(decided).ok();
            if again.as_ref().and_then(bytes) != bytes(stored) {
                let [base, other] = &stored.arms;
                let case =
                    item.race.as_ref().map_or_else(String::new, |race| race.case.to_string());
                let words = format!("the ruling on {case}: {} against {}", other.arm, base.arm);
                replayed.different_rulings.push(words);
            }
        }
    }
    Ok(replayed)
}

/// The ruling by the rule that was in force, from the slices alone.
fn again(race: &Race, stored: &Decided) -> Option<Decided> {
    let ruling = &stored.ruling;
    let stopping = Stopping {
        looks: Looks::new(stored.looks.clone(), Spending::Bonferroni)?,
        alpha: ruling.alpha,
        report_margin: ruling.report_margin,
        same_margin: ruling.same_margin,
    };
    Some(decided(stored.round, stored.arms.clone(), race, &stopping, ruling.seconds))
}

fn describe(record: &Record) -> String {
    format!("{} on {}", record.contender, record.case)
}
