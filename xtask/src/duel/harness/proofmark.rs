//! Ours, through its command line only.

use serde::Deserialize;

use super::{Comparison, Harness, Outcome, Rig, Verdict, change, unreadable};
use crate::Failure;
use crate::duel::rig::{answered, bounded, output};

pub(super) const HARNESS: Harness = Harness {
    name: "proofmark",
    rule: "its verdict, at 1 % error for all looks together; one thread is pinned by itself; \
           seconds are to the verdict, without the proof of the kernel",
    makes_several: true,
    version: |rig| Ok(output(bounded(1.0).arg(&rig.proofmark).arg("-V"))?.trim().to_owned()),
    compare,
};

fn compare(rig: &Rig, comparison: &Comparison<'_>) -> Result<Vec<Outcome>, Failure> {
    let Comparison { track, planted, budget, count, seed } = comparison;
    // An exit code that depended on the verdict would lose some verdicts: what it wrote decides.
    let output = answered(
        bounded(budget * *count as f64)
            .arg(&rig.proofmark)
            .args(["selftest", "timing", "--track", track.case])
            .args(["--planted", &planted.to_string(), "--comparisons", &count.to_string()])
            .args(["--seconds", &budget.to_string(), "--seed", &seed.to_string()])
            .args(["--skip-overhead", "--format", "jsonl", "--quiet"]),
    )?;
    let outcomes = parse(&String::from_utf8_lossy(&output.stdout))?;
    if outcomes.is_empty() {
        return Err(unreadable("comparison", &String::from_utf8_lossy(&output.stderr)));
    }
    Ok(outcomes)
}

/// One comparison as it is printed, as far as it is kept.
#[derive(Deserialize)]
struct Line {
    verdict: Verdict,
    ratio: f64,
    fixed_low: Option<f64>,
    fixed_high: Option<f64>,
    seconds: f64,
}

fn parse(text: &str) -> Result<Vec<Outcome>, Failure> {
    let line = |line: &str| {
        let Line { verdict, ratio, fixed_low, fixed_high, seconds } =
            serde_json::from_str(line).map_err(|error| format!("{error} in `{line}`"))?;
        let percent = |ratio| change(1.0, ratio);
        Ok(Outcome {
            verdict,
            change_percent: percent(ratio),
            interval_percent: fixed_low.zip(fixed_high).map(|(l, h)| [percent(l), percent(h)]),
            seconds: Some(seconds),
        })
    };
    text.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_one_outcome_a_line() {
        let text = include_str!("../../../fixtures/proofmark.jsonl");
        let outcomes = parse(text).expect("outcomes");
        let said: Vec<_> = outcomes.iter().map(|one| (one.verdict, one.change_percent)).collect();
        assert_eq!(said, [(Verdict::Same, 0.0), (Verdict::Slower, 50.0)]);
        assert_eq!(outcomes[1].interval_percent, Some([25.0, 75.0]));
        assert_eq!(outcomes[1].seconds, Some(0.21));
        assert!(parse("error: no such option\n").is_err());
    }
}
