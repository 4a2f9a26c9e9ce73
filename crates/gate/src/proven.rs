//! Proven contenders: the only ones that may be measured.

use crate::compare::score;
use crate::examiner::measure;
use crate::sampling;
use crate::subject::values;
use proofmark_arena::{
    Arena, Batch, Fault, FixedLayout, Noted, OperandPlan, Ran, Ruler, Spawn, Worker,
};
use proofmark_contract::{Op, Role, Signature, Truth, Values, Want, check_case};
use proofmark_schema::memory::Probe;
use proofmark_schema::proof::Proof;
use proofmark_schema::race::Trial;
use proofmark_schema::{Cache, Case, ContenderId, Memory, Pages, Receipt};
use proofmark_tensor::Placement;
use std::sync::OnceLock;

/// A contender that passed the gate on a case. Only the gate can make one.
pub struct Proven<'a> {
    arena: &'a Arena,
    op: &'a dyn Op,
    signature: Signature,
    proof: Proof,
    receipt: Receipt,
}

/// The inputs of one trial, revealed to contenders only after they are loaded, and the
/// expectations of their outputs, computed once, after the first output is there.
pub struct Revealed {
    inputs: Values,
    expected: OnceLock<Vec<(Want, Truth)>>,
}

/// Where and in what state of memory an entrant runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seat {
    /// The processor it is kept on, if on one.
    pub cpu: Option<usize>,
    /// What its caches are to hold and what pages its operands are to lie on.
    pub memory: Memory,
    /// Bytes that sets of operands must exceed together, where calls walk over them.
    pub rotate_bytes: u64,
    /// How often a second of its processor time it notes where it is, for a profile; none: never.
    pub sampled_hertz: Option<u64>,
}

/// Sets of operands at the most: a case so small that more were needed is not out of the caches.
const MOST_SETS: u64 = 4096;

/// A worker that has loaded a proven contender and holds a trial's inputs.
pub struct Entrant<'p> {
    proven: &'p Proven<'p>,
    revealed: &'p Revealed,
    worker: Worker,
    before_bytes: u64,
    memory: Memory,
    sets: usize,
    /// Calls so far: they walk over the sets.
    calls: u64,
}

/// Why timed outputs are not what they should be.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Unverified {
    /// The worker failed.
    #[error(transparent)]
    Failed(#[from] Fault),
    /// An output is wrong, or something was written beside it.
    #[error("{0}")]
    Wrong(String),
}

impl<'a> Proven<'a> {
    pub(crate) fn new(
        arena: &'a Arena,
        op: &'a dyn Op,
        proof: Proof,
        receipt: Receipt,
    ) -> Proven<'a> {
        let signature = check_case(op, &proof.case).expect("a proven case fits its op");
        Proven { arena, op, signature, proof, receipt }
    }

    /// The case it was proven on.
    pub fn case(&self) -> &Case {
        &self.proof.case
    }

    /// Who it is.
    pub fn contender(&self) -> &ContenderId {
        &self.proof.contender
    }

    /// Threads it was proven with.
    pub fn threads(&self) -> usize {
        self.proof.threads
    }

    /// The proof.
    pub fn proof(&self) -> &Proof {
        &self.proof
    }

    /// What it says of itself.
    pub fn receipt(&self) -> &Receipt {
        &self.receipt
    }

    /// Whether an operand is a weight, so that weights can be cold while the others are not.
    pub fn has_weights(&self) -> bool {
        self.signature.operands().iter().any(|operand| operand.role == Role::Weight)
    }

    /// Bytes of the results of a call.
    pub fn result_bytes(&self) -> u64 {
        let bytes = |operand: &proofmark_contract::Operand| {
            (operand.layout().len() * operand.dtype.size()) as u64
        };
        self.signature.outputs().iter().map(bytes).sum()
    }

    /// Bytes of all operands of a call.
    pub fn operand_bytes(&self) -> u64 {
        self.signature.bytes()
    }

    /// Starts the process that reads the rulers beside this contender.
    ///
    /// # Errors
    /// If no process can be had.
    pub fn ruler(&self, cpu: Option<usize>) -> Result<Ruler, Fault> {
        self.arena.ruler(cpu)
    }

    /// Draws the inputs of a trial. All arms of a trial must share them.
    pub fn reveal(&self, seed: u64) -> Revealed {
        let portfolio = self.op.portfolio(self.case(), &self.signature);
        let filling = portfolio.zero_mean.first().expect("a portfolio has zero-mean fills");
        let inputs = values(self.op, self.case(), &self.signature, filling, seed);
        Revealed { inputs, expected: OnceLock::new() }
    }

    /// Starts a fresh worker with the trial's layout, loads the contender, then reveals the
    /// inputs, packs weights and poisons the outputs. Beside another entrant on the same case it
    /// works in the other's operands.
    ///
    /// # Errors
    /// If the worker cannot be started or dies, or the op has no weights that could be cold.
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
        let Seat { cpu, memory, rotate_bytes, sampled_hertz } = *seat;
        if memory.cache == Cache::WeightsCold && !self.has_weights() {
            let op = self.op.name();
            let reason = format!("no operand of `{op}` is a weight: ask for another cache state");
            return Err(Fault::Unsupported(reason));
        }
        let sets = match memory.cache {
            Cache::Rotate => rotate_bytes / self.operand_bytes().max(1) + 1,
            _ => 1,
        };
        let least = if memory.cache == Cache::Rotate { 2 } else { 1 };
        let sets = sets.clamp(least, MOST_SETS) as usize;
        // One layout for all arms of a trial: where each worker drew its own, the same code
        // differed from itself by several per cent for the life of the process.
        let layout = Some(FixedLayout { mapping_pad: trial.mapping_pad });
        let environment_pad = trial.environment_pad as usize;
        let spawn = Spawn { environment_pad, cpu, layout, sampled_hertz };
        let proof = &self.proof;
        let mut worker = self.arena.spawn_for(&proof.contender, &spawn)?;
        let pad = trial.heap_pad as usize;
        let loaded = worker.load(&proof.contender, &proof.case, proof.threads, pad)?;
        worker.reset_peak();
        let before_bytes = worker.resident_bytes();
        if let Some(other) = beside {
            assert_eq!(other.proven.case(), self.case(), "entrants share operands of one case");
            worker.attach_same(&other.worker, memory.cache)?;
        } else {
            let shift = trial.operand_shift as usize;
            let plans = self.plans(Placement::Shifted(shift), sets, memory.pages);
            worker.attach_for(&plans, memory.cache)?;
        }
        let mut entrant =
            Entrant { proven: self, revealed, worker, before_bytes, memory, sets, calls: 0 };
        if beside.is_none() {
            (0..sets).for_each(|set| entrant.write_inputs(set));
        }
        entrant.poison_outputs();
        if loaded.prepared_bytes > 0 {
            entrant.worker.prepare()?;
        }
        Ok(entrant)
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
        };
        self.signature.operands().iter().map(plan).collect()
    }

    fn expected<'r>(&self, revealed: &'r Revealed) -> &'r [(Want, Truth)] {
        revealed.expected.get_or_init(|| {
            let outputs = self.signature.outputs().iter().enumerate();
            let expect = |(k, operand): (usize, &proofmark_contract::Operand)| {
                let seed = self.proof.seed;
                let want = sampling::spot_check(self.op, self.case(), operand, seed);
                let truth = self.op.oracle(self.case(), &revealed.inputs, k, &want);
                (want, truth)
            };
            outputs.map(expect).collect()
        })
    }
}

impl Entrant<'_> {
    /// Runs a batch.
    ///
    /// # Errors
    /// If the worker dies, runs out of time, or the kernel fails.
    pub fn run(&mut self, batch: &Batch) -> Result<Ran, Fault> {
        let ran = self.worker.run(batch)?;
        self.calls += u64::from(batch.prime) + u64::from(batch.calls);
        Ok(ran)
    }

    /// The worker's process.
    pub fn pid(&self) -> u32 {
        self.worker.pid()
    }

    /// Where its threads were since the last look; nothing unless its seat asks for samples.
    pub fn take_samples(&mut self) -> Noted {
        self.worker.take_samples()
    }

    /// Sets of operands that calls walk over.
    pub fn sets(&self) -> usize {
        self.sets
    }

    /// What loads of operands take in the state of the caches that was asked for, and right
    /// afterwards; nothing for hot caches, or where the machine cannot tell.
    ///
    /// # Errors
    /// If the worker dies or the kernel fails.
    pub fn probe(&mut self) -> Result<Option<Probe>, Fault> {
        match self.memory.cache {
            Cache::Hot => return Ok(None),
            // Once around, so that the set that comes next is the one longest ago.
            Cache::Rotate => {
                self.run(&Batch { calls: self.sets as u32, ..Batch::default() })?;
            }
            Cache::Cold | Cache::WeightsCold => {}
        }
        self.worker.probe()
    }

    /// Bytes of operands mapped by huge pages, and mapped at all.
    pub fn huge_and_mapped_bytes(&self) -> (u64, u64) {
        self.worker.huge_and_mapped_bytes()
    }

    /// The set that call number `call` takes.
    fn set_of(&self, call: u64) -> usize {
        (call % self.sets as u64) as usize
    }

    /// Resident memory gained since the contender was loaded, at its peak.
    pub fn peak_bytes(&self) -> u64 {
        self.worker.peak_bytes().saturating_sub(self.before_bytes)
    }

    /// Poisons the outputs, makes one more batch of so many timed calls and checks what it left:
    /// operands may be another entrant's too. Gives the count of elements checked.
    ///
    /// # Errors
    /// What is wrong, or how the worker failed.
    pub fn verify(&mut self, calls: u32) -> Result<u64, Unverified> {
        let in_place =
            self.proven.signature.outputs().iter().any(|operand| operand.role == Role::InOut);
        self.poison_outputs();
        // Repeated calls in place work on their own results: only a call on fresh values can be
        // compared with the oracle.
        if in_place {
            self.write_inputs(self.set_of(self.calls));
        }
        let calls = if in_place { 1 } else { calls };
        // A result that is not there when the clock stops must not be computed afterwards.
        let batch = Batch { calls, seals_inputs: true, ..Batch::default() };
        self.run(&batch)?;
        let set = self.set_of(self.calls.saturating_sub(1));
        let signature = &self.proven.signature;
        let (op, case) = (self.proven.op, self.proven.case());
        let measure = measure(&self.proven.proof.contract);
        let limit = op.limits(case).q_max;
        let first = signature.inputs().len();
        let mut checked = 0;
        let expected = self.proven.expected(self.revealed);
        for (k, (operand, (want, truth))) in signature.outputs().iter().zip(expected).enumerate() {
            let layout = operand.layout();
            let all = self.worker.tensor_of(first + k, set).to_f64();
            let indices = want.indices(layout.rows(), layout.cols());
            let got: Vec<f64> = indices.iter().map(|&i| all[i]).collect();
            let score = score(operand.dtype, measure, truth, &got, want.cols(layout.cols()).len());
            if score.errors.q_max > limit {
                let index = layout.index_of(indices[score.worst]);
                let (got, want) = (got[score.worst], truth.value[score.worst]);
                let name = operand.name;
                let what = format!("timed output {name}{index:?} is {got:e}, exact {want:e}");
                return Err(Unverified::Wrong(what));
            }
            checked += got.len() as u64;
        }
        match self.worker.stray() {
            Some(stray) => Err(Unverified::Wrong(stray.to_string())),
            None => Ok(checked),
        }
    }

    /// Writes the inputs of one set.
    fn write_inputs(&mut self, set: usize) {
        for (i, operand) in self.proven.signature.operands().iter().enumerate() {
            // What is only read cannot have changed since it was written, and is sealed.
            if operand.role != Role::Output && self.worker.tensor_of(i, set).is_writable() {
                self.worker.tensor_of_mut(i, set).from_f64(self.revealed.inputs.of(i));
            }
        }
    }

    /// Poisons the outputs of all sets.
    fn poison_outputs(&mut self) {
        for (i, operand) in self.proven.signature.operands().iter().enumerate() {
            if operand.role == Role::Output {
                self.worker.poison(i, self.proven.proof.seed | 1);
            }
        }
    }
}
