//! Crossings and choices that were found before, by machine, program and question.

use super::races::RaceTerms;
use super::request::TuneRequest;
use crate::EngineError;
use crate::prove::book::hash;
use proofmark_analyze::{Choice, Crossing};
use proofmark_schema::{Case, ContenderId};
use proofmark_store::Store;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

const FILE: &str = "tuning.json";

/// What a store keeps in addition to its runs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Kept {
    /// How often an answer was asked for, and was there.
    lookups: u64,
    hits: u64,
    /// Answers by question.
    pub(super) crossings: BTreeMap<String, Crossing>,
    #[serde(default)]
    pub(super) choices: BTreeMap<String, Choice>,
}

/// The answers of a store, and how often one of them saved a measurement.
#[derive(Clone, Debug, Serialize)]
pub struct CachedTuning {
    /// All crossings, whatever machine and program they are of.
    pub crossings: Vec<Crossing>,
    /// All choices, likewise.
    pub choices: Vec<Choice>,
    /// How often an answer was asked for.
    pub lookups: u64,
    /// How often it was there.
    pub hits: u64,
}

/// The cache key: the machine, the program, and everything else that changes the answer except
/// chance.
pub(super) fn key(
    request: &TuneRequest,
    case: &Case,
    between: &[ContenderId; 2],
    machine: &str,
    program: &Path,
) -> String {
    let mut case = case.clone();
    for (name, size) in &mut case.axes {
        if *name == request.axis {
            *size = 0;
        }
    }
    let program = hash(program);
    let [base, other] = between;
    let TuneRequest { range: (from, to), axis, terms: RaceTerms { threads, .. }, rounds, .. } =
        request;
    let of = format!("{axis}={from}..{to} {base} {other} threads={threads} rounds={rounds}");
    format!("{machine} {program} {case} {of}")
}

fn read(store: &Store) -> Result<Kept, EngineError> {
    Ok(parse(store.read_file(FILE)?))
}

fn parse(bytes: Option<Vec<u8>>) -> Kept {
    // An unreadable file only costs a new measurement.
    bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

/// Changes what is kept. Other commands may change it too: each waits for the one before.
fn update<T>(store: &Store, change: impl FnOnce(&mut Kept) -> T) -> Result<T, EngineError> {
    let mut made = None;
    store.update_file(FILE, |old| {
        let mut kept = parse(old);
        made = Some(change(&mut kept));
        serde_json::to_vec_pretty(&kept).expect("crossings have only text as keys")
    })?;
    Ok(made.expect("a file that was updated was changed"))
}

/// The answer, if it is there; the question is counted.
pub(super) fn look_up<T>(
    store: &Store,
    find: impl Fn(&Kept) -> Option<T>,
) -> Result<Option<T>, EngineError> {
    update(store, |kept| {
        let found = find(kept);
        kept.lookups = kept.lookups.saturating_add(1);
        kept.hits = kept.hits.saturating_add(u64::from(found.is_some()));
        found
    })
}

/// Keeps an answer.
pub(super) fn keep(store: &Store, add: impl FnOnce(&mut Kept)) -> Result<(), EngineError> {
    update(store, add)
}

/// What the store has.
///
/// # Errors
/// If the store fails.
pub fn cached_tunings(store: &Store) -> Result<CachedTuning, EngineError> {
    let Kept { lookups, hits, crossings, choices } = read(store)?;
    let (crossings, choices) = (crossings.into_values(), choices.into_values());
    Ok(CachedTuning { crossings: crossings.collect(), choices: choices.collect(), lookups, hits })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verbs::tune::concurrent::crossing;

    #[test]
    fn an_answer_is_found_again_and_the_hit_rate_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let asked = || look_up(&store, |kept| kept.crossings.get("question").cloned()).unwrap();
        assert_eq!(asked(), None);
        let crossing = crossing(1);
        let question = "question".to_owned();
        keep(&store, |kept| _ = kept.crossings.insert(question, crossing.clone())).unwrap();
        assert_eq!(asked(), Some(crossing));
        let cached = cached_tunings(&store).unwrap();
        assert_eq!((cached.lookups, cached.hits, cached.crossings.len()), (2, 1, 1));
    }
}
