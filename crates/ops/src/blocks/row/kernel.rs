//! The three kernels of an op whose rows are independent, from one way to do a range of rows.
//!
//! `scalar` does all rows one element at a time, `simd` in vectors at any level, `parallel` gives
//! each thread of the pool a range of the rows of every output, so that no thread count changes a
//! bit. No more threads are woken than have [`RowOp::GRAIN`] elements each, or as many as were
//! tuned.

use crate::blocks::stored::Stored;
use crate::blocks::tuned;
use proofmark_contract::{Call, Kernel, KernelError, PartUnit, Unsupported};
use proofmark_simd::{Body, Simd, dispatch};
use proofmark_tensor::{Element, Rows, RowsMut, Tensor, bf16, f16, split};
use proofmark_terms::{Case, DType, ErrorContract, Isa, Reproducibility};
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// How an op does a range of its rows.
pub(crate) trait RowOp: Send + Sync + 'static {
    /// How the scalar kernel works, in a line.
    const SCALAR: &'static str;
    /// How the simd kernel works, in a line.
    const SIMD: &'static str;
    /// Elements that keep a thread busy for about as long as the pool's hand-over takes (1.2 µs
    /// on the machine that chose the pool).
    const GRAIN: usize;

    /// Elements of scratch memory that [`RowOp::simd`] needs.
    fn scratch(case: &Case) -> usize {
        let _ = case;
        0
    }

    /// Does the rows of `part`, one element at a time.
    fn scalar<T: Stored>(part: Part<'_>) -> Result<(), KernelError>;

    /// Does the rows of `part` in vectors; must be `#[inline(always)]`.
    fn simd<S: Simd, T: Stored>(simd: S, part: Part<'_>) -> Result<(), KernelError>;
}

/// The operands of a call as one thread sees them: all inputs, and its rows of each output.
pub(crate) struct Part<'a> {
    /// The case.
    pub(crate) case: &'a Case,
    /// Memory of this thread's own, full of rubbish, on a cache line.
    pub(crate) scratch: &'a mut [f32],
    inputs: &'a [Tensor],
    /// Written only by the parts of one call.
    outputs: &'a [Tensor],
    index: usize,
    parts: usize,
    taken: u32,
}

impl<'a> Part<'a> {
    /// Which rows of output `k` are this part's.
    pub(crate) fn range(&self, k: usize) -> Range<usize> {
        split(self.outputs[k].layout.rows(), self.parts, self.index, 1)
    }

    /// All rows of input `i`.
    pub(crate) fn input<T: Element>(&self, i: usize) -> Result<Rows<'a, T>, KernelError> {
        Ok(self.inputs[i].rows()?)
    }

    /// The rows of input `i` that this part's rows of output `k` are made of.
    pub(crate) fn input_for<T: Element>(
        &self,
        i: usize,
        k: usize,
    ) -> Result<Rows<'a, T>, KernelError> {
        Ok(self.inputs[i].rows()?.range(self.range(k)))
    }

    /// The one row of input `i`.
    pub(crate) fn vector<T: Element>(&self, i: usize) -> Result<&'a [T], KernelError> {
        Ok(self.inputs[i].rows()?.row(0))
    }

    /// This part's rows of output `k`.
    ///
    /// # Panics
    /// If they were taken before.
    pub(crate) fn output<T: Element>(&mut self, k: usize) -> Result<RowsMut<'a, T>, KernelError> {
        assert!(self.taken & (1 << k) == 0, "output {k} is taken once");
        self.taken |= 1 << k;
        let tensor = &self.outputs[k];
        if !tensor.is_writable() {
            return Err(proofmark_tensor::ViewError::ReadOnly.into());
        }
        let rows = tensor.rows::<T>()?.range(self.range(k));
        let base = rows.as_ptr().cast_mut();
        // SAFETY: the memory is writable and was checked by `rows`; it belongs to the call, which
        // holds it exclusively, and the ranges of its parts do not meet; each is taken once.
        Ok(unsafe { RowsMut::from_raw(base, rows.rows(), rows.cols(), rows.row_stride()) })
    }
}

/// A kernel of the op of rows `R`.
pub(crate) struct RowKernel<R> {
    way: Way,
    op: PhantomData<fn() -> R>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Scalar,
    Simd,
    Parallel,
}

impl<R: RowOp> RowKernel<R> {
    /// The three kernels, best first.
    pub(crate) const ALL: &'static [&'static dyn Kernel] = &[
        &RowKernel::<R> { way: Way::Parallel, op: PhantomData },
        &RowKernel::<R> { way: Way::Simd, op: PhantomData },
        &RowKernel::<R> { way: Way::Scalar, op: PhantomData },
    ];

    /// Elements of one thread's scratch memory: whole cache lines, so that threads share none.
    fn stride(&self, case: &Case) -> usize {
        if self.way == Way::Scalar { 0 } else { R::scratch(case).next_multiple_of(16) }
    }

    fn typed<T: Stored>(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        let outputs: &[Tensor] = call.outputs;
        let parts = match self.way {
            Way::Parallel => {
                let elements: usize = outputs.iter().map(|output| output.layout.len()).sum();
                tuned::parts(&call.case.op, call.threads, elements, R::GRAIN)
            }
            _ => 1,
        };
        let mut scratch = scratch_rows(call.workspace, parts, self.stride(call.case))?;
        let (case, inputs, isa, way) = (call.case, call.inputs, call.isa, self.way);
        let run = |index: usize, scratch: &mut [f32]| {
            let part = Part { case, scratch, inputs, outputs, index, parts, taken: 0 };
            match way {
                Way::Scalar => R::scalar::<T>(part),
                _ => dispatch(isa, InVectors::<R, T> { part, of: PhantomData }),
            }
        };
        if parts == 1 {
            return run(0, scratch.row_mut(0));
        }
        let failed = Mutex::new(None);
        call.pool.with_rows(scratch, |index, scratch| {
            if let Err(error) = run(index, scratch) {
                failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            }
        });
        failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }
}

impl<R: RowOp> Kernel for RowKernel<R> {
    fn name(&self) -> &'static str {
        match self.way {
            Way::Scalar => "scalar",
            Way::Simd => "simd",
            Way::Parallel => "parallel",
        }
    }

    fn summary(&self) -> &'static str {
        match self.way {
            Way::Scalar => R::SCALAR,
            Way::Simd => R::SIMD,
            Way::Parallel => "the simd kernel on a range of rows for each thread",
        }
    }

    fn isas(&self) -> &'static [Isa] {
        if self.way == Way::Scalar { &[Isa::Scalar] } else { &Isa::ALL }
    }

    fn is_parallel(&self) -> bool {
        self.way == Way::Parallel
    }

    fn part_unit(&self) -> Option<PartUnit> {
        self.is_parallel().then_some(PartUnit::Elements)
    }

    fn supports(&self, case: &Case, _isa: Isa) -> Result<(), Unsupported> {
        match case.dtype {
            DType::F32 | DType::Bf16 | DType::F16 => Ok(()),
            other => Err(Unsupported(format!("element type {other} is not done"))),
        }
    }

    fn contract(&self, _case: &Case) -> ErrorContract {
        let reproducibility = match self.way {
            Way::Scalar => Reproducibility::IsaInvariant,
            _ => Reproducibility::ThreadInvariant,
        };
        ErrorContract { reproducibility, ..ErrorContract::default() }
    }

    fn workspace_bytes(&self, case: &Case, _isa: Isa, threads: usize) -> usize {
        let threads = if self.way == Way::Parallel { threads.max(1) } else { 1 };
        threads * self.stride(case) * size_of::<f32>()
    }

    fn run(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        match call.case.dtype {
            DType::F32 => self.typed::<f32>(call),
            DType::Bf16 => self.typed::<bf16>(call),
            DType::F16 => self.typed::<f16>(call),
            other => Err(KernelError::Refused(format!("element type {other} is not done"))),
        }
    }
}

/// The workspace as `rows` rows of `stride` elements.
fn scratch_rows(
    workspace: &mut [u8],
    rows: usize,
    stride: usize,
) -> Result<RowsMut<'_, f32>, KernelError> {
    if stride == 0 {
        return Ok(RowsMut::from_slice(&mut [], rows, 0));
    }
    let (got, need) = (workspace.len(), rows * stride * size_of::<f32>());
    let base = workspace.as_mut_ptr().cast::<f32>();
    if got < need {
        return Err(KernelError::TooSmall { what: "workspace", got, need });
    }
    if !base.is_aligned() {
        return Err(KernelError::Refused("the workspace is not aligned for f32".to_owned()));
    }
    // SAFETY: `rows` rows of `stride` elements lie in the workspace, which is borrowed for as
    // long as the view; it is aligned, as just checked, and any bits are an f32.
    Ok(unsafe { RowsMut::from_raw(base, rows, stride, stride) })
}

struct InVectors<'a, R, T> {
    part: Part<'a>,
    of: PhantomData<fn() -> (R, T)>,
}

impl<R: RowOp, T: Stored> Body for InVectors<'_, R, T> {
    type Output = Result<(), KernelError>;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Result<(), KernelError> {
        R::simd::<S, T>(simd, self.part)
    }
}
