//! `proofmark merge`: the shards of a plan as one run.

use super::{Shown, StorePath, kept};
use crate::exit;
use crate::output::{Failure, counted, print_document, say};
use clap::Args;
use proofmark_engine::{EngineError, exit_severity, findings, merge};
use proofmark_report::reports;

/// Arguments of `merge`.
#[derive(Args)]
pub(crate) struct Merge {
    /// The runs: numbers, beginnings of ids, or paths
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<String>,
    #[command(flatten)]
    store: StorePath,
    #[command(flatten)]
    shown: Shown,
}

impl Merge {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        let store = self.store.open()?;
        let merged = merge(&store, &self.runs)?;
        let run = store.load(&merged.run).map_err(EngineError::from)?;
        let records: Vec<_> = run.records().cloned().collect();
        let findings = findings(&records);
        print_document(self.shown.format, &reports::bench(&records, &findings, &run.plan.absent))?;
        if !self.shown.quiet {
            say(&format!("{}: {}", kept(&store, &merged.run)?, counted(merged.items, "item"),));
        }
        Ok(exit::of_severity(exit_severity(&findings)))
    }
}
