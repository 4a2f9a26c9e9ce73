//! `query`: starts the program `proofmark-history-query`, so that nobody builds a query engine for
//! the other commands.

use clap::Args;
use proofmark_history::HistoryError;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// The name of the program.
const PROGRAM: &str = "proofmark-history-query";

/// Arguments of `query`: all are passed on.
#[derive(Args)]
pub(super) struct Query {
    /// Passed on
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

impl Query {
    #[expect(clippy::disallowed_methods, reason = "another program of ours takes over")]
    pub(super) fn run(&self) -> Result<u8, HistoryError> {
        let program = find().ok_or(HistoryError::NoProgram(PROGRAM))?;
        // The program takes the place of this one, so that signals and the exit code are its own.
        let source = Command::new(&program).args(&self.arguments).exec();
        Err(HistoryError::Io { what: "start", path: program, source })
    }
}

/// The program beside this one, or in a folder of `PATH`.
#[expect(clippy::disallowed_methods, reason = "the command line is where the environment is read")]
fn find() -> Option<PathBuf> {
    let beside = std::env::current_exe().ok()?.with_file_name(PROGRAM);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join(PROGRAM));
    std::iter::once(beside).chain(on_path).find(|program| program.is_file())
}
