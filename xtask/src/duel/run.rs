//! Runs what is left of the plan and appends one record for each comparison.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use super::harness::Comparison;
use super::noise::Noise;
use super::options::Options;
use super::plan::{Turn, hash, plan};
use super::record::{self, Record};
use super::rig::Rig;
use crate::Failure;

/// Harnesses that fail so often in a row are broken, not unlucky.
const FAILURES_IN_A_ROW: usize = 5;

/// Runs every turn until none is left or the time is up.
pub(super) fn run(root: &Path, options: &Options) -> Result<(), Failure> {
    let begin = Instant::now();
    let rig = Rig::new(root)?;
    std::fs::create_dir_all(&rig.scratch)
        .map_err(|error| format!("{}: {error}", rig.scratch.display()))?;
    let done: BTreeSet<String> = record::read_all(root)?.iter().map(Record::key).collect();
    let seed = now();
    let stretches = plan(options, &done, seed);
    let turns: usize = stretches.iter().map(|stretch| stretch.turns.len()).sum();
    let (mut turn_number, mut failures, mut in_a_row) = (0, 0, 0);
    for stretch in &stretches {
        let mut noise = Noise::new(stretch.regime);
        for turn in &stretch.turns {
            if options.limit.is_some_and(|limit| begin.elapsed() >= limit) {
                println!("time is up after {turn_number} of {turns} turns; run again to go on");
                return finish(failures);
            }
            noise.keep()?;
            turn_number += 1;
            match take(root, &rig, options, stretch.regime.name(), turn) {
                Ok(said) => {
                    in_a_row = 0;
                    println!("{turn_number}/{turns} {}: {said}", turn.cell);
                }
                Err(failure) => {
                    failures += 1;
                    in_a_row += 1;
                    eprintln!("{turn_number}/{turns} {}: {failure}", turn.cell);
                }
            }
            if in_a_row == FAILURES_IN_A_ROW {
                return Err(format!("{in_a_row} failures in a row; see above"));
            }
        }
    }
    finish(failures)
}

fn finish(failures: usize) -> Result<(), Failure> {
    match failures {
        0 => Ok(()),
        _ => Err(format!("{failures} turns failed and are not recorded; run again to repeat them")),
    }
}

/// Makes the comparisons of one turn and records them; returns what was said.
fn take(
    root: &Path,
    rig: &Rig,
    options: &Options,
    regime: &str,
    turn: &Turn,
) -> Result<String, Failure> {
    let Turn { harness, track, planted, indices, cell } = turn;
    let comparison = Comparison {
        track,
        planted: *planted,
        budget: options.budget,
        count: indices.len(),
        seed: hash(&record::key(cell, indices[0])),
    };
    let version = (harness.version)(rig)?;
    let begin = Instant::now();
    let outcomes = (harness.compare)(rig, &comparison)?;
    let wall = begin.elapsed().as_secs_f64();
    if outcomes.len() != indices.len() {
        return Err(format!("{} outcomes for {} comparisons", outcomes.len(), indices.len()));
    }
    let mut said = Vec::new();
    for (outcome, &index) in outcomes.iter().zip(indices) {
        let record = Record {
            harness: harness.name.to_owned(),
            version: version.clone(),
            class: track.class,
            kernel: track.case.to_owned(),
            regime: regime.to_owned(),
            planted_percent: *planted,
            budget_seconds: options.budget,
            index,
            verdict: outcome.verdict,
            change_percent: rounded(outcome.change_percent),
            interval_percent: outcome.interval_percent.map(|ends| ends.map(rounded)),
            seconds: rounded(outcome.seconds.unwrap_or(wall)),
            when: now(),
        };
        record::append(root, &record)?;
        let (verdict, change, seconds) = (record.verdict, record.change_percent, record.seconds);
        said.push(format!("{verdict:?} {change:+.2} % in {seconds:.2} s"));
    }
    Ok(said.join(", "))
}

/// Three decimals are more than any of these numbers has earned.
fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
