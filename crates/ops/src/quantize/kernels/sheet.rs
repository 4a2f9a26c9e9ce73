//! The operands of a call as views, and the part of them that falls to one thread.

use crate::blocks::quantise::Step;
use crate::blocks::stored::Stored;
use crate::quantize::definition::Plan;
use proofmark_contract::{Call, KernelError};
use proofmark_tensor::{Rows, RowsMut, SharedRows};
use std::ops::Range as Span;

/// Elements to be quantised, with room for what comes of them. A row of `scales` and `zeros`
/// belongs to `tile_rows` rows of elements; both have no rows where the op has none.
pub(super) struct Sheet<'a, T, C> {
    pub(super) plan: Plan,
    pub(super) x: Rows<'a, T>,
    pub(super) codes: RowsMut<'a, C>,
    pub(super) scales: RowsMut<'a, f32>,
    pub(super) zeros: RowsMut<'a, i32>,
}

impl<'a, T: Stored, C: Stored> Sheet<'a, T, C> {
    /// All operands of a call.
    pub(super) fn of(call: &'a mut Call<'_>) -> Result<Self, KernelError> {
        let plan = Plan::of(call.case);
        let x = call.inputs[0].rows::<T>()?;
        let (codes, rest) = call.outputs.split_first_mut().ok_or_else(missing)?;
        let mut rest = rest.iter_mut();
        let scales = match rest.next() {
            Some(scales) => table(scales.slice_mut::<f32>()?, &plan)?,
            None => RowsMut::from_slice(&mut [], 0, 0),
        };
        let zeros = match rest.next() {
            Some(zeros) => table(zeros.slice_mut::<i32>()?, &plan)?,
            None => RowsMut::from_slice(&mut [], 0, 0),
        };
        let codes = codes.rows_mut::<C>()?;
        if (codes.rows(), codes.cols()) != (x.rows(), x.cols()) {
            return Err(KernelError::Refused("codes and elements differ in shape".to_owned()));
        }
        Ok(Sheet { plan, x, codes, scales, zeros })
    }

    /// Notes what a group shares.
    #[inline(always)]
    pub(super) fn note(&mut self, band: usize, tile: usize, step: Step) {
        if self.scales.rows() > 0 {
            self.scales.row_mut(band)[tile] = step.scale;
        }
        if self.zeros.rows() > 0 {
            self.zeros.row_mut(band)[tile] = step.zero as i32;
        }
    }

    /// A handle from which threads take disjoint parts.
    pub(super) fn share(&mut self) -> Parts<'_, T, C> {
        // SAFETY: the handle borrows this sheet mutably, so its views rest while it lives.
        let (codes, scales, zeros) =
            unsafe { (self.codes.share(), self.scales.share(), self.zeros.share()) };
        Parts { plan: self.plan, x: self.x, codes, scales, zeros }
    }
}

fn missing() -> KernelError {
    KernelError::Refused("there is no operand for codes".to_owned())
}

fn table<'a, E>(slice: &'a mut [E], plan: &Plan) -> Result<RowsMut<'a, E>, KernelError> {
    let (got, need) = (slice.len(), plan.groups());
    if got != need {
        return Err(KernelError::Refused(format!("{got} groups, the case has {need}")));
    }
    Ok(RowsMut::from_slice(slice, plan.down, plan.across))
}

/// A sheet that several threads share.
pub(super) struct Parts<'a, T, C> {
    plan: Plan,
    x: Rows<'a, T>,
    codes: SharedRows<'a, C>,
    scales: SharedRows<'a, f32>,
    zeros: SharedRows<'a, i32>,
}

impl<'a, T, C> Parts<'a, T, C> {
    /// These bands of `tile_rows` rows, as a sheet of their own.
    ///
    /// # Safety
    /// No other part in use at the same time shares a band with this one.
    pub(super) unsafe fn bands(&self, bands: Span<usize>) -> Sheet<'a, T, C> {
        let end = (bands.end * self.plan.tile_rows).min(self.x.rows());
        let rows = (bands.start * self.plan.tile_rows).min(end)..end;
        let none = |rows: usize| if rows == 0 { 0..0 } else { bands.clone() };
        // SAFETY: the caller keeps the bands of parts apart, and with them their rows.
        unsafe {
            Sheet {
                plan: Plan { rows: rows.len(), down: bands.len(), ..self.plan },
                x: self.x.range(rows.clone()),
                codes: self.codes.range_mut(rows),
                scales: self.scales.range_mut(none(self.scales.rows())),
                zeros: self.zeros.range_mut(none(self.zeros.rows())),
            }
        }
    }

    /// These rows of elements and codes.
    ///
    /// # Safety
    /// No other part in use at the same time shares a row with this one.
    pub(super) unsafe fn rows(&self, rows: Span<usize>) -> (Rows<'a, T>, RowsMut<'a, C>) {
        // SAFETY: the caller keeps the rows of parts apart.
        (self.x.range(rows.clone()), unsafe { self.codes.range_mut(rows) })
    }
}

/// Codes to be turned back, row `i` of which is row `first + i` of the case.
#[derive(Clone, Copy)]
pub(super) struct Coded<'a, C> {
    pub(super) plan: Plan,
    pub(super) codes: Rows<'a, C>,
    pub(super) scales: &'a [f32],
    pub(super) zeros: &'a [i32],
    pub(super) first: usize,
}

impl<'a, C: Stored> Coded<'a, C> {
    /// The inputs of a call.
    pub(super) fn of(call: &Call<'a>) -> Result<Self, KernelError> {
        let plan = Plan::of(call.case);
        let inputs = call.inputs;
        let scales = if plan.is_unit { &[1.0][..] } else { inputs[1].slice::<f32>()? };
        let zeros = if plan.is_symmetric { &[][..] } else { inputs[2].slice::<i32>()? };
        if scales.len() != plan.groups() || !plan.is_symmetric && zeros.len() != plan.groups() {
            let need = plan.groups();
            return Err(KernelError::Refused(format!("scales or zeros are not {need} groups")));
        }
        Ok(Coded { plan, codes: inputs[0].rows::<C>()?, scales, zeros, first: 0 })
    }

    /// Scale and zero of tile `tile` of row `row`.
    #[inline(always)]
    pub(super) fn shared(&self, row: usize, tile: usize) -> (f32, f32) {
        let group = (self.first + row) / self.plan.tile_rows * self.plan.across + tile;
        (self.scales[group], self.zeros.get(group).map_or(0.0, |&zero| zero as f32))
    }
}
