//! Bounds on a share that was counted.

use crate::Interval3;
use statrs::distribution::{Beta, ContinuousCDF};

/// The exact interval of Clopper and Pearson (1934) for a share seen in `hits` of `trials`.
///
/// It never covers less than it says; that is what a claim such as "0 of 232, at most 1.6 %"
/// needs.
pub fn clopper_pearson(hits: u64, trials: u64, confidence: f64) -> Option<Interval3> {
    if trials == 0 || hits > trials || !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let tail = (1.0 - confidence) / 2.0;
    let (k, n) = (hits as f64, trials as f64);
    let low = match hits {
        0 => 0.0,
        _ => Beta::new(k, n - k + 1.0).ok()?.inverse_cdf(tail),
    };
    let high = match trials - hits {
        0 => 1.0,
        _ => Beta::new(k + 1.0, n - k).ok()?.inverse_cdf(1.0 - tail),
    };
    Some(Interval3 { estimate: k / n, low, high })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_scipy() {
        // scipy.stats.binomtest(k, n).proportion_ci(.95, 'exact')
        for (hits, trials, low, high) in [
            (0, 232, 0.0, 0.01577459936419542),
            (70, 75, 0.8512395208418078, 0.9780007475302044),
            (3, 10, 0.06673951117773447, 0.652452850060008),
            (10, 10, 0.6915028921812371, 1.0),
        ] {
            let interval = clopper_pearson(hits, trials, 0.95).unwrap();
            let off = (interval.low - low).abs().max((interval.high - high).abs());
            assert!(off < 1e-9, "{hits} of {trials}: {interval:?}");
        }
    }

    #[test]
    fn refuses_counts_that_cannot_be() {
        assert_eq!(clopper_pearson(0, 0, 0.95), None);
        assert_eq!(clopper_pearson(3, 2, 0.95), None);
        assert_eq!(clopper_pearson(1, 2, 1.0), None);
        assert_eq!(clopper_pearson(1, 2, f64::NAN), None);
    }
}
