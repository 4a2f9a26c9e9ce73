//! Races programs that people already have: commands, and benchmarks of other harnesses.
//!
//! A program is opaque: there is no oracle for what it computes. So nothing here gives a time. A
//! race gives the ratio of two programs with its interval, and the trials behind it.
//!
//! - [`command`]: what a command is, and how its text is read.
//! - [`process`]: one process, from its start to its end, by this program's clock.
//! - [`harness`]: how criterion, divan, libtest and Google Benchmark list benchmarks, run one of
//!   them briefly, and say what one iteration took.
//! - [`contest`]: one side of a benchmark as something that gives samples.
//! - [`race`]: blocks of ABBA until a scheduled look decides.
//! - [`search`]: the first bad revision of a line.

pub mod cargo;
pub mod command;
pub mod contest;
mod divan;
pub mod harness;
pub mod output;
pub mod process;
pub mod race;
pub mod search;

pub use cargo::BenchTarget;
pub use command::{Command, CommandError};
pub use contest::{Contest, Settings};
pub use harness::Bench;
pub use output::Shown;
pub use race::{Arms, Rules, Sampled};
