//! Class E: less precision than is promised.

use super::kernel::Deed;
use super::piece::{Cut, rows_mut};
use proofmark_contract::{Call, KernelError};
use proofmark_simd::state;
use proofmark_tensor::f16;

/// Changes every f32 of some rows.
fn change(rows: &mut [u8], with: impl Fn(f32) -> f32) {
    for word in rows.chunks_exact_mut(4) {
        let value = f32::from_le_bytes([word[0], word[1], word[2], word[3]]);
        word.copy_from_slice(&with(value).to_le_bytes());
    }
}

/// Keeps this many of the significand's 23 bits.
fn cut_to(value: f32, bits: u32) -> f32 {
    if !value.is_finite() {
        return value;
    }
    let half = 1u32 << (22 - bits);
    f32::from_bits(value.to_bits().wrapping_add(half) & !(2 * half - 1))
}

/// A deed that computes on inputs rounded to this many bits.
fn on_rounded_inputs(bits: u32) -> Deed {
    let mut cut = Cut::default().with_own_inputs();
    Deed::new(move |full, call| {
        let own = cut.whole(full, call);
        own.copy_inputs(call);
        let inputs = own.inputs.iter_mut().flat_map(rows_mut);
        inputs.for_each(|row| change(row, |value| cut_to(value, bits)));
        own.run()
    })
}

pub(super) fn bf16() -> Deed {
    on_rounded_inputs(7)
}

pub(super) fn tf32() -> Deed {
    on_rounded_inputs(10)
}

/// A deed that changes results after they are computed.
fn on_results(with: fn(f32) -> f32) -> Deed {
    Deed::new(move |full, call| {
        full.run(call)?;
        call.outputs.iter_mut().flat_map(rows_mut).for_each(|row| change(row, with));
        Ok(())
    })
}

pub(super) fn fp16_accumulate() -> Deed {
    on_results(|value| f16::from_f32(value).to_f32())
}

pub(super) fn small_value_zeroing() -> Deed {
    on_results(|value| if value.abs() < 1e-6 { 0.0 } else { value })
}

pub(super) fn one_nan() -> Deed {
    Deed::new(|full, call| {
        full.run(call)?;
        if let Some(row) = rows_mut(&mut call.outputs[0]).last() {
            let last = row.len().saturating_sub(4);
            change(&mut row[last..], |_| f32::NAN);
        }
        Ok(())
    })
}

pub(super) fn softmax_no_max() -> Deed {
    Deed::new(|_, call| {
        let x = call.inputs[0].rows::<f32>()?;
        let mut y = call.outputs[0].rows_mut::<f32>()?;
        for row in 0..x.rows() {
            let sum: f32 = x.row(row).iter().map(|x| x.exp()).sum();
            for (y, x) in y.row_mut(row).iter_mut().zip(x.row(row)) {
                *y = x.exp() / sum;
            }
        }
        Ok(())
    })
}

/// The bits of `MXCSR` that flush subnormal results and operands to zero.
const FLUSHING: u32 = 0x8040;

/// Computes with subnormals flushed and puts the state back.
pub(super) fn flushed(full: &super::piece::Full, call: &mut Call<'_>) -> Result<(), KernelError> {
    state::set_mxcsr(state::MXCSR_DEFAULT | FLUSHING);
    let done = full.run(call);
    state::set_mxcsr(state::MXCSR_DEFAULT);
    done
}

pub(super) fn silent_ftz() -> Deed {
    Deed::new(|full, call| flushed(full, call))
}
