//! The closed set of proof outcomes.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What the gate says of a contender on a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Outcome {
    /// Every stage passed.
    Proven,
    /// The contender does not do this case, and says so.
    Unsupported,
    /// Not installed here.
    Absent,
    /// Not tried, for a stated reason.
    Skipped,
    /// Its library is here and does not open.
    Broken,
    /// It was proven, and the machine did not let its race be judged.
    Undecided,
    /// The test could not have failed, so passing it means nothing.
    Mistrusted,
    /// A stage failed.
    Wrong,
    /// What it claims of its time does not hold: it works outside the clock.
    Caught,
    /// The worker ran out of CPU time or wall time.
    TimedOut,
    /// The worker died.
    Crashed,
}

impl Outcome {
    /// The word in reports and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Proven => "PROVEN",
            Outcome::Unsupported => "UNSUPPORTED",
            Outcome::Absent => "ABSENT",
            Outcome::Skipped => "SKIPPED",
            Outcome::Broken => "BROKEN",
            Outcome::Undecided => "UNDECIDED",
            Outcome::Mistrusted => "MISTRUSTED",
            Outcome::Wrong => "WRONG",
            Outcome::Caught => "CAUGHT",
            Outcome::TimedOut => "TIMED_OUT",
            Outcome::Crashed => "CRASHED",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
