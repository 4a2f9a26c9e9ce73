//! Products of matrices: all steps' inputs at once, outputs before step by step.
//!
//! Idea: the sums over inputs need no output, so they are one product of all steps and sequences;
//! the sums over the outputs before are a product a step, whose weights are packed once a call, or
//! once for all calls (`prepacked`). Few sequences or steps pack nothing (see `blocks::gemm`).
//! A thread has its own units with all their gates, so threads meet once a step; sums are never
//! split, so every number of threads gives the same bits.

use super::cell::Step;
use super::scalar::{Given, finish, taken};
use crate::blocks::gemm::{
    Blocking, Epilogue, Gemm, Keeps, PackRight, PackedRight, Right, SKINNY_ROWS, Skinny,
    skinny_scratch,
};
use crate::blocks::math::Activation;
use crate::blocks::scratch::{elements, elements_mut};
use crate::rnn::definition::Problem;
use proofmark_contract::{Call, Kernel, KernelError, Unsupported};
use proofmark_simd::dispatch;
use proofmark_tensor::{Rows, RowsMut, split};
use proofmark_terms::{Case, ErrorContract, Isa, Reproducibility};
use std::ops::Range;

/// On one thread.
pub(crate) static SIMD: Blocked = Blocked {
    name: "simd",
    summary: "packed products, then the gates in vectors",
    is_parallel: false,
    is_prepared: false,
};
/// On several.
pub(crate) static PARALLEL: Blocked = Blocked {
    name: "parallel",
    summary: "as simd, with units split among threads",
    is_parallel: true,
    is_prepared: false,
};
/// With weights packed before.
pub(crate) static PREPACKED: Blocked = Blocked {
    name: "prepacked",
    summary: "as parallel, but weights are packed once outside the timed part",
    is_parallel: true,
    is_prepared: true,
};

/// A kernel of this kind.
#[derive(Debug)]
pub(crate) struct Blocked {
    name: &'static str,
    summary: &'static str,
    is_parallel: bool,
    is_prepared: bool,
}

/// What both sides of the sums have in common: over inputs (0) and over outputs before (1).
#[derive(Clone, Copy)]
struct Plan {
    of: Problem,
    isa: Isa,
    threads: usize,
    is_prepared: bool,
}

impl Plan {
    /// Terms of the sums of a side.
    fn terms(&self, side: usize) -> usize {
        [self.of.inputs, self.of.units][side]
    }

    /// Rows of the product of a side.
    fn rows(&self, side: usize) -> usize {
        [self.of.steps * self.of.batch, self.of.batch][side]
    }

    /// Whether so few rows are multiplied that nothing is packed. Every step multiplies by the
    /// weights over outputs, so packing them pays where some steps have some rows. The numbers of
    /// both are reasoned, not raced.
    fn is_skinny(&self, side: usize) -> bool {
        let is_reused = side == 1 && self.of.batch >= 4 && self.of.steps >= 4;
        !self.is_prepared && !is_reused && self.rows(side) <= SKINNY_ROWS
    }

    /// The units of a thread; the first has the most.
    fn units(&self, index: usize) -> Range<usize> {
        split(self.of.units, self.threads, index, Blocking::of(self.isa).nr)
    }

    /// Floats of a gate's packed weights of a side, for a number of units.
    fn packed(&self, side: usize, units: usize) -> usize {
        Blocking::of(self.isa).packed_right(self.terms(side), units)
    }

    /// Whether a thread packs its weights over outputs itself, once for all steps.
    fn packs_own(&self) -> bool {
        !self.is_prepared && !self.is_skinny(1)
    }

    /// Floats of a thread: both sums, its packed weights, scratch memory of products.
    fn parts(&self) -> [usize; 4] {
        let (span, gates) = (self.units(0).len(), self.of.gates());
        let own = if self.packs_own() { gates * self.packed(1, span) } else { 0 };
        let scratch = |side: usize| {
            if self.is_skinny(side) {
                return skinny_scratch(self.rows(side), self.terms(side));
            }
            let packed_right = self.is_prepared || side == 1;
            let keeps = Keeps { packed_right, f32_output: true };
            Blocking::of(self.isa).scratch(self.rows(side), span, self.terms(side), keeps)
        };
        [self.rows(0) * gates * span, self.rows(1) * gates * span, own, scratch(0).max(scratch(1))]
            .map(|count| count.next_multiple_of(16))
    }

    /// Where the packed weights of a gate lie among those packed before.
    fn prepared(&self, side: usize, gate: usize) -> Range<usize> {
        let (each, before) = (self.packed(side, self.of.units), self.packed(0, self.of.units));
        let first = if side == 1 { self.of.gates() * before } else { 0 };
        first + gate * each..first + (gate + 1) * each
    }

    /// Floats of all weights packed before.
    fn prepared_floats(&self) -> usize {
        self.prepared(1, self.of.gates() - 1).end
    }
}

impl Blocked {
    fn plan(&self, case: &Case, isa: Isa, threads: usize) -> Plan {
        let threads = if self.is_parallel { threads.max(1) } else { 1 };
        Plan { of: Problem::of(case), isa, threads, is_prepared: self.is_prepared }
    }
}

impl Kernel for Blocked {
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn isas(&self) -> &'static [Isa] {
        &Isa::ALL
    }

    fn is_parallel(&self) -> bool {
        self.is_parallel
    }

    fn supports(&self, _case: &Case, _isa: Isa) -> Result<(), Unsupported> {
        Ok(())
    }

    fn contract(&self, _case: &Case) -> ErrorContract {
        let reproducibility = Reproducibility::ThreadInvariant;
        ErrorContract { reproducibility, ..ErrorContract::default() }
    }

    fn workspace_bytes(&self, case: &Case, isa: Isa, threads: usize) -> usize {
        let plan = self.plan(case, isa, threads);
        plan.threads * plan.parts().iter().sum::<usize>() * size_of::<f32>()
    }

    fn prepared_bytes(&self, case: &Case, isa: Isa) -> usize {
        let plan = self.plan(case, isa, 1);
        if self.is_prepared { plan.prepared_floats() * size_of::<f32>() } else { 0 }
    }

    fn prepare(&self, call: &mut Call<'_>, prepared: &mut [u8]) -> Result<(), KernelError> {
        let plan = self.plan(call.case, call.isa, 1);
        if !self.is_prepared || plan.of.units == 0 {
            return Ok(());
        }
        let given = Given::of(call.inputs, plan.of)?;
        let to = elements_mut::<f32>(prepared, plan.prepared_floats(), "packed weights")?;
        for (side, weights) in given.weights.into_iter().enumerate() {
            for gate in 0..plan.of.gates() {
                let rows = weights.range(gate * plan.of.units..(gate + 1) * plan.of.units);
                let to = &mut to[plan.prepared(side, gate)];
                dispatch(call.isa, PackRight { rows, transposed: true, to });
            }
        }
        Ok(())
    }

    fn run(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        let plan = self.plan(call.case, call.isa, call.threads);
        let (of, parts) = (plan.of, plan.parts());
        let given = Given::of(call.inputs, of)?;
        let (y, mut hn, c) = taken(call.inputs, call.outputs, of)?;
        let prepared = match self.is_prepared {
            true => elements::<f32>(call.prepared, plan.prepared_floats(), "packed weights")?,
            false => &[],
        };
        if of.batch * of.units == 0 {
            return Ok(());
        }
        let each = parts.iter().sum::<usize>();
        let floats = elements_mut::<f32>(call.workspace, plan.threads * each, "workspace")?;
        let own = RowsMut::from_slice(floats, plan.threads, each);
        // SAFETY: none of the views is used while the handles are.
        let (own, shared) = unsafe { (own.share(), y.share()) };
        // SAFETY: as above.
        let c = c.map(|c| unsafe { c.share() });
        for step in 0..of.steps {
            call.pool.run(plan.threads, &|index| {
                let units = plan.units(index);
                if units.is_empty() {
                    return;
                }
                // SAFETY: each index takes the one row of its number.
                let mut own = unsafe { own.range_mut(index..index + 1) };
                let thread = Thread {
                    plan,
                    given: &given,
                    prepared,
                    units: units.clone(),
                    span: plan.units(0).len(),
                    parts,
                };
                let rows = step * of.batch..(step + 1) * of.batch;
                let before = match step {
                    0 => given.h0,
                    _ => {
                        let stride = shared.row_stride();
                        let at = (step - 1) * of.batch * stride;
                        // SAFETY: rows of the step before, which are no longer written.
                        unsafe {
                            let at = shared.as_mut_ptr().add(at);
                            Rows::from_raw(at, of.batch, of.units, stride)
                        }
                    }
                };
                // SAFETY: the units of different threads do not meet.
                let y = unsafe { shared.block_mut(rows, units.clone()) };
                // SAFETY: as above.
                let c = c.map(|c| unsafe { c.block_mut(0..of.batch, units) });
                thread.step(step, before, own.row_mut(0), y, c);
            });
        }
        finish(of, given.h0, &y, &mut hn);
        Ok(())
    }
}

/// What one thread does.
struct Thread<'a> {
    plan: Plan,
    given: &'a Given<'a>,
    prepared: &'a [f32],
    units: Range<usize>,
    span: usize,
    parts: [usize; 4],
}

impl Thread<'_> {
    fn step(
        &self,
        step: usize,
        before: Rows<'_, f32>,
        own: &mut [f32],
        y: RowsMut<'_, f32>,
        c: Option<RowsMut<'_, f32>>,
    ) {
        let (of, row) = (self.plan.of, self.plan.of.gates() * self.span);
        let (x, rest) = own.split_at_mut(self.parts[0]);
        let (h, rest) = rest.split_at_mut(self.parts[1]);
        let (packed, scratch) = rest.split_at_mut(self.parts[2]);
        if step == 0 {
            self.pack(packed);
            let sums = &mut x[..self.plan.rows(0) * row];
            self.sums(0, self.given.x, &[], sums, scratch);
        }
        let sums = &mut h[..of.batch * row];
        self.sums(1, before, packed, sums, scratch);
        let (cell, first, span) = (of.cell, self.units.start, self.span);
        let x = &x[step * of.batch * row..][..of.batch * row];
        dispatch(self.plan.isa, Step { cell, x, h, span, before, first, y, c });
    }

    /// The rows of the weights of this thread's units, for a gate.
    fn rows(&self, gate: usize) -> Range<usize> {
        let first = gate * self.plan.of.units;
        first + self.units.start..first + self.units.end
    }

    /// Packs the weights over outputs, once for all steps.
    fn pack(&self, to: &mut [f32]) {
        let each = self.plan.packed(1, self.units.len());
        for gate in (0..self.plan.of.gates()).filter(|_| self.plan.packs_own()) {
            let rows = self.given.weights[1].range(self.rows(gate));
            let to = &mut to[gate * each..][..each];
            dispatch(self.plan.isa, PackRight { rows, transposed: true, to });
        }
    }

    /// The sums of a side with their biases: for each row of `left` the units of each gate.
    fn sums(
        &self,
        side: usize,
        left: Rows<'_, f32>,
        packed: &[f32],
        to: &mut [f32],
        scratch: &mut [f32],
    ) {
        let plan = self.plan;
        let gates = plan.of.gates();
        let mut to = RowsMut::from_slice(to, left.rows(), gates * self.span);
        for gate in 0..gates {
            let output = to.columns(gate * self.span..gate * self.span + self.units.len());
            let rows = self.given.weights[side].range(self.rows(gate));
            let bias = Some(&self.given.biases[side][self.rows(gate)]);
            let epilogue = Epilogue { bias, activation: Activation::None };
            if plan.is_skinny(side) {
                let (first_column, scratch) = (0, &mut *scratch);
                let (right, transposed) = (rows, true);
                let product =
                    Skinny { left, right, transposed, first_column, output, epilogue, scratch };
                dispatch(plan.isa, product);
                continue;
            }
            let (mut first_column, mut epilogue) = (0, epilogue);
            let right = if plan.is_prepared {
                // Packed with all units of the gate, and so is the bias.
                let all = gate * plan.of.units..(gate + 1) * plan.of.units;
                first_column = self.units.start;
                epilogue.bias = Some(&self.given.biases[side][all]);
                let data = &self.prepared[plan.prepared(side, gate)];
                Right::Packed(PackedRight { data, n: plan.of.units })
            } else if side == 1 {
                let n = self.units.len();
                let each = plan.packed(1, n);
                Right::Packed(PackedRight { data: &packed[gate * each..][..each], n })
            } else {
                Right::Stored { rows, transposed: true }
            };
            let scratch = &mut *scratch;
            dispatch(plan.isa, Gemm { left, right, first_column, output, epilogue, scratch });
        }
    }
}
