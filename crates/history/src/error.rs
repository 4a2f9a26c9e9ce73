//! What can go wrong, and what to do about it.

use crate::exit;
use proofmark_store::StoreError;
use std::io;
use std::path::PathBuf;

/// Why an operation on a history failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// The text is not a place.
    #[error("`{0}` is not a place: write a folder, or `s3://bucket/prefix`")]
    BadPlace(String),
    /// There is no history there.
    #[error("{0} is not a history: `proofmark history init {0}` makes it one")]
    NotAHistory(String),
    /// The history was written by a later version.
    #[error("{place} has format {format}; this program reads up to {known}: use a newer version")]
    Newer {
        /// The place.
        place: String,
        /// Its format.
        format: u32,
        /// The greatest format that is known here.
        known: u32,
    },
    /// The store does not keep the one promise that commits need.
    #[error(
        "{place} does not refuse to create an object that is there: {what}. Runs can be appended, \
         but not compacted: use a store with conditional writes (If-None-Match)"
    )]
    NoPutIfAbsent {
        /// The place.
        place: String,
        /// What was seen.
        what: String,
    },
    /// A name is taken, with other content.
    #[error("{0} is there already")]
    Exists(String),
    /// An object that should be there is not.
    #[error("{0} is not there: `proofmark history fsck` tells what else is missing")]
    Missing(String),
    /// An object does not say what it should.
    #[error("{name} is damaged: {reason}; `proofmark history fsck` examines the rest")]
    Damaged {
        /// The object.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// A run cannot be a part of a history.
    #[error("run {run} cannot be appended: {reason}")]
    BadRun {
        /// The run.
        run: String,
        /// Why, and what to do.
        reason: String,
    },
    /// A text is not what it should be.
    #[error("{0}")]
    Usage(String),
    /// Other compactors were faster again and again.
    #[error("{0} others committed first: try again when they have finished")]
    Contended(u32),
    /// A program that is installed on its own is not there.
    #[error(
        "the program `{0}` is neither beside this one nor on PATH: `cargo install --locked --path \
         crates/history-query` in the repository installs it"
    )]
    NoProgram(&'static str),
    /// The file system said no.
    #[error("cannot {what} {}: {source}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The object store said no.
    #[error("{name}: {source}")]
    Store {
        /// The object or the prefix.
        name: String,
        /// What the store said.
        source: object_store::Error,
    },
    /// Parquet could not be written.
    #[error("cannot write Parquet: {0}")]
    Parquet(#[from] parquet::errors::ParquetError),
    /// Columns do not fit.
    #[error("cannot handle columns: {0}")]
    Arrow(#[from] arrow_schema::ArrowError),
    /// The run cannot be read from the store of runs.
    #[error(transparent)]
    Run(#[from] StoreError),
}

impl HistoryError {
    /// The exit code of a program that ends with it.
    pub fn exit_code(&self) -> u8 {
        match self {
            HistoryError::Damaged { .. } | HistoryError::Missing(_) => exit::INTEGRITY,
            HistoryError::NoPutIfAbsent { .. }
            | HistoryError::Newer { .. }
            | HistoryError::Contended(_)
            | HistoryError::NoProgram(_)
            | HistoryError::Io { .. }
            | HistoryError::Run(StoreError::Io { .. })
            | HistoryError::Store { .. } => exit::ENVIRONMENT,
            _ => exit::USAGE,
        }
    }

    /// For `map_err` of the file system.
    pub(crate) fn io(
        what: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> HistoryError {
        let path = path.into();
        move |source| HistoryError::Io { what, path, source }
    }

    /// An object that does not say what it should.
    #[expect(clippy::needless_pass_by_value, reason = "a text or an error, as it comes")]
    pub(crate) fn damaged(name: &str, reason: impl ToString) -> HistoryError {
        HistoryError::Damaged { name: name.to_owned(), reason: reason.to_string() }
    }
}
