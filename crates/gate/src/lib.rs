//! The judge of correctness; the only maker of [`Proven`].
//!
//! It knows no op: it is handed a definition ([`proofmark_contract::Op`]) and the name of a
//! contender, runs the contender in a worker process, and judges what comes out against the
//! oracle in ten stages. The first failure stops.
#![forbid(unsafe_code)]

mod certificate;
mod compare;
mod enter;
mod entrant;
mod examination;
mod examine;
mod examiner;
mod expense;
mod judge;
mod other_gates;
mod precision;
mod proven;
mod refuse;
mod revealed;
mod rules;
mod sampling;
mod selftest;
mod stages;
mod subject;
mod truths;

pub use certificate::{Certificate, certify};
pub use compare::{Score, measure, score};
pub use enter::Seat;
pub use entrant::{Entrant, Unverified};
pub use examiner::Examiner;
pub use expense::{Expense, expense};
pub use other_gates::{OTHER_GATES, OtherGate};
pub use proven::Proven;
pub use revealed::Revealed;
pub use rules::{Depth, Rules};
pub use selftest::{CorrectResult, MutantResult, try_correct, try_mutant};
