//! `proofmark replay`: every number of a stored run again from its slices.

use super::StorePath;
use crate::exit;
use crate::output::{Failure, print, say};
use clap::Args;
use proofmark_engine::{EngineError, Store, replay};

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
        let store = Store::open(&self.store.store).map_err(EngineError::from)?;
        let replayed = replay(&store, &self.run)?;
        for record in &replayed.different {
            say(&format!("different: {record}"));
        }
        let (run, all) = (&replayed.run, replayed.recomputed);
        let same = all - replayed.different.len();
        print(&format!("run {run}: {same} of {all} records come out the same from their slices"))?;
        Ok(if replayed.different.is_empty() { exit::PASS } else { exit::INTEGRITY })
    }
}
