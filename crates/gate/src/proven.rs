//! Proven contenders: the only ones that may be measured.

use crate::compare::score;
use crate::sampling;
use crate::subject::values;
use proofmark_arena::{Arena, Batch, Fault, FixedLayout, OperandPlan, Ran, Spawn, Worker};
use proofmark_contract::{Op, Role, Signature, Truth, Values, Want, check_case};
use proofmark_schema::proof::Proof;
use proofmark_schema::race::Trial;
use proofmark_schema::{Case, ContenderId, Receipt};
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

/// A worker that has loaded a proven contender and holds a trial's inputs.
pub struct Entrant<'p> {
    proven: &'p Proven<'p>,
    revealed: &'p Revealed,
    worker: Worker,
    before_bytes: u64,
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

    /// Draws the inputs of a trial. All arms of a trial must share them.
    pub fn reveal(&self, seed: u64) -> Revealed {
        let portfolio = self.op.portfolio(self.case(), &self.signature);
        let filling = portfolio.zero_mean.first().expect("a portfolio has zero-mean fills");
        let inputs = values(&self.signature, filling, seed);
        Revealed { inputs, expected: OnceLock::new() }
    }

    /// Starts a fresh worker with the trial's layout, loads the contender, then reveals the
    /// inputs, packs weights and poisons the outputs.
    ///
    /// # Errors
    /// If the worker cannot be started or dies.
    pub fn enter<'p>(
        &'p self,
        trial: &Trial,
        revealed: &'p Revealed,
        cpu: Option<usize>,
    ) -> Result<Entrant<'p>, Fault> {
        // One layout for all arms of a trial: where each worker drew its own, the same code
        // differed from itself by several per cent for the life of the process.
        let layout = Some(FixedLayout { mapping_pad: trial.mapping_pad });
        let spawn = Spawn { environment_pad: trial.environment_pad as usize, cpu, layout };
        let mut worker = self.arena.spawn(&spawn)?;
        let proof = &self.proof;
        let pad = trial.heap_pad as usize;
        let loaded = worker.load(&proof.contender, &proof.case, proof.threads, pad)?;
        worker.reset_peak();
        let before_bytes = worker.resident_bytes();
        let plan = |operand: &proofmark_contract::Operand| OperandPlan {
            name: operand.name.to_owned(),
            dtype: operand.dtype,
            layout: operand.layout(),
            placement: Placement::Shifted(trial.operand_shift as usize),
            writable: operand.role.is_written(),
        };
        worker.attach(&self.signature.operands().iter().map(plan).collect::<Vec<_>>())?;
        let mut entrant = Entrant { proven: self, revealed, worker, before_bytes };
        entrant.write_operands();
        if loaded.prepared_bytes > 0 {
            entrant.worker.prepare()?;
        }
        Ok(entrant)
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
        self.worker.run(batch)
    }

    /// Resident memory gained since the contender was loaded, at its peak.
    pub fn peak_bytes(&self) -> u64 {
        self.worker.peak_bytes().saturating_sub(self.before_bytes)
    }

    /// Checks what the last timed batch left in the outputs; gives the count of elements checked.
    ///
    /// # Errors
    /// What is wrong, or how the worker failed.
    pub fn verify(&mut self) -> Result<u64, String> {
        let in_place =
            self.proven.signature.outputs().iter().any(|operand| operand.role == Role::InOut);
        // Repeated calls in place work on their own results: only a call on fresh values can be
        // compared with the oracle.
        if in_place {
            self.write_operands();
            let once = Batch { prime: 0, calls: 1, check_each_call: false, dirty_workspace: None };
            self.worker.run(&once).map_err(|fault| fault.to_string())?;
        }
        let signature = &self.proven.signature;
        let (op, case) = (self.proven.op, self.proven.case());
        let unit = self.proven.proof.contract.accumulate.unit();
        let limit = op.limits(case).q_max;
        let first = signature.inputs().len();
        let mut checked = 0;
        let expected = self.proven.expected(self.revealed);
        for (k, (operand, (want, truth))) in signature.outputs().iter().zip(expected).enumerate() {
            let layout = operand.layout();
            let all = self.worker.tensor(first + k).to_f64();
            let indices = want.indices(layout.rows(), layout.cols());
            let got: Vec<f64> = indices.iter().map(|&i| all[i]).collect();
            let score = score(operand.dtype, unit, truth, &got, want.cols(layout.cols()).len());
            if score.errors.q_max > limit {
                let index = layout.index_of(indices[score.worst]);
                let (got, want) = (got[score.worst], truth.value[score.worst]);
                let name = operand.name;
                return Err(format!("timed output {name}{index:?} is {got:e}, exact {want:e}"));
            }
            checked += got.len() as u64;
        }
        match self.worker.stray() {
            Some(stray) => Err(stray.to_string()),
            None => Ok(checked),
        }
    }

    fn write_operands(&mut self) {
        for (i, operand) in self.proven.signature.operands().iter().enumerate() {
            if operand.role == Role::Output {
                self.worker.poison(i, self.proven.proof.seed | 1);
            } else {
                self.worker.tensor_mut(i).from_f64(self.revealed.inputs.of(i));
            }
        }
    }
}
