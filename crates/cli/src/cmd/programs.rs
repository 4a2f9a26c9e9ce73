//! Commands and benchmarks as sides of `compare` and `check`.

use super::kept;
use crate::exit;
use crate::output::{Failure, say};
use clap::Args;
use proofmark_engine::programs::{Command, Shown};
use proofmark_engine::{
    Arm, CommandPair, EngineError, ProgramSides, ProgramsCompared, ProgramsRequest, Source, Store,
};
use std::path::PathBuf;

/// Default seconds of a race of two programs.
pub(crate) const SECONDS: f64 = 30.0;

/// Arguments about commands and benchmarks.
#[derive(Args, Clone)]
#[command(next_help_heading = "Commands and benchmarks")]
pub(crate) struct ProgramOptions {
    /// Race the benchmarks that both sides have: the bench targets of two revisions, or two
    /// programs of criterion, divan, libtest or Google Benchmark
    #[arg(long)]
    benches: bool,
    /// Only benchmarks whose name contains this text, or matches it as a pattern
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Command that runs before each process of a `cmd:`, untimed
    #[arg(long, value_name = "COMMAND")]
    setup: Option<String>,
    /// File that is the standard input of each `cmd:`
    #[arg(long, value_name = "PATH")]
    input: Option<PathBuf>,
    /// Folder that each `cmd:` runs in
    #[arg(long, value_name = "PATH")]
    folder: Option<PathBuf>,
    /// Exit code by which a `cmd:` says that it succeeded
    #[arg(long, value_name = "CODE", default_value_t = 0)]
    exit_code: i32,
    /// What each `cmd:` shows of its result, to be compared: `stdout` or `file:PATH`
    #[arg(long, value_name = "WHERE")]
    compare_output: Option<Shown>,
}

impl ProgramOptions {
    /// What is raced, if the arms mean programs.
    pub(crate) fn sides(&self, arms: [&Arm; 2]) -> Result<Option<ProgramSides>, Failure> {
        let text = |arm: &Arm| match &arm.source {
            Source::Command(text) => Some(text.clone()),
            _ => None,
        };
        if self.benches {
            return Ok(Some(ProgramSides::Benches(arms.map(Clone::clone))));
        }
        match arms.map(text) {
            [None, None] => Ok(None),
            [Some(base), Some(other)] => {
                let sides = [self.command(&base)?, self.command(&other)?];
                Ok(Some(ProgramSides::Commands(vec![CommandPair { name: other, sides }])))
            }
            [Some(text), _] | [_, Some(text)] => {
                Err(EngineError::OnlyPrograms(format!("cmd:{text}")).into())
            }
        }
    }

    /// The filter that was asked for.
    pub(crate) fn filter(&self) -> Option<String> {
        self.filter.clone()
    }

    fn command(&self, text: &str) -> Result<Command, Failure> {
        let mut command = Command::parse(text).map_err(EngineError::from)?;
        if let Some(setup) = &self.setup {
            command = command.with_setup(setup).map_err(EngineError::from)?;
        }
        command.input.clone_from(&self.input);
        command.folder.clone_from(&self.folder);
        command.exit_code = self.exit_code;
        command.shown.clone_from(&self.compare_output);
        Ok(command)
    }
}

/// The last lines of a comparison of programs, and its exit code.
pub(crate) fn finish(
    compared: &ProgramsCompared,
    request: &ProgramsRequest,
    store: &Store,
    is_quiet: bool,
) -> Result<u8, Failure> {
    if !is_quiet {
        say(&format!("{}, seed {}", kept(store, &compared.run)?, request.terms.seed));
    }
    Ok(exit::of_decision(compared.severity))
}
