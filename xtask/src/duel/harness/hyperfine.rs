//! Hyperfine: whole processes, judged by their medians or by its own script for Welch's test.

use std::path::PathBuf;

use serde_json::Value;

use super::divan::BY_EYE;
use super::{Comparison, Harness, Outcome, Rig, change, unreadable};
use crate::duel::rig::{PYTHON, bounded, output};
use crate::{Failure, metadata};

/// The version that `duel setup` installs.
pub(in crate::duel) const VERSION: &str = "1.20.0";

pub(super) const HARNESS: Harness = Harness {
    name: "hyperfine",
    rule: "medians of its runs that differ by more than 5 %; processes of about 70 ms; pinned",
    makes_several: false,
    version: |_| Ok(VERSION.to_owned()),
    compare: |rig, comparison| {
        let change = measured(rig, comparison)?;
        Ok(vec![Outcome::of(change.abs() > BY_EYE, change)])
    },
};

pub(super) const WELCH: Harness = Harness {
    name: "hyperfine-welch",
    rule: "the same, judged by its script `welch_ttest.py` at p < 0.05; pinned",
    compare: |rig, comparison| {
        let change = measured(rig, comparison)?;
        let script = rig.anchors.join("welch_ttest.py");
        let text = output(bounded(1.0).arg(PYTHON).arg(script).arg(export(rig)))?;
        Ok(vec![Outcome::of(differs(&text)?, change)])
    },
    ..HARNESS
};

/// Seconds of one process: long against its start, short enough for a dozen in a second.
const RUN_SECONDS: f64 = 0.07;

/// Untimed processes before each arm.
const WARMUP: f64 = 2.0;

fn export(rig: &Rig) -> PathBuf {
    rig.scratch.join("hyperfine.json")
}

/// Runs both arms; returns how much slower the median of B is, in per cent.
fn measured(rig: &Rig, comparison: &Comparison<'_>) -> Result<f64, Failure> {
    let Comparison { track, planted, budget, .. } = comparison;
    let calls = (0.9 * RUN_SECONDS * 1e9 / rig.call_ns(track)?).ceil();
    let runs = (budget / 2.0 / RUN_SECONDS - WARMUP).max(3.0);
    let program = rig.program("duel-loop");
    let arm = |percent| format!("'{}' {} {percent} calls {calls}", program.display(), track.case);
    output(
        rig.pinned(track, &rig.anchors.join("bin/hyperfine"), *budget)
            .args(["-N", "--style", "none", "--warmup", &WARMUP.to_string()])
            .args(["--runs", &format!("{runs:.0}"), "--export-json"])
            .arg(export(rig))
            .args([arm(0), arm(*planted)]),
    )?;
    let text = std::fs::read_to_string(export(rig)).map_err(|error| error.to_string())?;
    parse(&text)
}

fn parse(text: &str) -> Result<f64, Failure> {
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let medians: Vec<f64> =
        metadata::array(&value, "results").iter().filter_map(|r| r["median"].as_f64()).collect();
    match medians[..] {
        [a, b] => Ok(change(a, b)),
        _ => Err(unreadable("two medians", text)),
    }
}

/// What its script for Welch's test says.
fn differs(text: &str) -> Result<bool, Failure> {
    match (text.contains("There is a difference"), text.contains("almost the same")) {
        (true, false) => Ok(true),
        (false, true) => Ok(false),
        _ => Err(unreadable("answer", text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_hyperfine_exported() {
        let change = parse(include_str!("../../../fixtures/hyperfine.json")).expect("a change");
        assert_eq!(format!("{change:.2}"), "1.65");
        assert!(parse(r#"{"results":[]}"#).is_err());
    }

    #[test]
    fn reads_what_its_script_wrote() {
        let text = include_str!("../../../fixtures/welch.txt");
        assert_eq!(differs(text), Ok(false));
        let other = "There is a difference between the two benchmarks (p < 0.05).";
        assert_eq!(differs(other), Ok(true));
        assert!(differs("").is_err());
    }
}
