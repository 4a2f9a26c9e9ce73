//! The definition as plain loops.
//!
//! Idea: for each group its range, then its codes, one element at a time. Per element forward 3
//! flops, 4 bytes read twice and 1 written; back 1 flop, 1 byte read and 4 written.

use super::sheet::{Coded, Sheet};
use super::step::{Range, step};
use super::with_types;
use crate::blocks::made::Made;
use crate::blocks::quantise::Step;
use crate::blocks::stored::Stored;
use crate::quantize::definition::Plan;
use proofmark_contract::{Call, KernelError};
use proofmark_tensor::RowsMut;
use proofmark_terms::DType;

/// The kernel.
pub(crate) static SCALAR: Made = Made::scalar("plain loops, one element at a time", run);

fn run(call: &mut Call<'_>) -> Result<(), KernelError> {
    with_types!(call.case, T, C => {
        if Plan::of(call.case).is_forward {
            quantise::<T, C>(Sheet::of(call)?);
        } else {
            let coded = Coded::<C>::of(call)?;
            dequantise::<T, C>(coded, call.outputs[0].rows_mut()?);
        }
    });
    Ok(())
}

fn quantise<T: Stored, C: Stored>(mut sheet: Sheet<'_, T, C>) {
    let plan = sheet.plan;
    for band in 0..plan.down {
        let rows = band * plan.tile_rows..plan.rows.min((band + 1) * plan.tile_rows);
        for tile in 0..plan.across {
            let cols = tile * plan.tile_cols..plan.cols.min((tile + 1) * plan.tile_cols);
            let mut range = Range::EMPTY;
            for row in rows.clone() {
                for x in &sheet.x.row(row)[cols.clone()] {
                    let x = x.widen();
                    let (low, high) = if plan.is_symmetric { (0.0, x.abs()) } else { (x, x) };
                    range = range.join(Range { low, high });
                }
            }
            let step = if plan.is_unit { Step::UNIT } else { step(&plan, range) };
            sheet.note(band, tile, step);
            for row in rows.clone() {
                let x = &sheet.x.row(row)[cols.clone()];
                let codes = &mut sheet.codes.row_mut(row)[cols.clone()];
                for (x, code) in x.iter().zip(codes) {
                    *code = one::<C>(&plan, step, x.widen());
                }
            }
        }
    }
}

fn one<C: Stored>(plan: &Plan, step: Step, x: f32) -> C {
    if step.is_void {
        return C::narrow(0.0);
    }
    let scaled = x * step.inverse;
    if C::DTYPE == DType::I8 {
        return C::narrow(scaled.round_ties_even() + step.zero);
    }
    let largest = C::DTYPE.largest() as f32;
    let nearest = C::narrow(scaled);
    match (plan.to_nan, C::DTYPE) {
        (true, DType::F8e4m3) if scaled.abs() > 464.0 => C::narrow(f32::NAN),
        (true, DType::F8e5m2) if scaled.abs() >= 61440.0 => {
            C::narrow(f32::INFINITY.copysign(scaled))
        }
        (false, _) if scaled.is_infinite() => C::narrow(largest.copysign(scaled)),
        _ => nearest,
    }
}

fn dequantise<T: Stored, C: Stored>(coded: Coded<'_, C>, mut y: RowsMut<'_, T>) {
    for row in 0..coded.codes.rows() {
        let values = coded.codes.row(row).iter().zip(y.row_mut(row)).enumerate();
        for (col, (code, y)) in values {
            let (scale, zero) = coded.shared(row, col / coded.plan.tile_cols);
            *y = T::narrow((code.widen() - zero) * scale);
        }
    }
}
