//! Workers that hold a proven contender and the inputs of a trial.

use crate::compare::score;
use crate::examiner::measure;
use crate::proven::{Proven, Revealed};
use proofmark_arena::{Batch, Fault, Noted, Ran, Worker};
use proofmark_contract::Role;
use proofmark_schema::memory::Probe;
use proofmark_schema::{Cache, Memory};

/// A worker that has loaded a proven contender and holds a trial's inputs.
pub struct Entrant<'p> {
    pub(crate) proven: &'p Proven<'p>,
    pub(crate) revealed: &'p Revealed,
    pub(crate) worker: Worker,
    /// Resident memory before it had operands.
    pub(crate) before_bytes: u64,
    pub(crate) memory: Memory,
    pub(crate) sets: usize,
    /// Calls so far: they walk over the sets.
    pub(crate) calls: u64,
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

impl<'p> Entrant<'p> {
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
            self.write(self.revealed, self.next_set());
        }
        let calls = if in_place { 1 } else { calls };
        // A result that is not there when the clock stops must not be computed afterwards.
        let batch = Batch { calls, seals_inputs: true, ..Batch::default() };
        self.run(&batch)?;
        self.check(self.revealed)
    }

    /// Checks what the last call left of these inputs, which it was given; gives the count of
    /// elements checked.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self, revealed: &Revealed) -> Result<u64, Unverified> {
        let set = self.set_of(self.calls.saturating_sub(1));
        let signature = &self.proven.signature;
        let (op, case) = (self.proven.op, self.proven.case());
        let measure = measure(&self.proven.proof().contract);
        let limit = op.limits(case).q_max;
        let first = signature.inputs().len();
        let mut checked = 0;
        let expected = self.proven.expected(revealed);
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

    /// The trial's inputs.
    pub fn revealed(&self) -> &'p Revealed {
        self.revealed
    }

    /// Whether the operands were made for this entrant; else they are another's.
    pub fn owns_operands(&self) -> bool {
        let operands = self.proven.signature.operands();
        (0..operands.len()).all(|i| self.worker.tensor_of(i, 0).is_writable())
    }

    /// The set that the next call takes.
    pub fn next_set(&self) -> usize {
        self.set_of(self.calls)
    }

    /// Writes inputs to one set. Those that are another entrant's are left as they are.
    pub fn write(&mut self, revealed: &Revealed, set: usize) {
        for (i, operand) in self.proven.signature.operands().iter().enumerate() {
            // What is only read is sealed for all but its owner.
            if operand.role != Role::Output && self.worker.tensor_of(i, set).is_writable() {
                self.worker.tensor_of_mut(i, set).from_f64(revealed.inputs.of(i));
            }
        }
    }

    /// Poisons the outputs of all sets.
    pub fn poison_outputs(&mut self) {
        for (i, operand) in self.proven.signature.operands().iter().enumerate() {
            if operand.role == Role::Output {
                self.worker.poison(i, self.proven.proof().seed | 1);
            }
        }
    }
}
