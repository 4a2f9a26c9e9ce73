//! What can go wrong before and around a run, with what to do about it.

use proofmark_contract::BadCase;
use proofmark_schema::case::ParseCaseError;
use proofmark_store::StoreError;

/// Why a request cannot be carried out.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// There is no such op.
    #[error("there is no op `{name}`")]
    UnknownOp {
        /// What was asked for.
        name: String,
        /// The nearest op.
        nearest: Option<String>,
        /// All ops.
        known: String,
    },
    /// A sweep cannot be read.
    #[error("`{part}` is not a sweep: {expected}")]
    Sweep {
        /// The part that cannot be read.
        part: String,
        /// What would be.
        expected: &'static str,
    },
    /// A suite file cannot be read.
    #[error("the suite of {op} is broken: {reason}")]
    Suite {
        /// The op.
        op: String,
        /// Why.
        reason: String,
    },
    /// A case cannot be read.
    #[error(transparent)]
    ParseCase(#[from] ParseCaseError),
    /// A case does not fit its op.
    #[error("{case}: {reason}")]
    Case {
        /// The case.
        case: String,
        /// Why.
        reason: BadCase,
    },
    /// Nothing is left to run.
    #[error("nothing to run: {0}")]
    Nothing(String),
    /// `PROOFMARK_ISA` names a level that does not exist or that the processor lacks.
    #[error("{0}")]
    Isa(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl EngineError {
    /// What the user can do next.
    pub fn hint(&self) -> Option<String> {
        match self {
            EngineError::UnknownOp { nearest: Some(nearest), .. } => {
                Some(format!("did you mean `{nearest}`?"))
            }
            EngineError::UnknownOp { known, .. } => Some(format!("ops: {known}")),
            EngineError::Sweep { .. } => {
                Some("write `--sweep 'b=16,32 s=256:2048:*2 d=768'`".to_owned())
            }
            EngineError::ParseCase(_) => {
                Some("a case looks like `rms_norm:f32[b=32,s=512,d=768;eps=1e-6]`".to_owned())
            }
            EngineError::Case { .. } | EngineError::Nothing(_) => {
                Some("`proofmark list ops` shows axes, attributes and element types".to_owned())
            }
            EngineError::Store(error) => error.hint(),
            EngineError::Suite { .. } | EngineError::Isa(_) => None,
        }
    }

    /// Whether the command, and not the world, was wrong.
    pub fn is_usage(&self) -> bool {
        !matches!(self, EngineError::Store(_) | EngineError::Suite { .. })
    }
}
