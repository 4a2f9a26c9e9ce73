//! Workers that hold a proven contender and the inputs of a trial, and the checks of what their
//! timed calls leave.

use crate::compare::{measure, score};
use crate::proven::Proven;
use crate::revealed::{Revealed, State};
use crate::sampling;
use proofmark_arena::{Batch, Change, Fault, Inputs, Noted, Ran, Worker};
use proofmark_contract::{NoTruth, Perturbation, Place, Role, Truth, Values, Want};
use proofmark_schema::isolation::Attempt;
use proofmark_schema::memory::Probe;
use proofmark_schema::{Cache, Memory};
use proofmark_tensor::{decode, mix};

/// A worker that has loaded a proven contender and holds a trial's inputs.
pub struct Entrant<'p> {
    pub(crate) proven: &'p Proven<'p>,
    pub(crate) revealed: &'p Revealed,
    pub(crate) worker: Worker,
    /// Resident memory before it had operands.
    pub(crate) before_bytes: u64,
    pub(crate) memory: Memory,
    pub(crate) sets: usize,
    /// Results come into the outputs after the clock has stopped.
    pub(crate) settles: bool,
    /// Calls so far: they walk over the sets.
    pub(crate) calls: u64,
    /// What timed calls left at single places, to be checked when there is time.
    pub(crate) left: Vec<Left>,
}

/// Maximum number of calls of a revealed batch of which one element is checked.
const SINGLE_CALLS: u64 = 64;

/// What one timed call left at one place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Left {
    state: State,
    place: Place,
    value: f64,
}

/// Why timed outputs are not what they should be.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Unverified {
    /// The worker failed.
    #[error(transparent)]
    Failed(#[from] Fault),
    /// An output is wrong, or bytes next to it were overwritten.
    #[error("{0}")]
    Wrong(String),
    /// The op's own reference failed, so that no output can be checked.
    #[error("{0}")]
    NoTruth(#[from] NoTruth),
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

    /// Runs a batch of a race and remembers what some of its calls left: `pick` says which.
    ///
    /// # Errors
    /// As for [`Entrant::run`].
    pub fn slice(&mut self, batch: &Batch, pick: u64) -> Result<Ran, Fault> {
        let first = self.calls;
        if matches!(batch.inputs, Inputs::Fresh(_)) {
            self.restore_in_place();
        }
        let ran = self.run(batch)?;
        self.remember(batch, first, pick);
        Ok(ran)
    }

    /// Remembers what a drawn call left at its own spoiled place, and what the last call left at
    /// the spoiled place of a drawn one.
    fn remember(&mut self, batch: &Batch, first: u64, pick: u64) {
        let (change, is_fresh) = match batch.inputs {
            Inputs::AsTheyAre => return,
            Inputs::Perturbed(change) => (change, false),
            Inputs::Fresh(change) => (change, true),
            // What an audit leaves is checked at once.
            Inputs::Audit(_) => return,
        };
        let all = u64::from(batch.prime) + u64::from(batch.calls);
        if batch.calls == 0 {
            return;
        }
        let signature = &self.proven.signature;
        let perturbation = Perturbation::of(signature, change.with_weights);
        let state = |call: u64| match is_fresh {
            true => State::Fresh { change, before_last: all - 1 - call },
            false => State::Stepped { change, call, first, sets: self.sets as u64 },
        };
        let place = |call: u64| perturbation.step(change.seed, call).spoil.map(|(place, _)| place);
        let call = u64::from(batch.prime) + mix(pick, 1, 0) % u64::from(batch.calls);
        if let Some(place) = place(call).filter(|_| !self.settles) {
            let dtype = signature.operands()[place.operand].dtype;
            let bits = self.worker.kept(call as usize, place.operand, (place.row, place.col));
            let value = decode(dtype, &bits.to_le_bytes()[..dtype.size()])[0];
            self.left.push(Left { state: state(call), place, value });
        }
        if let Some(place) = place(mix(pick, 1, 1) % all) {
            let set = self.set_of(first + all - 1);
            let tensor = self.worker.tensor_of(place.operand, set);
            let value = tensor.element(place.row, place.col);
            self.left.push(Left { state: state(all - 1), place, value });
        }
    }

    /// Writes operands for each call of a batch, runs it, and checks what calls left: one element
    /// of each of some calls, and all that one call left. The contender cannot know which. Gives
    /// the count of elements checked, and what the batch took.
    ///
    /// # Errors
    /// What is wrong, or how the worker failed.
    ///
    /// # Panics
    /// If there are more calls than sets.
    pub fn revealed_slice(&mut self, calls: u32, change: Change) -> Result<(u64, Ran), Unverified> {
        assert!(calls as usize <= self.sets, "{calls} calls on {} sets", self.sets);
        let (first, calls) = (self.calls, u64::from(calls));
        for call in 0..calls {
            self.reveal(self.set_of(first + call), State::Fresh { change, before_last: call });
        }
        self.poison_outputs(mix(change.seed, 3, 0) | 1);
        let ran = self.run(&Batch { calls: calls as u32, ..Batch::default() })?;
        let mut checked = 0;
        for pick in 0..calls.min(SINGLE_CALLS) {
            let call = mix(change.seed, 4, pick) % calls;
            checked += self.check_one(first + call, State::Fresh { change, before_last: call })?;
        }
        let call = mix(change.seed, 5, 0) % calls;
        let set = self.set_of(first + call);
        checked += self.check_set(set, State::Fresh { change, before_last: call })?;
        Ok((checked, ran))
    }

    /// Writes the operands of one call that differ from call to call.
    fn reveal(&mut self, set: usize, state: State) {
        let (signature, worker) = (&self.proven.signature, &mut self.worker);
        let State::Fresh { change, .. } = state else { return };
        let perturbation = Perturbation::of(signature, change.with_weights);
        self.revealed.in_state(signature, state, |values| {
            for (i, operand) in signature.operands().iter().enumerate() {
                let is_in_place = operand.role == Role::InOut;
                if is_in_place || perturbation.refreshes(signature, i) {
                    worker.tensor_of_mut(i, set).from_f64(values.of(i));
                }
            }
        });
    }

    /// Checks one drawn element of each output of a call.
    fn check_one(&self, call: u64, state: State) -> Result<u64, Unverified> {
        let Proven { op, signature, .. } = self.proven;
        let (case, set) = (self.proven.case(), self.set_of(call));
        let first = signature.inputs().len();
        let mut checked = 0;
        for (k, operand) in signature.outputs().iter().enumerate() {
            let layout = operand.layout();
            let (rows, cols) = (layout.rows(), layout.cols());
            if rows * cols == 0 {
                continue;
            }
            let drawn = mix(self.revealed.seed, 6 + k as u64, call);
            let (row, col) = ((drawn >> 32) as usize % rows, drawn as u32 as usize % cols);
            let want = Want::some(Some(vec![row]), Some(vec![col]));
            let oracle = |inputs: &Values| op.truth(case, inputs, k, &want);
            let truth = self.revealed.in_state(signature, state, oracle)?;
            let value = self.worker.tensor_of(first + k, set).element(row, col);
            self.compare(k, &truth, &[value], 1, &|_| row * cols + col)?;
            checked += 1;
        }
        Ok(checked)
    }

    /// The worker's process.
    pub fn pid(&self) -> u32 {
        self.worker.pid()
    }

    /// Where its threads were since the last look; nothing unless its seat asks for samples.
    pub fn take_samples(&mut self) -> Noted {
        self.worker.take_samples()
    }

    /// Processor time of the processes that it has started and that live.
    pub fn descendants_ns(&self) -> u64 {
        self.worker.descendants_ns()
    }

    /// The first try to reach another process that its sandbox has refused.
    pub fn attack(&self) -> Option<Attempt> {
        self.worker.confinement().attack().cloned()
    }

    /// Sets of operands that calls walk over.
    pub fn sets(&self) -> usize {
        self.sets
    }

    /// Forbids further writable mappings of the inputs: all entrants that share them are there.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn seal_inputs(&self) -> Result<(), Fault> {
        self.worker.seal_inputs()
    }

    /// The times of loads from operands in the requested state of the caches, and right afterwards;
    /// `None` for hot caches, or if the machine cannot measure them.
    ///
    /// # Errors
    /// If the worker dies or the kernel fails.
    pub fn probe(&mut self) -> Result<Option<Probe>, Fault> {
        match self.memory.cache {
            Cache::Hot => return Ok(None),
            // One call for each set, so that the next set is the one that was used longest ago.
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

    /// Resident memory gained since the contender was loaded, at its peak. Inputs that are mapped
    /// a second time to be changed count once.
    pub fn peak_bytes(&self) -> u64 {
        let twice = self.worker.changing_bytes();
        self.worker.peak_bytes().saturating_sub(self.before_bytes).saturating_sub(twice)
    }

    /// Resident memory now.
    pub fn resident_bytes(&self) -> u64 {
        self.worker.resident_bytes()
    }

    /// Whether any of its threads may run elsewhere than on this processor.
    pub fn is_outside(&self, cpu: usize) -> bool {
        self.worker.is_outside(cpu)
    }

    /// Poisons the outputs and audits the contender with `calls` calls, half of them on inputs that
    /// were never seen before. Checks all results of the last call, then what timed calls left
    /// before. Returns the number of elements checked and the times of the batch.
    ///
    /// # Errors
    /// What is wrong, or how the worker failed.
    pub fn verify(&mut self, calls: u32, change: Change) -> Result<(u64, Ran), Unverified> {
        let batch = Batch { calls, inputs: Inputs::Audit(change), ..Batch::default() };
        let pattern = self.proven.proof().seed | 1;
        let state = State::Fresh { change, before_last: 0 };
        let ran = self.verified_batch(&batch, pattern)?;
        let mut checked = self.check(state)?;
        if let Some((operand, element)) = self.unwritten(pattern) {
            // A right integer result may equal one poison pattern, but not two.
            let again = pattern.rotate_left(32) ^ u64::MAX;
            self.verified_batch(&batch, again)?;
            if self.unwritten(again) == Some((operand, element)) {
                let operand = &self.proven.signature.operands()[operand];
                let index = operand.layout().index_of(element);
                let what = format!("timed output {}{index:?} was not written", operand.name);
                return Err(Unverified::Wrong(what));
            }
        }
        checked += self.check_left(change.seed)?;
        Ok((checked, ran))
    }

    fn verified_batch(&mut self, batch: &Batch, pattern: u64) -> Result<Ran, Unverified> {
        self.poison_outputs(pattern);
        self.restore_in_place();
        Ok(self.run(batch)?)
    }

    /// The first element of an output that still holds its poison; where calls walk over sets,
    /// the set that holds the last results is not looked at.
    fn unwritten(&self, pattern: u64) -> Option<(usize, usize)> {
        let operands = self.proven.signature.operands().iter().enumerate();
        let mut outputs = operands.filter(|(_, operand)| operand.role == Role::Output);
        let is_one = self.sets == 1;
        outputs.find_map(|(i, _)| {
            is_one.then(|| self.worker.unwritten(i, pattern)).flatten().map(|element| (i, element))
        })
    }

    /// Checks what the last call left of inputs in this state; gives the count of elements checked.
    fn check(&self, state: State) -> Result<u64, Unverified> {
        self.check_set(self.set_of(self.calls.saturating_sub(1)), state)
    }

    /// The same for the call that took a set last.
    fn check_set(&self, set: usize, state: State) -> Result<u64, Unverified> {
        let Proven { op, signature, .. } = self.proven;
        let case = self.proven.case();
        let expected = self.revealed.expected(signature, state, |inputs: &Values| {
            let outputs = signature.outputs().iter().enumerate();
            let expect = |(k, operand)| {
                let want = sampling::spot_check(*op, case, operand, self.revealed.seed);
                let truth = op.truth(case, inputs, k, &want)?;
                Ok((want, truth))
            };
            outputs.map(expect).collect::<Result<_, NoTruth>>()
        })?;
        let first = signature.inputs().len();
        let mut checked = 0;
        for (k, (want, truth)) in expected.iter().enumerate() {
            let layout = signature.outputs()[k].layout();
            let all = self.worker.tensor_of(first + k, set).to_f64();
            let indices = want.indices(layout.rows(), layout.cols());
            let got: Vec<f64> = indices.iter().map(|&i| all[i]).collect();
            self.compare(k, truth, &got, want.cols(layout.cols()).len(), &|i| indices[i])?;
            checked += got.len() as u64;
        }
        match self.worker.stray() {
            Some(stray) => Err(Unverified::Wrong(stray.to_string())),
            None => Ok(checked),
        }
    }

    /// Compares elements of an output with the truth about them.
    fn compare(
        &self,
        output: usize,
        truth: &Truth,
        got: &[f64],
        row: usize,
        index: &dyn Fn(usize) -> usize,
    ) -> Result<(), Unverified> {
        let proven = self.proven;
        let operand = &proven.signature.outputs()[output];
        let measure = measure(&proven.proof().contract);
        let score = score(operand.dtype, measure, truth, got, row);
        if score.errors.q_max <= proven.op.limits(proven.case()).q_max {
            return Ok(());
        }
        let index = operand.layout().index_of(index(score.worst));
        let (got, want) = (got[score.worst], truth.value[score.worst]);
        let what = format!("timed output {}{index:?} is {got:e}, exact {want:e}", operand.name);
        Err(Unverified::Wrong(what))
    }

    /// Checks as much of what timed calls left as is affordable, drawn at random; gives the count.
    fn check_left(&mut self, seed: u64) -> Result<u64, Unverified> {
        let mut left = std::mem::take(&mut self.left);
        let Proven { op, signature, .. } = self.proven;
        let case = self.proven.case();
        let affordable = sampling::single_checks(*op, case, signature);
        let mut checked = 0;
        while checked < affordable && !left.is_empty() {
            let at = mix(seed, 2, checked) % left.len() as u64;
            let Left { state, place, value } = left.swap_remove(at as usize);
            let output = place.operand - signature.inputs().len();
            let want = Want::some(Some(vec![place.row]), Some(vec![place.col]));
            let oracle = |inputs: &Values| op.truth(case, inputs, output, &want);
            let truth = self.revealed.in_state(signature, state, oracle)?;
            let flat = place.row * signature.outputs()[output].layout().cols() + place.col;
            self.compare(output, &truth, &[value], 1, &|_| flat).map_err(in_a_row)?;
            checked += 1;
        }
        Ok(checked)
    }

    /// Writes inputs to one set. Those that are another entrant's are left as they are.
    pub(crate) fn write(&mut self, set: usize) {
        for (i, operand) in self.proven.signature.operands().iter().enumerate() {
            // What is only read is sealed for all but its owner.
            if operand.role != Role::Output && self.worker.tensor_of(i, set).is_writable() {
                let inputs = self.revealed.inputs.borrow();
                self.worker.tensor_of_mut(i, set).from_f64(inputs.of(i));
            }
        }
    }

    /// Gives operands that calls overwrite their first values again, in all sets.
    fn restore_in_place(&mut self) {
        for (i, operand) in self.proven.signature.operands().iter().enumerate() {
            for set in (0..self.sets).filter(|_| operand.role == Role::InOut) {
                let inputs = self.revealed.inputs.borrow();
                self.worker.tensor_of_mut(i, set).from_f64(inputs.of(i));
            }
        }
    }

    /// Poisons the outputs of all sets.
    pub(crate) fn poison_outputs(&mut self, pattern: u64) {
        for (i, operand) in self.proven.signature.operands().iter().enumerate() {
            if operand.role == Role::Output {
                self.worker.poison(i, pattern);
            }
        }
    }
}

/// Adds to the reason that the wrong output is of a call between others.
fn in_a_row(wrong: Unverified) -> Unverified {
    match wrong {
        Unverified::Wrong(what) => Unverified::Wrong(format!("{what}, after a call in a row")),
        failed => failed,
    }
}
