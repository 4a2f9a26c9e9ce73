//! What the kernels on vectors share: products of few rows as they are, those of few columns with
//! the right operand packed, others with both.

use super::super::definition::{SHARED, Shape, output_dtype};
use super::portion::{self, Part, Portion, typed_pair};
use crate::blocks::gemm::{
    Blocking, Columns, Gemm, Keeps, PackRight, PackedRight, Packing, Right, SKINNY_ROWS, Skinny,
    Streamed, Unpacked, skinny_scratch,
};
use crate::blocks::scratch::{elements, elements_mut};
use crate::blocks::stored::Stored;
use proofmark_contract::{Call, KernelError, Unsupported};
use proofmark_simd::dispatch;
use proofmark_terms::{Case, DType, ErrorContract, Isa, Reproducibility};

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
    if SHARED.flag(case) || case.size("b").unwrap_or(1) == 1 {
        return Ok(());
    }
    Err(Unsupported("every batch has its own B: nothing to pack once".to_owned()))
}

/// Whether the product has so few rows that nothing is packed; a matter of the case alone, so that
/// every thread count gives the same bits.
fn is_skinny(shape: Shape, source: Source) -> bool {
    source == Source::Operand && shape.m <= SKINNY_ROWS
}

/// Columns up to which the left operand is read where it lies. Raced with 512 rows and terms at 64,
/// 128 and 256: 0.88 to 0.95 of the time of both packed, the right one beforehand. Larger numbers
/// of columns were not raced.
const FEW_COLUMNS: usize = 256;
/// Terms up to which a panel of columns stays in L2: 1.5 MiB.
const TERMS: usize = 8192;

/// Whether the product has so few columns that the left operand is not packed; likewise a matter
/// of the case alone.
fn is_streamed(case: &Case, source: Source) -> bool {
    let shape = Shape::of(case);
    let is_fit = shape.n <= FEW_COLUMNS && shape.k <= TERMS && case.dtype == DType::F32;
    is_fit && source == Source::Operand && !is_skinny(shape, source)
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
    typed_pair!(call.case, pack(call, prepared))
}

#[expect(clippy::extra_unused_type_parameters, reason = "`typed_pair!` names both types")]
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
    if is_streamed(call.case, source) {
        return streamed(call, threads);
    }
    typed_pair!(call.case, product(call, threads, source))
}

/// Rows and columns that are not split among threads.
fn tile(case: &Case, isa: Isa, source: Source) -> (usize, usize) {
    if is_streamed(case, source) {
        return (Columns::height(isa), Columns::width(isa));
    }
    let blocking = Blocking::of(isa);
    (blocking.mr, blocking.nr)
}

/// Floats of scratch memory for each thread: those of the first part, which is the largest; but
/// an edge of columns, which the last has, may need more.
fn scratch(case: &Case, isa: Isa, threads: usize, source: Source) -> usize {
    let (shape, blocking) = (Shape::of(case), Blocking::of(isa));
    let part = |index| Part::of(shape, tile(case, isa, source), threads, index);
    if is_streamed(case, source) {
        let each = (0..threads).map(|index| part(index).columns.len());
        return each.map(|count| Columns::scratch(isa, shape.k, count)).max().unwrap_or(0);
    }
    let part = part(0);
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
    let tile = tile(call.case, isa, source);
    portion::run(call, threads, tile, count * size_of::<f32>(), &compute)
}

/// A product of few columns.
fn streamed(call: &mut Call<'_>, threads: usize) -> Result<(), KernelError> {
    let (shape, isa) = (Shape::of(call.case), call.isa);
    let count = scratch(call.case, isa, threads, Source::Operand);
    let compute = |portion: Portion<'_, f32, f32>| {
        let Portion { left, right, first_column, mut output, epilogue, scratch } = portion;
        let Ok(scratch) = elements_mut(scratch, count, "workspace") else {
            unreachable!("a cache line is aligned for floats")
        };
        for block in Columns::blocks(isa, shape.k, output.cols()) {
            let packed = Columns::of(isa, shape.k, block.len());
            let first_column = first_column + block.start;
            let from = Unpacked {
                rows: right,
                transposed: shape.is_transposed,
                first_term: 0,
                first_column,
            };
            // SAFETY: the memory is this thread's own.
            unsafe { Packing::new(packed, &mut *scratch).pack(0..shape.k, from) };
            let product = Streamed {
                left,
                packed,
                right: &*scratch,
                columns: 0..block.len(),
                output: output.columns(block),
                epilogue,
                first_column,
            };
            dispatch(isa, product);
        }
    };
    let tile = tile(call.case, isa, Source::Operand);
    portion::run(call, threads, tile, count * size_of::<f32>(), &compute)
}
