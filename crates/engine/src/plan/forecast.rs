//! Forecasts how long the rest of a plan takes, from its estimate and from what is done.

use super::estimate::{Estimate, by_item, pace, pace_of, portfolio};
use crate::Done;
use crate::jobs::processors;
use proofmark_contract::Entry;
use proofmark_measure::{Clock, MonotonicClock};
use proofmark_schema::plan::{Item, Plan};
use proofmark_schema::{ContenderId, DType};
use std::sync::{Mutex, PoisonError};

/// Estimated seconds of work after which a forecast gives the clock the same weight as the
/// estimate.
const PRIOR_SECONDS: f64 = 2.0;

/// The rest of a plan. Proofs and races are kept apart because their estimates err differently: a
/// race has a budget, and a proof has not.
pub(crate) struct Forecast {
    items: Vec<Estimate>,
    proofs: Work,
    races: Work,
}

impl Forecast {
    /// The forecast for the items of a plan that are left.
    pub(crate) fn of_plan(plan: &Plan, is_left: impl Fn(&Item) -> bool) -> Forecast {
        let pace = pace_of(plan);
        let items = by_item(plan, is_left).into_iter().map(|each| each.at_pace(pace));
        let items: Vec<Estimate> = items.collect();
        let left = |seconds: fn(&Estimate) -> f64| Work::of(items.iter().map(seconds).sum());
        Forecast { proofs: left(|it| it.proofs), races: left(|it| it.races), items }
    }

    /// Notes how long the proofs of the item at this place took.
    pub(crate) fn proved(&mut self, place: usize, seconds: f64) {
        self.proofs.did(self.items[place].proofs, seconds);
    }

    /// Notes how long the race of the item at this place took.
    pub(crate) fn raced(&mut self, place: usize, seconds: f64) {
        self.races.did(self.items[place].races, seconds);
    }

    /// Seconds that the rest takes.
    pub(crate) fn seconds_left(&self) -> f64 {
        self.proofs.seconds_left() + self.races.seconds_left()
    }
}

/// Proofs of contenders on the portfolios of their ops, on all processors at once.
pub(crate) struct Proofs {
    each: Vec<f64>,
    start_ns: u64,
    state: Mutex<(usize, Work)>,
}

impl Proofs {
    /// The proofs begin now.
    pub(crate) fn begin(jobs: &[(&'static Entry, ContenderId, DType)], threads: usize) -> Proofs {
        let pace = pace() / processors().clamp(1, jobs.len().max(1)) as f64;
        let one = |(entry, who, dtype): &(&'static Entry, ContenderId, DType)| {
            pace * portfolio(entry, who, *dtype, threads)
        };
        let each: Vec<f64> = jobs.iter().map(one).collect();
        let state = Mutex::new((0, Work::of(each.iter().sum())));
        Proofs { each, start_ns: MonotonicClock.now_ns(), state }
    }

    /// Notes that the proof at this place is done; gives how far the work is.
    pub(crate) fn ended(&self, place: usize) -> Done {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (parts, work) = &mut *state;
        *parts += 1;
        work.did(self.each[place], 0.0);
        work.has_taken((MonotonicClock.now_ns() - self.start_ns) as f64 / 1e9);
        Done { parts: *parts, of: self.each.len(), seconds_left: work.seconds_left() }
    }
}

/// Work of one kind.
#[derive(Clone, Copy, Debug, Default)]
struct Work {
    /// Estimated seconds of what is left.
    left: f64,
    /// Estimated seconds of what is done.
    done: f64,
    /// Seconds that this took.
    spent: f64,
}

impl Work {
    fn of(left: f64) -> Work {
        Work { left, ..Work::default() }
    }

    /// Notes how long a part with this estimate took.
    fn did(&mut self, estimate: f64, seconds: f64) {
        self.left = (self.left - estimate).max(0.0);
        self.done += estimate;
        self.spent += seconds;
    }

    /// Notes the seconds since the beginning, in which several parts ran at once.
    fn has_taken(&mut self, seconds: f64) {
        self.spent = seconds;
    }

    /// Seconds that the rest takes if it differs from its estimate by the same factor as the
    /// finished part did.
    fn seconds_left(&self) -> f64 {
        self.left * (self.spent + PRIOR_SECONDS) / (self.done + PRIOR_SECONDS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn before_anything_is_done_the_estimate_is_the_forecast() {
        assert!((Work::of(30.0).seconds_left() - 30.0).abs() < 1e-9);
    }

    #[test]
    fn a_run_that_takes_twice_its_estimate_is_forecast_so_after_a_third_of_it() {
        let mut work = Work::of(60.0);
        for _ in 0..20 {
            work.did(1.0, 2.0);
        }
        let left = work.seconds_left();
        assert!((left / 80.0 - 1.0).abs() < 0.1, "{left}");
    }

    #[test]
    fn one_slow_moment_at_the_beginning_does_not_multiply_the_rest() {
        let mut work = Work::of(1000.0);
        work.did(0.1, 1.0);
        assert!(work.seconds_left() < 1500.0, "{}", work.seconds_left());
    }

    #[test]
    fn what_runs_at_once_is_timed_by_the_clock_on_the_wall() {
        let mut work = Work::of(40.0);
        for part in 0..10 {
            work.did(2.0, 0.0);
            work.has_taken(f64::from(part + 1));
        }
        assert!((work.seconds_left() / 10.0 - 1.0).abs() < 0.1, "{}", work.seconds_left());
    }
}
