//! From many tests to a family with one error rate: Holm for gates, Benjamini–Hochberg for
//! dashboards.

/// Adjusted p-values of Holm (1979): compared with alpha they keep the chance of any wrong
/// rejection at alpha, whatever the dependence.
///
/// In the order given. A value that is no p-value counts as one member of the family and is
/// adjusted to 1.
pub fn holm_adjusted(p_values: &[f64]) -> Vec<f64> {
    let order = ascending(p_values);
    let mut adjusted = vec![1.0; p_values.len()];
    let mut least: f64 = 0.0;
    for (rank, &i) in order.iter().enumerate() {
        least = least.max((p_values.len() - rank) as f64 * p_values[i]).min(1.0);
        adjusted[i] = least;
    }
    adjusted
}

/// Which hypotheses of a family fall at a family-wise error rate of `alpha` (Holm, 1979); none at a
/// rate outside [0, 1).
pub fn holm(p_values: &[f64], alpha: f64) -> Vec<bool> {
    falls(&holm_adjusted(p_values), alpha)
}

/// Adjusted p-values of Benjamini and Hochberg (1995): compared with q they keep the expected
/// share of wrong rejections at q for independent or positively dependent tests.
///
/// Members without a p-value count as in [`holm_adjusted`].
pub fn benjamini_hochberg_adjusted(p_values: &[f64]) -> Vec<f64> {
    let order = ascending(p_values);
    let mut adjusted = vec![1.0; p_values.len()];
    let mut greatest: f64 = 1.0;
    for (rank, &i) in order.iter().enumerate().rev() {
        greatest = greatest.min(p_values[i] * p_values.len() as f64 / (rank + 1) as f64);
        adjusted[i] = greatest;
    }
    adjusted
}

/// Which hypotheses fall at a false discovery rate of `q` (Benjamini and Hochberg, 1995); none at a
/// rate outside [0, 1).
pub fn benjamini_hochberg(p_values: &[f64], q: f64) -> Vec<bool> {
    falls(&benjamini_hochberg_adjusted(p_values), q)
}

fn falls(adjusted: &[f64], rate: f64) -> Vec<bool> {
    // A member without a p-value is adjusted to 1, so that it falls at none of these rates.
    adjusted.iter().map(|&p| (0.0..1.0).contains(&rate) && p <= rate).collect()
}

/// Indices of the members that have a p-value, least first.
fn ascending(p_values: &[f64]) -> Vec<usize> {
    let valid = |i: &usize| (0.0..=1.0).contains(&p_values[*i]);
    let mut order: Vec<usize> = (0..p_values.len()).filter(valid).collect();
    order.sort_by(|&i, &j| p_values[i].total_cmp(&p_values[j]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stream;
    use crate::fixture::{Fixture, all_close};

    #[test]
    fn agrees_with_statsmodels() {
        for row in Fixture::rows(include_str!("../fixtures/multiple.json")) {
            let (p_values, alpha) = (row.numbers("p_values"), row.number("alpha"));
            assert_eq!(holm(&p_values, alpha), row.flags("holm"), "{p_values:?}");
            assert_eq!(benjamini_hochberg(&p_values, alpha), row.flags("bh"), "{p_values:?}");
            assert!(all_close(&holm_adjusted(&p_values), &row.numbers("holm_p"), 1e-12));
            let adjusted = benjamini_hochberg_adjusted(&p_values);
            assert!(all_close(&adjusted, &row.numbers("bh_p"), 1e-12));
        }
    }

    #[test]
    fn a_member_without_a_p_value_counts_and_never_falls() {
        assert_eq!(holm(&[0.04, f64::NAN], 0.05), [false, false]);
        assert_eq!(holm(&[0.02, f64::NAN], 0.05), [true, false]);
        assert_eq!(benjamini_hochberg(&[0.04, f64::NAN], 0.05), [false, false]);
        assert_eq!(holm(&[-0.1, 1.5], 0.05), [false, false]);
        assert!(holm(&[], 0.05).is_empty());
        assert!(benjamini_hochberg(&[], 0.05).is_empty());
    }

    #[test]
    fn holm_keeps_the_family_error_of_true_hypotheses() {
        let mut stream = Stream::new(9);
        let wrong = (0..4000)
            .filter(|_| {
                let p_values: Vec<f64> = (0..8).map(|_| stream.uniform()).collect();
                holm(&p_values, 0.05).contains(&true)
            })
            .count();
        // 5 % of 4000 and four sigmas.
        assert!((130..=256).contains(&wrong), "{wrong} of 4000");
    }

    #[test]
    fn benjamini_hochberg_keeps_the_share_of_false_discoveries_and_finds_more_than_holm() {
        let mut stream = Stream::new(10);
        let (mut share, mut found, mut found_by_holm) = (0.0, 0, 0);
        for _ in 0..2000 {
            // The first ten hypotheses are false, with p-values near nought.
            let p_values: Vec<f64> =
                (0..40).map(|i| stream.uniform() * if i < 10 { 0.02 } else { 1.0 }).collect();
            let fallen = benjamini_hochberg(&p_values, 0.1);
            let all = fallen.iter().filter(|&&fell| fell).count();
            let wrong = fallen[10..].iter().filter(|&&fell| fell).count();
            share += wrong as f64 / all.max(1) as f64 / 2000.0;
            found += all - wrong;
            found_by_holm += holm(&p_values, 0.1)[..10].iter().filter(|&&fell| fell).count();
        }
        assert!(share < 0.1 * 30.0 / 40.0 + 0.01, "{share}");
        assert!(found > 2 * found_by_holm, "{found} {found_by_holm}");
    }
}
