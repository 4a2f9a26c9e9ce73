//! What an arm claims, against what the supervisor and the kernel saw of it.

use crate::fault::{FaultKind, RaceFault};
use proofmark_arena::Ran;
use proofmark_schema::isolation::Attempt;
use proofmark_schema::race::{Race, Slice};

/// A slice's outer time may exceed the worker's own by the hand-over and what the machine steals;
/// the worker's own may exceed the outer by clock reads at the most.
const CLOCK_READS_NS: u64 = 20_000;

/// The supervisor's clock bounds what a worker claims.
pub(crate) fn believable(race: &Race, arm: usize, ran: &Ran) -> Result<(), RaceFault> {
    if ran.wall_ns <= ran.outer_ns.saturating_add(CLOCK_READS_NS) {
        return Ok(());
    }
    let (claimed, outer) = (ran.wall_ns, ran.outer_ns);
    let reason = format!("claims a batch of {claimed} ns that took {outer} ns in all");
    Err(lied(race, arm, reason))
}

/// No arm reaches for another process.
pub(crate) fn peaceful(
    race: &Race,
    attack: &dyn Fn(usize) -> Option<Attempt>,
) -> Result<(), RaceFault> {
    let tried = (0..race.arms.len()).find_map(|arm| Some((arm, attack(arm)?)));
    tried.map_or(Ok(()), |(arm, attack)| {
        let reason = format!("it reached for another process ({attack}), which was refused");
        Err(lied(race, arm, reason))
    })
}

fn lied(race: &Race, arm: usize, reason: String) -> RaceFault {
    RaceFault { arm, contender: race.arms[arm].to_string(), kind: FaultKind::Lied, reason }
}

/// What a slice may use beyond the time that it claims: a share, and a moment.
const BEYOND: f64 = 0.05;
const BEYOND_NS: f64 = 5_000.0;
/// Trials, each with fresh workers, that must all show it, and the share of a trial's slices that
/// must show it: the median slice is what is published.
const ACCOUNTED_TRIALS: usize = 3;
const SHARE: f64 = 0.5;
/// If another arm has more than this share of such slices, the machine is the cause.
const CHARGED_SHARE: f64 = 0.125;

/// Checks that the time an arm claims accounts for the processor time that the kernel charged to
/// it, slice by slice. The kernel also charges time that a hypervisor stole, in rare lumps.
/// Therefore slices are counted and never summed, and an arm is not accused where other arms are
/// charged too.
pub(crate) fn account(race: &Race, threads: &dyn Fn(usize) -> usize) -> Result<(), RaceFault> {
    let arms = race.arms.len();
    let trials = race.trials.len();
    // Older races and scripts without processor times cannot be checked.
    if trials < ACCOUNTED_TRIALS || race.slices.iter().all(|slice| slice.used_ns == 0) {
        return Ok(());
    }
    let shares: Vec<Vec<f64>> = (0..arms)
        .map(|arm| {
            let is_charged = |slice: &Slice| is_beyond(slice, threads(arm));
            (0..trials).map(|trial| share_of(race, trial as u32, arm, &is_charged)).collect()
        })
        .collect();
    for (arm, of_trials) in shares.iter().enumerate() {
        if !of_trials.iter().all(|&share| share > SHARE) {
            continue;
        }
        let is_charged = |other: &Vec<f64>| other.iter().any(|&share| share > CHARGED_SHARE);
        let others = shares.iter().enumerate().filter(|(other, _)| *other != arm);
        let are_charged = others.filter(|(_, shares)| is_charged(shares)).count() > 0;
        let contender = race.arms[arm].to_string();
        let threads = threads(arm);
        return Err(match are_charged {
            true => {
                let reason = "the kernel charged more processor time to several arms than they \
                              claim: the machine's time is being stolen; race again on a calmer \
                              machine";
                let kind = FaultKind::Undecided;
                RaceFault { arm, contender, kind, reason: reason.to_owned() }
            }
            false => {
                let (used, claimed) = median_slice(race, arm);
                let reason = format!(
                    "most of its slices, in {trials} trials of {trials}, used more processor time \
                     than {threads} threads have in the time that it claims ({used} ns where it \
                     claims {claimed} ns, in the median): it uses more of them, or its clock does \
                     not measure its calls"
                );
                RaceFault { arm, contender, kind: FaultKind::Lied, reason }
            }
        });
    }
    Ok(())
}

/// The share of an arm's slices of a trial of which something is true.
fn share_of(race: &Race, trial: u32, arm: usize, is_true: &dyn Fn(&Slice) -> bool) -> f64 {
    let is_meant = |slice: &&Slice| slice.trial == trial && slice.arm == arm as u32;
    let slices: Vec<&Slice> = race.slices.iter().filter(is_meant).collect();
    let count = slices.iter().filter(|slice| is_true(slice)).count();
    count as f64 / slices.len().max(1) as f64
}

/// The processor time that an arm used and the time that it claims, in the slice that used the
/// median.
fn median_slice(race: &Race, arm: usize) -> (u64, u64) {
    let own = race.slices.iter().filter(|slice| slice.arm == arm as u32);
    let mut all: Vec<(u64, u64)> = own.map(|slice| (charged(slice), slice.wall_ns)).collect();
    all.sort_unstable();
    all.get(all.len() / 2).copied().unwrap_or_default()
}

/// The processor time of a slice without what the calling thread used before and after the timed
/// calls, which is the worker's own.
fn charged(slice: &Slice) -> u64 {
    slice.used_ns.saturating_sub(slice.own_ns.saturating_sub(slice.cpu_ns))
}

/// Whether a slice used more processor time than it accounts for.
fn is_beyond(slice: &Slice, threads: usize) -> bool {
    let used = charged(slice) as f64;
    // Other threads may have done the untimed calls too.
    let primed = f64::from(slice.calls + slice.primed) / f64::from(slice.calls.max(1));
    // Granted threads may spin for as long as the batch lasts.
    let spinning = threads.saturating_sub(1) as f64 * slice.outer_ns as f64;
    used > (1.0 + BEYOND) * (slice.wall_ns as f64 * primed + spinning) + BEYOND_NS
}

/// The share of an arm's claimed time that processes which it has started may use, and what they
/// may use in any case.
const STARTED_SHARE: f64 = 0.05;
const STARTED_NS: u64 = 2_000_000;

/// The share of a slice's processor time that the calling thread and the others must each have, for
/// both to be at work.
const AT_WORK: f64 = 0.1;

/// What arms do beside their calls: the trials in which each did it.
pub(crate) struct Conduct {
    /// Processes that it has started worked while it was timed.
    started: Vec<u32>,
    /// It worked in several threads outside of the one processor that it was granted.
    outside: Vec<u32>,
}

impl Conduct {
    pub(crate) fn new(arms: usize) -> Conduct {
        Conduct { started: vec![0; arms], outside: vec![0; arms] }
    }

    /// Notes what the processes that an arm has started used between the first slice of a trial and
    /// the last, and what the arm claims for these slices.
    pub(crate) fn note_started(&mut self, arm: usize, used_ns: u64, claimed_ns: u64) {
        let allowed = STARTED_NS as f64 + STARTED_SHARE * claimed_ns as f64;
        self.started[arm] += u32::from(used_ns as f64 > allowed);
    }

    /// Notes whether threads of an arm have left its processor, if several of them work. On a
    /// shared machine two threads together may use no more than one could have, so that their
    /// account shows nothing; but no load moves a thread to a processor that it was not granted.
    pub(crate) fn note_outside(&mut self, race: &Race, trial: u32, arm: usize, is_outside: bool) {
        if is_outside {
            let share = share_of(race, trial, arm, &several_work);
            self.outside[arm] += u32::from(share > SHARE);
        }
    }

    /// Neither is in the account of an arm, so neither may work for it.
    pub(crate) fn check(&self, race: &Race) -> Result<(), RaceFault> {
        let all = race.trials.len();
        let is_in_all = |trials: u32| all >= ACCOUNTED_TRIALS && trials as usize == all;
        for arm in 0..race.arms.len() {
            let what = match (is_in_all(self.started[arm]), is_in_all(self.outside[arm])) {
                (true, _) => "processes that it has started work while it is timed",
                (_, true) => "several of its threads work, on processors that it was not granted",
                _ => continue,
            };
            return Err(lied(race, arm, format!("{what}, in {all} trials of {all}")));
        }
        Ok(())
    }
}

fn several_work(slice: &Slice) -> bool {
    let others = slice.used_ns.saturating_sub(slice.own_ns);
    slice.own_ns.min(others) as f64 > AT_WORK * slice.used_ns as f64
}

/// Time that bringing results home may take beside the copy: the overhead of entering a framework
/// through an adapter of ours, which is known to copy only. PyTorch's own copy takes 5 µs in a
/// loop, but 40 where other work has pushed its code out of the caches; JAX's then took 172.
const HOME_NS: u64 = 300_000;
/// The part of the time claimed for a batch that it may take as well: long calls push code and
/// results out of the caches (seen in a field of 17: 100 µs more for 256 KiB from JAX).
const HOME_PART: u64 = 10;
/// Bytes that are copied within the caches, at 10 GB/s at the least; more at 1 GB/s.
const NEAR_BYTES: u64 = 1 << 18;

/// Nanoseconds in which so many bytes of results are copied from a library's own memory after a
/// batch for which so much was claimed. Results of plug-ins come home within the clock.
pub(crate) fn homecoming(bytes: u64, claimed_ns: u64) -> u64 {
    let copy = bytes.min(NEAR_BYTES) / 10 + bytes.saturating_sub(NEAR_BYTES);
    copy.saturating_add(HOME_NS).saturating_add(claimed_ns / HOME_PART)
}

/// For each arm, the homecoming of results in a race that exceeded its limit least: the time that
/// it took after the clock had stopped, and the time that was allowed.
pub(crate) struct Homes {
    arms: Vec<Option<(u64, u64)>>,
}

impl Homes {
    pub(crate) fn new(arms: usize) -> Homes {
        Homes { arms: vec![None; arms] }
    }

    pub(crate) fn note(&mut self, arm: usize, ran: &Ran, allowed_ns: u64) {
        let beyond = |(took, allowed): (u64, u64)| i128::from(took) - i128::from(allowed);
        let home = (ran.settle_ns, allowed_ns);
        if self.arms[arm].is_none_or(|least| beyond(home) < beyond(least)) {
            self.arms[arm] = Some(home);
        }
    }

    /// Results may be copied home after the clock has stopped, but not computed there. A busy
    /// machine lengthens some homecomings of a race, not the shortest.
    pub(crate) fn check(&self, race: &Race) -> Result<(), RaceFault> {
        for (arm, home) in self.arms.iter().enumerate() {
            if let Some((took, allowed)) = *home
                && took > allowed
            {
                let reason = format!(
                    "takes {took} ns or more after the clock has stopped to bring its results \
                     home, which copies them in {allowed} ns: it works there, unmeasured"
                );
                return Err(lied(race, arm, reason));
            }
        }
        Ok(())
    }
}
