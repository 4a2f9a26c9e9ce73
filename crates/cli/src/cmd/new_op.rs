//! `proofmark new`: writes files that work, to be changed.

use crate::exit;
use crate::output::{Failure, say};
use clap::{Args, Subcommand, ValueEnum};
use proofmark_engine::own::{self, Language, NewOpError, Source};
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
        /// The name of the op: lower-case letters, digits and `_`; with --from, the problem's
        #[arg(required_unless_present = "from")]
        name: Option<String>,
        /// Make it from a problem in another project's format (docs/formats.md)
        #[arg(long, value_name = "PROBLEM", conflicts_with = "kernel")]
        from: Option<PathBuf>,
        /// An answer to that problem, which becomes a kernel; may be repeated
        #[arg(long, value_name = "FILE", requires = "from")]
        answer: Vec<PathBuf>,
        /// Workloads of flashinfer-trace (lines of JSON), which become cases
        #[arg(long, value_name = "FILE", requires = "from")]
        workloads: Option<PathBuf>,
        /// The bytes that all tensors of a case may take; larger sizes of the problem are shrunk
        #[arg(long, value_name = "BYTES", requires = "from", default_value_t = own::BYTES)]
        bytes: u64,
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
        let What::Op { name, from, answer, workloads, bytes, kernel, within } = &self.what;
        if let Some(problem) = from {
            let (name, workloads) = (name.as_deref(), workloads.as_deref());
            let (answers, bytes) = (answer, *bytes);
            return import(&Source { problem, answers, workloads, bytes, name, within });
        }
        let name = name.as_deref().unwrap_or_default();
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

/// Makes an op of a problem in another project's format.
fn import(source: &Source<'_>) -> Result<u8, Failure> {
    let interpreter = super::own::interpreter();
    let python = interpreter.python().ok_or_else(|| {
        Failure::environment("there is no interpreter to read the problem with".to_owned())
    })?;
    let made = own::import_op(source, python).map_err(failed)?;
    for path in &made.files {
        say(&format!("wrote {}", path.display()));
    }
    for note in &made.notes {
        say(note);
    }
    say(&format!("next: proofmark prove {}", made.name));
    Ok(exit::PASS)
}

#[expect(clippy::needless_pass_by_value, reason = "it is the argument of map_err")]
fn failed(error: NewOpError) -> Failure {
    let hint = match error {
        NewOpError::Exists(_) => Some("give another name, or remove the folder".to_owned()),
        NewOpError::Format { .. } => Some("docs/formats.md shows what is read".to_owned()),
        _ => None,
    };
    let code = match error {
        NewOpError::Io { .. } | NewOpError::Reference(_) => exit::ENVIRONMENT,
        _ => exit::USAGE,
    };
    Failure { message: error.to_string(), hint, code }
}
