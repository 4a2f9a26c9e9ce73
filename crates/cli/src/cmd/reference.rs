//! `proofmark __reference`: a reference in a shared library, in a process of its own.

use crate::exit;
use crate::output::Failure;
use clap::Args;
use proofmark_engine::own::serve_reference;
use std::path::PathBuf;

/// Arguments of the hidden command.
#[derive(Args)]
pub(crate) struct Reference {
    /// The file with the inputs
    #[arg(long)]
    input: PathBuf,
    /// The file for the results
    #[arg(long)]
    output: PathBuf,
}

impl Reference {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        match serve_reference(&self.input, &self.output) {
            Ok(()) => Ok(exit::PASS),
            Err(error) => Err(Failure::environment(format!("reference: {error}"))),
        }
    }
}
