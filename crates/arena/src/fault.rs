//! What can go wrong with a worker, as the caller sees it.

use proofmark_schema::crash::{Crash, Phase};
use std::fmt::Write as _;
use std::io;

/// Why a worker did not carry out its command.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Fault {
    /// The contender does not do the case.
    #[error("unsupported: {0}")]
    Unsupported(String),
    /// The contender's library does not open, whatever the case.
    #[error("broken: {0}")]
    Broken(String),
    /// The kernel returned an error or panicked; the worker lives on.
    #[error("kernel failed: {0}")]
    Kernel(String),
    /// The worker died, or was ended because it took too much memory.
    #[error("worker died: {}", describe(.0))]
    Died(Box<Crash>),
    /// The worker was ended because it did not answer in time.
    #[error("worker ended: {}", describe(.0))]
    TimedOut(Box<Crash>),
    /// The system failed: it could give no process, no memory or no file.
    #[error("{0}")]
    World(String),
}

impl Fault {
    /// A failure of the system, with what was attempted.
    pub(crate) fn world(attempt: &str, error: impl Into<io::Error>) -> Fault {
        Fault::World(format!("{attempt}: {}", error.into()))
    }

    /// The crash report, if the worker is gone.
    pub fn crash(&self) -> Option<&Crash> {
        match self {
            Fault::Died(crash) | Fault::TimedOut(crash) => Some(crash),
            _ => None,
        }
    }
}

/// `SIGSEGV at y+64: first byte past the end, in call 3`.
fn describe(crash: &Crash) -> String {
    let mut text = crash.cause.to_string();
    if let Some(place) = &crash.place {
        let _ = write!(text, " at {place}");
    }
    let _ = match crash.phase {
        Phase::Call => write!(text, ", in call {}", crash.call),
        Phase::Settle => write!(text, ", after the clock had stopped"),
        phase => write!(text, ", in phase {phase}"),
    };
    text
}
