//! From an interval to a word.

/// What an interval of a ratio allows to be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The interval lies below 1 and the estimate is worth a report.
    Faster,
    /// The interval lies above 1 and the estimate is worth a report.
    Slower,
    /// The whole interval lies within the margin of 1.
    Same,
    /// None of the three was shown.
    Undecided,
}

/// Effects smaller than this are not reported as a change.
pub const REPORT_MARGIN: f64 = 0.005;
/// Ratios that differ from 1 by less than this are the same.
pub const SAME_MARGIN: f64 = 0.01;

/// Decides from a ratio's bounds and estimate.
///
/// Margins are shares (0.01 is 1 %) and act on the log scale, so that swapping the arms swaps
/// FASTER and SLOWER and nothing else. A shown change of at least the report margin is named
/// before SAME is considered. Bounds that are not positive numbers in order decide nothing.
pub fn decide(
    low: f64,
    high: f64,
    estimate: f64,
    report_margin: f64,
    same_margin: f64,
) -> Decision {
    if !(low > 0.0 && low <= estimate && estimate <= high && high.is_finite()) {
        return Decision::Undecided;
    }
    let (low, high, effect) = (low.ln(), high.ln(), estimate.ln());
    let (report, same) = (report_margin.ln_1p(), same_margin.ln_1p());
    if low > 0.0 && effect > report {
        Decision::Slower
    } else if high < 0.0 && effect < -report {
        Decision::Faster
    } else if -same < low && high < same {
        Decision::Same
    } else {
        Decision::Undecided
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stream;

    fn word(low: f64, high: f64, estimate: f64) -> Decision {
        decide(low, high, estimate, REPORT_MARGIN, SAME_MARGIN)
    }

    #[test]
    fn each_word_needs_its_own_evidence() {
        assert_eq!(word(1.01, 1.03, 1.02), Decision::Slower);
        assert_eq!(word(0.97, 0.99, 0.98), Decision::Faster);
        assert_eq!(word(0.995, 1.005, 1.0), Decision::Same);
        assert_eq!(word(0.98, 1.03, 1.004), Decision::Undecided);
    }

    #[test]
    fn a_shown_effect_below_the_report_margin_is_the_same_and_no_change() {
        assert_eq!(word(1.001, 1.005, 1.003), Decision::Same);
        assert_eq!(word(1.001, 1.008, 1.0055), Decision::Slower);
        assert_eq!(word(1.0001, 1.02, 1.004), Decision::Undecided);
    }

    #[test]
    fn a_wide_interval_around_one_is_never_called_the_same() {
        assert_eq!(word(0.985, 1.005, 0.995), Decision::Undecided);
        assert_eq!(word(0.995, 1.0101, 1.0), Decision::Undecided);
    }

    #[test]
    fn swapping_the_arms_swaps_faster_and_slower_only() {
        let mut stream = Stream::new(8);
        for _ in 0..5000 {
            let effect = 0.03 * stream.normal();
            let half = 0.02 * stream.uniform();
            let (low, high) = ((effect - half).exp(), (effect + half).exp());
            let mirrored = match word(low, high, effect.exp()) {
                Decision::Faster => Decision::Slower,
                Decision::Slower => Decision::Faster,
                other => other,
            };
            assert_eq!(word(1.0 / high, 1.0 / low, (-effect).exp()), mirrored);
        }
    }

    #[test]
    fn nonsense_decides_nothing() {
        for (low, high, estimate) in [
            (f64::NAN, 1.0, 1.0),
            (1.1, f64::INFINITY, 1.2),
            (1.2, 1.1, 1.15),
            (-1.0, 1.0, 1.0),
            (1.1, 1.2, f64::NAN),
        ] {
            assert_eq!(word(low, high, estimate), Decision::Undecided);
        }
    }
}
