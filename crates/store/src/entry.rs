//! What a journal's frames say.

use proofmark_schema::decision::Decided;
use proofmark_schema::race::Race;
use proofmark_schema::record::Record;
use serde::{Deserialize, Serialize};

/// All that one item of the plan left behind; kept in one frame, so that an item is wholly
/// recorded or not at all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ItemEntry {
    /// The item's number in the plan.
    pub item: u64,
    /// The race with its raw slices, if the item got that far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub race: Option<Race>,
    /// How the race ended, if it was one that decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided: Option<Decided>,
    /// One record for each contender of the item.
    pub records: Vec<Record>,
}

/// One process that wrote the run: the first made it, each further one resumed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Its process id.
    pub pid: u32,
    /// Bytes of a torn tail that it cut off.
    pub cut_bytes: u64,
    /// Items that were recorded before it; no sample mixes items of two sessions.
    pub items_before: u64,
}

/// The first frame: which run this is, and the hashes of the files next to the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Start {
    pub(crate) format: u32,
    pub(crate) run: String,
    /// BLAKE3 of `plan.json`.
    pub(crate) plan: String,
    /// BLAKE3 of `machine.json`.
    pub(crate) machine: String,
    pub(crate) pid: u32,
}

/// The kinds of frames, as they stand in the header.
pub(crate) mod kind {
    pub(crate) const START: u8 = 1;
    pub(crate) const RESUMED: u8 = 2;
    pub(crate) const ITEM: u8 = 3;
    pub(crate) const NOTE: u8 = 4;
    pub(crate) const PROGRAM: u8 = 5;
}
