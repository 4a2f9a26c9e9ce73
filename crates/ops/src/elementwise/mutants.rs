//! What wrong members are made of: the right steps, of which a mutant replaces one.
//!
//! The slips that any elementwise kernel can make are listed here once and made for every member;
//! a member's own stand beside its formula.

use super::definition::{Variant, alpha};
use super::members::Member;
use crate::blocks::stored::Stored;
use proofmark_contract::{Call, KernelError};
use proofmark_tensor::{Rows, bf16, f16, philox4x32};
use proofmark_terms::DType;

/// A slip on every element type.
pub(super) const ALL: &[DType] = &[DType::F32, DType::Bf16, DType::F16];
/// A slip in rounding to fewer bits.
pub(super) const NARROW: &[DType] = &[DType::Bf16, DType::F16];
/// A slip below the range of f16.
pub(super) const WIDE: &[DType] = &[DType::F32, DType::Bf16];
/// A slip that fewer bits hide.
pub(super) const FINE: &[DType] = &[DType::F32, DType::F16];
/// A slip in the last bits.
pub(super) const SINGLE: &[DType] = &[DType::F32];

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
    /// The element type.
    pub(super) dtype: DType,
}

/// A formula without its number of operands.
pub(super) type Formula = fn(&[f32], f32) -> f32;

/// The steps of a member; a mutant replaces one.
#[derive(Clone, Copy)]
pub(super) struct Steps {
    /// Whether the element is written.
    pub(super) writes: fn(At) -> bool,
    /// Where the operands before the last are read.
    pub(super) others: fn(At) -> (usize, usize),
    /// Where the last operand is read.
    pub(super) last: fn(At) -> (usize, usize),
    /// What happens to each operand.
    pub(super) input: fn(f32) -> f32,
    /// The formula, where it is not the member's.
    pub(super) formula: Option<Formula>,
    /// What happens to the result before it is rounded to nearest or stochastically.
    pub(super) round: fn(At, f32) -> f32,
    /// The index that random bits are drawn at.
    pub(super) index: fn(At) -> usize,
    /// Whether stochastic rounding is done where it is asked for.
    pub(super) is_random: bool,
    /// Which elements are computed a second time.
    pub(super) again: fn(At) -> bool,
}

/// No slip.
pub(super) const RIGHT: Steps = Steps {
    writes: |_| true,
    others: |at| (at.row, at.col),
    last: |at| (at.row, at.col),
    input: |x| x,
    formula: None,
    round: |_, result| result,
    index: |at| at.row * at.cols + at.col,
    is_random: true,
    again: |_| false,
};

/// The mutants of a member: `Name<N>`, its kind, then a line for each of its own: name, element
/// types, the flaw, and the steps that are wrong. The kinds: `plain` has the slips of every
/// member; `rounded` those of results that are not operands already; `signed` also that of a
/// lost sign of zero.
macro_rules! mutants {
    (signed $member:ident<$n:literal>; $($own:tt)*) => {
        mutants! { rounded $member<$n>;
            "negative_zero_lost", ALL, "-0 becomes 0",
                Steps { round: |_, result| result + 0.0, ..RIGHT };
            $($own)*
        }
    };
    (rounded $member:ident<$n:literal>; $($own:tt)*) => {
        mutants! { plain $member<$n>;
            "truncates", NARROW, "rounds towards zero",
                Steps { round: slips::truncate, ..RIGHT };
            "overlapping_tail", ALL, "the tail is a whole vector, in place computed twice",
                Steps { again: slips::is_overlap, ..RIGHT };
            $($own)*
        }
    };
    (plain $member:ident<$n:literal>; $($own:tt)*) => {
        mutants! { $member<$n>;
            "tail_dropped", ALL, "elements past the last whole vector of 16 are not written",
                Steps { writes: |at| at.col < at.cols - at.cols % 16, ..RIGHT };
            "last_element_unwritten", ALL, "the loop ends one element early",
                Steps { writes: |at| (at.row + 1, at.col + 1) != (at.rows, at.cols), ..RIGHT };
            "last_row_stale", ALL, "the last row repeats the one before",
                Steps { last: slips::stale, ..RIGHT };
            "off_by_one_index", ALL, "the last operand comes from the element after",
                Steps { last: |at| (at.row, (at.col + 1).min(at.cols - 1)), ..RIGHT };
            "row_stride_ignored", ALL, "rows of the last operand are taken to lie densely",
                Steps { last: slips::as_if_dense, ..RIGHT };
            "swapped_neighbours", ALL, "even and odd elements change places",
                Steps { others: slips::neighbour, last: slips::neighbour, ..RIGHT };
            "input_rounded_to_bf16", FINE, "operands lose bits first",
                Steps { input: slips::narrowed, ..RIGHT };
            "flushes_subnormals", ALL, "subnormal results become zero",
                Steps { round: slips::flush, ..RIGHT };
            "nan_swallowed", ALL, "NaN becomes 0",
                Steps { round: |_, y| if y.is_nan() { 0.0 } else { y }, ..RIGHT };
            "result_scaled", ALL, "the result is half a hundredth too large",
                Steps { round: |_, result| result * 1.005, ..RIGHT };
            $($own)*
        }
    };
    ($member:ident<$n:literal>; $($name:literal, $dtypes:expr, $flaw:literal, $steps:expr;)*) => {
        &[$(proofmark_contract::Mutant {
            name: $name,
            flaw: $flaw,
            kernel: &$crate::flawed::Flawed {
                name: $name,
                dtypes: $dtypes,
                run: |call| $crate::elementwise::mutants::run::<$member, $n>(call, $steps),
            },
        }),*]
    };
}
pub(super) use mutants;

/// The steps that slip, by name.
pub(super) mod slips {
    use super::At;
    use proofmark_tensor::bf16;

    /// The last row comes from the one before.
    pub(in super::super) fn stale(at: At) -> (usize, usize) {
        (if at.row + 1 == at.rows { at.row.saturating_sub(1) } else { at.row }, at.col)
    }

    /// As if rows had no padding.
    pub(in super::super) fn as_if_dense(at: At) -> (usize, usize) {
        let offset = at.row * at.cols + at.col;
        // Padding cannot be read through a view of rows; any other element is as wrong.
        (offset / at.stride, (offset % at.stride).min(at.cols - 1))
    }

    /// The other one of a pair.
    pub(in super::super) fn neighbour(at: At) -> (usize, usize) {
        (at.row, if at.col ^ 1 < at.cols { at.col ^ 1 } else { at.col })
    }

    /// What the last whole vector and a vector that ends with the row share.
    pub(in super::super) fn is_overlap(at: At) -> bool {
        let whole = at.cols - at.cols % 16;
        at.cols > 16 && (at.cols - 16..whole).contains(&at.col)
    }

    /// Subnormals of the element type become zero.
    pub(in super::super) fn flush(at: At, result: f32) -> f32 {
        let border = 2f32.powi(at.dtype.min_exponent());
        if result.abs() < border { 0f32.copysign(result) } else { result }
    }

    /// Nothing is larger than the largest number.
    pub(in super::super) fn saturate(at: At, result: f32) -> f32 {
        let largest = at.dtype.largest() as f32;
        result.clamp(-largest, largest)
    }

    /// Bits that do not fit are dropped.
    pub(in super::super) fn truncate(at: At, result: f32) -> f32 {
        let dropped = 24 - at.dtype.significand_bits();
        let kept = f32::from_bits(result.to_bits() >> dropped << dropped);
        if result.is_finite() { kept } else { result }
    }

    /// Rounded to 8 bits.
    pub(in super::super) fn narrowed(value: f32) -> f32 {
        bf16::from_f32(value).to_f32()
    }
}

/// The member with these steps.
pub(super) fn run<M: Member<N>, const N: usize>(
    call: &mut Call<'_>,
    steps: Steps,
) -> Result<(), KernelError> {
    let own = |x: &[f32], alpha| M::scalar(std::array::from_fn(|k| x[k]), alpha);
    let steps = Steps { formula: Some(steps.formula.unwrap_or(own)), ..steps };
    walk(call, N, steps)?;
    // Out of place a second computation of the same elements changes nothing.
    let is_twice = Variant::of(call.case).in_place;
    if is_twice { walk(call, N, Steps { writes: steps.again, ..steps }) } else { Ok(()) }
}

fn walk(call: &mut Call<'_>, arity: usize, steps: Steps) -> Result<(), KernelError> {
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
    steps: Steps,
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
    let (rows, cols, dtype) = (y.rows(), y.cols(), T::DTYPE);
    let stride = views[arity - 1].map_or(y.row_stride(), |view| view.row_stride());
    for (row, col) in (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col))) {
        let at = At { row, col, rows, cols, stride, dtype };
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
        let result = (steps.round)(at, formula(&x, alpha));
        y.row_mut(row)[col] = narrow(result, random);
    }
    Ok(())
}
