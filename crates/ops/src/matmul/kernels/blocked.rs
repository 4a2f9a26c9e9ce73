//! What the kernels on vectors share: products of few rows as they are, others packed.

use super::super::definition::{Shape, output_dtype};
use super::portion::{self, Part, Portion, typed};
use crate::blocks::gemm::{
    Blocking, Gemm, Keeps, PackRight, PackedRight, Right, SKINNY_ROWS, Skinny, skinny_scratch,
};
use crate::blocks::scratch::{elements, elements_mut};
use crate::blocks::stored::Stored;
use proofmark_contract::{Call, KernelError, Unsupported};
use proofmark_schema::{Case, DType, ErrorContract, Isa, Reproducibility};
use proofmark_simd::dispatch;

/// Where the right operand comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// Packed block by block within each call, or read as it is.
    Operand,
    /// Packed whole by `prepare`.
    Prepared,
}

/// The sum of an element depends on `k` and the blocking only, so threads do not change it.
pub(super) fn contract() -> ErrorContract {
    ErrorContract { reproducibility: Reproducibility::ThreadInvariant, ..ErrorContract::default() }
}

/// Whether there is one right operand, which can be packed once.
pub(super) fn has_one_weight(case: &Case) -> Result<(), Unsupported> {
    if case.flag("shared", false) || case.size("b").unwrap_or(1) == 1 {
        return Ok(());
    }
    Err(Unsupported("every batch has its own B: nothing to pack once".to_owned()))
}

/// Whether the product has so few rows that nothing is packed; a matter of the case alone, so that
/// every thread count gives the same bits.
fn is_skinny(shape: Shape, source: Source) -> bool {
    source == Source::Operand && shape.m <= SKINNY_ROWS
}

/// Bytes of scratch memory for all threads.
pub(super) fn workspace_bytes(case: &Case, isa: Isa, threads: usize, source: Source) -> usize {
    let threads = threads.max(1);
    portion::workspace_bytes(threads, scratch(case, isa, threads, source) * size_of::<f32>())
}

/// Bytes of the packed right operand.
pub(super) fn prepared_bytes(case: &Case, isa: Isa) -> usize {
    let shape = Shape::of(case);
    Blocking::of(isa).packed_right(shape.k, shape.n) * size_of::<f32>()
}

/// Packs the right operand, which every batch shares, into `prepared`.
pub(super) fn prepare(call: &Call<'_>, prepared: &mut [u8]) -> Result<(), KernelError> {
    typed!(call.case, pack(call, prepared))
}

#[expect(clippy::extra_unused_type_parameters, reason = "`typed!` names the result's type too")]
fn pack<T: Stored, U>(call: &Call<'_>, prepared: &mut [u8]) -> Result<(), KernelError> {
    let shape = Shape::of(call.case);
    let rows = portion::weight::<T>(call)?;
    let count = Blocking::of(call.isa).packed_right(shape.k, shape.n);
    let to = elements_mut(prepared, count, "packed weights")?;
    dispatch(call.isa, PackRight { rows, transposed: shape.is_transposed, to });
    Ok(())
}

/// Computes the case on `threads` threads.
pub(super) fn run(call: &mut Call<'_>, threads: usize, source: Source) -> Result<(), KernelError> {
    typed!(call.case, product(call, threads, source))
}

/// Rows and columns that are not split among threads.
fn tile(isa: Isa) -> (usize, usize) {
    let blocking = Blocking::of(isa);
    (blocking.mr, blocking.nr)
}

/// Floats of scratch memory for each thread: those of the first part, which is the largest.
fn scratch(case: &Case, isa: Isa, threads: usize, source: Source) -> usize {
    let (shape, blocking) = (Shape::of(case), Blocking::of(isa));
    let part = Part::of(shape, tile(isa), threads, 0);
    if is_skinny(shape, source) {
        return skinny_scratch(part.rows.len(), shape.k);
    }
    let keeps = Keeps {
        packed_right: source == Source::Prepared,
        f32_output: output_dtype(case) == DType::F32,
    };
    blocking.scratch(part.rows.len(), part.columns.len(), shape.k, keeps)
}

fn product<T: Stored, U: Stored>(
    call: &mut Call<'_>,
    threads: usize,
    source: Source,
) -> Result<(), KernelError> {
    let (shape, isa) = (Shape::of(call.case), call.isa);
    let transposed = shape.is_transposed;
    let packed = match source {
        Source::Operand => None,
        Source::Prepared => {
            let count = Blocking::of(isa).packed_right(shape.k, shape.n);
            let data = elements(call.prepared, count, "packed weights")?;
            Some(PackedRight { data, n: shape.n })
        }
    };
    let count = scratch(call.case, isa, threads, source);
    let compute = |portion: Portion<'_, T, U>| {
        let Portion { left, right, first_column, output, epilogue, scratch } = portion;
        let Ok(scratch) = elements_mut(scratch, count, "workspace") else {
            unreachable!("a cache line is aligned for floats")
        };
        if is_skinny(shape, source) {
            let product =
                Skinny { left, right, transposed, first_column, output, epilogue, scratch };
            return dispatch(isa, product);
        }
        let right = match packed {
            Some(packed) => Right::Packed(packed),
            None => Right::Stored { rows: right, transposed },
        };
        dispatch(isa, Gemm { left, right, first_column, output, epilogue, scratch });
    };
    portion::run(call, threads, tile(isa), count * size_of::<f32>(), &compute)
}
