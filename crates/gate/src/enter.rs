//! How a proven contender enters a trial: in a fresh worker, with the trial's layout and inputs.

use crate::entrant::Entrant;
use crate::examine::replaced;
use crate::proven::Proven;
use crate::revealed::Revealed;
use proofmark_arena::{Batch, Fault, FixedLayout, OperandPlan, Spawn};
use proofmark_contract::Perturbation;
use proofmark_schema::race::Trial;
use proofmark_schema::{Cache, Memory, Pages};
use proofmark_tensor::Placement;

/// Where and in what state of memory an entrant runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seat {
    /// The processor it is kept on, if on one.
    pub cpu: Option<usize>,
    /// The state of the caches and the kind of pages that its operands need.
    pub memory: Memory,
    /// Bytes that sets of operands must exceed together, where calls walk over them.
    pub rotate_bytes: u64,
    /// Samples that it takes of itself in a second of processor time, for a profile; `None` if it
    /// takes none.
    pub sampled_hertz: Option<u64>,
    /// It races with others: its inputs change between calls, and it is stopped while it is not
    /// its turn.
    pub races: bool,
    /// Weights change too: no arm of the race has packed them.
    pub changes_weights: bool,
}

/// Greatest number of sets of operands. A case so small that it needs more sets stays in the
/// caches.
const MOST_SETS: u64 = 4096;

impl Proven<'_> {
    /// Starts a fresh worker with the trial's layout, loads the contender, then reveals the
    /// inputs, packs weights and poisons the outputs. If another entrant on the same case is given,
    /// it works in the other's operands.
    ///
    /// # Errors
    /// If the worker cannot be started or dies, if it opens other files than were proven, or if the
    /// op has no weights that could be cold.
    ///
    /// # Panics
    /// If the other entrant is on another case.
    pub fn enter<'p>(
        &'p self,
        trial: &Trial,
        revealed: &'p Revealed,
        seat: &Seat,
        beside: Option<&Entrant<'p>>,
    ) -> Result<Entrant<'p>, Fault> {
        let Seat { cpu, memory, sampled_hertz, races, changes_weights, .. } = *seat;
        if memory.cache == Cache::WeightsCold && !self.has_weights() {
            let op = self.op.name();
            let reason = format!("no operand of `{op}` is a weight: ask for another cache state");
            return Err(Fault::Unsupported(reason));
        }
        let sets = self.sets(seat);
        // One layout for all arms of a trial: where each worker drew its own, the same code
        // differed from itself by several per cent for the life of the process.
        let layout = Some(FixedLayout { mapping_pad: trial.mapping_pad });
        let environment_pad = trial.environment_pad as usize;
        let proof = self.proof();
        let operations = self.op.work(&proof.case).flops;
        let spawn = Spawn { environment_pad, cpu, layout, sampled_hertz, operations };
        let mut worker = self.arena.spawn_for(&proof.contender, &spawn)?;
        let pad = trial.heap_pad as usize;
        let loaded = worker.load(&proof.contender, &proof.case, proof.threads, pad)?;
        if let Some(file) = self.receipt().replaced_in(&loaded.receipt) {
            return Err(Fault::Broken(replaced(file)));
        }
        worker.reset_peak();
        let before_bytes = worker.resident_bytes();
        if let Some(other) = beside {
            assert_eq!(other.proven.case(), self.case(), "entrants share operands of one case");
            worker.attach_same(&other.worker, memory.cache)?;
        } else {
            let shift = trial.operand_shift as usize;
            let mut plans = self.plans(Placement::Shifted(shift), sets, memory.pages);
            let perturbation = Perturbation::of(&self.signature, changes_weights);
            for (i, plan) in plans.iter_mut().enumerate() {
                plan.changes = races && !self.reveals() && perturbation.changes(i);
            }
            worker.attach_for(&plans, memory.cache)?;
        }
        let mut entrant = Entrant {
            proven: self,
            revealed,
            worker,
            before_bytes,
            memory,
            sets,
            settles: loaded.settles,
            calls: 0,
            left: Vec::new(),
        };
        if beside.is_none() {
            (0..sets).for_each(|set| entrant.write(set));
        }
        entrant.poison_outputs(proof.seed | 1);
        if loaded.prepared_bytes > 0 {
            entrant.worker.prepare()?;
        }
        if self.reveals() {
            // Every page is touched once, so that no timed call is the first to do so.
            entrant.run(&Batch { calls: sets as u32, ..Batch::default() })?;
        }
        if races {
            entrant.worker.hold()?;
        }
        Ok(entrant)
    }

    /// Sets of operands in this seat.
    pub fn sets(&self, seat: &Seat) -> usize {
        match seat.memory.cache {
            Cache::Rotate => {
                let sets = seat.rotate_bytes / self.operand_bytes().max(1) + 1;
                sets.clamp(2, MOST_SETS) as usize
            }
            _ => 1,
        }
    }

    fn plans(&self, placement: Placement, sets: usize, pages: Pages) -> Vec<OperandPlan> {
        let plan = |operand: &proofmark_contract::Operand| OperandPlan {
            name: operand.name.to_owned(),
            dtype: operand.dtype,
            layout: operand.layout(),
            placement,
            writable: operand.role.is_written(),
            sets,
            pages,
            changes: false,
        };
        self.signature.operands().iter().map(plan).collect()
    }
}
