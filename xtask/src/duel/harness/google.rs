//! Google Benchmark: nine repetitions of each arm, judged by its `compare.py`.

use std::path::Path;

use serde_json::Value;

use super::{Comparison, Harness, Outcome, Rig, unreadable};
use crate::Failure;
use crate::duel::rig::{PYTHON, bounded, output};
use crate::metadata;

/// Where Debian puts the script.
pub(in crate::duel) const COMPARE: &str = "/usr/share/benchmark/compare.py";

pub(super) const HARNESS: Harness = Harness {
    name: "google",
    rule: "the U test of its `compare.py` at p < 0.05, 9 repetitions of each arm, sign of the \
           medians; pinned; Debian's library, which calls itself a debug build",
    makes_several: false,
    version: |_| {
        output(bounded(1.0).args(["dpkg-query", "-W", "-f", "${Version}", "libbenchmark-dev"]))
    },
    compare,
};

fn compare(rig: &Rig, comparison: &Comparison<'_>) -> Result<Vec<Outcome>, Failure> {
    // Of a second for an arm, nine repetitions; the rest goes to finding the number of calls.
    let each = 0.04 * comparison.budget;
    let arm = |percent: u64, file: &Path| {
        output(
            rig.pinned(comparison.track, &rig.program("duel-google"), comparison.budget)
                .args(["--benchmark_repetitions=9", &format!("--benchmark_min_time={each}")])
                .arg(format!("--benchmark_out={}", file.display()))
                .env("DUEL_PERCENT", percent.to_string()),
        )
    };
    let file = |name: &str| rig.scratch.join(name);
    let (a, b, compared) = (file("google-a.json"), file("google-b.json"), file("google.json"));
    arm(0, &a)?;
    arm(comparison.planted, &b)?;
    let script = [PYTHON, COMPARE, "--no-color", "-d"];
    output(bounded(1.0).args(script).arg(&compared).arg("benchmarks").args([&a, &b]))?;
    let text = std::fs::read_to_string(&compared).map_err(|error| error.to_string())?;
    Ok(vec![parse(&text)?])
}

fn parse(text: &str) -> Result<Outcome, Failure> {
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let rows = value.as_array().map_or(&[][..], Vec::as_slice);
    let p_value = rows.iter().find_map(|row| row["utest"]["time_pvalue"].as_f64());
    let median = rows.iter().find(|row| metadata::text(row, "aggregate_name") == "median");
    let change = median.and_then(|row| row["measurements"][0]["time"].as_f64());
    match (p_value, change) {
        (Some(p_value), Some(change)) => Ok(Outcome::of(p_value < 0.05, 100.0 * change)),
        _ => Err(unreadable("U test and median", text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::duel::record::Verdict;

    #[test]
    fn reads_what_compare_py_wrote() {
        let text = include_str!("../../../fixtures/google.json");
        let outcome = parse(text).expect("an outcome");
        assert_eq!(outcome.verdict, Verdict::Faster);
        assert_eq!(format!("{:.2}", outcome.change_percent), "-11.38");
        let weaker = text.replace("\"time_pvalue\": 0.017", "\"time_pvalue\": 0.17");
        assert_eq!(parse(&weaker).map(|outcome| outcome.verdict), Ok(Verdict::None));
        assert!(parse("[]").is_err());
    }
}
