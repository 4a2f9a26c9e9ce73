//! One source over every vector width: a group's range, then its codes while it is in cache.
//!
//! Idea: two passes over each group, so memory is read once as long as a group fits a cache. Per
//! element forward 3 flops and 5 bytes, back 1 flop and 5 bytes; fp8 adds about a dozen bit
//! operations a vector. Registers: 2 ranges; the step and one vector of elements.

use super::sheet::{Coded, Sheet};
use super::step::{Range, step};
use super::with_types;
use crate::blocks::made::Made;
use crate::blocks::quantise::{Step, greatest};
use crate::blocks::stored::Stored;
use crate::quantize::definition::Plan;
use proofmark_contract::{Call, KernelError};
use proofmark_simd::{Body, dispatch};
use proofmark_tensor::{Rows, RowsMut};
use proofmark_terms::DType;

/// The kernel.
pub(crate) static SIMD: Made = Made::simd("each group's range and codes in vectors", run).exact();

fn run(call: &mut Call<'_>) -> Result<(), KernelError> {
    let isa = call.isa;
    with_types!(call.case, T, C => {
        if Plan::of(call.case).is_forward {
            dispatch(isa, Quantise::<T, C>(Sheet::of(call)?));
        } else {
            let coded = Coded::<C>::of(call)?;
            dispatch(isa, Dequantise::<T, C> { coded, y: call.outputs[0].rows_mut()? });
        }
    });
    Ok(())
}

/// Every group of a sheet: its step, then its codes.
pub(super) struct Quantise<'a, T, C>(pub(super) Sheet<'a, T, C>);

impl<T: Stored, C: Stored> Body for Quantise<'_, T, C> {
    type Output = ();

    #[inline(always)]
    fn run<S: proofmark_simd::Simd>(self, simd: S) {
        let mut sheet = self.0;
        let plan = sheet.plan;
        for band in 0..plan.down {
            let rows = band * plan.tile_rows..plan.rows.min((band + 1) * plan.tile_rows);
            for tile in 0..plan.across {
                let cols = tile * plan.tile_cols..plan.cols.min((tile + 1) * plan.tile_cols);
                let mut range = Range::EMPTY;
                if !plan.is_unit {
                    for row in rows.clone() {
                        let x = &sheet.x.row(row)[cols.clone()];
                        range = range.join(range_of(simd, plan.is_symmetric, x));
                    }
                }
                let step = if plan.is_unit { Step::UNIT } else { step(&plan, range) };
                sheet.note(band, tile, step);
                for row in rows.clone() {
                    let x = &sheet.x.row(row)[cols.clone()];
                    encode(simd, &plan, step, x, &mut sheet.codes.row_mut(row)[cols.clone()]);
                }
            }
        }
    }
}

/// The range of all elements.
pub(super) struct Ranges<'a, T> {
    pub(super) plan: Plan,
    pub(super) x: Rows<'a, T>,
}

impl<T: Stored> Body for Ranges<'_, T> {
    type Output = Range;

    #[inline(always)]
    fn run<S: proofmark_simd::Simd>(self, simd: S) -> Range {
        let mut range = Range::EMPTY;
        for row in 0..self.x.rows() {
            range = range.join(range_of(simd, self.plan.is_symmetric, self.x.row(row)));
        }
        range
    }
}

/// The codes of rows that share one step.
pub(super) struct Encode<'a, T, C> {
    pub(super) plan: Plan,
    pub(super) step: Step,
    pub(super) x: Rows<'a, T>,
    pub(super) codes: RowsMut<'a, C>,
}

impl<T: Stored, C: Stored> Body for Encode<'_, T, C> {
    type Output = ();

    #[inline(always)]
    fn run<S: proofmark_simd::Simd>(mut self, simd: S) {
        for row in 0..self.x.rows() {
            encode(simd, &self.plan, self.step, self.x.row(row), self.codes.row_mut(row));
        }
    }
}

/// The range of some elements of a row.
#[inline(always)]
pub(super) fn range_of<S: proofmark_simd::Simd, T: Stored>(
    simd: S,
    is_symmetric: bool,
    x: &[T],
) -> Range {
    if is_symmetric {
        return Range { low: 0.0, high: greatest(simd, x, |x| simd.abs(x)) };
    }
    Range { low: -greatest(simd, x, |x| simd.neg(x)), high: greatest(simd, x, |x| x) }
}

/// The codes of some elements of a row.
#[inline(always)]
fn encode<S: proofmark_simd::Simd, T: Stored, C: Stored>(
    simd: S,
    plan: &Plan,
    step: Step,
    x: &[T],
    codes: &mut [C],
) {
    if step.is_void {
        codes.fill(C::narrow(0.0));
        return;
    }
    let inverse = simd.splat(step.inverse);
    let mut x = x.chunks_exact(S::LANES);
    let mut codes = codes.chunks_exact_mut(S::LANES);
    for (x, codes) in (&mut x).zip(&mut codes) {
        let scaled = simd.mul(T::load(simd, x), inverse);
        C::store(simd, ready::<S, C>(simd, plan, step, scaled), codes);
    }
    let tail = simd.mul(T::load_partial(simd, x.remainder(), 0.0), inverse);
    C::store_partial(simd, ready::<S, C>(simd, plan, step, tail), codes.into_remainder());
}

/// A scaled element, ready to be rounded to its code.
#[inline(always)]
fn ready<S: proofmark_simd::Simd, C: Stored>(
    simd: S,
    plan: &Plan,
    step: Step,
    scaled: S::F,
) -> S::F {
    if C::DTYPE == DType::I8 {
        return simd.add(simd.round(scaled), simd.splat(step.zero));
    }
    // Only unscaled elements can lie beyond the largest number.
    if !plan.is_unit {
        return scaled;
    }
    let is_e4m3 = C::DTYPE == DType::F8e4m3;
    if !plan.to_nan {
        let largest = simd.splat(C::DTYPE.largest() as f32);
        let clamped = simd.max(simd.min(scaled, largest), simd.neg(largest));
        return simd.select(simd.is_nan(scaled), scaled, clamped);
    }
    let last = if is_e4m3 { 464.0 } else { 61440.0f32.next_down() };
    let is_beyond = simd.lt(simd.splat(last), simd.abs(scaled));
    let beyond = if is_e4m3 {
        simd.splat(f32::NAN)
    } else {
        let is_negative = simd.lt(scaled, simd.zero());
        let infinity = simd.splat(f32::INFINITY);
        simd.select(is_negative, simd.neg(infinity), infinity)
    };
    simd.select(is_beyond, beyond, scaled)
}

/// Elements from codes.
pub(super) struct Dequantise<'a, T, C> {
    pub(super) coded: Coded<'a, C>,
    pub(super) y: RowsMut<'a, T>,
}

impl<T: Stored, C: Stored> Body for Dequantise<'_, T, C> {
    type Output = ();

    #[inline(always)]
    fn run<S: proofmark_simd::Simd>(mut self, simd: S) {
        let plan = self.coded.plan;
        for row in 0..self.coded.codes.rows() {
            for tile in 0..plan.across {
                let cols = tile * plan.tile_cols..plan.cols.min((tile + 1) * plan.tile_cols);
                let (scale, zero) = self.coded.shared(row, tile);
                let codes = &self.coded.codes.row(row)[cols.clone()];
                decode(simd, codes, scale, zero, &mut self.y.row_mut(row)[cols]);
            }
        }
    }
}

#[inline(always)]
fn decode<S: proofmark_simd::Simd, T: Stored, C: Stored>(
    simd: S,
    codes: &[C],
    scale: f32,
    zero: f32,
    y: &mut [T],
) {
    let (scale, zero) = (simd.splat(scale), simd.splat(zero));
    // Only integers have a zero; −0 − 0 would lose its sign.
    let plain = |code: S::F| if C::DTYPE == DType::I8 { simd.sub(code, zero) } else { code };
    let mut codes = codes.chunks_exact(S::LANES);
    let mut y = y.chunks_exact_mut(S::LANES);
    for (codes, y) in (&mut codes).zip(&mut y) {
        T::store(simd, simd.mul(plain(C::load(simd, codes)), scale), y);
    }
    let tail = C::load_partial(simd, codes.remainder(), 0.0);
    T::store_partial(simd, simd.mul(plain(tail), scale), y.into_remainder());
}
