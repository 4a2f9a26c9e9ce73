//! Threads over ranges of elements (dense) or rows (strided), each running the one-thread body.
//!
//! Idea: traffic is the limit, and several cores move more than one. Dense operands are split
//! anywhere, so that one long row is shared too. Bytes and flops per element as in `simd`; an
//! element's bits do not depend on the split.

use super::super::definition::{Variant, alpha};
use super::super::members::Member;
use super::operands::{Operands, random_state};
use super::{contract, scalar, simd, undefined};
use crate::blocks::tuned;
use proofmark_contract::{Call, Kernel, KernelError, PartUnit, Unsupported};
use proofmark_tensor::{Element, bf16, f16, split};
use proofmark_terms::{Case, DType, ErrorContract, Isa};
use std::marker::PhantomData;

/// Least elements of a thread: about as long as the pool's hand-over takes (1.2 µs on the machine
/// that chose the pool, for 4096 f32 elements of `silu` 1.6 µs), and never two threads in a page.
const GRAIN: usize = 4096;

/// Part after part, one for each thread.
pub(in super::super) struct Parallel<M, const N: usize>(PhantomData<M>);

impl<M, const N: usize> Parallel<M, N> {
    /// The kernel.
    pub(in super::super) const NEW: Self = Parallel(PhantomData);
}

impl<M: Member<N>, const N: usize> Kernel for Parallel<M, N> {
    fn name(&self) -> &'static str {
        "parallel"
    }

    fn summary(&self) -> &'static str {
        "elements split over threads; vectors for nearest, scalar code for stochastic rounding"
    }

    fn isas(&self) -> &'static [Isa] {
        &[Isa::Scalar, Isa::Avx2, Isa::Avx512]
    }

    fn is_parallel(&self) -> bool {
        true
    }

    fn part_unit(&self) -> Option<PartUnit> {
        Some(PartUnit::Elements)
    }

    fn supports(&self, case: &Case, isa: Isa) -> Result<(), Unsupported> {
        if Variant::of(case).stochastic && isa != Isa::Scalar {
            return Err(Unsupported(format!("stochastic rounding has no {isa} path")));
        }
        Ok(())
    }

    fn contract(&self, _case: &Case) -> ErrorContract {
        contract::<M, N>()
    }

    fn run(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        let (isa, alpha) = (call.isa, alpha(call.case));
        match call.case.dtype {
            DType::Bf16 if Variant::of(call.case).stochastic => {
                let state = random_state(call, N)?;
                in_parts(call, |part| scalar::stochastic::<M, N>(part, alpha, state))
            }
            DType::F32 => in_parts(call, |part| simd::nearest::<M, f32, N>(isa, alpha, part)),
            DType::Bf16 => in_parts(call, |part| simd::nearest::<M, bf16, N>(isa, alpha, part)),
            DType::F16 => in_parts(call, |part| simd::nearest::<M, f16, N>(isa, alpha, part)),
            dtype => undefined(dtype),
        }
    }
}

fn in_parts<T: Element, const N: usize>(
    call: &mut Call<'_>,
    compute: impl Fn(Operands<'_, T, N>) + Sync,
) -> Result<(), KernelError> {
    let mut operands = Operands::of(call.case, call.inputs, call.outputs)?;
    let mut operands = operands.divided();
    let rows = operands.rows();
    let grain = tuned::grain(&call.case.op, GRAIN).div_ceil(operands.cols().max(1));
    let threads = call.threads.min(rows.div_ceil(grain));
    let parts = operands.share();
    call.pool.run(threads, &|index| {
        let range = split(rows, threads, index, grain);
        // SAFETY: the ranges of a split do not meet, and each index is run once.
        compute(unsafe { parts.part(range) });
    });
    Ok(())
}
