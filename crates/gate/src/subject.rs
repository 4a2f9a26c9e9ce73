//! The contender under examination: a worker, its operands, and one judged run at a time.

use proofmark_arena::{
    Arena, Batch, Fault, FixedLayout, Footprint, Loaded, OperandPlan, Ran, Spawn, Worker,
    processor_in_turn,
};
use proofmark_contract::{Filling, Op, Role, Signature, Values};
use proofmark_schema::isolation::Confinement;
use proofmark_schema::{Case, ContenderId, Pages, Receipt, Underflow};
use proofmark_tensor::{Layout, Placement, mix};
use std::borrow::Cow;

/// How the operands of a run lie in memory, and what stands in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Setup {
    /// Where each operand starts within its pages.
    pub(crate) placement: Placement,
    /// Elements between the end of a row and the next, where the operand allows it.
    pub(crate) padding: usize,
    /// Calls in a row of which the last is judged: it finds the results and the workspace that
    /// those before it left.
    pub(crate) calls: u32,
}

impl Setup {
    /// Dense and aligned: how measured calls run.
    pub(crate) const PLAIN: Setup = Setup { placement: Placement::Aligned64, padding: 0, calls: 1 };
}

/// What a run wrote.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outputs {
    /// Decoded, one vector for each written operand.
    pub(crate) values: Vec<Vec<f64>>,
    /// The same as raw bytes.
    bytes: Vec<Vec<u8>>,
    /// What the processor's state looked like afterwards (see `wire::leak`).
    pub(crate) leaks: u32,
}

impl Outputs {
    /// Whether an element of a written operand has other bits than in another run.
    pub(crate) fn differs(&self, other: &Outputs, operand: usize, index: usize) -> bool {
        let (ours, theirs) = (&self.bytes[operand], &other.bytes[operand]);
        let size = ours.len() / self.values[operand].len();
        let element = index * size..(index + 1) * size;
        ours[element.clone()] != theirs[element]
    }
}

/// A contender loaded for a case.
pub(crate) struct Subject<'a> {
    signature: &'a Signature,
    worker: Worker,
    loaded: Loaded,
    setup: Option<Setup>,
    poison: u64,
    /// What the process was before its first call.
    before: Option<Footprint>,
}

impl<'a> Subject<'a> {
    /// Starts a worker and loads the contender, before any input exists.
    pub(crate) fn load(
        arena: &Arena,
        (op, case): (&dyn Op, &Case),
        signature: &'a Signature,
        contender: &ContenderId,
        threads: usize,
        seed: u64,
    ) -> Result<Subject<'a>, Fault> {
        // The layout is drawn and one thread has one processor, as in a race, so that a contender
        // cannot tell a proof from a race.
        let drawn = |word, below| (mix(seed, 401, word) % below) as u32;
        let spawn = Spawn {
            environment_pad: drawn(0, 4096) as usize,
            cpu: if threads == 1 { processor_in_turn() } else { None },
            layout: Some(FixedLayout { mapping_pad: drawn(1, 1 << 15) }),
            sampled_hertz: None,
            operations: op.work(case).flops,
        };
        let mut worker = arena.spawn_for(contender, &spawn)?;
        let heap_pad = 16 * drawn(2, 4096) as usize;
        let loaded = worker.load(contender, case, threads, heap_pad)?;
        Ok(Subject {
            signature,
            worker,
            loaded,
            setup: None,
            poison: mix(seed, 402, 0) | 1,
            before: None,
        })
    }

    /// What it said when it was loaded.
    pub(crate) fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    /// Adds the files of code that it has opened since it was loaded.
    pub(crate) fn note_code(&self, receipt: &mut Receipt) {
        self.worker.note_code(receipt);
    }

    /// Changes how many threads it may use.
    pub(crate) fn set_threads(&mut self, threads: usize) -> Result<(), Fault> {
        self.worker.set_threads(threads)
    }

    /// Inputs as it is given them: subnormals only where it promises to keep them.
    pub(crate) fn given<'v>(&self, inputs: &'v Values) -> Cow<'v, Values> {
        if self.loaded.contract.underflow == Underflow::Gradual {
            return Cow::Borrowed(inputs);
        }
        let mut given = inputs.clone();
        for (operand, values) in self.signature.operands().iter().zip(&mut given.tensors) {
            let least = 2f64.powi(operand.dtype.min_exponent());
            if operand.dtype.is_float() {
                values.iter_mut().filter(|v| v.abs() < least).for_each(|v| *v *= 0.0);
            }
        }
        Cow::Owned(given)
    }

    /// Lays the operands out anew.
    pub(crate) fn arrange(&mut self, setup: Setup) -> Result<(), Fault> {
        let padding = if self.loaded.contract.dense_rows { 0 } else { setup.padding };
        let plans: Vec<OperandPlan> = self
            .signature
            .operands()
            .iter()
            .map(|operand| OperandPlan {
                name: operand.name.to_owned(),
                dtype: operand.dtype,
                layout: if operand.free_row_stride && padding > 0 {
                    let cols = operand.layout().cols();
                    Layout::padded(operand.shape.as_slice(), cols + padding)
                } else {
                    operand.layout()
                },
                placement: setup.placement,
                writable: operand.role.is_written(),
                sets: 1,
                pages: Pages::Small,
                changes: false,
            })
            .collect();
        self.setup = None;
        self.worker.attach(&plans)?;
        self.setup = Some(setup);
        Ok(())
    }

    /// Writes the inputs, poisons the outputs, calls as often as the setup says and reads the
    /// outputs.
    pub(crate) fn run(&mut self, inputs: &Values) -> Result<Outputs, Fault> {
        if self.setup.is_none() {
            self.arrange(Setup::PLAIN)?;
        }
        let calls = self.setup.map_or(1, |setup| setup.calls);
        let inputs = self.given(inputs);
        self.poison = self.poison.wrapping_mul(0x2545_f491_4f6c_dd1d).rotate_left(17) | 1;
        for (i, operand) in self.signature.operands().iter().enumerate() {
            if operand.role == Role::Output {
                self.worker.poison(i, self.poison);
            } else {
                self.worker.tensor_mut(i).from_f64(inputs.of(i));
            }
        }
        if self.loaded.prepared_bytes > 0 {
            self.worker.prepare()?;
        }
        if self.before.is_none() {
            self.before = Some(self.worker.footprint());
        }
        let ran = self.call(calls)?;
        Ok(self.outputs(ran.leaks))
    }

    fn call(&mut self, calls: u32) -> Result<Ran, Fault> {
        let dirty_workspace = Some((self.poison >> 16) as u32);
        let batch = Batch { calls, check_each_call: true, dirty_workspace, ..Batch::default() };
        self.worker.run(&batch)
    }

    fn outputs(&self, leaks: u32) -> Outputs {
        let first = self.signature.inputs().len();
        let written = first..self.signature.operands().len();
        let values = written.clone().map(|i| self.worker.tensor(i).to_f64()).collect();
        let bytes = written.map(|i| self.worker.tensor(i).to_bytes()).collect();
        Outputs { values, bytes, leaks }
    }

    /// What it has changed of its process since before its first call, in words.
    pub(crate) fn left(&mut self) -> Vec<String> {
        let now = self.worker.footprint();
        self.before.as_ref().map_or_else(Vec::new, |before| now.changes(before))
    }

    /// How it is confined, and what it has tried so far.
    pub(crate) fn confinement(&self) -> Confinement {
        self.worker.confinement()
    }

    /// The first byte around or between the elements of any operand that was changed.
    pub(crate) fn stray(&self) -> Option<String> {
        self.worker.stray().map(|stray| stray.to_string())
    }

    /// Whether the read-only operands still hold these values.
    pub(crate) fn inputs_intact(&self, inputs: &Values) -> Option<&'static str> {
        let inputs = self.given(inputs);
        let reads = self.signature.inputs().iter().enumerate();
        for (i, operand) in reads {
            let now = self.worker.tensor(i).to_f64();
            let same =
                |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
            if !now.iter().zip(inputs.of(i)).all(same) {
                return Some(operand.name);
            }
        }
        None
    }
}

/// The values a filling gives the operands of a case: those of a run before it is made.
pub(crate) fn values(
    op: &dyn Op,
    case: &Case,
    signature: &Signature,
    filling: &Filling,
    seed: u64,
) -> Values {
    let fill = |(i, operand): (usize, &proofmark_contract::Operand)| {
        if operand.role == Role::Output {
            return Vec::new();
        }
        let layout = operand.layout();
        let shape = (layout.rows(), layout.cols());
        filling.fills[i].values(operand.dtype, seed, i as u64, shape)
    };
    let mut values =
        Values { tensors: signature.operands().iter().enumerate().map(fill).collect() };
    op.structure(case, seed, &mut values);
    values
}

/// Rounds changed values to their element types, as memory would.
pub(crate) fn round_values(signature: &Signature, values: &mut Values) {
    for (operand, tensor) in signature.operands().iter().zip(&mut values.tensors) {
        proofmark_tensor::round_all(operand.dtype, tensor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_differ_by_their_own_bits() {
        let run = |bytes: [u8; 6]| Outputs {
            values: vec![vec![0.0], vec![0.0; 2]],
            bytes: vec![bytes[..2].to_vec(), bytes[2..].to_vec()],
            leaks: 0,
        };
        // -0 of f16 equals 0, but its bits differ.
        let (one, other) = (run([0, 0, 1, 2, 3, 4]), run([0, 0x80, 1, 2, 3, 5]));
        assert!(one.differs(&other, 0, 0) && one.differs(&other, 1, 1));
        assert!(!one.differs(&other, 1, 0) && !one.differs(&one, 1, 1));
    }
}
