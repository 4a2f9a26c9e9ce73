//! The race: trials of fresh workers, blocks of interleaved slices, every slice kept.

use crate::audit::{self, seen_faster};
use crate::claims::{Conduct, Homes, account, believable, peaceful};
use crate::clock::Clock;
use crate::fault::RaceFault;
use crate::order::drawn;
use crate::pace::Pace;
use crate::quiet::await_quiet;
use crate::ruler::Watch;
use crate::rules::RaceRules;
use crate::stable::{Heat, Stable, Turn, Workers};
use crate::summary::{compare, time_of_call};
use proofmark_arena::Ran;
use proofmark_gate::Proven;
use proofmark_schema::device::DeviceSlice;
use proofmark_schema::race::{Audit, CallInputs, Race, SeenFaster, Slice, Trial};
use proofmark_schema::{Case, ContenderId};
use proofmark_stats::Stream;

/// Races proven contenders on the case they share; arm 0 is the one the others are compared with.
/// Arms may have different numbers of threads; the race then reports the greatest.
///
/// # Errors
/// The first arm that failed. The others can be raced without it.
///
/// # Panics
/// If the field is empty or its cases differ.
pub fn race(field: &[Proven<'_>], rules: &RaceRules, clock: &dyn Clock) -> Result<Race, RaceFault> {
    let first = field.first().expect("a race has an arm");
    assert!(field.iter().all(|proven| proven.case() == first.case()), "arms must share a case");
    let quiet = await_quiet(rules.quiet_ns);
    let start = clock.now_ns();
    let mut race = race_until(field, rules, &mut |race| {
        let spent = clock.now_ns().saturating_sub(start);
        race.trials.len() as u32 >= rules.least_trials
            && (spent >= rules.budget_ns || is_enough(race, rules))
    })?;
    race.quiet = quiet;
    Ok(race)
}

/// Races until `is_over` says so, or the most trials are run.
pub(crate) fn race_until(
    field: &[Proven<'_>],
    rules: &RaceRules,
    is_over: &mut dyn FnMut(&Race) -> bool,
) -> Result<Race, RaceFault> {
    let first = field.first().expect("a race has an arm");
    let arms: Vec<_> = field.iter().map(|proven| proven.contender().clone()).collect();
    let threads = field.iter().map(Proven::threads).max().unwrap_or(1);
    let mut workers = Workers::new(field, rules.memory);
    let rules = workers.sets().map_or(*rules, |sets| rules.revealing(sets));
    run(&mut workers, first.case(), &arms, threads, &rules, is_over)
}

pub(crate) fn run(
    stable: &mut dyn Stable,
    case: &Case,
    arms: &[ContenderId],
    threads: usize,
    rules: &RaceRules,
    is_over: &mut dyn FnMut(&Race) -> bool,
) -> Result<Race, RaceFault> {
    let count = stable.arms();
    let new = |inputs| Race {
        case: case.clone(),
        arms: arms.to_vec(),
        threads,
        seed: rules.seed,
        trials: Vec::new(),
        slices: Vec::new(),
        checked: 0,
        peak_bytes: vec![0; count],
        grown_bytes: vec![u64::MAX; count],
        device: Vec::new(),
        cache: Vec::new(),
        pages: Vec::new(),
        readings: Vec::new(),
        inputs,
        audits: Vec::new(),
        seen_faster: Vec::new(),
        quiet: None,
    };
    let mut stream = Stream::new(rules.seed);
    let inputs = if rules.reveals { CallInputs::Revealed } else { CallInputs::Perturbed };
    let mut race = new(inputs);
    let seen_faster = run_trials(stable, &mut race, rules, &mut stream, is_over)?;
    if !seen_faster.is_empty() {
        race = Race { seen_faster, ..new(CallInputs::Fresh) };
        run_trials(stable, &mut race, rules, &mut stream, is_over)?;
    }
    (race.cache, race.pages) = stable.memory();
    Ok(race)
}

/// Runs trials until the race is over, or until it shows that arms are faster on inputs that they
/// have seen; returns these arms.
fn run_trials(
    stable: &mut dyn Stable,
    race: &mut Race,
    rules: &RaceRules,
    stream: &mut Stream,
    is_over: &mut dyn FnMut(&Race) -> bool,
) -> Result<Vec<SeenFaster>, RaceFault> {
    let count = stable.arms();
    let threads: Vec<usize> =
        (0..count).map(|arm| stable.threads(arm).unwrap_or(race.threads)).collect();
    let bytes: Vec<u64> = (0..count).map(|arm| stable.operand_bytes(arm)).collect();
    let mut fastest = vec![f64::INFINITY; count];
    let (mut homes, mut conduct) = (Homes::new(count), Conduct::new(count));
    for number in 0..rules.most_trials {
        let trial = draw_trial(stream);
        stable.trial(&trial, &mut |heat| {
            let before: Vec<u64> = (0..count).map(|arm| heat.descendants_ns(arm)).collect();
            let ended = run_trial(heat, race, number, &mut fastest, &mut homes, rules, stream);
            // An attack may be why another arm has failed, so it is named first.
            peaceful(race, &|arm| heat.attack(arm))?;
            ended?;
            for (arm, before) in before.into_iter().enumerate() {
                let used = heat.descendants_ns(arm).saturating_sub(before);
                conduct.note_started(arm, used, claimed_ns(race, number, arm));
                conduct.note_outside(race, number, arm, heat.is_outside(arm));
            }
            Ok(())
        })?;
        race.trials.push(trial);
        if race.inputs == CallInputs::Perturbed {
            let found = seen_faster(race, &|arm| (threads[arm], bytes[arm]));
            if !found.is_empty() {
                return Ok(found);
            }
        }
        if is_over(race) {
            break;
        }
    }
    homes.check(race)?;
    conduct.check(race)?;
    account(race, &|arm| threads[arm])?;
    Ok(Vec::new())
}

/// What an arm claims for the slices of a trial together.
fn claimed_ns(race: &Race, trial: u32, arm: usize) -> u64 {
    let is_meant = |slice: &&Slice| slice.trial == trial && slice.arm == arm as u32;
    race.slices.iter().filter(is_meant).fold(0, |sum, slice| sum.saturating_add(slice.wall_ns))
}

/// One layout for all arms: operands moved by whole cache lines within a page, the stack by the
/// size of the environment, the heap by an allocation before the contender is loaded, and all
/// mappings by whole pages.
fn draw_trial(stream: &mut Stream) -> Trial {
    Trial {
        seed: stream.next_u64(),
        operand_shift: 64 * stream.below(64) as u32,
        environment_pad: stream.below(4096) as u32,
        heap_pad: 16 * stream.below(4096) as u32,
        mapping_pad: stream.below(1 << 15) as u32,
    }
}

fn run_trial(
    heat: &mut dyn Heat,
    race: &mut Race,
    trial: u32,
    fastest: &mut [f64],
    homes: &mut Homes,
    rules: &RaceRules,
    stream: &mut Stream,
) -> Result<(), RaceFault> {
    let arms = fastest.len();
    let inputs = race.inputs;
    for arm in drawn(arms, stream) {
        fastest[arm] = fastest[arm].min(warm_up(heat, arm, inputs, rules, stream)?);
    }
    let pace = Pace::of(fastest, rules);
    let turn =
        |prime, calls, stream: &mut Stream| Turn { prime, calls, inputs, seed: stream.next_u64() };
    // The arm that was warmed up first is cold again by the time the last one is warm, which costs
    // several per cent in the first calls of a large case. Untimed rounds bring all arms to the
    // same state.
    for _ in 0..pace.run_in {
        for arm in drawn(arms, stream) {
            heat.batch(arm, &turn(0, pace.calls[arm], stream))?;
        }
    }
    let mut watch = Watch::default();
    let before: Vec<u64> = (0..arms).map(|arm| heat.resident_bytes(arm)).collect();
    for number in 0..pace.blocks {
        watch.read(heat, race, trial, number);
        let block = pace.block(stream);
        if let Some(arm) = block.opening {
            heat.batch(arm, &turn(0, 1, stream))?;
        }
        for (position, arm) in block.order.into_iter().enumerate() {
            let calls = pace.draw_calls(arm, stream);
            let ran = heat.batch(arm, &turn(block.prime, calls, stream))?;
            believable(race, arm, &ran)?;
            homes.note(arm, &ran, heat.homecoming_ns(arm, ran.wall_ns));
            let place = (trial, number, position as u32, arm as u32);
            race.slices.push(slice(place, (block.prime, calls), &ran));
            race.device.extend(by_device(place.3, calls, &ran));
        }
    }
    for (arm, before) in before.into_iter().enumerate() {
        let grown = heat.resident_bytes(arm).saturating_sub(before);
        race.grown_bytes[arm] = race.grown_bytes[arm].min(grown);
    }
    // The seed is the same for all arms, so that the truth about the outputs is computed once.
    let seed = stream.next_u64();
    for arm in drawn(arms, stream) {
        let calls = audit::calls(fastest[arm]);
        let (checked, ran) = heat.verify(arm, calls, seed)?;
        believable(race, arm, &ran)?;
        race.checked += checked;
        if inputs != CallInputs::Revealed {
            let (new_ns, same_ns) = (ran.alone_ns, ran.same_ns);
            race.audits.push(Audit { trial, arm: arm as u32, calls, new_ns, same_ns });
        }
        race.peak_bytes[arm] = race.peak_bytes[arm].max(heat.peak_bytes(arm));
    }
    Ok(())
}

/// Calls the arm until a batch fills a slice; gives the nanoseconds of its fastest call.
fn warm_up(
    heat: &mut dyn Heat,
    arm: usize,
    inputs: CallInputs,
    rules: &RaceRules,
    stream: &mut Stream,
) -> Result<f64, RaceFault> {
    let mut batch = |calls| {
        let turn = Turn { prime: 0, calls, inputs, seed: stream.next_u64() };
        heat.batch(arm, &turn)
    };
    // The first call pays for page faults and cold caches.
    batch(1)?;
    let (mut calls, mut fastest) = (1u32, f64::INFINITY);
    loop {
        let ran = batch(calls)?;
        fastest = fastest.min((ran.wall_ns as f64 / f64::from(calls)).max(1.0));
        if ran.wall_ns >= rules.slice_ns / 2 || calls >= rules.most_calls {
            return Ok(fastest);
        }
        let fitting = (rules.slice_ns as f64 / fastest).clamp(1.0, f64::from(rules.most_calls));
        calls = (fitting as u32).clamp(calls.saturating_mul(2), calls.saturating_mul(16));
        calls = calls.min(rules.most_calls);
    }
}

/// The slice of a trial, block, position and arm, with its numbers of untimed and timed calls.
fn slice(place: (u32, u32, u32, u32), calls: (u32, u32), ran: &Ran) -> Slice {
    let ((trial, block, position, arm), (primed, calls)) = (place, calls);
    Slice {
        trial,
        block,
        position,
        arm,
        calls,
        start_ns: ran.start_ns,
        wall_ns: ran.wall_ns,
        cpu_ns: ran.cpu_ns,
        outer_ns: ran.outer_ns,
        switches: ran.switches,
        faults: ran.faults,
        allocations: ran.allocations,
        allocated_bytes: ran.allocated_bytes,
        // Threads of a library may bring its results home, which is not timed.
        used_ns: ran.used_ns.saturating_sub(ran.settle_ns),
        own_ns: ran.own_ns,
        primed,
    }
}

/// The times of a slice on the clock of its device; `None` on the host.
fn by_device(arm: u32, calls: u32, ran: &Ran) -> Option<DeviceSlice> {
    (ran.device_calls > 0).then_some(DeviceSlice {
        arm,
        calls,
        wall_ns: ran.wall_ns,
        kept: ran.device_calls,
        kernel_ns: ran.device_kernel_ns,
        copy_ns: ran.device_copy_ns,
    })
}

/// Whether every cell of the table is as sharp as was asked for.
pub(crate) fn is_enough(race: &Race, rules: &RaceRules) -> bool {
    let sharp = |width: f64| width <= rules.enough;
    let ratios = (1..race.arms.len() as u32).all(|arm| {
        compare(race, 0, arm, rules.confidence)
            .is_some_and(|comparison| sharp(comparison.ratio.relative_half_width()))
    });
    let alone = race.arms.len() > 1
        || time_of_call(race, 0, rules.confidence)
            .is_some_and(|time| sharp(time.relative_half_width()));
    ratios && alone
}
