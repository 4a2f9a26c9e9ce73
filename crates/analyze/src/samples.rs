//! The raw times behind a record, as other tools want them: repetitions, slices, and their spread.

use proofmark_schema::race::Slice;
use proofmark_stats::{mad, mean, median, quantile, variance};

/// Repetitions that a test of ranks needs to find anything at all.
pub const LEAST_REPETITIONS: usize = 10;

/// One line of a repeated benchmark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Repetition {
    /// Calls behind it.
    pub calls: u64,
    /// Time of one call: the median of its slices.
    pub call_ns: f64,
    /// CPU time of the calling thread for one call.
    pub cpu_ns: f64,
}

/// The slices of one contender in one race, trial by trial; only those that count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Samples {
    trials: Vec<Vec<Slice>>,
}

/// An estimate with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// Its standard error.
    pub error: f64,
}

/// How the times of slices are spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The mean; its error is that of the means of trials, since slices of a trial are correlated.
    pub mean: Estimate,
    /// The standard deviation.
    pub deviation: Estimate,
    /// The median absolute deviation, scaled to a standard deviation.
    pub absolute_deviation: Estimate,
    /// Tukey's fences: far below, below, above, far above.
    pub fences: [f64; 4],
}

impl Samples {
    /// Samples from trials; a trial without slices is none.
    pub fn new(trials: Vec<Vec<Slice>>) -> Samples {
        Samples { trials: trials.into_iter().filter(|trial| !trial.is_empty()).collect() }
    }

    /// Trials behind them.
    pub fn trials(&self) -> usize {
        self.trials.len()
    }

    /// Every slice in order.
    pub fn slices(&self) -> impl Iterator<Item = &Slice> {
        self.trials.iter().flatten()
    }

    /// One repetition per trial if there are [`LEAST_REPETITIONS`] trials. Otherwise each trial is
    /// cut into as many equal parts as are needed, as far as its slices allow.
    pub fn repetitions(&self) -> Vec<Repetition> {
        let parts = self.parts();
        self.trials.iter().flat_map(|trial| cut(trial, parts)).filter_map(repetition).collect()
    }

    /// Parts that each trial is cut into for [`Samples::repetitions`].
    pub fn parts(&self) -> usize {
        LEAST_REPETITIONS.div_ceil(self.trials.len().max(1))
    }

    /// The spread of the slices; nothing where there are fewer than two.
    pub fn spread(&self) -> Option<Spread> {
        let values: Vec<f64> = self.slices().map(Slice::call_ns).collect();
        let of_trials: Vec<f64> = self
            .trials
            .iter()
            .filter_map(|trial| mean(&trial.iter().map(Slice::call_ns).collect::<Vec<_>>()))
            .collect();
        let count = values.len() as f64;
        let deviation = variance(&values)?.sqrt();
        let between = variance(&of_trials)
            .map_or(deviation / count.sqrt(), |between| (between / of_trials.len() as f64).sqrt());
        // Large-sample errors of a normal distribution: of the deviation 1/√(2n), of the scaled
        // median absolute deviation 1.17/√n.
        let scaled = 1.4826 * mad(&values)?;
        let (low, high) = (quantile(&values, 0.25)?, quantile(&values, 0.75)?);
        let reach = high - low;
        Some(Spread {
            mean: Estimate { value: mean(&values)?, error: between },
            deviation: Estimate { value: deviation, error: deviation / (2.0 * count).sqrt() },
            absolute_deviation: Estimate { value: scaled, error: 1.17 * scaled / count.sqrt() },
            fences: [low - 3.0 * reach, low - 1.5 * reach, high + 1.5 * reach, high + 3.0 * reach],
        })
    }
}

/// The median of some times; nothing where there are none.
pub fn median_of(values: &[f64]) -> Option<f64> {
    median(values)
}

/// Nearly equal parts in order, none of them empty.
fn cut(trial: &[Slice], parts: usize) -> impl Iterator<Item = &[Slice]> {
    let parts = parts.clamp(1, trial.len());
    let edge = move |part: usize| part * trial.len() / parts;
    (0..parts).map(move |part| &trial[edge(part)..edge(part + 1)])
}

fn repetition(slices: &[Slice]) -> Option<Repetition> {
    let calls: u64 = slices.iter().map(|slice| u64::from(slice.calls)).sum();
    // The worker reports its processor time, which may be any number.
    let cpu = slices.iter().fold(0u64, |sum, slice| sum.saturating_add(slice.cpu_ns));
    let call_ns = median(&slices.iter().map(Slice::call_ns).collect::<Vec<_>>())?;
    Some(Repetition { calls, call_ns, cpu_ns: cpu as f64 / calls.max(1) as f64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trials(count: u32, slices: u32) -> Samples {
        let slice = |trial, position| Slice {
            trial,
            calls: 10,
            wall_ns: u64::from(1000 + 10 * trial + position),
            cpu_ns: 900,
            ..Slice::default()
        };
        let trial = |trial| (0..slices).map(|position| slice(trial, position)).collect();
        Samples::new((0..count).map(trial).collect())
    }

    #[test]
    fn any_reported_processor_time_has_a_mean() {
        let slice = Slice { calls: 1, wall_ns: 5, cpu_ns: u64::MAX, ..Slice::default() };
        assert_eq!(repetition(&[slice, slice]).unwrap().cpu_ns, u64::MAX as f64 / 2.0);
    }

    #[test]
    fn many_trials_give_a_repetition_each_and_few_are_cut() {
        assert_eq!(trials(12, 5).repetitions().len(), 12);
        assert_eq!(trials(12, 5).repetitions()[0].call_ns, 100.2);
        assert_eq!(trials(4, 8).repetitions().len(), 12);
        assert_eq!(trials(4, 8).repetitions()[0].calls, 20);
        assert_eq!(trials(6, 1).repetitions().len(), 6);
        assert!(trials(0, 0).repetitions().is_empty());
    }

    #[test]
    fn the_spread_knows_that_slices_of_a_trial_are_kin() {
        let spread = trials(4, 8).spread().unwrap();
        assert!((spread.mean.value - 101.85).abs() < 1e-9, "{spread:?}");
        // Trials lie 1 ns apart: √(5/3)/√4.
        assert!((spread.mean.error - (5.0f64 / 3.0).sqrt() / 2.0).abs() < 1e-9, "{spread:?}");
        assert!(spread.fences.is_sorted());
        assert_eq!(trials(1, 1).spread(), None);
    }
}
