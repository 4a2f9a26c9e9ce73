//! `proofmark man`: manual pages, one for each command.

use crate::exit;
use crate::output::{Failure, print, say};
use clap::{Args, Command};
use clap_mangen::Man;
use std::path::PathBuf;

/// Arguments of `man`.
#[derive(Args)]
#[command(after_help = "To read one: proofmark man | man -l -")]
pub(crate) struct ManPages {
    /// Write the pages of all commands into this folder; without it the first goes to stdout
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl ManPages {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        // The subcommand `help` would have a page for each command once more.
        let command = crate::front::command().disable_help_subcommand(true);
        match &self.out {
            None => print(&String::from_utf8_lossy(&page(command)?))?,
            Some(folder) => {
                let made = std::fs::create_dir_all(folder);
                let made = made.and_then(|()| clap_mangen::generate_to(command, folder));
                made.map_err(|error| unwritten(folder, &error))?;
                say(&format!("the pages are in {}", folder.display()));
            }
        }
        Ok(exit::PASS)
    }
}

fn page(command: Command) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let made = Man::new(command).render(&mut bytes);
    made.map_err(|error| Failure::environment(format!("cannot write the page: {error}")))?;
    Ok(bytes)
}

fn unwritten(path: &std::path::Path, error: &std::io::Error) -> Failure {
    Failure {
        message: format!("cannot write {}: {error}", path.display()),
        hint: Some("give a folder that can be written with `--out DIR`".to_owned()),
        code: exit::ENVIRONMENT,
    }
}
