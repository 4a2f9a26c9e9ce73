//! `proofmark history`: starts the program `proofmark-history`, which is built and installed on its
//! own.

use crate::exit;
use crate::output::{Failure, env};
use clap::Args;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// Arguments of `history`: all are passed on.
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct History {
    /// A command with its arguments: init, append, compact, fsck, list, show, query, detect,
    /// alerts, accept, dismiss, confirm, site, serve, key, quarantine, admit
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    #[arg(value_name = "COMMAND")]
    arguments: Vec<OsString>,
}

const AFTER_HELP: &str = "\
The program `proofmark-history` does it, which is installed on its own.

Examples:
  proofmark history init results
  proofmark history append latest --to results --commit HEAD
  proofmark history list --from results
  proofmark history compact results
  proofmark history detect results
  proofmark history append --help";

/// The name of the program.
const PROGRAM: &str = "proofmark-history";

impl History {
    #[expect(clippy::disallowed_methods, reason = "another program of ours takes over")]
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        let program = find().ok_or_else(missing)?;
        // The program takes the place of this one, so that signals and the exit code are its own.
        let error = Command::new(&program).args(&self.arguments).exec();
        Err(Failure::environment(format!("cannot start {}: {error}", program.display())))
    }
}

/// The program beside this one, or in a folder of `PATH`.
fn find() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    let beside = own.with_file_name(PROGRAM);
    let path = env("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join(PROGRAM));
    std::iter::once(beside).chain(on_path).find(|program| program.is_file())
}

fn missing() -> Failure {
    Failure {
        message: format!("the program `{PROGRAM}` is neither beside this one nor on PATH"),
        hint: Some(
            "`cargo install --locked --path crates/history` in the repository installs it"
                .to_owned(),
        ),
        code: exit::ENVIRONMENT,
    }
}
