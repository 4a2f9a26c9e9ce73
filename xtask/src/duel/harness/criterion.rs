//! Criterion: arm A saves a baseline, arm B is compared with it.

use super::{Comparison, Harness, Outcome, Rig, unreadable};
use crate::Failure;
use crate::duel::rig::output;

pub(super) const HARNESS: Harness = Harness {
    name: "criterion",
    rule: "\"regressed\" or \"improved\" against a saved baseline, at its 95 % and its \
           default noise threshold of 1 %; pinned",
    makes_several: false,
    version: |_| Ok("0.8.2".to_owned()),
    compare,
};

fn compare(rig: &Rig, comparison: &Comparison<'_>) -> Result<Vec<Outcome>, Failure> {
    let half = comparison.budget / 2.0;
    // The bootstrap of 100,000 resamples takes about a quarter of a second, whatever was measured.
    let measured = (0.8 * half - 0.25).max(0.2);
    let arm = |percent: u64, baseline: &str| {
        output(
            rig.pinned(comparison.track, &rig.program("duel-criterion"), half)
                .args(["--bench", "--noplot", "--color", "never", baseline, "before"])
                .args(["--warm-up-time", &(0.2 * half).to_string()])
                .args(["--measurement-time", &measured.to_string()])
                .env("CRITERION_HOME", rig.scratch.join("criterion"))
                .env("DUEL_PERCENT", percent.to_string()),
        )
    };
    arm(0, "--save-baseline")?;
    Ok(vec![parse(&arm(comparison.planted, "--baseline")?)?])
}

fn parse(text: &str) -> Result<Outcome, Failure> {
    let change = || {
        let interval = text.split_once("change: [")?.1.split_once(']')?.0;
        // It writes a minus sign, not a hyphen.
        let middle = interval.split(' ').nth(1)?.trim_end_matches('%').replace('\u{2212}', "-");
        middle.parse::<f64>().ok()
    };
    let change = change().ok_or_else(|| unreadable("change", text))?;
    let says = |words: &str| text.contains(words);
    if says("has regressed.") || says("has improved.") {
        Ok(Outcome::of(true, change))
    } else if says("No change in performance") || says("within noise threshold") {
        Ok(Outcome::of(false, change))
    } else {
        Err(unreadable("verdict", text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::duel::record::Verdict;

    const NONE: &str = include_str!("../../../fixtures/criterion.txt");

    #[test]
    fn reads_what_criterion_wrote() {
        let outcome = parse(NONE).expect("an outcome");
        assert_eq!((outcome.verdict, outcome.change_percent), (Verdict::None, 3.8164));
    }

    #[test]
    fn reads_its_other_verdicts() {
        let verdict = |change: &str, words: &str| {
            let text = NONE.replace("+3.8164%", change);
            let text = text.replace("No change in performance detected.", words);
            parse(&text).map(|outcome| outcome.verdict)
        };
        assert_eq!(verdict("+3.8%", "Performance has regressed."), Ok(Verdict::Slower));
        assert_eq!(verdict("\u{2212}3.8%", "Performance has improved."), Ok(Verdict::Faster));
        assert_eq!(verdict("+1.1%", "Change within noise threshold."), Ok(Verdict::None));
        assert!(verdict("+1.1%", "").is_err());
    }
}
