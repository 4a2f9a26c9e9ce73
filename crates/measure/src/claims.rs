//! What an arm claims, against what the supervisor and the kernel saw of it.

use crate::race::{FaultKind, RaceFault};
use crate::stable::Heat;
use proofmark_arena::Ran;
use proofmark_schema::race::Race;

/// A slice's outer time may exceed the worker's own by the hand-over and what the machine steals;
/// the worker's own may exceed the outer by clock reads at the most.
const CLOCK_READS_NS: u64 = 20_000;

/// The supervisor's clock bounds what a worker claims.
pub(crate) fn believable(race: &Race, arm: usize, ran: &Ran) -> Result<(), RaceFault> {
    if ran.wall_ns <= ran.outer_ns + CLOCK_READS_NS {
        return Ok(());
    }
    let (claimed, outer) = (ran.wall_ns, ran.outer_ns);
    let reason = format!("claims a batch of {claimed} ns that took {outer} ns in all");
    Err(lied(race, arm, reason))
}

pub(crate) fn lied(race: &Race, arm: usize, reason: String) -> RaceFault {
    RaceFault { arm, contender: race.arms[arm].to_string(), kind: FaultKind::Lied, reason }
}

/// Share of the others' time that an arm may use while it is not its turn, and what it may use in
/// any case: threads of its own take a moment to fall asleep.
const IDLE_SHARE: f64 = 0.2;
const IDLE_NS: u64 = 1_000_000;

/// What each arm did while others ran.
pub(crate) struct Rest {
    idle_ns: Vec<u64>,
    /// Time of the arms' turns.
    turns_ns: Vec<u64>,
}

impl Rest {
    pub(crate) fn new(arms: usize) -> Rest {
        Rest { idle_ns: vec![0; arms], turns_ns: vec![0; arms] }
    }

    pub(crate) fn note(&mut self, arm: usize, ran: &Ran) {
        self.idle_ns[arm] += ran.idle_ns;
        self.turns_ns[arm] += ran.outer_ns;
    }

    /// An arm whose threads spin while it should sleep takes its share of the others' processor.
    pub(crate) fn check(&self, race: &Race) -> Result<(), RaceFault> {
        let all: u64 = self.turns_ns.iter().sum();
        for (arm, (&idle, turns)) in self.idle_ns.iter().zip(&self.turns_ns).enumerate() {
            let others = (all - turns) as f64;
            if idle > IDLE_NS && idle as f64 > IDLE_SHARE * others {
                let reason = format!(
                    "its threads used {} ms of processor time in the {} ms of the others' turns: \
                     they do not sleep when idle",
                    idle / 1_000_000,
                    (all - turns) / 1_000_000
                );
                let contender = race.arms[arm].to_string();
                return Err(RaceFault { arm, contender, kind: FaultKind::Restless, reason });
            }
        }
        Ok(())
    }
}

/// How long a batch which is to be accounted for is at the least, and in slices at the most.
const ACCOUNT_NS: u64 = 5_000_000;
const ACCOUNT_SLICES: u64 = 100;
/// What a hand-over may use, and each further thread to fall asleep afterwards: Candle's look for
/// work for 0.6 ms.
const HAND_OVER_NS: u64 = 300_000;
const TO_SLEEP_NS: u64 = 1_000_000;
/// Batches that decide, in order or out of it: on a busy machine one may be charged with what is
/// not the arm's doing.
const ACCOUNTS: u32 = 2;

/// What a worker claims of a long batch must account for the processor time that the kernel says
/// it used. Elapsed time would not do: a busy machine wakes either side late.
pub(crate) fn accounted_for(
    heat: &mut dyn Heat,
    race: &Race,
    arm: usize,
    calls: u32,
) -> Result<(), RaceFault> {
    let slice_ns = heat.batch(arm, 0, calls)?.wall_ns.max(1);
    let slices = ACCOUNT_NS.div_ceil(slice_ns).min(ACCOUNT_SLICES);
    let calls = calls.saturating_mul(slices as u32);
    let threads = heat.threads(arm).unwrap_or(race.threads) as u64;
    let aside = HAND_OVER_NS + threads.saturating_sub(1) * TO_SLEEP_NS;
    let (mut in_order, mut out_of_order) = (0, 0);
    loop {
        let Ran { wall_ns: claimed, used_ns: used, settle_ns, .. } = heat.batch(arm, 0, calls)?;
        // Results that are brought home after the clock has stopped take less than their
        // computation.
        let settled = settle_ns.min(claimed / 2);
        let is_in_order = used <= threads * (claimed + claimed / 10) + settled + aside;
        *(if is_in_order { &mut in_order } else { &mut out_of_order }) += 1;
        if in_order == ACCOUNTS {
            return Ok(());
        }
        if out_of_order == ACCOUNTS {
            let reason = format!(
                "claims {claimed} ns for {calls} calls that used {used} ns of processor time on \
                 {threads} threads: it uses more of them, or its clock does not measure its calls"
            );
            return Err(lied(race, arm, reason));
        }
    }
}

/// What bringing results home may take beside the copy: a way into a plug-in and back, or into a
/// framework by an adapter of ours, which is known to copy only. PyTorch's own copy takes 5 µs in
/// a loop, but 40 where other work has pushed its code out of the caches; JAX's then took 172.
const HOME_NS: u64 = 2_000;
const ADAPTED_HOME_NS: u64 = 300_000;
/// The part of the time claimed for a batch that it may take as well, a fiftieth and a tenth: long
/// calls push code and results out of the caches (seen in fields of 17: 2 µs more for 8 KiB from a
/// crate, 100 µs more for 256 KiB from JAX), and hide no more than this.
const HOME_PART: u64 = 50;
const ADAPTED_HOME_PART: u64 = 10;
/// Bytes that are copied within the caches, at 10 GB/s at the least; more at 1 GB/s.
const NEAR_BYTES: u64 = 1 << 18;

/// Nanoseconds in which so many bytes of results are copied from a library's own memory after a
/// batch for which so much was claimed.
pub(crate) fn homecoming(bytes: u64, is_adapted: bool, claimed_ns: u64) -> u64 {
    let copy = bytes.min(NEAR_BYTES) / 10 + bytes.saturating_sub(NEAR_BYTES);
    let way = match is_adapted {
        true => ADAPTED_HOME_NS + claimed_ns / ADAPTED_HOME_PART,
        false => HOME_NS + claimed_ns / HOME_PART,
    };
    copy + way
}

/// The homecoming of each arm's results in a race, after the clock had stopped, that went least
/// beyond what it might take: what it took, and what it might.
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
