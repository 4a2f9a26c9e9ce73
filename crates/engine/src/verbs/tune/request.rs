//! What a search for a crossing is asked.

use super::races::RaceTerms;
use proofmark_peers::PeerShelf;
use proofmark_schema::{Case, ContenderId, Isa};

/// A crossing to be found.
#[derive(Clone, Debug)]
pub struct TuneRequest {
    /// The case whose axis is followed; its size along the axis does not matter.
    pub case: Case,
    /// The axis.
    pub axis: String,
    /// The one that is compared with, and the one that starts to pay.
    pub between: [ContenderId; 2],
    /// How each race goes.
    pub terms: RaceTerms,
    /// Smallest and greatest size.
    pub range: (u64, u64),
    /// Times that the bounds of the crossing are raced.
    pub rounds: usize,
    /// Maximum number of races after the first look.
    pub races: usize,
    /// Whether to measure although an answer is kept.
    pub is_fresh: bool,
    /// Highest path.
    pub cap: Isa,
    /// Where peers are.
    pub shelf: PeerShelf,
}
