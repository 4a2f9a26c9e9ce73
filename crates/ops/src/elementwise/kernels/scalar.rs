//! One element at a time: the plainest kernel, and the only one that rounds stochastically.
//!
//! Idea: widen to f32, apply the formula, round. Bytes per element: N + 1 elements' worth; flops:
//! the formula's, and for stochastic rounding one Philox block (10 rounds, about 100 integer
//! operations) of which 16 bits are used, so that an element's bits depend on its index alone.
//! Registers: N values; the compiler's baseline vectorises the nearest path by itself.

use super::super::definition::{Variant, alpha};
use super::super::members::Member;
use super::operands::{Operands, random_state};
use super::undefined;
use crate::blocks::stored::Stored;
use proofmark_contract::{Call, Kernel, KernelError, Unsupported};
use proofmark_tensor::{bf16, f16, philox4x32};
use proofmark_terms::{Case, DType, ErrorContract, Isa, Reproducibility};
use std::marker::PhantomData;

/// Element after element.
pub(in super::super) struct Scalar<M, const N: usize>(PhantomData<M>);

impl<M, const N: usize> Scalar<M, N> {
    /// The kernel.
    pub(in super::super) const NEW: Self = Scalar(PhantomData);
}

impl<M: Member<N>, const N: usize> Kernel for Scalar<M, N> {
    fn name(&self) -> &'static str {
        "scalar"
    }

    fn summary(&self) -> &'static str {
        "one element at a time, every rounding"
    }

    fn isas(&self) -> &'static [Isa] {
        &[Isa::Scalar]
    }

    fn supports(&self, _case: &Case, _isa: Isa) -> Result<(), Unsupported> {
        Ok(())
    }

    fn contract(&self, _case: &Case) -> ErrorContract {
        ErrorContract { reproducibility: Reproducibility::IsaInvariant, ..ErrorContract::default() }
    }

    fn run(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        match call.case.dtype {
            DType::Bf16 if Variant::of(call.case).stochastic => {
                let state = random_state(call, N)?;
                let operands = Operands::of(call.case, call.inputs, call.outputs)?;
                stochastic::<M, N>(operands, alpha(call.case), state);
            }
            DType::F32 => nearest::<M, f32, N>(call)?,
            DType::Bf16 => nearest::<M, bf16, N>(call)?,
            DType::F16 => nearest::<M, f16, N>(call)?,
            dtype => return undefined(dtype),
        }
        Ok(())
    }
}

fn nearest<M: Member<N>, T: Stored, const N: usize>(
    call: &mut Call<'_>,
) -> Result<(), KernelError> {
    let operands = Operands::<T, N>::of(call.case, call.inputs, call.outputs)?;
    compute::<M, T, N>(operands, alpha(call.case), |value, _| T::narrow(value));
    Ok(())
}

/// The formula on all elements of `operands`, rounded with the bits of `state`.
pub(super) fn stochastic<M: Member<N>, const N: usize>(
    operands: Operands<'_, bf16, N>,
    alpha: f32,
    state: [u32; 4],
) {
    compute::<M, bf16, N>(operands, alpha, |value, index| {
        let counter = [index as u32, (index >> 32) as u32, state[2], state[3]];
        round(value, philox4x32(counter, [state[0], state[1]])[0])
    });
}

/// Adds the low 16 bits of `random` below the bits that bf16 keeps; the carry is the rounding.
fn round(value: f32, random: u32) -> bf16 {
    if !value.is_finite() {
        return bf16::from_f32(value);
    }
    // The largest finite f32 plus 16 bits stays below the sign; a carry past bf16's largest
    // number makes the bits of infinity.
    bf16::from_bits(((value.to_bits() + (random & 0xffff)) >> 16) as u16)
}

#[inline(always)]
fn compute<M: Member<N>, T: Stored, const N: usize>(
    mut operands: Operands<'_, T, N>,
    alpha: f32,
    round: impl Fn(f32, u64) -> T,
) {
    for i in 0..operands.rows() {
        let first = operands.index(i);
        let mut row = operands.row(i);
        for j in 0..row.len() {
            let mut values = [0.0; N];
            for k in 0..N {
                values[k] = row.operand(k, j)[0].widen();
            }
            row.output(j)[0] = round(M::scalar(values, alpha), (first + j) as u64);
        }
    }
}
