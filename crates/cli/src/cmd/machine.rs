//! `proofmark machine`: what this computer is.

use super::cap;
use crate::exit;
use crate::output::{Failure, Format, print_document};
use clap::Args;
use proofmark_engine::{facts, load};
use proofmark_report::reports;

/// Arguments of `machine`.
#[derive(Args)]
pub(crate) struct Machine {
    /// How results are written
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

impl Machine {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        print_document(self.format, &reports::machine(&facts(cap()?), &load()))?;
        Ok(exit::PASS)
    }
}
