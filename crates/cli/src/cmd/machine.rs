//! `proofmark machine`: what this computer is, and what it can do at best.

use super::{StorePath, cap};
use crate::exit;
use crate::output::{Failure, Format, print_document, say};
use clap::{Args, Subcommand};
use proofmark_engine::{EngineError, facts, load, probe_machine, unix_seconds};
use proofmark_report::reports;

/// Arguments of `machine`.
#[derive(Args)]
pub(crate) struct Machine {
    #[command(subcommand)]
    deed: Option<Deed>,
    #[command(flatten)]
    store: StorePath,
    /// How results are written
    #[arg(long, value_enum, default_value_t = Format::Table, global = true)]
    format: Format,
}

#[derive(Subcommand)]
enum Deed {
    /// Measure the limits of arithmetic and memory (about a minute) and keep them for `bench`
    Probe {
        /// A first look in about five seconds
        #[arg(long, visible_alias = "fast")]
        quick: bool,
        /// Say nothing while working
        #[arg(long, short)]
        quiet: bool,
    },
}

impl Machine {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        let store = self.store.open()?;
        let facts = facts(cap()?);
        let document = match self.deed {
            Some(Deed::Probe { quick, quiet }) => {
                if !quiet {
                    let time = if quick { "a few seconds" } else { "about a minute" };
                    say(&format!("probing for {time}; let nothing else run meanwhile"));
                }
                reports::probe(&probe_machine(&store, &facts, quick)?, unix_seconds())
            }
            None => {
                let saved = store.probe(&facts.fingerprint).map_err(EngineError::from)?;
                reports::machine(&facts, &load(), saved.as_ref(), unix_seconds())
            }
        };
        print_document(self.format, &document)?;
        Ok(exit::PASS)
    }
}
