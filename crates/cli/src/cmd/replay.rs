//! `proofmark replay`: every number of a stored run again from its slices.

use super::StorePath;
use crate::exit;
use crate::output::{Failure, print, say};
use clap::Args;
use proofmark_engine::replay;

/// Arguments of `replay`.
#[derive(Args)]
pub(crate) struct Replay {
    /// The run: an id, a unique beginning of one, a path, or `latest`
    run: String,
    #[command(flatten)]
    store: StorePath,
}

impl Replay {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        let replayed = replay(&self.store.open()?, &self.run)?;
        let (records, rulings) = (&replayed.different, &replayed.different_rulings);
        for what in records.iter().chain(rulings) {
            say(&format!("different: {what}"));
        }
        let all = replayed.recomputed;
        let mut said = format!("{} of {all} records", all - records.len());
        if replayed.rulings > 0 {
            let all = replayed.rulings;
            said += &format!(" and {} of {all} rulings", all - rulings.len());
        }
        print(&format!("run {}: {said} come out the same from their slices", replayed.run))?;
        let is_same = records.is_empty() && rulings.is_empty();
        Ok(if is_same { exit::PASS } else { exit::INTEGRITY })
    }
}
