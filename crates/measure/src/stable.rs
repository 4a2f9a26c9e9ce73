//! Where the arms of a trial come from: worker processes, or a script in tests.

use crate::cache::{Seen, rotate_bytes};
use crate::claims::homecoming;
use crate::race::{FaultKind, RaceFault, last_processor};
use proofmark_arena::{Batch, Fault, Ran, Ruler, RulerTimes};
use proofmark_gate::{Entrant, Proven, Revealed, Seat, Unverified};
use proofmark_schema::memory::{CacheState, PageState};
use proofmark_schema::race::Trial;
use proofmark_schema::wire::phase;
use proofmark_schema::{Cache, Memory};
use proofmark_stats::Stream;

/// Starts the arms of trials.
pub(crate) trait Stable {
    /// How many arms.
    fn arms(&self) -> usize;

    /// Runs `heat` with the fresh arms of a trial.
    fn trial(
        &mut self,
        trial: &Trial,
        heat: &mut dyn FnMut(&mut dyn Heat) -> Result<(), RaceFault>,
    ) -> Result<(), RaceFault>;

    /// What caches and pages each arm was seen to have; empty where nobody looks.
    fn memory(&self) -> (Vec<CacheState>, Vec<PageState>) {
        (Vec::new(), Vec::new())
    }
}

/// What is written to an arm's inputs before a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inputs {
    /// Those of the trial, once more.
    Same,
    /// Others, drawn from a seed.
    New(u64),
    /// Others, and what the call leaves of them is checked.
    Checked(u64),
}

/// The arms of one trial.
pub(crate) trait Heat {
    /// Runs one batch of an arm.
    fn batch(&mut self, arm: usize, prime: u32, calls: u32) -> Result<Ran, RaceFault>;

    /// Checks what a batch of so many calls leaves; gives the count of elements checked.
    fn verify(&mut self, arm: usize, calls: u32) -> Result<u64, RaceFault>;

    /// One call after inputs were written: those of the trial once more, or others. Nothing where
    /// the script of a test has no inputs.
    fn call_on(&mut self, arm: usize, inputs: Inputs) -> Result<Option<Ran>, RaceFault> {
        let _ = (arm, inputs);
        Ok(None)
    }

    /// Memory the arm gained for the case.
    fn peak_bytes(&self, arm: usize) -> u64;

    /// What the homecoming of an arm's results may take after a batch for which so much was
    /// claimed; without a limit where the script of a test brings none home.
    fn homecoming_ns(&self, arm: usize, claimed_ns: u64) -> u64 {
        let _ = (arm, claimed_ns);
        u64::MAX
    }

    /// Threads of the arm, where it has a number of its own.
    fn threads(&self, arm: usize) -> Option<usize> {
        let _ = arm;
        None
    }

    /// Reads the rulers, with the stream or without; nothing where there are none.
    fn rulers(&mut self, _with_stream: bool) -> Option<RulerTimes> {
        None
    }
}

/// Fresh workers for proven contenders.
pub(crate) struct Workers<'a, 'p> {
    field: &'a [Proven<'p>],
    seat: Seat,
    /// Where no process can be had for it, the race goes on without.
    ruler: Option<Ruler>,
    /// What was seen of each arm's caches and pages.
    seen: Vec<Seen>,
}

struct Entrants<'a, 'p, 'r> {
    field: &'a [Proven<'p>],
    entrants: Vec<Entrant<'a>>,
    ruler: &'r mut Option<Ruler>,
}

impl Stable for Workers<'_, '_> {
    fn arms(&self) -> usize {
        self.field.len()
    }

    fn trial(
        &mut self,
        trial: &Trial,
        heat: &mut dyn FnMut(&mut dyn Heat) -> Result<(), RaceFault>,
    ) -> Result<(), RaceFault> {
        // Arms on the same case share their inputs and what is expected of their outputs.
        let cases: Vec<usize> = (0..self.field.len()).map(|arm| self.first_on_case(arm)).collect();
        let reveal = |arm: usize| (cases[arm] == arm).then(|| self.field[arm].reveal(trial.seed));
        let revealed: Vec<Option<Revealed>> = (0..self.field.len()).map(reveal).collect();
        // Who starts first gets other memory than who starts last: the order is drawn too.
        let mut order: Vec<usize> = (0..self.field.len()).collect();
        Stream::new(trial.seed).shuffle(&mut order);
        let mut entrants: Vec<Option<Entrant<'_>>> = self.field.iter().map(|_| None).collect();
        for arm in order {
            let inputs = revealed[cases[arm]].as_ref().expect("the first on a case reveals");
            // Where calls walk over sets, an arm would find those that another has just left.
            let shares = self.seat.memory.cache != Cache::Rotate;
            let beside = (0..cases.len())
                .filter(|&other| shares && cases[other] == cases[arm])
                .find_map(|other| entrants[other].as_ref());
            let seat = Seat { cpu: processor_of(&self.field[arm]), ..self.seat };
            let entered = self.field[arm].enter(trial, inputs, &seat, beside);
            let failed =
                |fault: Fault| fault_of(self.field, arm, FaultKind::Died, fault.to_string());
            entrants[arm] = Some(entered.map_err(failed)?);
        }
        let entrants = entrants.into_iter().flatten().collect();
        let mut arms = Entrants { field: self.field, entrants, ruler: &mut self.ruler };
        heat(&mut arms)?;
        // After the blocks, so that nothing timed follows a probe.
        for (arm, (seen, entrant)) in self.seen.iter_mut().zip(&mut arms.entrants).enumerate() {
            let looked = seen.look(entrant, self.field[arm].operand_bytes());
            looked
                .map_err(|fault| fault_of(self.field, arm, FaultKind::Died, fault.to_string()))?;
        }
        Ok(())
    }

    fn memory(&self) -> (Vec<CacheState>, Vec<PageState>) {
        let Seat { memory, rotate_bytes, .. } = self.seat;
        let cache = |seen: &Seen| (seen.cache(memory, rotate_bytes), seen.pages(memory));
        self.seen.iter().map(cache).unzip()
    }
}

impl<'a, 'p> Workers<'a, 'p> {
    /// Workers for the arms of a field.
    pub(crate) fn new(field: &'a [Proven<'p>], memory: Memory) -> Self {
        // Rulers run beside the arm that has the most processors.
        let widest = field.iter().max_by_key(|proven| proven.threads());
        let ruler = widest.and_then(|first| first.ruler(processor_of(first)).ok());
        let seat = Seat { memory, rotate_bytes: rotate_bytes(), ..Seat::default() };
        Workers { field, seat, ruler, seen: vec![Seen::default(); field.len()] }
    }

    /// The first arm on the same case as this one.
    fn first_on_case(&self, arm: usize) -> usize {
        let case = self.field[arm].case();
        self.field.iter().position(|proven| proven.case() == case).unwrap_or(arm)
    }
}

impl Heat for Entrants<'_, '_, '_> {
    fn batch(&mut self, arm: usize, prime: u32, calls: u32) -> Result<Ran, RaceFault> {
        let batch = Batch { prime, calls, ..Batch::default() };
        let ran = self.entrants[arm].run(&batch);
        ran.map_err(|fault| fault_of(self.field, arm, FaultKind::Died, fault.to_string()))
    }

    fn verify(&mut self, arm: usize, calls: u32) -> Result<u64, RaceFault> {
        let field = self.field;
        self.entrants[arm].verify(calls).map_err(|cause| unverified(field, arm, &cause))
    }

    fn call_on(&mut self, arm: usize, inputs: Inputs) -> Result<Option<Ran>, RaceFault> {
        let field = self.field;
        let other = match inputs {
            Inputs::Same => None,
            Inputs::New(seed) | Inputs::Checked(seed) => {
                Some(field[arm].renew(self.entrants[arm].revealed(), seed))
            }
        };
        let (set, revealed) = (self.entrants[arm].next_set(), self.entrants[arm].revealed());
        let written = other.as_ref().unwrap_or(revealed);
        let is_owner = |&other: &usize| {
            let other = &self.entrants[other];
            other.owns_operands() && std::ptr::eq(other.revealed(), revealed)
        };
        // Arms that share operands have one owner, which alone can write them.
        let owner = std::iter::once(arm).chain(0..self.entrants.len()).find(is_owner);
        let owner = owner.expect("somebody's operands they are");
        self.entrants[arm].poison_outputs();
        self.entrants[owner].write(written, set);
        let ran = self.batch(arm, 0, 1)?;
        if matches!(inputs, Inputs::Checked(_)) {
            let checked = self.entrants[arm].check(written);
            checked.map_err(|cause| {
                let fault = unverified(field, arm, &cause);
                let reason = format!("on inputs that it had not seen, {}", fault.reason);
                RaceFault { reason, ..fault }
            })?;
        }
        Ok(Some(ran))
    }

    fn homecoming_ns(&self, arm: usize, claimed_ns: u64) -> u64 {
        let proven = &self.field[arm];
        // Only adapters of ours tell what an empty call takes.
        let is_adapted = proven.receipt().empty_call_ns.is_some();
        homecoming(proven.result_bytes(), is_adapted, claimed_ns)
    }

    fn peak_bytes(&self, arm: usize) -> u64 {
        self.entrants[arm].peak_bytes()
    }

    fn threads(&self, arm: usize) -> Option<usize> {
        Some(self.field[arm].threads())
    }

    fn rulers(&mut self, with_stream: bool) -> Option<RulerTimes> {
        // A ruler that died takes nothing with it but its readings.
        let times = self.ruler.as_mut()?.read(with_stream).ok();
        if times.is_none() {
            *self.ruler = None;
        }
        times
    }
}

/// Where an arm is kept: one thread on one processor, so that all such arms see the same caches;
/// which one is no matter, but the first serves most interrupts. More threads run on all.
fn processor_of(proven: &Proven<'_>) -> Option<usize> {
    (proven.threads() == 1).then(last_processor)
}

fn unverified(field: &[Proven<'_>], arm: usize, cause: &Unverified) -> RaceFault {
    let kind = match cause {
        Unverified::Wrong(_) => FaultKind::Wrong,
        Unverified::Failed(fault) if is_late(fault) => FaultKind::Lied,
        Unverified::Failed(_) => FaultKind::Died,
    };
    let why = match kind {
        FaultKind::Lied => ": it uses its operands only then, so that it works unmeasured",
        _ => "",
    };
    fault_of(field, arm, kind, format!("{cause}{why}"))
}

fn fault_of(field: &[Proven<'_>], arm: usize, kind: FaultKind, reason: String) -> RaceFault {
    RaceFault { arm, contender: field[arm].contender().to_string(), kind, reason }
}

/// Whether a worker died because it touched what is sealed once the clock has stopped.
fn is_late(fault: &Fault) -> bool {
    let after = [phase::SETTLE, phase::REST].map(phase::name);
    let is_after = |phase: &str| after.contains(&phase);
    fault.crash().is_some_and(|crash| is_after(&crash.phase) && crash.cause.contains("SIGSEGV"))
}
