//! Where the arms of a trial come from: worker processes, or a script in tests.

use crate::cache::{Seen, rotate_bytes};
use crate::claims::homecoming;
use crate::fault::{FaultKind, RaceFault};
use proofmark_arena::{Batch, Change, Fault, Inputs, Ran, Ruler, RulerTimes};
use proofmark_gate::{Entrant, Proven, Revealed, Seat, Unverified};
use proofmark_schema::isolation::Attempt;
use proofmark_schema::memory::{CacheState, PageState};
use proofmark_schema::race::{CallInputs, Trial};
use proofmark_schema::{Cache, Memory};
use proofmark_stats::Stream;

/// Starts the arms of trials.
pub(crate) trait Stable {
    /// How many arms.
    fn arms(&self) -> usize;

    /// Threads of an arm, where it has a number of its own.
    fn threads(&self, arm: usize) -> Option<usize> {
        let _ = arm;
        None
    }

    /// Bytes of an arm's operands.
    fn operand_bytes(&self, arm: usize) -> u64 {
        let _ = arm;
        0
    }

    /// Runs `heat` with the fresh arms of a trial.
    fn trial(
        &mut self,
        trial: &Trial,
        heat: &mut dyn FnMut(&mut dyn Heat) -> Result<(), RaceFault>,
    ) -> Result<(), RaceFault>;

    /// The caches and pages that each arm was seen to have; empty where they are not observed.
    fn memory(&self) -> (Vec<CacheState>, Vec<PageState>) {
        (Vec::new(), Vec::new())
    }
}

/// A batch as a race orders it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    /// Untimed calls before it.
    pub(crate) prime: u32,
    /// Timed calls.
    pub(crate) calls: u32,
    /// What the calls find in their inputs.
    pub(crate) inputs: CallInputs,
    /// The seed from which the changes and the checked results are drawn.
    pub(crate) seed: u64,
}

/// The arms of one trial.
pub(crate) trait Heat {
    /// Runs one batch of an arm.
    fn batch(&mut self, arm: usize, turn: &Turn) -> Result<Ran, RaceFault>;

    /// Checks the results of a batch of `calls` calls on new inputs, and what the batches before it
    /// left. Returns the number of elements checked and the times of the batch.
    fn verify(&mut self, arm: usize, calls: u32, seed: u64) -> Result<(u64, Ran), RaceFault>;

    /// Processor time of processes that the arm has started.
    fn descendants_ns(&self, arm: usize) -> u64 {
        let _ = arm;
        0
    }

    /// Whether threads of the arm may run elsewhere than on the one processor that it was granted.
    fn is_outside(&self, arm: usize) -> bool {
        let _ = arm;
        false
    }

    /// What the arm tried on another process, if it did.
    fn attack(&self, arm: usize) -> Option<Attempt> {
        let _ = arm;
        None
    }

    /// Memory the arm gained for the case.
    fn peak_bytes(&self, arm: usize) -> u64;

    /// Memory the arm has now.
    fn resident_bytes(&self, arm: usize) -> u64 {
        let _ = arm;
        0
    }

    /// The limit for the homecoming of an arm's results after a batch that claimed `claimed_ns`.
    /// The script of a test that brings no results home has no limit.
    fn homecoming_ns(&self, arm: usize, claimed_ns: u64) -> u64 {
        let _ = (arm, claimed_ns);
        u64::MAX
    }

    /// Reads the rulers, with the stream or without; nothing where there are none.
    fn rulers(&mut self, _with_stream: bool) -> Option<RulerTimes> {
        None
    }
}

/// Bytes of an arm's operands where each call of a slice has its own.
const REVEALED_BYTES: u64 = 64 << 20;

/// Fresh workers for proven contenders.
pub(crate) struct Workers<'a, 'p> {
    field: &'a [Proven<'p>],
    seat: Seat,
    /// `None` where its process cannot be started: the race goes on without it.
    ruler: Option<Ruler>,
    /// What was seen of each arm's caches and pages.
    seen: Vec<Seen>,
}

struct Entrants<'a, 'p, 'r> {
    field: &'a [Proven<'p>],
    entrants: Vec<Entrant<'a>>,
    ruler: &'r mut Option<Ruler>,
    changes_weights: bool,
    /// Elements of each arm that were checked after revealed slices.
    checked: Vec<u64>,
}

impl Stable for Workers<'_, '_> {
    fn arms(&self) -> usize {
        self.field.len()
    }

    fn threads(&self, arm: usize) -> Option<usize> {
        Some(self.field[arm].threads())
    }

    fn operand_bytes(&self, arm: usize) -> u64 {
        self.field[arm].operand_bytes()
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
        // An arm that starts first gets other memory than one that starts last, so the order is
        // drawn too.
        let mut order: Vec<usize> = (0..self.field.len()).collect();
        Stream::new(trial.seed).shuffle(&mut order);
        let mut entrants: Vec<Option<Entrant<'_>>> = self.field.iter().map(|_| None).collect();
        for arm in order {
            let inputs = revealed[cases[arm]].as_ref().expect("the first on a case reveals");
            // Where calls walk over sets, an arm would find the sets that another arm has just left
            // in the caches.
            let shares = self.seat.memory.cache != Cache::Rotate;
            let beside = (0..cases.len())
                .filter(|&other| shares && cases[other] == cases[arm])
                .find_map(|other| entrants[other].as_ref());
            let seat = Seat { cpu: processor_of(&self.field[arm]), ..self.seat };
            let entered = self.field[arm].enter(trial, inputs, &seat, beside);
            let failed = |fault: Fault| {
                let kind = match fault {
                    Fault::Broken(_) => FaultKind::Broken,
                    _ => FaultKind::Died,
                };
                fault_of(self.field, arm, kind, fault.to_string())
            };
            entrants[arm] = Some(entered.map_err(failed)?);
        }
        let entrants: Vec<Entrant<'_>> = entrants.into_iter().flatten().collect();
        for (arm, entrant) in entrants.iter().enumerate() {
            let sealed = entrant.seal_inputs();
            sealed
                .map_err(|fault| fault_of(self.field, arm, FaultKind::Died, fault.to_string()))?;
        }
        let changes_weights = self.seat.changes_weights;
        let checked = vec![0; entrants.len()];
        let mut arms = Entrants {
            field: self.field,
            entrants,
            ruler: &mut self.ruler,
            changes_weights,
            checked,
        };
        heat(&mut arms)?;
        // The probes come after the blocks, so that nothing timed follows a probe.
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
        // Rulers run next to the arm that has the most processors.
        let widest = field.iter().max_by_key(|proven| proven.threads());
        let ruler = widest.and_then(|first| first.ruler(processor_of(first)).ok());
        // If any arm has packed its weights, weights stay as they are for all arms.
        let changes_weights = field.iter().all(|proven| !proven.receipt().prepared_outside);
        let is_revealed = field.iter().any(Proven::reveals);
        let rotate_bytes = rotate_bytes().max(if is_revealed { REVEALED_BYTES } else { 0 });
        let seat = Seat { memory, rotate_bytes, races: true, changes_weights, ..Seat::default() };
        Workers { field, seat, ruler, seen: vec![Seen::default(); field.len()] }
    }

    /// Sets of operands that every arm has, where each call must have its own.
    pub(crate) fn sets(&self) -> Option<usize> {
        let reveals = self.field.iter().any(Proven::reveals);
        let sets = self.field.iter().map(|proven| proven.sets(&self.seat));
        reveals.then(|| sets.min().unwrap_or(1))
    }

    /// The first arm on the same case as this one.
    fn first_on_case(&self, arm: usize) -> usize {
        let case = self.field[arm].case();
        self.field.iter().position(|proven| proven.case() == case).unwrap_or(arm)
    }
}

impl Heat for Entrants<'_, '_, '_> {
    fn batch(&mut self, arm: usize, turn: &Turn) -> Result<Ran, RaceFault> {
        let &Turn { prime, calls, inputs, seed } = turn;
        let change = Change { seed, with_weights: self.changes_weights };
        if inputs == CallInputs::Revealed {
            let ran = self.entrants[arm].revealed_slice(prime + calls, change);
            let (checked, ran) = ran.map_err(|cause| unverified(self.field, arm, &cause))?;
            self.checked[arm] += checked;
            return Ok(ran);
        }
        let inputs = match inputs {
            CallInputs::Repeated => Inputs::AsTheyAre,
            CallInputs::Perturbed => Inputs::Perturbed(change),
            CallInputs::Fresh | CallInputs::Revealed => Inputs::Fresh(change),
        };
        let batch = Batch { prime, calls, inputs, ..Batch::default() };
        let ran = self.entrants[arm].slice(&batch, seed);
        ran.map_err(|fault| fault_of(self.field, arm, FaultKind::Died, fault.to_string()))
    }

    fn verify(&mut self, arm: usize, calls: u32, seed: u64) -> Result<(u64, Ran), RaceFault> {
        let (field, with_weights) = (self.field, self.changes_weights);
        if self.field.iter().any(Proven::reveals) {
            // Every slice was checked when it was over.
            return Ok((std::mem::take(&mut self.checked[arm]), Ran::default()));
        }
        let verified = self.entrants[arm].verify(calls, Change { seed, with_weights });
        verified.map_err(|cause| unverified(field, arm, &cause))
    }

    fn homecoming_ns(&self, arm: usize, claimed_ns: u64) -> u64 {
        homecoming(self.field[arm].result_bytes(), claimed_ns)
    }

    fn descendants_ns(&self, arm: usize) -> u64 {
        self.entrants[arm].descendants_ns()
    }

    fn is_outside(&self, arm: usize) -> bool {
        processor_of(&self.field[arm]).is_some_and(|cpu| self.entrants[arm].is_outside(cpu))
    }

    fn attack(&self, arm: usize) -> Option<Attempt> {
        self.entrants[arm].attack()
    }

    fn peak_bytes(&self, arm: usize) -> u64 {
        self.entrants[arm].peak_bytes()
    }

    fn resident_bytes(&self, arm: usize) -> u64 {
        self.entrants[arm].resident_bytes()
    }

    fn rulers(&mut self, with_stream: bool) -> Option<RulerTimes> {
        // If the ruler has died, only its readings are lost.
        let times = self.ruler.as_mut()?.read(with_stream).ok();
        if times.is_none() {
            *self.ruler = None;
        }
        times
    }
}

/// The last processor this process may run on.
pub fn last_processor() -> usize {
    let allowed = rustix::thread::sched_getaffinity(None).ok();
    let is_allowed = |cpu: &usize| allowed.as_ref().is_some_and(|set| set.is_set(*cpu));
    (0..rustix::thread::CpuSet::MAX_CPU).rev().find(is_allowed).unwrap_or(0)
}

/// The processor that an arm is kept on. Arms of one thread share one processor, so that all of
/// them see the same caches. Any would do, but the first serves most interrupts. Arms of more
/// threads run on all processors.
fn processor_of(proven: &Proven<'_>) -> Option<usize> {
    (proven.threads() == 1).then(last_processor)
}

fn unverified(field: &[Proven<'_>], arm: usize, cause: &Unverified) -> RaceFault {
    let kind = match cause {
        Unverified::Wrong(_) => FaultKind::Wrong,
        Unverified::Failed(_) => FaultKind::Died,
        Unverified::NoTruth(_) => FaultKind::Broken,
    };
    fault_of(field, arm, kind, cause.to_string())
}

fn fault_of(field: &[Proven<'_>], arm: usize, kind: FaultKind, reason: String) -> RaceFault {
    RaceFault { arm, contender: field[arm].contender().to_string(), kind, reason }
}
