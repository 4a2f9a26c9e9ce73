//! Divan: it compares nothing, so its users compare two medians by eye.

use super::{Comparison, Harness, Outcome, Rig, change, unreadable};
use crate::Failure;
use crate::duel::rig::output;

/// Per cent that medians must differ by to be called different, where the harness has no test.
pub(super) const BY_EYE: f64 = 5.0;

pub(super) const HARNESS: Harness = Harness {
    name: "divan",
    rule: "it has no comparison: medians of two runs that differ by more than 5 %; pinned",
    makes_several: false,
    version: |_| Ok("0.1.21".to_owned()),
    compare,
};

fn compare(rig: &Rig, comparison: &Comparison<'_>) -> Result<Vec<Outcome>, Failure> {
    let seconds = (0.45 * comparison.budget).to_string();
    let arm = |percent: u64| {
        let text = output(
            rig.pinned(comparison.track, &rig.program("duel-divan"), comparison.budget)
                .args(["--bench", "--color", "never"])
                .args(["--min-time", &seconds, "--max-time", &seconds])
                .env("DUEL_PERCENT", percent.to_string()),
        )?;
        median_ns(&text).ok_or_else(|| unreadable("median", &text))
    };
    let change = change(arm(0)?, arm(comparison.planted)?);
    Ok(vec![Outcome::of(change.abs() > BY_EYE, change)])
}

/// The third column of its table.
fn median_ns(text: &str) -> Option<f64> {
    let row = text.lines().find(|line| line.contains(" kernel "))?;
    let (value, unit) = row.split('│').nth(2)?.trim().split_once(' ')?;
    let scale = match unit {
        "ps" => 1e-3,
        "ns" => 1.0,
        "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    Some(value.parse::<f64>().ok()? * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_divan_wrote() {
        let text = include_str!("../../../fixtures/divan.txt");
        assert_eq!(median_ns(text), Some(3405.0));
        assert_eq!(median_ns(&text.replace("3.405 µs", "1.5 ms")), Some(1.5e6));
        assert_eq!(median_ns("Timer precision: 34 ns"), None);
    }
}
