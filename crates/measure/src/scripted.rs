//! Races on virtual time: arms that follow a script, on a machine whose noise is scripted too.

use crate::claims::homecoming;
use crate::clock::Clock;
use crate::race::{FaultKind, RaceFault, is_enough, run};
use crate::rules::RaceRules;
use crate::stable::{Heat, Stable};
use crate::summary::{compare, counting, time_of_call};
use proofmark_arena::Ran;
use proofmark_schema::race::{Race, Trial, Verdict};
use proofmark_schema::{Case, ContenderId, DType, Isa};
use std::cell::{Cell, RefCell};

/// A machine whose clock moves only when an arm runs.
#[derive(Default)]
struct Machine {
    now_ns: Cell<f64>,
    log: RefCell<Vec<usize>>,
    /// Untimed calls before each batch.
    primes: RefCell<Vec<u32>>,
}

impl Clock for &Machine {
    fn now_ns(&self) -> u64 {
        self.now_ns.get() as u64
    }
}

/// What an arm does beside its work.
#[derive(Clone, Copy, PartialEq)]
enum Trick {
    None,
    /// Dies in this trial.
    DiesIn(usize),
    /// Claims more time than passed.
    Overclaims,
    /// Claims half of the time that passed.
    Underclaims,
    /// Is charged with others' processor time in every third batch.
    Charged,
    /// Has threads that do not sleep while others run.
    Spins,
    /// Brings results home after the clock has stopped, for so many tenths of its calls' time.
    Settles(u32),
    /// Takes so long after the clock has stopped, whatever the number of calls.
    ComputesLate(f64),
    /// Has threads that use so much processor time after a batch before they sleep.
    FallsAsleep(f64),
    /// Leaves a wrong output.
    Wrong,
}

struct Script<'m> {
    machine: &'m Machine,
    /// Nanoseconds of one call of each arm, and its trick.
    arms: Vec<(f64, Trick)>,
    /// How much slower the machine is at a moment.
    slowdown: fn(now_ns: f64) -> f64,
    trials: usize,
}

struct Arms<'s, 'm> {
    script: &'s Script<'m>,
    trial: usize,
    /// Batches of each arm since it, or another arm after it, ran for the first time.
    settled: Vec<u32>,
    has_run: Vec<bool>,
}

/// Batches that an arm is slow for after somebody's first call, and by how much.
const UNSETTLED: (u32, f64) = (3, 1.15);

fn fault(arm: usize, reason: &str) -> RaceFault {
    let kind = if reason.contains("timed output") { FaultKind::Wrong } else { FaultKind::Died };
    RaceFault { arm, contender: format!("arm {arm}"), kind, reason: reason.to_owned() }
}

impl Stable for Script<'_> {
    fn arms(&self) -> usize {
        self.arms.len()
    }

    fn trial(
        &mut self,
        _trial: &Trial,
        heat: &mut dyn FnMut(&mut dyn Heat) -> Result<(), RaceFault>,
    ) -> Result<(), RaceFault> {
        self.trials += 1;
        self.machine.now_ns.set(self.machine.now_ns.get() + 2e6);
        let (settled, has_run) = (vec![0; self.arms.len()], vec![false; self.arms.len()]);
        heat(&mut Arms { script: self, trial: self.trials - 1, settled, has_run })
    }
}

impl Heat for Arms<'_, '_> {
    fn batch(&mut self, arm: usize, prime: u32, calls: u32) -> Result<Ran, RaceFault> {
        let (each, trick) = self.script.arms[arm];
        if trick == Trick::DiesIn(self.trial) {
            return Err(fault(arm, "it died"));
        }
        let machine = self.script.machine;
        machine.log.borrow_mut().push(arm);
        machine.primes.borrow_mut().push(prime);
        let start = machine.now_ns.get() + 5_000.0;
        let unsettled = if self.settled[arm] < UNSETTLED.0 { UNSETTLED.1 } else { 1.0 };
        if !std::mem::replace(&mut self.has_run[arm], true) {
            self.settled.fill(0);
        }
        self.settled[arm] += 1;
        let factor = (self.script.slowdown)(start) * unsettled;
        let wall = each * f64::from(calls) * factor;
        let end = start + wall + each * f64::from(prime) * factor;
        machine.now_ns.set(end);
        let claimed = match trick {
            Trick::Overclaims => 10.0 * wall + 1e5,
            Trick::Underclaims => wall / 2.0,
            _ => wall,
        };
        let settled = match trick {
            Trick::Settles(tenths) => wall * f64::from(tenths) / 10.0,
            Trick::ComputesLate(ns) => ns,
            _ => 0.0,
        };
        let is_charged = trick == Trick::Charged && self.settled[arm].is_multiple_of(3);
        let charged = match trick {
            Trick::FallsAsleep(ns) => ns,
            _ if is_charged => 10.0 * wall + 1e6,
            _ => 0.0,
        };
        Ok(Ran {
            start_ns: start as u64,
            wall_ns: claimed as u64,
            cpu_ns: wall as u64,
            outer_ns: (end - start + 5_000.0) as u64,
            used_ns: (end - start + settled + charged) as u64,
            // A thread that spins has used what others took since.
            idle_ns: if trick == Trick::Spins { wall as u64 } else { 0 },
            settle_ns: settled as u64,
            switches: 0,
            faults: 0,
            allocations: 0,
            allocated_bytes: 0,
            leaks: 0,
        })
    }

    fn verify(&mut self, arm: usize, _calls: u32) -> Result<u64, RaceFault> {
        match self.script.arms[arm].1 {
            Trick::Wrong => Err(fault(arm, "timed output y[0] is 1, exact 2")),
            _ => Ok(16),
        }
    }

    fn threads(&self, arm: usize) -> Option<usize> {
        matches!(self.script.arms[arm].1, Trick::FallsAsleep(_)).then_some(2)
    }

    fn homecoming_ns(&self, arm: usize, claimed_ns: u64) -> u64 {
        match self.script.arms[arm].1 {
            Trick::ComputesLate(_) => homecoming(4096, false, claimed_ns),
            _ => u64::MAX,
        }
    }

    fn peak_bytes(&self, arm: usize) -> u64 {
        1000 * (arm as u64 + 1)
    }
}

fn race_of(
    arms: &[(f64, Trick)],
    slowdown: fn(f64) -> f64,
    rules: &RaceRules,
) -> (Result<Race, RaceFault>, Vec<usize>) {
    let machine = Machine::default();
    let mut script = Script { machine: &machine, arms: arms.to_vec(), slowdown, trials: 0 };
    let names = (0..arms.len()).map(|i| ContenderId::native(&format!("arm{i}"), Isa::Scalar));
    let case = Case::new("scripted", DType::F32);
    let start = (&machine).now_ns();
    let race = run(&mut script, &case, names.collect(), 1, rules, &mut |race| {
        let spent = (&machine).now_ns() - start;
        race.trials.len() as u32 >= rules.least_trials
            && (spent >= rules.budget_ns || is_enough(race, rules))
    });
    // Warm-up batches are not slices and need no priming; short slices do.
    if let Ok(race) = &race
        && race.slices.iter().all(|slice| slice.calls > 1)
    {
        let primed = machine.primes.borrow().iter().filter(|&&prime| prime > 0).count();
        assert_eq!(primed, race.slices.len(), "every slice follows an untimed call");
    }
    let log = machine.log.borrow().clone();
    (race, log)
}

fn steady(_now: f64) -> f64 {
    1.0
}

/// Pauses of 5 ms every 50 ms, and a slow mode of a quarter second now and then.
fn bursty(now_ns: f64) -> f64 {
    let pause = if now_ns % 50e6 < 5e6 { 3.0 } else { 1.0 };
    let slow = if now_ns % 1e9 < 250e6 { 1.4 } else { 1.0 };
    pause * slow
}

#[test]
fn a_slower_arm_is_called_slower_and_an_equal_one_is_not() {
    let arms = [(2_000.0, Trick::None), (2_100.0, Trick::None), (2_000.0, Trick::None)];
    let (race, _) = race_of(&arms, bursty, &RaceRules::standard(5));
    let race = race.unwrap();
    let slower = compare(&race, 0, 1, 0.95).unwrap();
    assert_eq!(slower.verdict, Verdict::Slower, "{slower:?}");
    assert!((slower.ratio.estimate - 1.05).abs() < 0.01, "{slower:?}");
    let same = compare(&race, 0, 2, 0.95).unwrap();
    assert!(matches!(same.verdict, Verdict::Same | Verdict::Undecided), "{same:?}");
}

#[test]
fn a_drift_that_doubles_the_time_does_not_move_the_ratio() {
    let drift = |now: f64| 1.0 + now / 1e9;
    let arms = [(1_000.0, Trick::None), (1_000.0, Trick::None)];
    let (race, _) = race_of(&arms, drift, &RaceRules::standard(9));
    let comparison = compare(&race.unwrap(), 0, 1, 0.95).unwrap();
    assert!((comparison.ratio.estimate - 1.0).abs() < 1e-3, "{comparison:?}");
}

#[test]
fn every_slice_is_kept_in_balanced_blocks() {
    let arms = [(1_000.0, Trick::None), (1_500.0, Trick::None)];
    let rules = RaceRules::quick(3);
    let (race, _) = race_of(&arms, steady, &rules);
    let race = race.unwrap();
    let per_trial = rules.blocks as usize * 4;
    assert_eq!(race.slices.len(), race.trials.len() * per_trial);
    for block in race.slices.chunks(4) {
        let order: Vec<u32> = block.iter().map(|slice| slice.arm).collect();
        assert!(order == [0, 1, 1, 0] || order == [1, 0, 0, 1], "{order:?}");
    }
    assert_eq!(race.checked, 32 * race.trials.len() as u64);
    assert_eq!(race.peak_bytes, [1000, 2000]);
}

#[test]
fn slices_are_about_as_long_as_asked_for_and_long_calls_stand_alone() {
    let rules = RaceRules::quick(3);
    let (race, _) = race_of(&[(700.0, Trick::None), (900.0, Trick::None)], steady, &rules);
    for slice in race.unwrap().slices {
        assert!((40_000..250_000).contains(&slice.wall_ns), "{slice:?}");
    }
    let (race, _) = race_of(&[(5e6, Trick::None), (5e6, Trick::None)], steady, &rules);
    assert!(race.unwrap().slices.iter().all(|slice| slice.calls == 1));
}

#[test]
fn arms_have_settled_before_the_first_slice_that_counts() {
    for each in [1_000.0, 2e6] {
        let arms = [(each, Trick::None); 2];
        let (race, _) = race_of(&arms, steady, &RaceRules::quick(8));
        for slice in race.unwrap().slices {
            assert!((slice.call_ns() / each - 1.0).abs() < 1e-3, "{each} ns: {slice:?}");
        }
    }
}

#[test]
fn a_race_ends_when_its_budget_is_spent_but_not_before_the_least_trials() {
    let noisy = |now: f64| 1.0 + 0.5 * ((now / 3e5) as u64 % 7) as f64;
    let rules = RaceRules { budget_ns: 1, enough: -1.0, ..RaceRules::quick(3) };
    let (race, _) = race_of(&[(1e3, Trick::None), (1e3, Trick::None)], noisy, &rules);
    assert_eq!(race.unwrap().trials.len(), rules.least_trials as usize);
    let rules = RaceRules { budget_ns: u64::MAX, enough: -1.0, ..RaceRules::quick(3) };
    let (race, _) = race_of(&[(1e3, Trick::None), (1e3, Trick::None)], noisy, &rules);
    assert_eq!(race.unwrap().trials.len(), rules.most_trials as usize);
}

#[test]
fn an_arm_that_dies_lies_or_errs_is_named() {
    for (trick, kind, word) in [
        (Trick::DiesIn(2), FaultKind::Died, "died"),
        (Trick::Overclaims, FaultKind::Lied, "claims a batch"),
        (Trick::Underclaims, FaultKind::Lied, "does not measure its calls"),
        (Trick::Spins, FaultKind::Restless, "do not sleep when idle"),
        (Trick::Wrong, FaultKind::Wrong, "timed output"),
        (Trick::ComputesLate(5_000.0), FaultKind::Lied, "it works there, unmeasured"),
    ] {
        let arms = [(1_000.0, Trick::None), (1_000.0, trick)];
        let (race, _) = race_of(&arms, steady, &RaceRules::quick(1));
        let fault = race.unwrap_err();
        assert_eq!(fault.arm, 1);
        assert!(fault.reason.contains(word), "{fault}");
        assert_eq!(fault.kind, kind, "{fault}");
    }
}

#[test]
fn one_batch_out_of_account_is_no_lie() {
    let arms = [(1_000.0, Trick::None), (1_000.0, Trick::Charged)];
    assert!(race_of(&arms, steady, &RaceRules::quick(1)).0.is_ok());
}

#[test]
fn threads_may_fall_asleep_after_a_short_call_but_not_work_on() {
    let race = |ns| {
        let arms = [(2e5, Trick::None), (2e5, Trick::FallsAsleep(ns))];
        race_of(&arms, steady, &RaceRules::quick(1)).0
    };
    assert!(race(1e6).is_ok());
    assert_eq!(race(1e7).unwrap_err().kind, FaultKind::Lied);
}

#[test]
fn a_copy_home_is_allowed_at_any_size_and_a_framework_its_way() {
    let arms = [(1_000.0, Trick::None), (1_000.0, Trick::ComputesLate(2_300.0))];
    assert!(race_of(&arms, steady, &RaceRules::quick(1)).0.is_ok());
    assert_eq!(homecoming(0, false, 0), 2_000);
    assert_eq!(homecoming(1 << 18, false, 0), 2_000 + (1 << 18) / 10);
    assert_eq!(homecoming(0, true, 0), 300_000);
    assert_eq!(homecoming(1 << 28, true, 0), 300_000 + (1 << 18) / 10 + (1 << 28) - (1 << 18));
}

#[test]
fn after_long_calls_a_copy_home_finds_the_caches_cold() {
    let late = |ns| {
        race_of(&[(5e6, Trick::None), (5e6, Trick::ComputesLate(ns))], steady, &RaceRules::quick(1))
            .0
    };
    assert!(late(90_000.0).is_ok());
    assert_eq!(late(110_000.0).unwrap_err().kind, FaultKind::Lied);
    assert_eq!(homecoming(0, true, 1_000_000), 400_000);
}

#[test]
fn results_may_be_brought_home_after_the_clock_but_not_computed_there() {
    let race = |trick| race_of(&[(1e7, Trick::None), (1e7, trick)], steady, &RaceRules::quick(1)).0;
    assert!(race(Trick::Settles(4)).is_ok());
    let fault = race(Trick::Settles(20)).unwrap_err();
    assert!(fault.arm == 1 && fault.reason.contains("does not measure its calls"), "{fault}");
}

#[test]
fn the_same_seed_runs_the_same_order() {
    let arms = [(1_000.0, Trick::None), (1_000.0, Trick::None), (1_000.0, Trick::None)];
    let (_, first) = race_of(&arms, steady, &RaceRules::quick(42));
    let (_, second) = race_of(&arms, steady, &RaceRules::quick(42));
    let (_, other) = race_of(&arms, steady, &RaceRules::quick(43));
    assert_eq!(first, second);
    assert_ne!(first, other);
}

#[test]
fn the_time_of_a_call_holds_the_truth() {
    let pauses = |now: f64| if now % 50e6 < 5e6 { 3.0 } else { 1.0 };
    let (race, _) = race_of(&[(1_234.0, Trick::None)], pauses, &RaceRules::standard(2));
    let time = time_of_call(&race.unwrap(), 0, 0.95).unwrap();
    assert!(time.low <= 1_234.0 * 1.001 && 1_234.0 * 0.999 <= time.high, "{time:?}");
}

#[test]
fn blocks_that_the_scheduler_disturbed_do_not_count_while_enough_are_clean() {
    let (race, _) =
        race_of(&[(1e3, Trick::None), (1e3, Trick::None)], steady, &RaceRules::quick(4));
    let mut race = race.unwrap();
    let clean = compare(&race, 0, 1, 0.95).unwrap();
    // Two of eight blocks of each trial are hit, always in arm 1 and badly.
    for slice in &mut race.slices {
        if slice.block < 2 && slice.arm == 1 {
            slice.wall_ns *= 40;
            slice.switches = 1;
        }
    }
    let hit = compare(&race, 0, 1, 0.95).unwrap();
    assert_eq!(hit.ratio.estimate, clean.ratio.estimate);
    assert_eq!(counting(&race, 0).len(), 6 * 4);
    // With every block hit, all count.
    race.slices.iter_mut().for_each(|slice| slice.switches = 1);
    assert_eq!(counting(&race, 0).len(), 8 * 4);
}
