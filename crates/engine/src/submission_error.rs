//! Why a submitted kernel is not judged at all.

use proofmark_own::FileError;
use proofmark_schema::ContenderId;
use proofmark_schema::finding::Severity;
use std::path::PathBuf;

/// Why a submitted kernel is not judged at all.
#[derive(Debug, thiserror::Error)]
pub enum SubmissionError {
    /// Its file is not of the form.
    #[error(transparent)]
    File(#[from] FileError),
    /// It has the name of a kernel that the op has.
    #[error("{}: the op has a kernel `{id}` already", .path.display())]
    SameKernel {
        /// The id of both.
        id: ContenderId,
        /// The file that was submitted.
        path: PathBuf,
    },
    /// It asks to be judged on easier terms than its baseline.
    #[error("{}: it declares {what}, which {baseline} does not", .path.display())]
    Declared {
        /// The file that was submitted.
        path: PathBuf,
        /// What it declares, in words.
        what: &'static str,
        /// What it is raced against.
        baseline: ContenderId,
    },
    /// A contender cannot be the baseline.
    #[error("{who} cannot be the baseline: {reason}")]
    NoBaseline {
        /// The contender.
        who: ContenderId,
        /// Why.
        reason: String,
    },
}

impl SubmissionError {
    /// What the user can do next.
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            SubmissionError::File(_) => "`docs/own-kernels.md` has the form of kernel files",
            SubmissionError::SameKernel { .. } => "give the file another name",
            SubmissionError::Declared { .. } => {
                "take it out of the file; or judge by what the file declares with `--as-declared`"
            }
            SubmissionError::NoBaseline { .. } => "name another contender with `--against`",
        }
    }

    /// The severity of a failure that is not the command's fault.
    pub(crate) fn severity(&self) -> Option<Severity> {
        matches!(self, SubmissionError::NoBaseline { .. }).then_some(Severity::Environment)
    }
}
