//! A new op: a folder that works, to be changed.

use proofmark_contract::NoTruth;
use proofmark_schema::is_name;
use std::io;
use std::path::{Path, PathBuf};

/// The language of the first kernel of a new op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// A shared library from C.
    C,
    /// A Python file.
    Python,
}

/// What stands for the op's name in the texts.
const NAME: &str = "NAME";

const OP: &[(&str, &str)] = &[
    ("op.toml", include_str!("template/op.toml")),
    ("reference.py", include_str!("template/reference.py")),
];
const IN_C: &[(&str, &str)] = &[
    ("kernels/plain.toml", include_str!("template/plain.toml")),
    ("kernels/plain.c", include_str!("template/plain.c")),
];
const IN_PYTHON: &[(&str, &str)] = &[("kernels/plain.py", include_str!("template/plain.py"))];

/// Why no folder was written.
#[derive(Debug, thiserror::Error)]
pub enum NewOpError {
    /// The name cannot be that of functions in C and Python.
    #[error("`{0}` is no name for an op: write lower-case letters, digits and `_`")]
    Name(String),
    /// A file to be imported is of no known form.
    #[error("{}: {reason}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What does not fit, and what to do.
        reason: String,
    },
    /// A problem to be imported does not run.
    #[error("{0}")]
    Reference(NoTruth),
    /// There is something already.
    #[error("{} exists already", .0.display())]
    Exists(PathBuf),
    /// The system refuses.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// Writes the folder of a new op with a first kernel; gives the files.
///
/// # Errors
/// If the name is none, the folder exists, or it cannot be written.
pub fn write_op(folder: &Path, language: Language) -> Result<Vec<PathBuf>, NewOpError> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    check_name(&name)?;
    if folder.exists() {
        return Err(NewOpError::Exists(folder.to_owned()));
    }
    let kernel = match language {
        Language::C => IN_C,
        Language::Python => IN_PYTHON,
    };
    let mut files = Vec::new();
    for (path, text) in OP.iter().chain(kernel) {
        files.push(written(&folder.join(path), &text.replace(NAME, &name))?);
    }
    Ok(files)
}

/// Whether a name can be that of an op's folder and of its functions.
pub(crate) fn check_name(name: &str) -> Result<(), NewOpError> {
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
    match begins && is_name(name) && name.chars().all(is_word) {
        true => Ok(()),
        false => Err(NewOpError::Name(name.to_owned())),
    }
}

/// Writes a file, and the folders that it is in; gives its path.
pub(crate) fn written(path: &Path, text: &str) -> Result<PathBuf, NewOpError> {
    let failed = |error| NewOpError::Io { path: path.to_owned(), error };
    std::fs::create_dir_all(path.parent().unwrap_or(path)).map_err(failed)?;
    std::fs::write(path, text).map_err(failed)?;
    Ok(path.to_owned())
}
