//! A stored run as a Chrome trace: a process for each arm, trials and blocks around its slices.
//!
//! The form is the trace event format's JSON object, which Perfetto and `about://tracing` open:
//! complete events (`X`) that lie within each other on one thread are shown nested.

use crate::EngineError;
use proofmark_schema::race::{Race, Slice};
use proofmark_store::Store;
use serde_json::{Value, json};

/// A trace and what is not in it.
#[derive(Clone, Debug)]
pub struct Traced {
    /// The run.
    pub run: String,
    /// The trace.
    pub trace: Value,
    /// Slices in it.
    pub slices: usize,
    /// Slices of later trials that would have made it too large.
    pub left_out: usize,
}

/// Makes the trace of a run with at most `most` slices: whole trials, starting with the first of
/// each race.
///
/// # Errors
/// If there is no such run, or it has no race.
pub fn trace(store: &Store, run: &str, most: usize) -> Result<Traced, EngineError> {
    let run = store.load(run)?;
    let races: Vec<(u64, &Race)> =
        run.items.iter().filter_map(|item| Some((item.item, item.race.as_ref()?))).collect();
    if races.is_empty() {
        return Err(EngineError::Unfit(format!("run {} has no race to trace", run.id)));
    }
    let all: usize = races.iter().map(|(_, race)| race.slices.len()).sum();
    let each = most / races.len();
    let start = races.iter().flat_map(|(_, race)| &race.slices).map(|slice| slice.start_ns).min();
    let origin = start.unwrap_or(0);
    let (mut events, mut slices) = (Vec::new(), 0);
    for (number, (item, race)) in races.iter().enumerate() {
        let trials = trials_within(race, each);
        for (arm, who) in race.arms.iter().enumerate() {
            let pid = number * 1000 + arm + 1;
            let name = format!("{} {who} (item {item}, arm {arm})", race.case);
            events.push(json!({
                "ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": { "name": name }
            }));
            let own: Vec<&Slice> = race
                .slices
                .iter()
                .filter(|slice| slice.arm as usize == arm && slice.trial < trials)
                .collect();
            slices += own.len();
            nested(&mut events, pid, origin, race, &own);
        }
    }
    let trace = json!({
        "traceEvents": events,
        "displayTimeUnit": "ns",
        "otherData": {
            "run": run.id,
            "processor": run.machine.cpu,
            "slices": slices,
            "slices_left_out": all - slices,
        },
    });
    Ok(Traced { run: run.id, trace, slices, left_out: all - slices })
}

/// The number of trials whose slices fit; at least one.
fn trials_within(race: &Race, most: usize) -> u32 {
    let fits = |trials: &u32| race.slices.iter().filter(|slice| slice.trial < *trials).count();
    let trials = race.trials.len() as u32;
    (1..=trials).take_while(|trials| *trials == 1 || fits(trials) <= most).last().unwrap_or(trials)
}

/// The slices of an arm with their trials and blocks around them.
fn nested(events: &mut Vec<Value>, pid: usize, origin: u64, race: &Race, own: &[&Slice]) {
    for of_trial in own.chunk_by(|a, b| a.trial == b.trial) {
        let trial = of_trial[0].trial;
        let set_up = serde_json::to_value(race.trials[trial as usize]).unwrap_or_default();
        let name = format!("trial {trial}");
        events.push(span(&name, "trial", pid, origin, of_trial, &set_up));
        for of_block in of_trial.chunk_by(|a, b| a.block == b.block) {
            let name = format!("block {}", of_block[0].block);
            events.push(span(&name, "block", pid, origin, of_block, &json!({})));
            for &slice in of_block {
                let name = format!("{} × {:.0} ns", slice.calls, slice.call_ns());
                let args = json!({
                    "calls": slice.calls,
                    "call_ns": slice.call_ns(),
                    "cpu_ns": slice.cpu_ns,
                    "outer_ns": slice.outer_ns,
                    "position": slice.position,
                    "switches": slice.switches,
                    "faults": slice.faults,
                    "allocations": slice.allocations,
                    "allocated_bytes": slice.allocated_bytes,
                });
                events.push(span(&name, "slice", pid, origin, &[slice], &args));
            }
        }
    }
}

/// A complete event over some slices, in microseconds since the first of all.
fn span(
    name: &str,
    category: &str,
    pid: usize,
    origin: u64,
    slices: &[&Slice],
    args: &Value,
) -> Value {
    let start = slices.iter().map(|slice| slice.start_ns).min().unwrap_or(origin);
    // The worker reports when a slice started.
    let end = slices.iter().map(|slice| slice.start_ns.saturating_add(slice.wall_ns)).max();
    let end = end.unwrap_or(start);
    let micros = |ns: u64| ns as f64 / 1e3;
    json!({
        "ph": "X", "name": name, "cat": category, "pid": pid, "tid": 1,
        "ts": micros(start.saturating_sub(origin)), "dur": micros(end - start), "args": args,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_of_any_reported_start_has_a_span() {
        let slice = Slice { start_ns: u64::MAX, wall_ns: 7, ..Slice::default() };
        let span = span("a", "slice", 1, 0, &[&slice], &json!({}));
        assert_eq!(span["dur"], 0.0);
    }
}
