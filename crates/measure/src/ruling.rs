//! Races that decide: trials until a scheduled look can tell, with the error rate spent over looks.

use crate::clock::Clock;
use crate::fault::RaceFault;
use crate::quiet::await_quiet;
use crate::race::race_until;
use crate::rules::RaceRules;
use crate::summary::{comparison, trial_values};
use proofmark_gate::Proven;
use proofmark_schema::race::{Race, Ruling};
use proofmark_stats::{
    Decision, Look, RatioInterval, Reason, Stop, Stopping, minimum_detectable_effect,
};

/// Power that the detectable effect is stated for.
const POWER: f64 = 0.9;

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
    let stop = match stopping.replay(&effects, &within) {
        Look::Stop(stop) => Some(stop),
        Look::Continue => None,
    };
    // A race cut off by its budget has an interval at the level of the look before, but decides
    // nothing: it was not a scheduled look.
    let (decision, interval, confidence) = match stop {
        Some(Stop { decision, interval: Some(interval), confidence, .. }) => {
            (decision, interval, confidence)
        }
        _ => {
            let confidence = 1.0 - stopping.alpha;
            let none = RatioInterval {
                ratio: 1.0,
                low: 0.0,
                high: f64::MAX,
                between: f64::MAX,
                within: f64::MAX,
            };
            let interval = proofmark_stats::ratio_interval(&effects, &within, confidence);
            (Decision::Undecided, interval.unwrap_or(none), confidence)
        }
    };
    let undecided_because = (decision == Decision::Undecided).then(|| {
        match stop.and_then(|stop| stop.reason) {
            Some(Reason::Wide) => "the noise is too large for the trials allowed",
            Some(Reason::NearMargin) => "the ratio lies too near a margin",
            Some(Reason::NoInterval) => "too few trials gave a ratio",
            None => "the time allowed ran out",
        }
        .to_owned()
    });
    let trials = effects.len() as u32;
    let spread = interval.between * f64::from(trials).sqrt();
    let detectable = minimum_detectable_effect(trials, spread, stopping.alpha, POWER);
    let detectable = detectable.map(f64::exp_m1).filter(|share| share.is_finite());
    Ruling {
        comparison: comparison(race, 0, &interval, confidence, decision, trials),
        alpha: stopping.alpha,
        report_margin: stopping.report_margin,
        same_margin: stopping.same_margin,
        undecided_because,
        detectable,
        seconds,
    }
}
