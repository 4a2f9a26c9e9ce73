//! SQL over a history: the tables `points`, `runs`, `series` and `events` for Apache DataFusion.
//!
//! A query sees one [`Snapshot`](proofmark_history::Snapshot): the live files of the log and the
//! runs that are not compacted yet. It can only read.
#![forbid(unsafe_code)]

mod error;
mod points;
mod session;

pub use error::QueryError;
pub use session::{Answer, Session, TABLES};
