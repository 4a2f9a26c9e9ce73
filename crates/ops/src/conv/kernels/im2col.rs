//! A product of matrices: the elements under each tap are written out as a row, then multiplied.
//!
//! Idea: textbook im2col, for as many neighbouring results at a time as stay in L2 together with
//! the weights, which stream past them as they lie (see `Streamed`). A few rows at a time are
//! written out, from planes in which each tap is an offset, and packed at once; taps of one element
//! are rows already. Every element of an image is copied once for each tap and packed once more; 2
//! flops a term; registers as in `Streamed`.
//! What did not help, with one tap: the image read where it lies, a panel of columns at a time (0.8
//! to 1.9 times as long on two threads, 1.2 in the median, because its rows lie on as many pages),
//! and columns packed by the thread that multiplies them (0.96 to 1.28).

use super::planes::Planes;
use super::scalar::{bias, fill_empty};
use super::simd::copy;
use crate::blocks::gemm::{Columns, Epilogue, Packing, Streamed, Unpacked};
use crate::blocks::made::Made;
use crate::blocks::math::Activation;
use crate::blocks::scratch::elements_mut;
use crate::conv::definition::{Problem, WEIGHTS, X};
use proofmark_contract::{Call, KernelError};
use proofmark_simd::{Body, Simd, dispatch};
use proofmark_tensor::{Rows, RowsMut, split};
use proofmark_terms::{Case, Isa};
use std::ops::Range;

/// The kernel.
pub(crate) static IM2COL: Made = Made {
    name: "im2col",
    workspace: |case, isa, _| workspace(case, isa, 1),
    ..Made::simd("taps written out as rows, then a product with the weights as they lie", |call| {
        run(call, 1)
    })
};

/// Terms that are written out at a time.
const TERMS: usize = 8;
/// Floats of a cache line, at which parts of the workspace begin.
const LINE: usize = 16;

/// Whether the image already has the layout that would be written out.
fn is_image(of: Problem) -> bool {
    of.taps == [1, 1] && of.stride == [1, 1] && of.pad == [0, 0]
}

/// Floats of an image's planes, of the packed columns, and of the lines of each thread.
fn parts(of: Problem, isa: Isa) -> [usize; 3] {
    let planes = if is_image(of) { 0 } else { Planes::of(of).image() };
    let lines = if of.taps == [1, 1] {
        0
    } else {
        TERMS * Columns::block(isa, of.terms(), of.result_area())
    };
    [planes, Columns::scratch(isa, of.terms(), of.result_area()), lines]
        .map(|count| count.next_multiple_of(LINE))
}

/// Bytes of scratch memory.
pub(super) fn workspace(case: &Case, isa: Isa, threads: usize) -> usize {
    let [planes, packed, lines] = parts(Problem::of(case), isa);
    (planes + packed + threads.max(1) * lines) * size_of::<f32>()
}

/// Computes the case on `threads` threads.
pub(super) fn run(call: &mut Call<'_>, threads: usize) -> Result<(), KernelError> {
    let (of, isa, pool) = (Problem::of(call.case), call.isa, call.pool);
    let (x, weights) = (call.inputs[X].slice::<f32>()?, call.inputs[WEIGHTS].slice::<f32>()?);
    let bias = bias(call, of)?;
    let output = call.outputs[0].slice_mut::<f32>()?;
    if of.channels * of.area() == 0 || output.is_empty() {
        fill_empty(of, bias, output);
        return Ok(());
    }
    let planes = Planes::of(of);
    let [copied, packed, lines] = parts(of, isa);
    let count = copied + packed + threads * lines;
    let floats = elements_mut::<f32>(call.workspace, count, "workspace")?;
    let (copied, rest) = floats.split_at_mut(copied);
    let (packed, rest) = rest.split_at_mut(packed);
    let mut lines = RowsMut::from_slice(rest, threads, lines);
    let output = RowsMut::from_slice(output, of.batches * of.outputs, of.result_area());
    // SAFETY: the view is not used again while the handle is.
    let output = unsafe { output.share() };
    let (terms, outputs) = (of.terms(), of.group_outputs());
    for at in 0..of.batches * of.groups {
        let (image, group) = (at / of.groups, at % of.groups);
        let image = &x[image * of.channels * of.area()..][..of.channels * of.area()];
        let is_copied = !is_image(of) && !planes.are_the_image();
        if is_copied && group == 0 {
            copy(pool, of, planes, image, copied, threads);
        }
        let from = &(if is_copied { &*copied } else { image })
            [group * of.group_inputs() * planes.channel()..];
        let from = Unfolded { of, isa, planes, from };
        let left = &weights[group * outputs * terms..][..outputs * terms];
        let left = Rows::from_slice(left, outputs, terms);
        let bias = bias.map(|bias| &bias[group * outputs..][..outputs]);
        for results in Columns::blocks(isa, terms, of.result_area()) {
            let columns = Columns::of(isa, terms, results.len());
            let packing = Packing::new(columns, packed);
            pool.with_rows(lines.reborrow(), |index, line| {
                let own = split(terms, threads, index, TERMS);
                // SAFETY: each index has terms of its own.
                unsafe { from.pack(&results, own, line, &packing) };
            });
            let right = &*packed;
            pool.run(threads, &|index| {
                let part = part(isa, outputs, results.len(), threads, index);
                let first = at * outputs + part.rows.start;
                let to = results.start + part.columns.start..results.start + part.columns.end;
                // SAFETY: parts of different threads differ in rows or in columns.
                let output = unsafe { output.block_mut(first..first + part.rows.len(), to) };
                multiply(isa, left, (columns, right), part, bias, output);
            });
        }
    }
    Ok(())
}

/// What one thread computes of a product.
struct Part {
    rows: Range<usize>,
    columns: Range<usize>,
}

/// Rows or panels of columns, whichever come out more even.
fn part(isa: Isa, rows: usize, columns: usize, threads: usize, index: usize) -> Part {
    let (height, width) = (Columns::height(isa), Columns::width(isa));
    let largest = |total: usize, grain: usize| {
        split(total, threads, 0, grain).len() as f64 / total.max(1) as f64
    };
    if largest(rows, height) < largest(columns, width) {
        return Part { rows: split(rows, threads, index, height), columns: 0..columns };
    }
    Part { rows: 0..rows, columns: split(columns, threads, index, width) }
}

fn multiply(
    isa: Isa,
    left: Rows<'_, f32>,
    (packed, right): (Columns, &[f32]),
    Part { rows, columns }: Part,
    bias: Option<&[f32]>,
    mut output: RowsMut<'_, f32>,
) {
    let product = Streamed {
        left: left.range(rows.clone()),
        packed,
        right,
        columns,
        output: output.reborrow(),
        epilogue: Epilogue { bias: None, activation: Activation::None },
        first_column: 0,
    };
    dispatch(isa, product);
    for (row, bias) in bias.iter().flat_map(|bias| &bias[rows.clone()]).enumerate() {
        output.row_mut(row).iter_mut().for_each(|y| *y += bias);
    }
}

/// The elements under the taps of a group.
struct Unfolded<'a> {
    of: Problem,
    isa: Isa,
    planes: Planes,
    /// The planes of the group's channels.
    from: &'a [f32],
}

impl Unfolded<'_> {
    /// Packs some terms of some results.
    ///
    /// # Safety
    /// As [`Packing::pack`].
    unsafe fn pack(
        &self,
        results: &Range<usize>,
        terms: Range<usize>,
        lines: &mut [f32],
        to: &Packing<'_>,
    ) {
        let (of, channel) = (self.of, self.planes.channel());
        if of.taps == [1, 1] {
            // A plane holds the results side by side.
            let count = of.group_inputs();
            let rows = Rows::from_slice(&self.from[..count * channel], count, channel);
            let (first_term, first_column) = (terms.start, results.start);
            let source = Unpacked { rows, transposed: false, first_term, first_column };
            // SAFETY: as the caller vouches.
            return unsafe { to.pack(terms, source) };
        }
        for start in terms.clone().step_by(TERMS) {
            let few = start..terms.end.min(start + TERMS);
            let lines = &mut lines[..few.len() * results.len()];
            for (term, line) in few.clone().zip(lines.chunks_exact_mut(results.len())) {
                dispatch(self.isa, Unfold { unfolded: self, term, first: results.start, line });
            }
            let rows = Rows::from_slice(lines, few.len(), results.len());
            let source = Unpacked { rows, transposed: false, first_term: 0, first_column: 0 };
            // SAFETY: as the caller vouches.
            unsafe { to.pack(few, source) };
        }
    }
}

/// The elements under one term's tap for the results from `first` on.
struct Unfold<'a> {
    unfolded: &'a Unfolded<'a>,
    term: usize,
    first: usize,
    line: &'a mut [f32],
}

impl Body for Unfold<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Unfolded { of, planes, from, .. } = self.unfolded;
        let [height, width] = of.taps;
        let (channel, tap) = (self.term / (height * width), self.term % (height * width));
        let offset = planes.offset([tap / width, tap % width]);
        let from = &from[channel * planes.channel() + offset..];
        let (mut row, mut column) = (self.first / of.result[1], self.first % of.result[1]);
        let mut at = 0;
        while at < self.line.len() {
            let run = (self.line.len() - at).min(of.result[1] - column);
            let source = &from[row * planes.pitch() + column..][..run];
            let target = &mut self.line[at..][..run];
            // Runs are no longer than a row of the result: too short for a call to copy them.
            let mut lane = 0;
            while lane + S::LANES <= run {
                simd.store(simd.load(&source[lane..]), &mut target[lane..]);
                lane += S::LANES;
            }
            if lane < run {
                let rest = simd.load_partial(&source[lane..], 0.0);
                simd.store_partial(rest, &mut target[lane..]);
            }
            (row, column) = (row + 1, 0);
            at += run;
        }
    }
}
