//! What an arm claims, against what the supervisor and the kernel saw of it.

use crate::race::RaceFault;
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
    Err(RaceFault { arm, contender: race.arms[arm].to_string(), reason })
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

impl RaceFault {
    /// Whether its threads ran in the others' turns: the only fault that a busy machine can bring
    /// about.
    pub fn is_restless(&self) -> bool {
        self.reason.ends_with(RESTLESS)
    }
}

/// How the fault of a contender ends whose threads run in the others' turns.
const RESTLESS: &str = "they do not sleep when idle";

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
                     {RESTLESS}",
                    idle / 1_000_000,
                    (all - turns) / 1_000_000
                );
                let contender = race.arms[arm].to_string();
                return Err(RaceFault { arm, contender, reason });
            }
        }
        Ok(())
    }
}

/// Slices that a batch which is to be accounted for is long, and what a hand-over may use.
const ACCOUNT_SLICES: u32 = 20;
const HAND_OVER_NS: u64 = 300_000;

/// What a worker claims of a long batch must account for the processor time that the kernel says
/// it used. Elapsed time would not do: a busy machine wakes either side late.
pub(crate) fn accounted_for(
    heat: &mut dyn Heat,
    race: &Race,
    arm: usize,
    calls: u32,
) -> Result<(), RaceFault> {
    let calls = if calls == 1 { 1 } else { calls.saturating_mul(ACCOUNT_SLICES) };
    let Ran { wall_ns: claimed, used_ns: used, settle_ns, .. } = heat.batch(arm, 0, calls)?;
    // Results that are brought home after the clock has stopped take less than their computation.
    let settled = settle_ns.min(claimed / 2);
    let threads = heat.threads(arm).unwrap_or(race.threads);
    if used <= threads as u64 * (claimed + claimed / 10) + settled + HAND_OVER_NS {
        return Ok(());
    }
    let reason = format!(
        "claims {claimed} ns for {calls} calls that used {used} ns of processor time on {threads} \
         threads: it uses more of them, or its clock does not measure its calls"
    );
    Err(RaceFault { arm, contender: race.arms[arm].to_string(), reason })
}
