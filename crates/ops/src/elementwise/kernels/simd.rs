//! One source over every vector width; dense operands are walked as a single row.
//!
//! Idea: load a vector of each operand, apply the formula, store; the tail by partial loads and
//! stores. Bytes per element: N + 1 elements' worth, each touched once; flops: the formula's.
//! Registers: N operands and what the formula needs. The processor overlaps iterations, which
//! are independent, so nothing is unrolled by hand.

use super::super::definition::{Variant, alpha};
use super::super::members::Member;
use super::operands::{Operands, Row};
use super::{contract, undefined};
use crate::blocks::stored::Stored;
use proofmark_contract::{Call, Kernel, KernelError, Unsupported};
use proofmark_simd::{Body, Simd, dispatch};
use proofmark_tensor::{bf16, f16};
use proofmark_terms::{Case, DType, ErrorContract, Isa};
use std::marker::PhantomData;

/// Vector after vector.
pub(in super::super) struct Vector<M, const N: usize>(PhantomData<M>);

impl<M, const N: usize> Vector<M, N> {
    /// The kernel.
    pub(in super::super) const NEW: Self = Vector(PhantomData);
}

impl<M: Member<N>, const N: usize> Kernel for Vector<M, N> {
    fn name(&self) -> &'static str {
        "simd"
    }

    fn summary(&self) -> &'static str {
        "one source over every vector width, rounding to nearest"
    }

    fn isas(&self) -> &'static [Isa] {
        &[Isa::Scalar, Isa::Avx2, Isa::Avx512]
    }

    fn supports(&self, case: &Case, _isa: Isa) -> Result<(), Unsupported> {
        if Variant::of(case).stochastic {
            return Err(Unsupported("vectors round to nearest only".to_owned()));
        }
        Ok(())
    }

    fn contract(&self, _case: &Case) -> ErrorContract {
        contract::<M, N>()
    }

    fn run(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        let Call { case, isa, inputs, .. } = *call;
        let (alpha, outputs) = (alpha(case), &mut *call.outputs);
        match case.dtype {
            DType::F32 => nearest::<M, f32, N>(isa, alpha, Operands::of(case, inputs, outputs)?),
            DType::Bf16 => nearest::<M, bf16, N>(isa, alpha, Operands::of(case, inputs, outputs)?),
            DType::F16 => nearest::<M, f16, N>(isa, alpha, Operands::of(case, inputs, outputs)?),
            dtype => return undefined(dtype),
        }
        Ok(())
    }
}

/// The formula on all elements of `operands`.
pub(super) fn nearest<M: Member<N>, T: Stored, const N: usize>(
    isa: Isa,
    alpha: f32,
    mut operands: Operands<'_, T, N>,
) {
    dispatch(isa, Nearest::<M, T, N>(operands.merged(), alpha, PhantomData));
}

struct Nearest<'a, M, T, const N: usize>(Operands<'a, T, N>, f32, PhantomData<M>);

impl<M: Member<N>, T: Stored, const N: usize> Body for Nearest<'_, M, T, N> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Nearest(mut operands, alpha, _) = self;
        let alpha = simd.splat(alpha);
        for i in 0..operands.rows() {
            row::<S, M, T, N>(simd, operands.row(i), alpha);
        }
    }
}

#[inline(always)]
fn row<S: Simd, M: Member<N>, T: Stored, const N: usize>(
    simd: S,
    mut row: Row<'_, T, N>,
    alpha: S::F,
) {
    let len = row.len();
    let mut at = 0;
    while at + S::LANES <= len {
        let mut values = [simd.zero(); N];
        for k in 0..N {
            values[k] = T::load(simd, row.operand(k, at));
        }
        T::store(simd, M::vector(simd, values, alpha), row.output(at));
        at += S::LANES;
    }
    if at < len {
        let mut values = [simd.zero(); N];
        for k in 0..N {
            values[k] = T::load_partial(simd, row.operand(k, at), 0.0);
        }
        T::store_partial(simd, M::vector(simd, values, alpha), row.output(at));
    }
}
