//! Numbers about numbers: no clock, no I/O, seeded randomness.
//!
//! Every function is pure and total: if the data cannot support an answer (too few values, a value
//! that is not finite), it returns `None`. Distribution functions come from `statrs`. `fixtures/`
//! checks everything against SciPy and statsmodels, and simulations in `tests/` check the error
//! rates and coverages that verdicts promise.
//!
//! From slices to a verdict: [`pairing`] turns a trial into one effect, [`ratio`] turns many trials
//! into an interval, and [`verdict`] turns an interval into a word. [`sequential`] and [`stopping`]
//! say when to look and when to stop, [`multiple`] keeps the error rate of a family, and
//! [`mod@power`] says what could have been detected. [`equivalence`] is the test behind SAME on its
//! own.
//!
//! About values in general: [`mod@quantile`], [`mod@mean`], [`robust`], [`mod@bootstrap`],
//! [`bounds`] for counted shares, [`series`] for values in time. About curves: [`scaling`] over
//! threads, [`mod@crossover`] along an axis. About histories: [`change`].
#![forbid(unsafe_code)]

pub mod bootstrap;
pub mod bounds;
pub mod change;
pub mod crossover;
pub mod equivalence;
pub mod mean;
pub mod multiple;
pub mod pairing;
pub mod power;
pub mod quantile;
pub mod ratio;
pub mod rng;
pub mod robust;
pub mod scaling;
pub mod sequential;
pub mod series;
pub mod stopping;
pub mod verdict;

#[cfg(test)]
mod fixture;
mod tail;

pub use bootstrap::{Bounds, bootstrap};
pub use bounds::clopper_pearson;
pub use crossover::{AxisRatio, Crossing, Crossover, Side, crossover};
pub use equivalence::{equivalent, tost_interval, tost_p_value};
pub use mean::{Interval3, mean, t_interval, variance};
pub use multiple::{benjamini_hochberg, benjamini_hochberg_adjusted, holm, holm_adjusted};
pub use pairing::{TimedSlice, pair_log_ratios, trial_effect, within_trial_error};
pub use power::{minimum_detectable_effect, power, trials_needed};
pub use quantile::{mad, median, median_interval, quantile};
pub use ratio::{RatioInterval, ratio_interval, ratio_p_value};
pub use rng::Stream;
pub use robust::{floor_ratio, hodges_lehmann, shift_function, trimmed_mean};
pub use scaling::{Amdahl, Speedup, Universal, fit_amdahl, fit_universal};
pub use sequential::{LOOKS_LONG, LOOKS_SHORT, Looks, Spending};
pub use series::{autocorrelation, effective_sample_size, ljung_box_p_value, theil_sen};
pub use stopping::{ALPHA, Conclusion, Look, Reason, Stop, Stopping};
pub use verdict::{Decision, REPORT_MARGIN, SAME_MARGIN, decide};
