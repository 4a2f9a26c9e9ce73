//! From the slices of one trial to one effect: pair log-ratios of neighbours in a block.

use crate::quantile::{mad, median};
use std::collections::BTreeMap;

/// One slice of a trial, as far as pairing needs it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimedSlice {
    /// Block within the trial.
    pub block: u32,
    /// Position within the block.
    pub position: u32,
    /// Which contender.
    pub arm: u32,
    /// Time of one call, in any unit.
    pub value: f64,
}

/// ln(value of `arm` / value of `base`) of every pair, in the order of blocks and positions.
///
/// The first `base` of a block is paired with the first `arm`, the second with the second: in ABBA
/// and BAAB these are neighbours, and the two pairs of a block see a drift with opposite signs. A
/// block is left out whole if a slice of either is missing or is no positive time, because half a
/// block no longer cancels drift.
pub fn pair_log_ratios(slices: &[TimedSlice], base: u32, arm: u32) -> Vec<f64> {
    let mut blocks: BTreeMap<u32, Vec<&TimedSlice>> = BTreeMap::new();
    for slice in slices.iter().filter(|slice| slice.arm == base || slice.arm == arm) {
        blocks.entry(slice.block).or_default().push(slice);
    }
    let mut ratios = Vec::new();
    for block in blocks.values_mut() {
        block.sort_by_key(|slice| slice.position);
        if block.iter().all(|slice| slice.value.is_finite() && slice.value > 0.0) {
            ratios.extend(block_ratios(block, base, arm));
        }
    }
    ratios
}

fn block_ratios(block: &[&TimedSlice], base: u32, arm: u32) -> Vec<f64> {
    let values = |wanted: u32| -> Vec<f64> {
        block.iter().filter(|slice| slice.arm == wanted).map(|slice| slice.value).collect()
    };
    let (bases, arms) = (values(base), values(arm));
    if base == arm || bases.len() != arms.len() {
        return Vec::new();
    }
    bases.iter().zip(&arms).map(|(base, arm)| (arm / base).ln()).collect()
}

/// The effect of a trial: the median of its pair log-ratios.
pub fn trial_effect(pair_log_ratios: &[f64]) -> Option<f64> {
    median(pair_log_ratios)
}

/// The standard error of [`trial_effect`] as the trial itself shows it.
///
/// 1.4826·MAD estimates sigma, and 1.2533 = √(π/2) is the factor by which the error of a median
/// exceeds that of a mean. Correlated neighbours count for less than their number.
pub fn within_trial_error(pair_log_ratios: &[f64]) -> Option<f64> {
    let sigma = 1.4826 * mad(pair_log_ratios)?;
    Some(1.2533 * sigma / effective_count(pair_log_ratios, sigma)?.sqrt())
}

/// With fewer pairs than this, an autocorrelation is noise.
const LEAST_FOR_AUTOCORRELATION: usize = 9;
/// Autocorrelation above which the formula of a first-order process promises too little.
const GREATEST_AUTOCORRELATION: f64 = 0.8;

/// n·(1 − r)/(1 + r) with the lag-1 autocorrelation r, winsorised at three sigmas so that one
/// interrupt does not decide it; a negative r earns no bonus.
fn effective_count(values: &[f64], sigma: f64) -> Option<f64> {
    let n = values.len() as f64;
    if values.len() < LEAST_FOR_AUTOCORRELATION || sigma == 0.0 {
        return Some(n);
    }
    let centre = median(values)?;
    let limit = 3.0 * sigma;
    let residuals: Vec<f64> = values.iter().map(|v| (v - centre).clamp(-limit, limit)).collect();
    let power: f64 = residuals.iter().map(|z| z * z).sum();
    let lagged: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let r = (lagged / power).clamp(0.0, GREATEST_AUTOCORRELATION);
    Some(n * (1.0 - r) / (1.0 + r))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stream;

    const ABBA: [u32; 4] = [0, 1, 1, 0];
    const BAAB: [u32; 4] = [1, 0, 0, 1];

    /// Slices of `blocks` random ABBA or BAAB blocks; `log_time(arm, n-th slice)` gives each.
    fn trial(
        stream: &mut Stream,
        blocks: u32,
        mut log_time: impl FnMut(u32, f64, &mut Stream) -> f64,
    ) -> Vec<TimedSlice> {
        let mut slices = Vec::new();
        for block in 0..blocks {
            let order = if stream.below(2) == 0 { ABBA } else { BAAB };
            for (position, arm) in order.into_iter().enumerate() {
                let time = log_time(arm, slices.len() as f64, stream);
                let position = position as u32;
                slices.push(TimedSlice { block, position, arm, value: time.exp() });
            }
        }
        slices
    }

    #[test]
    fn a_steady_drift_cancels_exactly_whatever_its_size_and_the_block_order() {
        let mut stream = Stream::new(1);
        for _ in 0..200 {
            let effect = 0.2 * (stream.uniform() - 0.5);
            let drift = 0.1 * (stream.uniform() - 0.5);
            let blocks = 1 + stream.below(30) as u32;
            let slices =
                trial(&mut stream, blocks, |arm, n, _| f64::from(arm) * effect + n * drift);
            let ratios = pair_log_ratios(&slices, 0, 1);
            assert_eq!(ratios.len(), 2 * blocks as usize);
            let got = trial_effect(&ratios).unwrap();
            assert!((got - effect).abs() < 1e-12, "{got} for {effect} under drift {drift}");
        }
    }

    #[test]
    fn an_unpaired_comparison_would_not_have_cancelled() {
        let mut stream = Stream::new(2);
        let slices = trial(&mut stream, 12, |_, n, _| n * 0.05);
        let ratios = pair_log_ratios(&slices, 0, 1);
        assert!(ratios.iter().all(|ratio| (ratio.abs() - 0.05).abs() < 1e-12));
        assert!(trial_effect(&ratios).unwrap().abs() < 1e-12);
    }

    #[test]
    fn swapping_the_arms_changes_only_the_sign() {
        let mut stream = Stream::new(3);
        let slices = trial(&mut stream, 24, |arm, _, s| f64::from(arm) * 0.01 + 0.02 * s.normal());
        let forth = trial_effect(&pair_log_ratios(&slices, 0, 1)).unwrap();
        let back = trial_effect(&pair_log_ratios(&slices, 1, 0)).unwrap();
        assert!((forth + back).abs() < 1e-12);
    }

    #[test]
    fn slices_may_come_in_any_order() {
        let mut stream = Stream::new(4);
        let mut slices = trial(&mut stream, 8, |arm, n, s| f64::from(arm) + n * 0.01 + s.normal());
        let straight = pair_log_ratios(&slices, 0, 1);
        stream.shuffle(&mut slices);
        assert_eq!(pair_log_ratios(&slices, 0, 1), straight);
    }

    #[test]
    fn a_block_with_a_slice_missing_is_left_out_whole() {
        let mut stream = Stream::new(5);
        let mut slices = trial(&mut stream, 3, |_, _, s| s.normal());
        slices.remove(5);
        assert_eq!(pair_log_ratios(&slices, 0, 1).len(), 4);
        slices[0].value = 0.0;
        assert_eq!(pair_log_ratios(&slices, 0, 1).len(), 2);
        assert!(pair_log_ratios(&slices, 0, 0).is_empty());
        assert!(pair_log_ratios(&slices, 0, 9).is_empty());
    }

    #[test]
    fn more_arms_pair_with_the_base_of_their_own_block() {
        let at = |block, position, arm, value| TimedSlice { block, position, arm, value };
        let slices = [
            at(0, 0, 2, 8.0),
            at(0, 1, 0, 1.0),
            at(0, 2, 1, 2.0),
            at(1, 0, 0, 10.0),
            at(1, 1, 1, 20.0),
            at(1, 2, 2, 80.0),
        ];
        let got = pair_log_ratios(&slices, 0, 2);
        assert!(got.iter().all(|ratio| (ratio - 8f64.ln()).abs() < 1e-12) && got.len() == 2);
    }

    #[test]
    fn the_error_matches_the_spread_of_the_effect_over_many_trials() {
        let mut stream = Stream::new(6);
        let (mut effects, mut errors) = (Vec::new(), Vec::new());
        for _ in 0..400 {
            let ratios: Vec<f64> = (0..48).map(|_| 0.01 * stream.normal()).collect();
            effects.push(trial_effect(&ratios).unwrap());
            errors.push(within_trial_error(&ratios).unwrap());
        }
        let seen = crate::variance(&effects).unwrap().sqrt();
        let said = crate::mean(&errors).unwrap();
        assert!((0.9..1.3).contains(&(said / seen)), "{said} for {seen}");
    }

    #[test]
    fn neighbours_that_move_together_widen_the_error() {
        let mut stream = Stream::new(7);
        let mut state = 0.0;
        let together: Vec<f64> = (0..48)
            .map(|_| {
                state = 0.7 * state + stream.normal();
                state
            })
            .collect();
        let mut apart = together.clone();
        stream.shuffle(&mut apart);
        let (wide, narrow) = (within_trial_error(&together), within_trial_error(&apart));
        assert!(wide.unwrap() > 1.5 * narrow.unwrap(), "{wide:?} {narrow:?}");
    }

    #[test]
    fn equal_ratios_have_no_error_and_no_ratios_have_no_effect() {
        assert_eq!(within_trial_error(&[0.5; 20]), Some(0.0));
        assert_eq!(trial_effect(&[]), None);
        assert_eq!(within_trial_error(&[]), None);
    }
}
