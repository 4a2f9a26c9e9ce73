//! The history of runs: what moved, when, and on which machines.
//!
//! A history is a [`Place`]: a folder, or a prefix of a bucket.
//!
//! ```text
//! <place>/format.json                        which format this is, written once
//! <place>/inbox/YYYY/MM/DD/HH/<run>-<hash>.parquet   one run, as it was appended
//! <place>/segments/<id>-<hash>.parquet       points of many runs, sorted by series
//! <place>/runs/<id>-<hash>.parquet           the runs behind segments
//! <place>/series/<id>-<hash>.parquet         the series in segments
//! <place>/events/<id>-<hash>.json            what was said about series: alerts and their states
//! <place>/quarantine/YYYY/MM/DD/HH/<run>-<hash>.parquet   runs that do not count yet
//! <place>/_delta_log/<number>.json           commits in the format of Delta Lake
//! <place>/_delta_log/<number>.checkpoint.parquet   all commits so far, every tenth time
//! <place>/checkpoints/<number>-<hash>.parquet   the same, with what only this crate reads
//! ```
//!
//! Objects are immutable. Each is created by one request that fails if the name is taken, which
//! is all that the protocol asks of a store. A writer makes exactly one such request for a run; it
//! needs no lock, and reads nothing. Compaction moves rows from the inbox into segments, and
//! commits that by creating the next entry of the log, which names the inbox objects that it
//! consumed. So a reader finds each row in the inbox or in a segment, and never in both.
#![forbid(unsafe_code)]

pub mod alerts;
mod append;
mod cbor;
pub mod cells;
mod checkpoint;
pub mod compact;
pub mod detect;
mod durable;
mod error;
mod event;
pub mod exit;
pub mod fsck;
mod group;
pub mod key;
pub mod log;
mod merge;
mod object;
pub mod output;
mod place;
mod point;
pub mod probe;
pub mod quarantine;
pub mod read;
mod rows;
mod run;
mod segment;
mod series;
pub mod serve;
pub mod site;
mod state;
mod stored;
mod tables;
pub mod tables_of;

pub use append::{Appended, append, init};
pub use error::HistoryError;
pub use event::{Event, EventState, append_event};
pub use key::{Metric, SeriesId, SeriesKey};
pub use object::RunObject;
pub use place::{Listed, Place};
pub use point::{Point, Row, flag};
pub use read::{Series, Snapshot};
pub use run::{Calibration, Environment, Run};
pub use stored::{CommitOf, from_store};

/// Version of the layout and of the columns; raised when an older reader could misread a history.
pub const FORMAT: u32 = 1;
