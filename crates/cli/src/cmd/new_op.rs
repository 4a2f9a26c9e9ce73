//! `proofmark new`: writes files that work, to be changed.

use crate::exit;
use crate::output::{Failure, say};
use clap::{Args, Subcommand, ValueEnum};
use proofmark_engine::own::{self, Language, NewOpError};
use std::path::PathBuf;

/// Arguments of `new`.
#[derive(Args)]
pub(crate) struct New {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Write the folder of an op of your own: op.toml, a reference in Python, a first kernel
    Op {
        /// The name of the op: lower-case letters, digits and `_`
        name: String,
        /// The language of its first kernel
        #[arg(long, value_enum, default_value_t = KernelLanguage::C)]
        kernel: KernelLanguage,
        /// The folder that the op's folder is made in
        #[arg(long, value_name = "FOLDER", default_value = own::OPS)]
        within: PathBuf,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum KernelLanguage {
    C,
    Python,
}

impl New {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        let What::Op { name, kernel, within } = &self.what;
        let language = match kernel {
            KernelLanguage::C => Language::C,
            KernelLanguage::Python => Language::Python,
        };
        let written = own::write_op(&within.join(name), language).map_err(failed)?;
        for path in written {
            say(&format!("wrote {}", path.display()));
        }
        say(&format!("next: proofmark prove {name}"));
        Ok(exit::PASS)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is the argument of map_err")]
fn failed(error: NewOpError) -> Failure {
    let hint = match error {
        NewOpError::Exists(_) => Some("give another name, or remove the folder".to_owned()),
        _ => None,
    };
    let code = match error {
        NewOpError::Io { .. } => exit::ENVIRONMENT,
        _ => exit::USAGE,
    };
    Failure { message: error.to_string(), hint, code }
}
