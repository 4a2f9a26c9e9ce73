//! What an arm claims, against what the supervisor and the kernel saw of it.

use crate::fault::{FaultKind, RaceFault};
use proofmark_arena::Ran;
use proofmark_schema::isolation::Attempt;
use proofmark_schema::race::{Race, Slice};

/// A slice's outer time may exceed the worker's own time by the hand-over and by stolen time. The
/// worker's own time may exceed the outer time only by the overhead of reading the clocks.
const CLOCK_READS_NS: u64 = 20_000;

/// Checks the time that a worker claims against the supervisor's clock.
pub(crate) fn believable(race: &Race, arm: usize, ran: &Ran) -> Result<(), RaceFault> {
    if ran.wall_ns <= ran.outer_ns.saturating_add(CLOCK_READS_NS) {
        return Ok(());
    }
    let (claimed, outer) = (ran.wall_ns, ran.outer_ns);
    let reason = format!("claims a batch of {claimed} ns that took {outer} ns in all");
    Err(lied(race, arm, reason))
}

/// Checks that the arm has not tried to reach another process.
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

/// The processor time that a slice may use beyond the time that it claims: a share, and a constant.
const BEYOND: f64 = 0.05;
const BEYOND_NS: f64 = 5_000.0;
/// The excess must show in every trial, of which there must be at least this many, each with fresh
/// workers. It must show in this share of a trial's slices, because the median slice is published.
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

/// The processor time that an arm's child processes may use: a share of the time that the arm
/// claims, and a constant.
const STARTED_SHARE: f64 = 0.05;
const STARTED_NS: u64 = 2_000_000;

/// Both the calling thread and the other threads count as working if each used more than this share
/// of a slice's processor time.
const AT_WORK: f64 = 0.1;

/// What arms do besides their calls: the number of trials in which each arm did it.
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
    /// shared machine two threads together may get no more processor time than one thread alone, so
    /// their account shows nothing. But no load moves a thread to a processor that it was not
    /// granted.
    pub(crate) fn note_outside(&mut self, race: &Race, trial: u32, arm: usize, is_outside: bool) {
        if is_outside {
            let share = share_of(race, trial, arm, &several_work);
            self.outside[arm] += u32::from(share > SHARE);
        }
    }

    /// Refuses an arm if child processes or threads on other processors worked for it. The account
    /// of an arm includes neither.
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

/// The time that a homecoming may take in addition to the copy: the overhead of entering a
/// framework through one of our adapters, which only copy. PyTorch's own copy takes 5 µs in a loop,
/// but 40 where other work has pushed its code out of the caches; JAX's then took 172.
const HOME_NS: u64 = 300_000;
/// A homecoming may also take the claimed time of its batch divided by this number, because long
/// calls push code and results out of the caches (seen in a field of 17: 100 µs more for 256 KiB
/// from JAX).
const HOME_PART: u64 = 10;
/// Up to this many bytes are copied within the caches, at 10 GB/s or more. The rest is copied at 1
/// GB/s.
const NEAR_BYTES: u64 = 1 << 18;

/// The limit in nanoseconds for copying `bytes` of results from a library's own memory, after a
/// batch that claimed `claimed_ns`. Results of plug-ins are copied while the clock runs.
pub(crate) fn homecoming(bytes: u64, claimed_ns: u64) -> u64 {
    let copy = bytes.min(NEAR_BYTES) / 10 + bytes.saturating_sub(NEAR_BYTES);
    copy.saturating_add(HOME_NS).saturating_add(claimed_ns / HOME_PART)
}

/// For each arm, the homecoming of the race with the smallest excess over its limit: the time that
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
