//! Tango: pairs two arms in two processes that run at the same time.

use super::{Comparison, Harness, Outcome, Rig, unreadable};
use crate::Failure;
use crate::duel::rig::{answered, bounded};

pub(super) const HARNESS: Harness = Harness {
    name: "tango",
    rule: "the star of its paired `compare`, at its default threshold of 1 %; not pinned, since \
           its arms run at the same time and wait by spinning",
    makes_several: false,
    version: |_| Ok("0.9.0".to_owned()),
    compare,
};

fn compare(rig: &Rig, comparison: &Comparison<'_>) -> Result<Vec<Outcome>, Failure> {
    // It ends with 1 where it found a slowdown, so what it wrote decides.
    let output = answered(
        bounded(comparison.budget)
            .arg(rig.program("duel-tango"))
            .args(["--color", "never", "compare", "-t", &(0.9 * comparison.budget).to_string()])
            .args(["--strip-baseline", "plus0/**"])
            .args(["--strip-candidate", &format!("plus{}/**", comparison.planted)])
            .env("DUEL_CASE", comparison.track.case),
    )?;
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    parse(&text).map(|outcome| vec![outcome]).map_err(|failure| format!("{failure}{errors}"))
}

fn parse(text: &str) -> Result<Outcome, Failure> {
    let outcome = || {
        let word = text.lines().find(|line| line.starts_with("kernel "))?.split(' ').next_back()?;
        let (change, mark) = word.split_once('%')?;
        Some(Outcome::of(mark == "*", change.parse().ok()?))
    };
    outcome().ok_or_else(|| unreadable("comparison", text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::duel::record::Verdict;

    #[test]
    fn reads_what_tango_wrote() {
        let text = include_str!("../../../fixtures/tango.txt");
        let outcome = parse(text).expect("an outcome");
        assert_eq!((outcome.verdict, outcome.change_percent), (Verdict::Faster, -18.15));
        let unmarked = parse(&text.replace("%*", "%")).expect("an outcome");
        assert_eq!(unmarked.verdict, Verdict::None);
        assert!(parse("").is_err());
    }
}
