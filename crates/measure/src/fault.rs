//! How an arm fails while it is measured.

/// What an arm did when it failed while it was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// It died, hung, or could not be started.
    Died,
    /// Its files are no longer those that were proven, or no longer open, or the reference of its
    /// op failed.
    Broken,
    /// A timed output was wrong, or bytes next to it were overwritten.
    Wrong,
    /// Its clock does not measure its work, or it reached for another process.
    Lied,
    /// The kernel charged processor time that no arm claims, and the machine may be the cause.
    Undecided,
}

/// An arm that failed while it was measured: it died, hung, or its timed output was wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{contender} failed while it was measured: {reason}")]
pub struct RaceFault {
    /// Which arm.
    pub arm: usize,
    /// The contender's name.
    pub contender: String,
    /// What it did.
    pub kind: FaultKind,
    /// What happened.
    pub reason: String,
}
