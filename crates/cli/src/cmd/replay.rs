//! `proofmark replay`: every number of a stored run again from its slices.

use super::StorePath;
use crate::exit;
use crate::output::{Failure, Format, print, print_document, say};
use clap::Args;
use proofmark_engine::{replay, verify};
use proofmark_report::reports::{self, VerifiedRun};

/// Arguments of `replay`.
#[derive(Args)]
pub(crate) struct Replay {
    /// The run: `latest`, a number, a day and an op (`2026-11-17-softmax`), the beginning of an id,
    /// or a path
    run: String,
    /// Also check every byte of the sealed run, and name the program, libraries, seeds and
    /// isolation behind its numbers
    #[arg(long)]
    verify: bool,
    /// How the verification is written
    #[arg(long, value_enum, default_value_t = Format::Table, requires = "verify")]
    format: Format,
    #[command(flatten)]
    store: StorePath,
}

impl Replay {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        if self.verify {
            return self.verified();
        }
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

    fn verified(&self) -> Result<u8, Failure> {
        let verified = verify(&self.store.open()?, &self.run)?;
        let (recomputed, different) = match &verified.replayed {
            Some(replayed) => (
                replayed.recomputed + replayed.rulings,
                [replayed.different.clone(), replayed.different_rulings.clone()].concat(),
            ),
            None => (0, Vec::new()),
        };
        let shown = VerifiedRun {
            run: &verified.run,
            damaged: &verified.damaged,
            recomputed,
            different: &different,
            origins: &verified.origins,
        };
        print_document(self.format, &reports::verification(&shown))?;
        Ok(if verified.holds() { exit::PASS } else { exit::INTEGRITY })
    }
}
