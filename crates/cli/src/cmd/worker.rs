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
    /// Plants an effect, as `slower=7`, for the tool's own tests; the receipt tells it
    #[arg(long, value_name = "WHAT", default_value_t)]
    plant: proofmark_worker::Plant,
}

impl Worker {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        let known = proofmark_worker::Known {
            entries: proofmark_engine::ops(),
            shelf: super::shelf(),
            plant: self.plant,
        };
        match proofmark_worker::serve(known, self.control_fd) {
            Ok(()) => Ok(exit::PASS),
            Err(error) => Err(Failure::environment(format!("worker: {error}"))),
        }
    }
}
