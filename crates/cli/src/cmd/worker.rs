//! `proofmark __worker`: the judged side.

use crate::exit;
use crate::output::Failure;
use clap::Args;

/// Arguments of the hidden worker command.
#[derive(Args)]
pub(crate) struct Worker {
    /// The supervisor's end of the socket
    #[arg(long)]
    control_fd: i32,
}

impl Worker {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        let known =
            proofmark_worker::Known { entries: proofmark_engine::ops(), shelf: super::shelf() };
        match proofmark_worker::serve(known, self.control_fd) {
            Ok(()) => Ok(exit::PASS),
            Err(error) => Err(Failure::environment(format!("worker: {error}"))),
        }
    }
}
