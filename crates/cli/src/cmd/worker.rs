//! `proofmark __worker`: the judged side.

use crate::exit;
use crate::output::Failure;
use clap::Args;
use proofmark_engine::own::{OwnHome, OwnPlace, OwnShelf, SubmittedFile};
use proofmark_engine::{Blocks, set_constants};

/// Arguments of the hidden worker command.
#[derive(Args)]
pub(crate) struct Worker {
    /// The supervisor's end of the socket
    #[arg(long)]
    control_fd: i32,
    /// Plants an effect, as `slower=7`, for the tool's own tests; the receipt tells it
    #[arg(long, value_name = "WHAT", default_value_t)]
    plant: proofmark_worker::Plant,
    /// The least size of a thread's part of an op, as `softmax=2048`, over the tuned constant
    #[arg(long, value_parser = constant)]
    tune: Vec<(String, usize)>,
    /// An op of the user, and its folder
    #[arg(long, value_name = "OP=FOLDER")]
    own: Vec<OwnPlace>,
    /// A kernel that was submitted for an op
    #[arg(long, value_name = "OP=FILE")]
    submission: Option<SubmittedFile>,
    /// Bring the result of every call of a library into the outputs, within the clock
    #[arg(long)]
    settle_each_call: bool,
    /// The interpreter that Python kernels of these ops run in
    #[arg(long, value_name = "JSON")]
    python_home: Option<OwnHome>,
    /// Blocks of products, as `kc=256,mc=126,nc=768`, over the tuned ones
    #[arg(long)]
    blocks: Option<Blocks>,
}

impl Worker {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        self.set_constants()?;
        let known = proofmark_worker::Known {
            entries: proofmark_engine::ops(),
            shelf: super::libraries(),
            own: OwnShelf::new(self.own.clone(), self.python_home.clone())
                .with_submission(self.submission.clone()),
            plant: self.plant,
            settles_each_call: self.settle_each_call,
        };
        match proofmark_worker::serve(known, self.control_fd) {
            Ok(()) => Ok(exit::PASS),
            Err(error) => Err(Failure::environment(format!("worker: {error}"))),
        }
    }

    fn set_constants(&self) -> Result<(), Failure> {
        let mut settings = super::constants::settings()?;
        settings.parts.retain(|(op, _)| self.tune.iter().all(|(own, _)| own != op));
        settings.parts.extend(self.tune.iter().cloned());
        settings.blocks = self.blocks.or(settings.blocks);
        Ok(set_constants(settings)?)
    }
}

/// Reads `op=size`.
fn constant(text: &str) -> Result<(String, usize), String> {
    let (op, size) = text.split_once('=').ok_or("write `op=size`")?;
    let size = size.parse().map_err(|_| format!("`{size}` is no size"))?;
    Ok((op.to_owned(), size))
}
