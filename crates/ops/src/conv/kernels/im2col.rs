//! A product of matrices: what each tap meets is written out as a row, then multiplied.
//!
//! Idea: the textbook's im2col, for as many neighbouring results at a time as the product packs
//! together, so that what is written out stays in the second cache.
//! Taps of one element without padding or stride need nothing written out. Every element of an
//! image is copied once for each tap and packed once more.

use super::scalar::{bias, fill_empty};
use crate::blocks::gemm::{Blocking, Epilogue, Gemm, Keeps, Right};
use crate::blocks::made::Made;
use crate::blocks::math::Activation;
use crate::blocks::scratch::elements_mut;
use crate::conv::definition::{Problem, WEIGHTS, X};
use proofmark_contract::{Call, KernelError};
use proofmark_schema::{Case, Isa};
use proofmark_simd::dispatch;
use proofmark_tensor::{Rows, RowsMut};
use std::ops::Range;

/// The kernel.
pub(crate) static IM2COL: Made = Made {
    name: "im2col",
    workspace: |case, isa, _| scratch(case, isa) * size_of::<f32>(),
    ..Made::simd("taps written out as rows, then a packed product of matrices", run)
};

/// Columns that are written out at a time.
fn columns(of: Problem, isa: Isa) -> usize {
    of.result_area().min(Blocking::of(isa).nc)
}

/// Floats of what is written out.
fn unfolded(of: Problem, isa: Isa) -> usize {
    if is_image(of) { 0 } else { of.terms() * columns(of, isa) }
}

/// Whether an image is what would be written out.
fn is_image(of: Problem) -> bool {
    of.taps == [1, 1] && of.stride == [1, 1] && of.pad == [0, 0]
}

/// Floats of scratch memory.
fn scratch(case: &Case, isa: Isa) -> usize {
    let of = Problem::of(case);
    let keeps = Keeps { packed_right: false, f32_output: true };
    let product =
        Blocking::of(isa).scratch(of.group_outputs(), columns(of, isa), of.terms(), keeps);
    unfolded(of, isa) + product
}

fn run(call: &mut Call<'_>) -> Result<(), KernelError> {
    let (of, isa) = (Problem::of(call.case), call.isa);
    let (x, weights) = (call.inputs[X].slice::<f32>()?, call.inputs[WEIGHTS].slice::<f32>()?);
    let bias = bias(call, of)?;
    let output = call.outputs[0].slice_mut::<f32>()?;
    if of.channels * of.area() == 0 || output.is_empty() {
        fill_empty(of, bias, output);
        return Ok(());
    }
    let floats = elements_mut::<f32>(call.workspace, scratch(call.case, isa), "workspace")?;
    let (unfolded, scratch) = floats.split_at_mut(unfolded(of, isa));
    let mut output = RowsMut::from_slice(output, of.batches * of.outputs, of.result_area());
    for at in 0..of.batches * of.groups {
        let image = &x[at * of.group_inputs() * of.area()..][..of.group_inputs() * of.area()];
        let (first, count) = (at * of.group_outputs(), of.group_outputs());
        let group = at % of.groups * count;
        let left = &weights[group * of.terms()..][..count * of.terms()];
        for start in (0..of.result_area()).step_by(columns(of, isa)) {
            let part = start..of.result_area().min(start + columns(of, isa));
            let (right, first_column) = if is_image(of) {
                (Rows::from_slice(image, of.group_inputs(), of.area()), start)
            } else {
                let to = &mut unfolded[..of.terms() * part.len()];
                unfold(of, image, &part, to);
                (Rows::from_slice(to, of.terms(), part.len()), 0)
            };
            let mut rows = output.range(first..first + count);
            let product = Gemm {
                left: Rows::from_slice(left, count, of.terms()),
                right: Right::Stored { rows: right, transposed: false },
                first_column,
                output: rows.columns(part.clone()),
                epilogue: Epilogue { bias: None, activation: Activation::None },
                scratch: &mut *scratch,
            };
            dispatch(isa, product);
            for (row, bias) in bias.iter().flat_map(|bias| &bias[group..][..count]).enumerate() {
                rows.row_mut(row)[part.clone()].iter_mut().for_each(|y| *y += bias);
            }
        }
    }
    Ok(())
}

/// Writes out what each tap of a group's channels meets for some results.
fn unfold(of: Problem, image: &[f32], results: &Range<usize>, to: &mut [f32]) {
    let [height, width] = of.taps;
    for (term, to) in to.chunks_exact_mut(results.len()).enumerate() {
        let (channel, tap) = (term / (height * width), [term / width % height, term % width]);
        let channel = &image[channel * of.area()..][..of.area()];
        let mut at = results.start;
        while at < results.end {
            let (i, j) = (at / of.result[1], at % of.result[1]);
            let run = (results.end - at).min(of.result[1] - j);
            let to = &mut to[at - results.start..][..run];
            match of.place(0, i, tap[0]) {
                Some(row) => unfold_row(of, &channel[row * of.size[1]..], j, tap[1], to),
                None => to.fill(0.0),
            }
            at += run;
        }
    }
}

/// What a tap meets in one row for the results from `first` on.
fn unfold_row(of: Problem, row: &[f32], first: usize, tap: usize, to: &mut [f32]) {
    let (stride, pad, shift) = (of.stride[1], of.pad[1], tap * of.dilation[1]);
    // The first result whose tap falls on an element, and the first past those.
    let begin = pad.saturating_sub(shift).div_ceil(stride);
    let begin = begin.saturating_sub(first).min(to.len());
    let end = (of.size[1] + pad).saturating_sub(shift).div_ceil(stride);
    let end = end.saturating_sub(first).clamp(begin, to.len());
    to[..begin].fill(0.0);
    to[end..].fill(0.0);
    let own = &mut to[begin..end];
    if own.is_empty() {
        return;
    }
    let row = &row[(first + begin) * stride + shift - pad..of.size[1]];
    match stride {
        1 => own.copy_from_slice(&row[..own.len()]),
        _ => own.iter_mut().zip(row.iter().step_by(stride)).for_each(|(to, from)| *to = *from),
    }
}
