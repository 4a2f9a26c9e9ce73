//! Races on virtual time: arms that follow a script, on a machine whose noise is scripted too.

use crate::claims::homecoming;
use crate::clock::Clock;
use crate::counting::counting;
use crate::fault::{FaultKind, RaceFault};
use crate::race::{is_enough, run};
use crate::rules::RaceRules;
use crate::stable::{Heat, Stable, Turn};
use crate::summary::{compare, time_of_call};
use proofmark_arena::Ran;
use proofmark_schema::isolation::Attempt;
use proofmark_schema::race::{CallInputs, Race, Trial, Verdict};
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

/// What an arm does besides its work.
#[derive(Clone, Copy, PartialEq)]
enum Trick {
    None,
    /// Dies in this trial.
    DiesIn(usize),
    /// Claims more time than passed.
    Overclaims,
    /// Claims half of the time that its threads used.
    Underclaims,
    /// Computes half of its work in a thread that it was not granted.
    ExtraThread,
    /// Works in two threads outside of the processor that it was granted, on a shared machine where
    /// each thread has half a processor. The calling thread does this share of the work.
    Outside(f64),
    /// Is charged with up to this many nanoseconds of others' processor time in every batch, as on
    /// a machine with stolen time.
    Charged(f64),
    /// Is charged in the same way, but only in every third batch.
    ChargedAtTimes(f64),
    /// Takes this long after the clock has stopped, whatever the number of calls.
    ComputesLate(f64),
    /// Takes this many times as long on new inputs.
    SeesOldInputs(f64),
    /// Takes this many times as long in calls that are made alone.
    SeesAudits(f64),
    /// Reaches for another process, with which the other arm dies.
    Attacks,
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

/// Number of batches for which an arm is slow after any arm's first call, and by how much.
const UNSETTLED: (u32, f64) = (3, 1.15);

fn fault(arm: usize, kind: FaultKind, reason: &str) -> RaceFault {
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
    fn batch(&mut self, arm: usize, turn: &Turn) -> Result<Ran, RaceFault> {
        let &Turn { prime, calls, inputs, seed } = turn;
        let (each, trick) = self.script.arms[arm];
        if trick == Trick::DiesIn(self.trial) {
            return Err(fault(arm, FaultKind::Died, "it died"));
        }
        let is_attacked = self.script.arms.iter().any(|(_, trick)| *trick == Trick::Attacks);
        if is_attacked && trick == Trick::None && self.trial > 0 {
            return Err(fault(arm, FaultKind::Died, "it was killed"));
        }
        let each = match (trick, inputs) {
            (Trick::SeesOldInputs(times) | Trick::SeesAudits(times), CallInputs::Fresh) => {
                each * times
            }
            _ => each,
        };
        // How many times faster a call is on the inputs of the call before it.
        let same = match trick {
            Trick::SeesOldInputs(times) => times,
            _ => 1.0,
        };
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
        let settled = if let Trick::ComputesLate(ns) = trick { ns } else { 0.0 };
        let lump = (seed >> 11) as f64 / (1u64 << 53) as f64;
        let charged = match trick {
            Trick::Charged(most) => most * lump,
            Trick::ChargedAtTimes(most) if self.settled[arm].is_multiple_of(3) => most * lump,
            Trick::ExtraThread | Trick::Underclaims => wall,
            _ => 0.0,
        };
        let own = end - start;
        let called = if let Trick::Outside(share) = trick { share * own } else { own };
        Ok(Ran {
            start_ns: start as u64,
            wall_ns: claimed as u64,
            cpu_ns: claimed.min(wall).min(called) as u64,
            own_ns: called as u64,
            alone_ns: (claimed / f64::from(calls.max(1))) as u64,
            same_ns: (claimed / f64::from(calls.max(1)) / same) as u64,
            outer_ns: (own + 10_000.0) as u64,
            // Other threads bring results home.
            used_ns: (own + charged + settled) as u64,
            settle_ns: settled as u64,
            ..Ran::default()
        })
    }

    fn verify(&mut self, arm: usize, calls: u32, seed: u64) -> Result<(u64, Ran), RaceFault> {
        match self.script.arms[arm].1 {
            Trick::Wrong => Err(fault(arm, FaultKind::Wrong, "timed output y[0] is 1, exact 2")),
            _ => {
                let turn = Turn { prime: 0, calls, inputs: CallInputs::Fresh, seed };
                Ok((16, self.batch(arm, &turn)?))
            }
        }
    }

    fn homecoming_ns(&self, arm: usize, claimed_ns: u64) -> u64 {
        match self.script.arms[arm].1 {
            Trick::ComputesLate(_) => homecoming(4096, claimed_ns),
            _ => u64::MAX,
        }
    }

    fn is_outside(&self, arm: usize) -> bool {
        matches!(self.script.arms[arm].1, Trick::Outside(_))
    }

    fn attack(&self, arm: usize) -> Option<Attempt> {
        let attacks = self.script.arms[arm].1 == Trick::Attacks && self.trial > 0;
        let call = "ptrace".to_owned();
        attacks.then_some(Attempt { call, target: None, is_attack: true, times: 1 })
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
    let race = run(&mut script, &case, &names.collect::<Vec<_>>(), 1, rules, &mut |race| {
        let spent = (&machine).now_ns() - start;
        race.trials.len() as u32 >= rules.least_trials
            && (spent >= rules.budget_ns || is_enough(race, rules))
    });
    // Warm-up batches are not slices and need no priming; short slices do.
    if let Ok(race) = &race
        && race.slices.iter().all(|slice| slice.calls > 1)
        && race.seen_faster.is_empty()
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
    let noisy = |now: f64| 1.0 + 0.05 * ((now / 3e5) as u64 % 7) as f64;
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
        (Trick::ExtraThread, FaultKind::Lied, "it uses more of them"),
        (Trick::Outside(0.5), FaultKind::Lied, "processors that it was not granted"),
        (Trick::Attacks, FaultKind::Lied, "reached for another process (ptrace)"),
        (Trick::Wrong, FaultKind::Wrong, "timed output"),
        (Trick::ComputesLate(350_000.0), FaultKind::Lied, "it works there, unmeasured"),
    ] {
        let arms = [(1_000.0, Trick::None), (1_000.0, trick)];
        let (race, _) = race_of(&arms, steady, &RaceRules::quick(1));
        let fault = race.unwrap_err();
        assert_eq!(fault.arm, 1);
        assert!(fault.reason.contains(word), "{fault}");
        assert_eq!(fault.kind, kind, "{fault}");
    }
}

/// A framework may call from one thread and work in another.
#[test]
fn an_arm_that_works_in_one_thread_elsewhere_is_not_accused() {
    let arms = [(1_000.0, Trick::None), (1_000.0, Trick::Outside(0.02))];
    assert!(race_of(&arms, steady, &RaceRules::quick(1)).0.is_ok());
}

/// Stolen time never accuses an arm, whichever arm it hits and however often.
#[test]
fn stolen_time_accuses_nobody_in_ten_thousand_comparisons_of_identical_code() {
    let rules = RaceRules { budget_ns: 1, ..RaceRules::quick(1) };
    let mut undecided = 0;
    for seed in 0..10_000 {
        let most = [1e5, 1e6, 1e7, 1e8, 4e8][seed as usize % 5];
        let tricks = match seed / 5 % 4 {
            0 => [Trick::ChargedAtTimes(most), Trick::None],
            1 => [Trick::None, Trick::ChargedAtTimes(most)],
            2 => [Trick::ChargedAtTimes(most); 2],
            _ => [Trick::Charged(most); 2],
        };
        let arms = tricks.map(|trick| (1_000.0, trick));
        match race_of(&arms, steady, &RaceRules { seed, ..rules }).0 {
            Ok(_) => {}
            Err(fault) if fault.kind == FaultKind::Undecided => undecided += 1,
            Err(fault) => panic!("seed {seed}: {fault}"),
        }
    }
    // A race stays undecided only if every batch of both arms is charged.
    assert!(undecided <= 2_500, "{undecided}");
}

#[test]
fn an_arm_that_uses_another_thread_is_caught_on_a_machine_that_steals_at_times() {
    let arms = [(1_000.0, Trick::ChargedAtTimes(1e6)), (1_000.0, Trick::ExtraThread)];
    let fault = race_of(&arms, steady, &RaceRules::quick(3)).0.unwrap_err();
    assert_eq!(fault.arm, 1, "{fault}");
    assert_eq!(fault.kind, FaultKind::Undecided, "others are charged too: {fault}");
    let arms = [(1_000.0, Trick::None), (1_000.0, Trick::ExtraThread)];
    let fault = race_of(&arms, steady, &RaceRules::quick(3)).0.unwrap_err();
    assert_eq!((fault.arm, fault.kind), (1, FaultKind::Lied), "{fault}");
}

#[test]
fn an_arm_that_is_faster_on_inputs_it_has_seen_is_raced_on_new_ones_and_not_accused() {
    let arms = [(10_000.0, Trick::None), (3_000.0, Trick::SeesOldInputs(3.5))];
    let race = race_of(&arms, bursty, &RaceRules::quick(2)).0.unwrap();
    assert_eq!(race.inputs, CallInputs::Fresh);
    assert_eq!(race.seen_faster.len(), 1);
    assert_eq!(race.seen_faster[0].arm, 1);
    assert!((race.seen_faster[0].times - 3.5).abs() < 0.5, "{:?}", race.seen_faster);
    let compared = compare(&race, 0, 1, 0.95).unwrap();
    assert!((compared.ratio.estimate - 1.05).abs() < 0.01, "{compared:?}");
    let arms = [(10_000.0, Trick::None), (3_000.0, Trick::SeesAudits(3.5))];
    let race = race_of(&arms, bursty, &RaceRules::quick(2)).0.unwrap();
    assert_eq!((race.inputs, race.seen_faster.len()), (CallInputs::Fresh, 1));
    let arms = [(10_000.0, Trick::None), (10_000.0, Trick::SeesOldInputs(1.03))];
    let race = race_of(&arms, bursty, &RaceRules::quick(2)).0.unwrap();
    assert_eq!((race.inputs, race.seen_faster.len()), (CallInputs::Perturbed, 0));
}

#[test]
fn a_framework_may_bring_results_home_and_long_calls_find_the_caches_cold() {
    let late = |each, ns| {
        let arms = [(each, Trick::None), (each, Trick::ComputesLate(ns))];
        race_of(&arms, steady, &RaceRules::quick(1)).0
    };
    assert!(late(1_000.0, 290_000.0).is_ok());
    assert!(late(5e6, 700_000.0).is_ok());
    assert_eq!(late(5e6, 900_000.0).unwrap_err().kind, FaultKind::Lied);
    assert_eq!(homecoming(0, 0), 300_000);
    assert_eq!(homecoming(1 << 28, 1_000_000), 400_000 + (1 << 18) / 10 + (1 << 28) - (1 << 18));
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
    // Two of eight blocks of each trial are hit badly, whichever arm is in turn.
    for slice in &mut race.slices {
        if slice.block < 2 && slice.arm == slice.trial % 2 {
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

#[test]
fn an_arm_cannot_choose_the_blocks_that_count() {
    let (race, _) =
        race_of(&[(1e3, Trick::None), (1e3, Trick::None)], steady, &RaceRules::quick(4));
    let mut race = race.unwrap();
    // Every other block of the second arm is slow, and it has itself interrupted there.
    for slice in race.slices.iter_mut().filter(|slice| slice.arm == 1 && slice.block % 2 == 0) {
        slice.wall_ns *= 3;
        slice.switches = 1;
    }
    let all = race.slices.iter().filter(|slice| slice.trial == 0).count();
    assert_eq!(counting(&race, 0).len(), all);
}
