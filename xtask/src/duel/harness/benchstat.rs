//! benchstat's documented test on lines in Go's format: Mann and Whitney's U, p < 0.05.
//!
//! benchstat itself is a Go module and is not in the registries that the duel installs from.

use super::{Comparison, Harness, Outcome, Rig, change, unreadable};
use crate::Failure;
use crate::duel::rig::output;

/// Lines for each arm, as benchstat advises.
const LINES: usize = 10;

pub(super) const HARNESS: Harness = Harness {
    name: "benchstat-test",
    rule: "benchstat's documented test on 10 + 10 lines in Go's format, Mann-Whitney U at \
           p < 0.05, sign of the medians; benchstat itself was not run, as it is not in the \
           registries that `duel setup` uses; pinned",
    makes_several: false,
    version: |_| Ok("documented rule".to_owned()),
    compare,
};

fn compare(rig: &Rig, comparison: &Comparison<'_>) -> Result<Vec<Outcome>, Failure> {
    // Finding the number of calls takes about as long again for each line.
    let each = 0.3 * comparison.budget / LINES as f64;
    let arm = |percent: u64| {
        let text = output(
            rig.pinned(comparison.track, &rig.program("duel-loop"), comparison.budget)
                .args([comparison.track.case, &percent.to_string()])
                .args(["go", &LINES.to_string(), &each.to_string()]),
        )?;
        let times = parse(&text);
        if times.len() == LINES { Ok(times) } else { Err(unreadable("ten lines", &text)) }
    };
    let (a, b) = (arm(0)?, arm(comparison.planted)?);
    let median = |times: &[f64]| proofmark_stats::median(times).unwrap_or(f64::NAN);
    Ok(vec![Outcome::of(u_test(&a, &b) < 0.05, change(median(&a), median(&b)))])
}

/// Nanoseconds of each line of `go test -bench`.
fn parse(text: &str) -> Vec<f64> {
    let time = |line: &str| line.strip_suffix("ns/op")?.split_whitespace().last()?.parse().ok();
    text.lines().filter(|line| line.starts_with("Benchmark")).filter_map(time).collect()
}

/// The exact two-sided p-value of Mann and Whitney's test, given the ties.
fn u_test(a: &[f64], b: &[f64]) -> f64 {
    let all: Vec<f64> = a.iter().chain(b).copied().collect();
    // Twice the mid-rank, so that ties stay whole numbers.
    let rank = |x: f64| {
        let below = all.iter().filter(|&&y| y < x).count();
        2 * below + all.iter().filter(|&&y| y == x).count() + 1
    };
    let ranks: Vec<usize> = all.iter().map(|&x| rank(x)).collect();
    let observed: usize = ranks[..a.len()].iter().sum();
    let total: usize = ranks.iter().sum();
    // ways[k][s]: subsets of k ranks with the sum s.
    let mut ways = vec![vec![0.0_f64; total + 1]; a.len() + 1];
    ways[0][0] = 1.0;
    for &rank in &ranks {
        for k in (1..=a.len()).rev() {
            for sum in (rank..=total).rev() {
                ways[k][sum] += ways[k - 1][sum - rank];
            }
        }
    }
    let subsets = &ways[a.len()];
    let share = |part: &[f64]| part.iter().sum::<f64>() / subsets.iter().sum::<f64>();
    (2.0 * share(&subsets[..=observed]).min(share(&subsets[observed..]))).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_lines_as_go_writes_them() {
        let times = parse(include_str!("../../../fixtures/go.txt"));
        assert_eq!((times.len(), times[0], times[9]), (LINES, 5050.7, 14573.8));
    }

    #[test]
    fn agrees_with_scipy_where_there_are_no_ties() {
        // scipy.stats.mannwhitneyu(a, b, method='exact').pvalue
        let a = [1.0, 2.0, 3.0, 4.0, 5.0];
        let apart = [6.0, 7.0, 8.0, 9.0, 10.0];
        let mixed = [1.5, 2.5, 6.0, 7.0, 8.0];
        assert!((u_test(&a, &apart) - 0.007936507936507936).abs() < 1e-12);
        assert!((u_test(&a, &mixed) - 0.30952380952380953).abs() < 1e-12);
        assert_eq!(u_test(&a, &apart), u_test(&apart, &a));
    }

    #[test]
    fn ties_only_are_no_difference() {
        assert_eq!(u_test(&[1.0; 10], &[1.0; 10]), 1.0);
    }
}
