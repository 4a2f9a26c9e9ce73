//! Runs, journal, baselines on disk.
//!
//! ```text
//! <root>/runs/<run id>/
//!   plan.json      what the run will do
//!   machine.json   where it does it
//!   journal        what it did: the truth, appended and synced item by item
//!   records.jsonl  \
//!   slices.bin      } written when the run is sealed, derived from the journal
//!   seal.json      /
//! <root>/baselines/<name>.json   worker programs that the user named
//! <root>/builds/<commit>-<id>.json   worker programs built from revisions, in the build cache
//! <root>/programs/<sha-256>       the programs themselves
//! <root>/imports/<name>.json     other tools' numbers
//! <root>/machine/<fingerprint>.json   the last probe of a machine
//! ```
//!
//! An append that returned is on the disk; one that did not return is wholly there or not at all.
//! Bytes read from a disk are judged, never trusted: damage is an error or, at the very end of
//! an unsealed journal, a torn tail whose size is reported.
#![forbid(unsafe_code)]

pub mod artefacts;
mod contents;
pub mod durable;
pub mod entry;
pub mod error;
mod frame;
mod imports;
mod journal;
pub mod name;
mod probes;
pub mod run;
pub mod seal;
pub mod slices;
pub mod store;
pub mod writer;

#[cfg(test)]
mod tests;

pub use artefacts::Shelf;
pub use entry::{ItemEntry, Session};
pub use error::StoreError;
pub use name::check_run_id;
pub use run::{Run, RunPath};
pub use seal::{Damage, Seal, Verification};
pub use slices::{SliceGroup, read_slices};
pub use store::Store;
pub use writer::RunWriter;
