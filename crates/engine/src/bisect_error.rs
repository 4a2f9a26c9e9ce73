//! Why a search for the first slower candidate finds none.

use proofmark_peers::InstallError;
use proofmark_schema::finding::Severity;

/// Why a search for the first slower candidate finds none.
#[derive(Debug, thiserror::Error)]
pub enum BisectError {
    /// Two revisions are not on one line.
    #[error("`{good}` is no ancestor of `{bad}`")]
    NoLine {
        /// The good end.
        good: String,
        /// The bad end.
        bad: String,
    },
    /// The bad end of a search is not slower than the good one.
    #[error("`{bad}` is not slower than `{good}`, so that there is nothing to find")]
    NotSlower {
        /// The good end.
        good: String,
        /// The bad end.
        bad: String,
    },
    /// An end of a search is not raced, so that nothing can be compared with it.
    #[error("`{good}` and `{bad}` could not be raced: {why}")]
    EndRefused {
        /// The good end.
        good: String,
        /// The bad end.
        bad: String,
        /// Why.
        why: String,
    },
    /// There is no version between the ends.
    #[error("`{bad}` is not newer than `{good}`")]
    NoVersions {
        /// The good end.
        good: String,
        /// The bad end.
        bad: String,
    },
    /// There is no such version.
    #[error("there is no `{name}`")]
    UnknownVersion {
        /// The peer with the version.
        name: String,
        /// The versions that there are.
        known: Vec<String>,
    },
    /// Versions of a peer cannot be listed, or one cannot be installed.
    #[error("`{name}`: {error}")]
    Install {
        /// The peer, or one version of it.
        name: String,
        /// What the installer said.
        error: InstallError,
    },
}

impl BisectError {
    /// What the user can do next.
    pub(crate) fn hint(&self) -> Option<String> {
        Some(match self {
            BisectError::NoLine { .. } => {
                "`--good` is an earlier commit of the branch that `--bad` is on".to_owned()
            }
            BisectError::NotSlower { .. } => {
                "give more `--time`, or `--filter` or `--case` what you saw become slower"
                    .to_owned()
            }
            BisectError::EndRefused { .. } => {
                "give a `--case` that both versions do, or other ends".to_owned()
            }
            BisectError::NoVersions { .. } => "`--good` is the older version".to_owned(),
            BisectError::UnknownVersion { known, .. } => format!("versions: {}", known.join(", ")),
            BisectError::Install { .. } => return None,
        })
    }

    /// The severity of a failure that is not the command's fault.
    pub(crate) fn severity(&self) -> Option<Severity> {
        matches!(self, BisectError::Install { .. }).then_some(Severity::Environment)
    }
}
