//! From trials to a ratio with its interval: the trial is the unit of inference.

use crate::mean::{mean, variance};
use crate::quantile::median;
use crate::tail::{normal_point, normal_tail, student_point, student_tail};

/// A ratio of two times between two bounds, and what its uncertainty is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatioInterval {
    /// Best estimate; above 1 the second arm took longer.
    pub ratio: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
    /// Standard error of the mean log effect as the trials differ among themselves.
    pub between: f64,
    /// Standard error of the same as the slices within the trials say.
    pub within: f64,
}

/// The ratio over all trials from each trial's log effect and its own standard error.
///
/// From ten trials on, a tenth at each end is trimmed and the interval is Tukey and McLaughlin's
/// (1963). Occasionally a process is slower than its twin for its whole life, by far more than the
/// others differ, and such outliers must not decide the width of the interval.
///
/// The interval is the wider of Student's over trials and the normal one from within trials,
/// because a few trials may agree by chance more closely than their own slices allow. `None` for
/// fewer than two trials, unequal lengths, or values that are not finite.
pub fn ratio_interval(
    trial_effects: &[f64],
    within_errors: &[f64],
    confidence: f64,
) -> Option<RatioInterval> {
    ratio_interval_at_level(trial_effects, within_errors, 1.0 - confidence)
}

/// [`ratio_interval`] by its error rate, which keeps its digits where the confidence rounds to 1.
pub(crate) fn ratio_interval_at_level(
    trial_effects: &[f64],
    within_errors: &[f64],
    level: f64,
) -> Option<RatioInterval> {
    if !(level > 0.0 && level < 1.0) {
        return None;
    }
    let Errors { centre, between, within, freedom } = errors(trial_effects, within_errors)?;
    let student = student_point(freedom, level / 2.0)?;
    let half = (student * between).max(normal_point(level / 2.0)? * within);
    Some(RatioInterval {
        ratio: centre.exp(),
        low: (centre - half).exp(),
        high: (centre + half).exp(),
        between,
        within,
    })
}

/// The least error rate at which [`ratio_interval`] leaves out a ratio of 1, for families of tests.
///
/// `None` where there is no interval.
pub fn ratio_p_value(trial_effects: &[f64], within_errors: &[f64]) -> Option<f64> {
    let Errors { centre, between, within, freedom } = errors(trial_effects, within_errors)?;
    let distance = centre.abs();
    if distance == 0.0 {
        return Some(1.0);
    }
    let student = student_tail(freedom, distance / between)?;
    let normal = match within > 0.0 {
        true => normal_tail(distance / within),
        false => 0.0,
    };
    Some(2.0 * student.max(normal))
}

/// Share of the trials that is trimmed at each end, from ten trials on.
const TRIM: f64 = 0.1;

/// Trimmed mean of the log effects, its two standard errors and the degrees of freedom of the
/// first.
struct Errors {
    centre: f64,
    between: f64,
    within: f64,
    freedom: f64,
}

fn errors(trial_effects: &[f64], within_errors: &[f64]) -> Option<Errors> {
    let is_error = |error: &f64| error.is_finite() && *error >= 0.0;
    if trial_effects.len() != within_errors.len() || !within_errors.iter().all(is_error) {
        return None;
    }
    let n = trial_effects.len() as f64;
    let cut = (TRIM * n) as usize;
    let mut ordered = trial_effects.to_vec();
    ordered.sort_by(f64::total_cmp);
    let last = ordered.len().checked_sub(1)?;
    let centre = mean(ordered.get(cut..=last.checked_sub(cut)?)?)?;
    // Winsorised: what was trimmed counts as the nearest value that was kept.
    let (lowest, highest) = (ordered[cut], ordered[last - cut]);
    ordered.iter_mut().for_each(|effect| *effect = effect.clamp(lowest, highest));
    let kept = n - 2.0 * cut as f64;
    let between = variance(&ordered)?.sqrt() / (kept / n * n.sqrt());
    // The error of a typical trial. It guards against trials that agree by chance. The median is
    // used because a trial in which half of the pairs were disturbed says nothing about the others.
    let within = median(within_errors)? / n.sqrt();
    Some(Errors { centre, between, within, freedom: kept - 1.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stream;

    #[test]
    fn agrees_with_scipy_where_trials_differ_more_than_their_slices_say() {
        // v=[.011,.008,.013,.009,.012,.010]
        // numpy.exp(scipy.stats.t.interval(.99, 5, numpy.mean(v), scipy.stats.sem(v)))
        let effects = [0.011, 0.008, 0.013, 0.009, 0.012, 0.010];
        let got = ratio_interval(&effects, &[1e-4; 6], 0.99).unwrap();
        assert!((got.ratio - 1.0105553184450264).abs() < 1e-12, "{got:?}");
        assert!(
            (got.low - 1.0074479993189773).abs() < 1e-10
                && (got.high - 1.0136722216212275).abs() < 1e-10,
            "{got:?}"
        );
        assert!(got.between > got.within);
    }

    #[test]
    fn trials_that_agree_by_luck_get_the_wider_interval_from_within() {
        // numpy.exp(.01 + scipy.stats.norm.ppf([.005,.995])*numpy.sqrt(.003**2/6))
        let got = ratio_interval(&[0.01; 6], &[0.003; 6], 0.99).unwrap();
        assert_eq!(got.between, 0.0);
        assert!(
            (got.low - 1.0068687486565402).abs() < 1e-10
                && (got.high - 1.0132416378877636).abs() < 1e-10,
            "{got:?}"
        );
    }

    #[test]
    fn agrees_with_scipy_where_trials_are_trimmed() {
        // v=[.010,.012,.009,.011,.008,.013,.010,.012,.009,.400]
        // t=scipy.stats.trim_mean(v,.1); w=scipy.stats.mstats.winsorize(numpy.array(v),(.1,.1))
        // e=numpy.std(w,ddof=1)/(.8*10**.5); numpy.exp(t+scipy.stats.t.ppf([.005,.995],7)*e)
        const FIXTURE: [f64; 3] = [1.010807988857123, 1.0085463095179332, 1.0130747400441649];
        let effects = [0.010, 0.012, 0.009, 0.011, 0.008, 0.013, 0.010, 0.012, 0.009, 0.400];
        let got = ratio_interval(&effects, &[1e-4; 10], 0.99).unwrap();
        assert!((got.ratio - FIXTURE[0]).abs() < 1e-12, "{got:?}");
        assert!((got.low - FIXTURE[1]).abs() < 1e-9, "{got:?}");
        assert!((got.high - FIXTURE[2]).abs() < 1e-9, "{got:?}");
    }

    #[test]
    fn one_wild_trial_in_twenty_does_not_blunt_the_interval() {
        let mut stream = Stream::new(5);
        let tame: Vec<f64> = (0..20).map(|_| 0.002 * stream.normal()).collect();
        let mut wild = tame.clone();
        wild[3] = 0.3;
        let width = |effects: &[f64]| {
            let got = ratio_interval(effects, &[0.0; 20], 0.95).unwrap();
            got.high - got.low
        };
        assert!(width(&wild) < 1.5 * width(&tame), "{} {}", width(&wild), width(&tame));
    }

    #[test]
    fn one_disturbed_trial_does_not_widen_what_the_others_say() {
        let effects = [0.011, 0.008, 0.013, 0.009, 0.012, 0.010];
        let calm = ratio_interval(&effects, &[1e-4; 6], 0.99).unwrap();
        let disturbed = [1e-4, 1e-4, 0.5, 1e-4, 1e-4, 1e-4];
        assert_eq!(ratio_interval(&effects, &disturbed, 0.99).unwrap(), calm);
    }

    #[test]
    fn covers_the_true_ratio_at_least_as_often_as_it_says() {
        let mut stream = Stream::new(99);
        let truth: f64 = 1.02;
        let held = (0..2000)
            .filter(|_| {
                let effects: Vec<f64> =
                    (0..10).map(|_| truth.ln() + 0.005 * stream.normal()).collect();
                let got = ratio_interval(&effects, &[0.001; 10], 0.95).unwrap();
                got.low <= truth && truth <= got.high
            })
            .count();
        assert!((1880..=1930).contains(&held), "{held} of 2000");
    }

    #[test]
    fn the_p_value_is_the_level_at_which_the_interval_touches_one() {
        let mut stream = Stream::new(12);
        for within in [0.0, 0.004, 0.05] {
            let effects: Vec<f64> = (0..8).map(|_| 0.004 + 0.01 * stream.normal()).collect();
            let p = ratio_p_value(&effects, &[within; 8]).unwrap();
            let touching = ratio_interval(&effects, &[within; 8], 1.0 - p).unwrap();
            let gap = touching.low.ln().abs().min(touching.high.ln().abs());
            assert!(gap < 1e-12, "{within}: {touching:?}");
        }
        // scipy.stats.ttest_1samp([.011,.008,.013,.009,.012,.010], 0).pvalue
        let effects = [0.011, 0.008, 0.013, 0.009, 0.012, 0.010];
        let p = ratio_p_value(&effects, &[0.0; 6]).unwrap();
        assert!((p / 3.6545963997111835e-05 - 1.0).abs() < 1e-9, "{p}");
        assert_eq!(ratio_p_value(&[0.0; 6], &[0.0; 6]), Some(1.0));
        assert_eq!(ratio_p_value(&[0.1; 6], &[0.0; 5]), None);
        assert_eq!(ratio_p_value(&[0.1; 6], &[0.0; 6]), Some(0.0));
    }

    #[test]
    fn one_trial_or_unequal_lengths_carry_no_interval() {
        assert_eq!(ratio_interval(&[0.1], &[0.1], 0.95), None);
        assert_eq!(ratio_interval(&[0.1, 0.2], &[0.1], 0.95), None);
        assert_eq!(ratio_interval(&[0.1, f64::NAN], &[0.1, 0.1], 0.95), None);
        assert_eq!(ratio_interval(&[0.1, 0.2], &[0.1, f64::INFINITY], 0.95), None);
        assert_eq!(ratio_interval(&[0.1, 0.2], &[0.1, -0.1], 0.95), None);
    }
}
