//! What is decided once for a request and used again by every call like it.

use super::context::Context;
use super::error::Error;
use super::request::{Chosen, Request};
use crate::blocks::operands::{Form, Input, Output, Passed, Unplaced};
use crate::blocks::tuned;
use proofmark_contract::{Call, Entry, Kernel, Operand, Signature, check_case};
use proofmark_tensor::{AlignedBuffer, Layout, Recycler};
use proofmark_terms::{Case, DType, Isa};
use std::cell::RefCell;

/// The number of plans that a thread keeps.
const KEPT_PLANS: usize = 64;
/// Bytes of scratch memory that a thread keeps for its next call.
const KEPT_BYTES: usize = 64 << 20;

/// Elements of a row up to which a second thread is never worth waking.
const SHORT: usize = 4096;

/// The path of a call on one row of this many elements, where the call needs no plan. It takes the
/// simd kernel on the calling thread. A plan decides for longer rows, and where kernels were tuned.
pub(crate) fn short_path(elements: usize) -> Option<Isa> {
    (elements <= SHORT && !tuned::is_set()).then(proofmark_simd::detect)
}

thread_local! {
    static KEPT: RefCell<Kept> = const { RefCell::new(Kept::new()) };
}

/// Makes the call that a request asks for.
pub(super) fn run(
    request: &Request,
    context: &Context,
    inputs: &[Input<'_>],
    outputs: &mut [Output<'_>],
    packed: Option<&[u8]>,
) -> Result<(), Error> {
    KEPT.with(|kept| match kept.try_borrow_mut() {
        Ok(mut kept) => kept.run(request, context, inputs, outputs, packed),
        // A call from within a call keeps nothing.
        Err(_) => Kept::new().run(request, context, inputs, outputs, packed),
    })
}

/// The operands of one call.
struct Forms<'c, 'a, 'b> {
    inputs: &'c [Input<'a>],
    outputs: &'c [Output<'b>],
}

impl Forms<'_, '_, '_> {
    fn each(&self) -> impl Iterator<Item = Passed> + '_ {
        let read = self.inputs.iter().map(|input| input.passed);
        let write = self.outputs.iter().map(|output| output.passed);
        read.chain(write)
    }
}

/// What a thread keeps for its next calls.
struct Kept {
    plans: Vec<Plan>,
    /// The plan of the last call, which is looked at first.
    last: usize,
    /// The plan that the next one replaces once all places are taken.
    oldest: usize,
    scratch: Recycler,
}

impl Kept {
    const fn new() -> Kept {
        Kept { plans: Vec::new(), last: 0, oldest: 0, scratch: Recycler::new(KEPT_BYTES) }
    }

    fn run(
        &mut self,
        request: &Request,
        context: &Context,
        inputs: &[Input<'_>],
        outputs: &mut [Output<'_>],
        packed: Option<&[u8]>,
    ) -> Result<(), Error> {
        let forms = Forms { inputs, outputs };
        let fits = |plan: &Plan| plan.fits(request, context.threads(), &forms);
        if !self.plans.get(self.last).is_some_and(fits) {
            self.last = match self.plans.iter().position(fits) {
                Some(known) => known,
                None => {
                    let plan = Plan::new(*request, context, &forms)?;
                    self.keep(plan)
                }
            };
        }
        self.plans[self.last].call(context, inputs, outputs, packed, &mut self.scratch)
    }

    /// Keeps a plan; tells where.
    fn keep(&mut self, plan: Plan) -> usize {
        if self.plans.len() < KEPT_PLANS {
            self.plans.push(plan);
            return self.plans.len() - 1;
        }
        let place = self.oldest;
        self.plans[place] = plan;
        self.oldest = (place + 1) % KEPT_PLANS;
        place
    }
}

/// What an operand must be.
#[derive(Clone, Copy, Debug)]
struct Need {
    name: &'static str,
    dtype: DType,
    rows: usize,
    cols: usize,
    /// As it was passed when the plan was made.
    stride: Option<usize>,
    may_be_padded: bool,
}

/// A kernel made ready for a request.
#[derive(Debug)]
struct Plan {
    request: Request,
    threads: usize,
    case: Case,
    chosen: Chosen,
    workspace_bytes: usize,
    prepared: AlignedBuffer,
    needs: Vec<Need>,
    operands: Unplaced,
}

impl Plan {
    fn new(request: Request, context: &Context, forms: &Forms<'_, '_, '_>) -> Result<Plan, Error> {
        let threads = context.threads();
        let case = request.case();
        let signature = check_case(request.entry.op, &case)?;
        let needs = needs(&signature, forms)?;
        let Chosen(kernel, isa) = match request.packed_for {
            // One packed operand does not serve products that each have their own.
            Some(Chosen(kernel, isa)) if kernel.supports(&case, isa).is_err() => {
                return Err(Error::NoKernel(request.entry.op.name()));
            }
            Some(chosen) => chosen,
            None => {
                let found = chosen(request.entry, &case, threads, request.may_prepare)?;
                Chosen(found.0, found.1)
            }
        };
        let placed = |(operand, need): (&Operand, &Need)| {
            let layout = match need.stride {
                Some(stride) if need.rows > 1 => Layout::padded(operand.shape.as_slice(), stride),
                _ => operand.layout(),
            };
            (need.dtype, layout)
        };
        let mut all = signature.operands().iter().zip(&needs).map(placed);
        let inputs = all.by_ref().take(signature.inputs().len()).collect();
        let operands = Unplaced::new(inputs, all.collect());
        let prepared_bytes =
            if request.may_prepare { kernel.prepared_bytes(&case, isa) } else { 0 };
        let mut prepared = AlignedBuffer::new(prepared_bytes);
        let workspace_bytes = kernel.workspace_bytes(&case, isa, threads);
        if request.may_prepare {
            let mut workspace = AlignedBuffer::new(workspace_bytes);
            let mut call = Call {
                case: &case,
                isa,
                threads,
                pool: context.pool(),
                inputs: &[],
                outputs: &mut [],
                workspace: workspace.as_mut_slice(),
                prepared: &[],
            };
            kernel.prepare(&mut call, prepared.as_mut_slice())?;
        }
        let chosen = Chosen(kernel, isa);
        Ok(Plan { request, threads, case, chosen, workspace_bytes, prepared, needs, operands })
    }

    /// Whether it is for such a call. Lengths are checked by the call itself.
    fn fits(&self, request: &Request, threads: usize, forms: &Forms<'_, '_, '_>) -> bool {
        self.threads == threads
            && self.request == *request
            && forms.inputs.len() + forms.outputs.len() == self.needs.len()
            && forms.each().zip(&self.needs).all(|(passed, need)| passed.stride() == need.stride)
    }

    fn call(
        &mut self,
        context: &Context,
        inputs: &[Input<'_>],
        outputs: &mut [Output<'_>],
        packed: Option<&[u8]>,
        kept: &mut Recycler,
    ) -> Result<(), Error> {
        let forms = Forms { inputs, outputs };
        for (passed, need) in forms.each().zip(&self.needs) {
            check(&passed, need)?;
        }
        let bytes = self.workspace_bytes;
        let mut scratch = kept.take(bytes);
        let Chosen(kernel, isa) = self.chosen;
        let done = self.operands.with(inputs, outputs, |inputs, outputs| {
            kernel.run(&mut Call {
                case: &self.case,
                isa,
                threads: self.threads,
                pool: context.pool(),
                inputs,
                outputs,
                workspace: &mut scratch.as_mut_slice()[..bytes],
                prepared: packed.unwrap_or(self.prepared.as_slice()),
            })
        });
        kept.give(scratch);
        Ok(done?)
    }
}

/// What the operands must be.
fn needs(signature: &Signature, forms: &Forms<'_, '_, '_>) -> Result<Vec<Need>, Error> {
    let expected = (signature.inputs().len(), signature.outputs().len());
    if (forms.inputs.len(), forms.outputs.len()) != expected {
        let got = forms.inputs.len() + forms.outputs.len();
        return Err(Error::Count { got, need: expected.0 + expected.1 });
    }
    let each = signature.operands().iter().zip(forms.each());
    each.map(|(operand, passed)| {
        let layout = operand.layout();
        let need = Need {
            name: operand.name,
            dtype: operand.dtype,
            rows: layout.rows(),
            cols: layout.cols(),
            stride: passed.stride(),
            may_be_padded: operand.free_row_stride,
        };
        check(&passed, &need).map(|()| need)
    })
    .collect()
}

fn check(passed: &Passed, need: &Need) -> Result<(), Error> {
    let &Need { name, dtype, rows, cols, may_be_padded, .. } = need;
    if passed.dtype != dtype {
        return Err(Error::DType { name, got: passed.dtype, need: dtype });
    }
    let elements = rows.saturating_mul(cols);
    match passed.form {
        Form::Dense if passed.len != elements => {
            Err(Error::Length { name, got: passed.len, need: elements })
        }
        Form::Dense => Ok(()),
        Form::Transposed => Err(Error::Transposed { name }),
        // Rows may be counted otherwise than the op counts them, as long as they are whole.
        Form::Rows { rows: got, cols: wide, stride } => {
            if got.saturating_mul(wide) != elements || (wide != cols && elements > 0) {
                return Err(Error::Shape { name, got: (got, wide), need: (rows, cols) });
            }
            let fault = |why| Err(Error::Stride { name, cols, stride, why });
            let span = match got {
                0 => 0,
                _ => (got - 1).saturating_mul(stride).saturating_add(wide),
            };
            match () {
                () if elements == 0 => Ok(()),
                () if got > 1 && stride < wide => fault("without overlapping"),
                () if got > 1 && stride != wide && !may_be_padded => fault("in this op"),
                () if span > passed.len => fault("in a slice that short"),
                () => Ok(()),
            }
        }
    }
}

pub(crate) fn chosen(
    entry: &Entry,
    case: &Case,
    threads: usize,
    may_prepare: bool,
) -> Result<(&'static dyn Kernel, Isa), Error> {
    let fitting = entry.kernels.iter().filter(|kernel| threads > 1 || !kernel.is_serial_twin());
    let name = tuned::kernel(entry, case, threads);
    let tuned = entry.kernels.iter().filter(|kernel| Some(kernel.name()) == name);
    for &kernel in tuned.chain(fitting) {
        let paths = kernel.isas().iter().rev().copied();
        let usable = paths.filter(|&isa| proofmark_simd::available(isa));
        for isa in usable {
            let is_ready = may_prepare || kernel.prepared_bytes(case, isa) == 0;
            if is_ready && kernel.supports(case, isa).is_ok() {
                return Ok((kernel, isa));
            }
        }
    }
    Err(Error::NoKernel(entry.op.name()))
}
