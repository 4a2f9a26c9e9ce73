//! The harnesses: one file and one line each.

mod benchstat;
mod criterion;
mod divan;
mod google;
mod hyperfine;
mod proofmark;
mod tango;

pub(super) use google::COMPARE;
pub(super) use hyperfine::VERSION as HYPERFINE_VERSION;

use super::record::Verdict;
use super::rig::Rig;
use super::track::Track;
use crate::Failure;

/// One harness.
#[derive(Debug)]
pub(super) struct Harness {
    /// Its name in records and options.
    pub(super) name: &'static str,
    /// How it came to a verdict, for the notes under the tables.
    pub(super) rule: &'static str,
    /// Makes several comparisons in one call.
    pub(super) makes_several: bool,
    pub(super) version: fn(&Rig) -> Result<String, Failure>,
    /// Compares arm A, nothing planted, with arm B.
    pub(super) compare: fn(&Rig, &Comparison<'_>) -> Result<Vec<Outcome>, Failure>,
}

/// Every harness, ours first.
pub(super) static HARNESSES: &[Harness] = &[
    proofmark::HARNESS,
    criterion::HARNESS,
    divan::HARNESS,
    tango::HARNESS,
    hyperfine::HARNESS,
    hyperfine::WELCH,
    google::HARNESS,
    benchstat::HARNESS,
];

/// What is compared.
pub(super) struct Comparison<'a> {
    pub(super) track: &'a Track,
    /// Per cent more rows in arm B.
    pub(super) planted: u64,
    /// Seconds for both arms together.
    pub(super) budget: f64,
    /// How many; 1 unless the harness makes several.
    pub(super) count: usize,
    pub(super) seed: u64,
}

/// What was said.
#[derive(Debug, PartialEq)]
pub(super) struct Outcome {
    pub(super) verdict: Verdict,
    pub(super) change_percent: f64,
    /// The 95 % interval of the change from a number of trials that was fixed before; ours only.
    pub(super) interval_percent: Option<[f64; 2]>,
    /// The harness's own count of seconds, where one call makes several comparisons.
    pub(super) seconds: Option<f64>,
}

impl Outcome {
    /// A difference of this sign if `differs`, else none reported.
    fn of(differs: bool, change_percent: f64) -> Outcome {
        let verdict = match differs {
            false => Verdict::None,
            true if change_percent > 0.0 => Verdict::Slower,
            true => Verdict::Faster,
        };
        Outcome { verdict, change_percent, interval_percent: None, seconds: None }
    }
}

/// How much slower B is than A, in per cent.
fn change(a: f64, b: f64) -> f64 {
    100.0 * (b / a - 1.0)
}

/// The complaint about an output that is not as it was when the parser was written.
fn unreadable(what: &str, text: &str) -> Failure {
    format!("no {what} in what it wrote:\n{text}")
}
