//! Rulers on virtual time: what they may cost, what they find, what they leave alone.

use crate::counting::{counting, off_blocks};
use crate::fault::RaceFault;
use crate::race::run;
use crate::ruler::conditions;
use crate::rules::RaceRules;
use crate::stable::{Heat, Stable, Turn};
use crate::summary::compare;
use proofmark_arena::{Ran, RulerTimes};
use proofmark_schema::conditions::Ruler;
use proofmark_schema::race::{CallInputs, Race, Trial};
use proofmark_schema::{Case, ContenderId, DType, Isa};

/// What the hand-over of a reading costs.
const HAND_OVER_NS: u64 = 12_000;

/// Two arms of the same speed on a machine that a script slows down.
struct Scripted {
    now_ns: f64,
    /// How much slower the machine is at a moment.
    slowdown: fn(now_ns: f64) -> f64,
    /// What rulers took between blocks.
    ruler_ns: u64,
}

impl Scripted {
    fn pass(&mut self, ns: f64) -> u64 {
        let wall = ns * (self.slowdown)(self.now_ns);
        self.now_ns += wall;
        wall as u64
    }
}

impl Stable for Scripted {
    fn arms(&self) -> usize {
        2
    }

    fn trial(
        &mut self,
        _: &Trial,
        heat: &mut dyn FnMut(&mut dyn Heat) -> Result<(), RaceFault>,
    ) -> Result<(), RaceFault> {
        heat(self)
    }
}

impl Heat for Scripted {
    fn batch(&mut self, _: usize, turn: &Turn) -> Result<Ran, RaceFault> {
        let &Turn { prime, calls, .. } = turn;
        self.pass(1000.0 * f64::from(prime));
        let start_ns = self.now_ns as u64;
        let wall_ns = self.pass(1000.0 * f64::from(calls));
        Ok(Ran { start_ns, wall_ns, outer_ns: wall_ns + 8_000, ..Ran::default() })
    }

    fn verify(&mut self, arm: usize, calls: u32, seed: u64) -> Result<(u64, Ran), RaceFault> {
        let turn = Turn { prime: 0, calls, inputs: CallInputs::Fresh, seed };
        Ok((1, self.batch(arm, &turn)?))
    }

    fn peak_bytes(&self, _: usize) -> u64 {
        0
    }

    fn rulers(&mut self, with_stream: bool) -> Option<RulerTimes> {
        let stream = if with_stream { self.pass(200_000.0) } else { 0 };
        let (chain, triad) = (self.pass(8_000.0), self.pass(4_000.0));
        let outer_ns = chain + triad + stream + HAND_OVER_NS;
        if !with_stream {
            self.ruler_ns += outer_ns;
        }
        Some(RulerTimes { wall_ns: [chain, triad, stream], outer_ns })
    }
}

fn race_on(slowdown: fn(f64) -> f64) -> (Race, Scripted) {
    let mut scripted = Scripted { now_ns: 0.0, slowdown, ruler_ns: 0 };
    let rules = RaceRules { most_trials: 12, ..RaceRules::standard(3) };
    let arms = ["a", "b"].map(|name| ContenderId::native(name, Isa::Scalar));
    let case = Case::new("scripted", DType::F32);
    let race = run(&mut scripted, &case, &arms, 1, &rules, &mut |_| false).unwrap();
    (race, scripted)
}

#[test]
fn rulers_take_a_small_share_of_the_time_and_are_read_in_every_trial() {
    let (race, scripted) = race_on(|_| 1.0);
    let slices: u64 = race.slices.iter().map(|slice| slice.outer_ns).sum();
    let share = scripted.ruler_ns as f64 / slices as f64;
    assert!(share < 0.035, "{share}");
    for trial in 0..race.trials.len() as u32 {
        let count = |ruler: Ruler| {
            race.readings.iter().filter(|r| r.trial == trial && r.ruler == ruler).count()
        };
        assert_eq!(count(Ruler::Stream), 1);
        assert!(count(Ruler::Chain) > 6 && count(Ruler::Chain) == count(Ruler::Triad));
    }
}

#[test]
fn a_steady_machine_has_steady_rulers_and_loses_no_block() {
    let (race, _) = race_on(|_| 1.0);
    let conditions = conditions(&race);
    assert_eq!(conditions.rulers.len(), 3);
    for ruler in &conditions.rulers {
        assert!(ruler.variation < 1e-3, "{ruler:?}");
        assert!(ruler.drift.is_some_and(|drift| drift.estimate.abs() < 1e-3), "{ruler:?}");
    }
    assert_eq!(conditions.throttled, None);
    assert_eq!((conditions.rejected.blocks, conditions.rejected.ruler), (12 * 24, 0));
}

#[test]
fn a_processor_that_becomes_slower_is_called_throttled_and_its_drift_is_known() {
    let (race, _) = race_on(|now: f64| 1.0 + (0.2 * now / 150e6).min(0.3));
    let conditions = conditions(&race);
    let throttled = conditions.throttled.expect("it became slower");
    assert!(throttled.estimate > 1.05 && throttled.low > 1.0, "{throttled:?}");
    let drift = conditions.rulers[0].drift.unwrap();
    assert!(drift.low > 0.05 && drift.high < 0.4, "{drift:?}");
    // A machine that becomes faster in the same way shows a drift, but no throttling.
    let (race, _) = race_on(|now: f64| 1.0 - (0.2 * now / 150e6).min(0.3));
    let conditions = crate::ruler::conditions(&race);
    assert!(conditions.throttled.is_none() && conditions.rulers[0].drift.unwrap().high < -0.05);
}

#[test]
fn blocks_before_which_a_ruler_was_far_off_do_not_count_for_any_arm() {
    // A hold of 2 ms every 17 ms, which no context switch reveals.
    let held: fn(f64) -> f64 = |now| if now % 17e6 < 2e6 { 1.5 } else { 1.0 };
    let (race, _) = race_on(held);
    let off: usize = (0..12).map(|trial| off_blocks(&race, trial).len()).sum();
    let rejected = conditions(&race).rejected;
    assert!(off > 0 && rejected.ruler as usize == off && rejected.switches == 0, "{rejected:?}");
    for trial in 0..12 {
        let off = off_blocks(&race, trial);
        let counting = counting(&race, trial);
        assert!(counting.iter().all(|slice| !off.contains(&slice.block)));
        let of_arm = |arm: u32| counting.iter().filter(|slice| slice.arm == arm).count();
        assert_eq!(of_arm(0), of_arm(1));
    }
    assert!((compare(&race, 0, 1, 0.95).unwrap().ratio.estimate - 1.0).abs() < 0.01);
}

#[test]
fn races_without_readings_are_judged_as_before() {
    let (mut race, _) = race_on(|_| 1.0);
    race.readings.clear();
    assert!(conditions(&race).rulers.is_empty() && counting(&race, 0).len() == 24 * 4);
}
