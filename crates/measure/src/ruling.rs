//! Races that decide: trials until a scheduled look can tell, with the error rate spent over looks.

use crate::clock::Clock;
use crate::fault::RaceFault;
use crate::quiet::await_quiet;
use crate::race::race_until;
use crate::rules::RaceRules;
use crate::summary::{comparison, trial_values};
use proofmark_gate::Proven;
use proofmark_schema::race::{Race, Ruling};
use proofmark_stats::{Conclusion, Look, Stopping};

/// Races two proven contenders until it is decided which is faster, or that they are the same.
///
/// The trial cap of `stopping` and the time budget of `rules` end a race that decides nothing.
///
/// # Errors
/// The arm that failed.
pub fn rule(
    field: &[Proven<'_>; 2],
    rules: &RaceRules,
    stopping: &Stopping,
    clock: &dyn Clock,
) -> Result<(Race, Ruling), RaceFault> {
    let quiet = await_quiet(rules.quiet_ns);
    let start = clock.now_ns();
    let rules = RaceRules { most_trials: stopping.looks.cap(), primes_long: false, ..*rules };
    let mut race = race_until(field, &rules, &mut |race| {
        let (effects, within) = trial_values(race, 0, 1);
        let is_scheduled = stopping.looks.index_of(effects.len() as u32).is_some();
        let is_decided = is_scheduled && matches!(stopping.look(&effects, &within), Look::Stop(_));
        is_decided || clock.now_ns().saturating_sub(start) >= rules.budget_ns
    })?;
    race.quiet = quiet;
    let seconds = clock.now_ns().saturating_sub(start) as f64 / 1e9;
    let ruling = ruling_of(&race, stopping, seconds);
    Ok((race, ruling))
}

/// The ruling that a race's slices lead to: the same for the same slices, whenever it is asked.
pub fn ruling_of(race: &Race, stopping: &Stopping, seconds: f64) -> Ruling {
    let (effects, within) = trial_values(race, 0, 1);
    let Conclusion {
        decision, interval, confidence, trials, undecided_because, detectable, ..
    } = stopping.conclude(&effects, &within);
    Ruling {
        comparison: comparison(race, 0, &interval, confidence, decision, trials),
        alpha: stopping.alpha,
        report_margin: stopping.report_margin,
        same_margin: stopping.same_margin,
        undecided_because: undecided_because.map(str::to_owned),
        detectable,
        seconds,
    }
}
