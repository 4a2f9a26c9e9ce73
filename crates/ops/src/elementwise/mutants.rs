//! What wrong members are made of: the right steps, of which a mutant replaces one.
//!
//! The slips that any elementwise kernel can make are listed here once and made for every member;
//! a member's own stand beside its formula.

use super::definition::{Variant, alpha};
use super::members::Member;
use crate::blocks::stored::Stored;
pub(super) use crate::flawed::{ALL, FINE, SINGLE, WIDE, estimate, mutants, narrowed, saturate};
use crate::flawed::{
    NARROW, as_if_dense, flush, nan_as_zero, neighbour, stale, steps, truncate, whole_vectors,
};
use proofmark_contract::{Call, KernelError, Mutant};
use proofmark_tensor::{Rows, bf16, f16, philox4x32};
use proofmark_terms::DType;
use std::marker::PhantomData;

/// What a slip may depend on.
#[derive(Clone, Copy)]
pub(super) struct At {
    /// The element's row.
    pub(super) row: usize,
    /// The element's column.
    pub(super) col: usize,
    /// All rows.
    pub(super) rows: usize,
    /// All columns.
    pub(super) cols: usize,
    /// Row stride of the last operand.
    pub(super) stride: usize,
}

/// A formula without its number of operands.
pub(super) type Formula = fn(&[f32], f32) -> f32;

steps! { pub(super) Steps, RIGHT;
    /// Whether the element is written.
    writes: fn(At) -> bool = |_| true,
    /// Where the operands before the last are read.
    others: fn(At) -> (usize, usize) = |at| (at.row, at.col),
    /// Where the last operand is read.
    last: fn(At) -> (usize, usize) = |at| (at.row, at.col),
    /// What happens to each operand.
    input: fn(f32) -> f32 = |x| x,
    /// The formula, where it is not the member's.
    formula: Option<Formula> = None,
    /// What happens to the result before it is rounded to nearest or stochastically.
    round: fn(DType, f32) -> f32 = |_, result| result,
    /// The index that random bits are drawn at.
    index: fn(At) -> usize = |at| at.row * at.cols + at.col,
    /// Whether stochastic rounding is done where it is asked for.
    is_random: bool = true,
    /// Which elements are computed a second time.
    again: fn(At) -> bool = |_| false,
}

/// The mutants that members share.
pub(super) struct Shared<M, const N: usize>(PhantomData<M>);

impl<M: Member<N>, const N: usize> Shared<M, N> {
    /// Those of members whose results have a sign of zero: ten of every member, two of rounding,
    /// and one of the sign.
    pub(super) const SIGNED: &'static [Mutant] = mutants! { run::<M, N>, Steps { ..RIGHT };
        "tail_dropped", ALL, "elements past the last whole vector of 16 are not written",
            writes: |at| at.col < whole_vectors(at.cols);
        "last_element_unwritten", ALL, "the loop ends one element early",
            writes: |at| (at.row + 1, at.col + 1) != (at.rows, at.cols);
        "last_row_stale", ALL, "the last row repeats the one before",
            last: |at| (stale(at.row, at.rows), at.col);
        "off_by_one_index", ALL, "the last operand comes from the element after",
            last: |at| (at.row, (at.col + 1).min(at.cols - 1));
        "row_stride_ignored", ALL, "rows of the last operand are taken to lie densely",
            last: |at| as_if_dense(at.row, at.col, at.cols, at.stride);
        "swapped_neighbours", ALL, "even and odd elements change places",
            others: swapped, last: swapped;
        "input_rounded_to_bf16", FINE, "operands lose bits first", input: narrowed;
        "flushes_subnormals", ALL, "subnormal results become zero", round: flush;
        "nan_swallowed", ALL, "NaN becomes 0", round: |_, result| nan_as_zero(result);
        "result_scaled", ALL, "the result is half a hundredth too large",
            round: |_, result| result * 1.005;
        "truncates", NARROW, "rounds towards zero", round: truncate;
        "overlapping_tail", ALL, "the tail is a whole vector, in place computed twice",
            again: is_overlap;
        "negative_zero_lost", ALL, "-0 becomes 0", round: |_, result| result + 0.0;
    };

    /// Those of members whose results are not operands already: all but that of the sign.
    pub(super) const ROUNDED: &'static [Mutant] = Self::SIGNED.split_at(12).0;

    /// Those of every member.
    pub(super) const PLAIN: &'static [Mutant] = Self::SIGNED.split_at(10).0;
}

/// The other one of a pair.
fn swapped(at: At) -> (usize, usize) {
    (at.row, neighbour(at.col, at.cols))
}

/// What the last whole vector and a vector that ends with the row share.
fn is_overlap(at: At) -> bool {
    at.cols > 16 && (at.cols - 16..whole_vectors(at.cols)).contains(&at.col)
}

/// The member with these steps.
pub(super) fn run<M: Member<N>, const N: usize>(
    call: &mut Call<'_>,
    steps: &Steps,
) -> Result<(), KernelError> {
    let own = |x: &[f32], alpha| M::scalar(std::array::from_fn(|k| x[k]), alpha);
    let steps = Steps { formula: Some(steps.formula.unwrap_or(own)), ..*steps };
    walk(call, N, &steps)?;
    // Out of place a second computation of the same elements changes nothing.
    let is_twice = Variant::of(call.case).in_place;
    if is_twice { walk(call, N, &Steps { writes: steps.again, ..steps }) } else { Ok(()) }
}

fn walk(call: &mut Call<'_>, arity: usize, steps: &Steps) -> Result<(), KernelError> {
    match call.case.dtype {
        DType::F32 => typed::<f32>(call, arity, steps, |result, _| result),
        DType::F16 => typed::<f16>(call, arity, steps, |result, _| f16::from_f32(result)),
        _ if Variant::of(call.case).stochastic && steps.is_random => {
            typed::<bf16>(call, arity, steps, dither)
        }
        _ => typed::<bf16>(call, arity, steps, |result, _| bf16::from_f32(result)),
    }
}

fn dither(sum: f32, random: u32) -> bf16 {
    let bits = if sum.is_finite() { sum.to_bits() + random % 65536 } else { sum.to_bits() };
    bf16::from_bits((bits >> 16) as u16)
}

fn typed<T: Stored>(
    call: &mut Call<'_>,
    arity: usize,
    steps: &Steps,
    narrow: fn(f32, u32) -> T,
) -> Result<(), KernelError> {
    let variant = Variant::of(call.case);
    let formula = steps.formula.expect("the member's own, if no other");
    let alpha = alpha(call.case);
    let state = variant.random(arity).map(|position| call.inputs[position].slice::<u32>());
    let state = state.transpose()?.unwrap_or(&[0; 4]);
    let mut views: Vec<Option<Rows<'_, T>>> = Vec::with_capacity(arity);
    for k in 0..arity {
        let is_output = variant.in_place && k == 0;
        let view = || call.inputs[variant.position(arity, k)].rows();
        views.push(if is_output { None } else { Some(view()?) });
    }
    let mut y = call.outputs[0].rows_mut::<T>()?;
    let (rows, cols) = (y.rows(), y.cols());
    let stride = views[arity - 1].map_or(y.row_stride(), |view| view.row_stride());
    for (row, col) in (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col))) {
        let at = At { row, col, rows, cols, stride };
        if !(steps.writes)(at) {
            continue;
        }
        let read = |(k, view): (usize, &Option<Rows<'_, T>>)| {
            let (i, j) = if k + 1 == arity { (steps.last)(at) } else { (steps.others)(at) };
            let element = view.map_or_else(|| y.row(i)[j], |view| view.row(i)[j]);
            (steps.input)(element.widen())
        };
        let x: Vec<f32> = views.iter().enumerate().map(read).collect();
        let counter = [(steps.index)(at) as u32, 0, state[2], state[3]];
        let random = philox4x32(counter, [state[0], state[1]])[0];
        let result = (steps.round)(T::DTYPE, formula(&x, alpha));
        y.row_mut(row)[col] = narrow(result, random);
    }
    Ok(())
}
