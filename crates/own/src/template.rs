//! A new op: a folder that works, to be changed.

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
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
    if !(begins && is_name(&name) && name.chars().all(is_word)) {
        return Err(NewOpError::Name(name));
    }
    if folder.exists() {
        return Err(NewOpError::Exists(folder.to_owned()));
    }
    let kernel = match language {
        Language::C => IN_C,
        Language::Python => IN_PYTHON,
    };
    let mut written = Vec::new();
    for (path, text) in OP.iter().chain(kernel) {
        let path = folder.join(path);
        let failed = |error| NewOpError::Io { path: path.clone(), error };
        std::fs::create_dir_all(path.parent().unwrap_or(folder)).map_err(failed)?;
        std::fs::write(&path, text.replace(NAME, &name)).map_err(failed)?;
        written.push(path);
    }
    Ok(written)
}
