//! Answers of a search in the store, so that it can go on.

use crate::EngineError;
use proofmark_programs::search::Answer;
use proofmark_store::Store;
use std::collections::BTreeMap;

/// The answers of one search.
pub(super) struct Kept<'a> {
    store: &'a Store,
    /// Its name in the store.
    name: String,
    by_candidate: BTreeMap<String, Answer>,
}

impl<'a> Kept<'a> {
    /// The answers of the search that these words describe.
    pub(super) fn open(store: &'a Store, search: &str) -> Result<Kept<'a>, EngineError> {
        let hash = blake3::hash(search.as_bytes()).to_hex();
        let name = format!("bisect-{}.json", &hash[..16]);
        let text = store.read_file(&name)?.unwrap_or_default();
        // A file that cannot be read is like none: its candidates are raced again.
        let by_candidate = serde_json::from_slice(&text).unwrap_or_default();
        Ok(Kept { store, name, by_candidate })
    }

    /// What is known; skipped candidates are tried again.
    pub(super) fn answers(&self, candidates: &[String]) -> BTreeMap<usize, Answer> {
        let known = candidates.iter().enumerate();
        known.filter_map(|(at, it)| Some((at, *self.by_candidate.get(it)?))).collect()
    }

    /// Keeps an answer, unless the candidate was skipped.
    pub(super) fn keep(&mut self, candidate: &str, answer: Answer) -> Result<(), EngineError> {
        if answer != Answer::Skipped {
            self.by_candidate.insert(candidate.to_owned(), answer);
        }
        let text = serde_json::to_vec_pretty(&self.by_candidate).unwrap_or_default();
        Ok(self.store.write_file(&self.name, &text)?)
    }
}
