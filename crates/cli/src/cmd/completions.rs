//! `proofmark completions`: what a shell reads to complete words.

use crate::exit;
use crate::output::{Failure, print};
use clap::Args;
use clap_complete::Shell;

/// Arguments of `completions`.
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

const AFTER_HELP: &str = "\
For this session, in bash:
  source <(proofmark completions bash)
For every session, in bash, zsh and fish:
  proofmark completions bash > ~/.local/share/bash-completion/completions/proofmark
  proofmark completions zsh > \"${fpath[1]}/_proofmark\"
  proofmark completions fish > ~/.config/fish/completions/proofmark.fish";

impl Completions {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        let mut script = Vec::new();
        let mut command = crate::front::command();
        clap_complete::generate(self.shell, &mut command, "proofmark", &mut script);
        print(&String::from_utf8_lossy(&script))?;
        Ok(exit::PASS)
    }
}
