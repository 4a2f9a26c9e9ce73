//! Direct convolution: register tiles over neighbouring results, on one thread.
//!
//! Idea: a channel of an image is copied once into planes in which each tap is an offset (see
//! `planes`), or read where it lies if there is no padding and no stride. A tile of results of up
//! to 14 channels and 32 neighbours then takes one term after the other from the planes; nothing is
//! multiplied out in memory. Weights are packed within the call. 2 flops a term; 28 accumulators,
//! 2 vectors and a broadcast in registers with AVX-512, 12, 2 and 1 with AVX2.

use super::planes::{Planes, SLACK};
use super::scalar::{bias, fill_empty};
use super::tiles::{Pitch, Tiles, grain, pack};
use crate::blocks::made::Made;
use crate::blocks::scratch::elements_mut;
use crate::conv::definition::{Problem, WEIGHTS, X};
use proofmark_contract::{Call, KernelError};
use proofmark_simd::{dispatch, l2_bytes};
use proofmark_tensor::{Pool, RowsMut, SharedRows, split};
use proofmark_terms::{Case, Isa};
use std::ops::Range;

/// The kernel.
pub(crate) static SIMD: Made = Made {
    workspace: |case, isa, _| workspace(case, isa, 1),
    ..Made::simd("register tiles over neighbouring results, nothing multiplied out", |call| {
        run(call, 1)
    })
};

/// Columns of the widest tile but one.
const COLUMNS: usize = 32;
/// Bytes of a cache line, at which parts of the workspace begin.
const LINE: usize = 64;

/// Bytes of the offsets, the packed weights and the planes of an image.
fn parts(of: Problem) -> [usize; 3] {
    [of.terms(), of.outputs * of.terms(), Planes::of(of).image()]
        .map(|count| (count * size_of::<f32>()).next_multiple_of(LINE))
}

/// Bytes of scratch memory, for any number of threads.
pub(super) fn workspace(case: &Case, _isa: Isa, _threads: usize) -> usize {
    parts(Problem::of(case)).iter().sum()
}

/// Computes the case on `threads` threads.
pub(super) fn run(call: &mut Call<'_>, threads: usize) -> Result<(), KernelError> {
    let (of, isa) = (Problem::of(call.case), call.isa);
    let (x, weights) = (call.inputs[X].slice::<f32>()?, call.inputs[WEIGHTS].slice::<f32>()?);
    let bias = bias(call, of)?;
    let output = call.outputs[0].slice_mut::<f32>()?;
    if of.channels * of.area() == 0 || output.is_empty() {
        fill_empty(of, bias, output);
        return Ok(());
    }
    let planes = Planes::of(of);
    let [first, second, _] = parts(of);
    let (bytes, need) = (call.workspace.len(), workspace(call.case, isa, threads));
    let Some(scratch) = call.workspace.get_mut(..need) else {
        return Err(KernelError::TooSmall { what: "workspace", got: bytes, need });
    };
    let (offsets, rest) = scratch.split_at_mut(first);
    let (packed, copied) = rest.split_at_mut(second);
    let offsets = elements_mut::<u32>(offsets, of.terms(), "workspace")?;
    let packed = elements_mut::<f32>(packed, of.outputs * of.terms(), "workspace")?;
    let copied = elements_mut::<f32>(copied, planes.image(), "workspace")?;
    fill_offsets(of, planes, offsets);
    let whole = Image { of, isa, planes, offsets, bias };
    let rows = RowsMut::from_slice(output, of.batches * of.outputs, of.result_area());
    // SAFETY: the view is not used again while the handle is.
    let output = unsafe { rows.share() };
    pack_weights(call.pool, isa, of, weights, packed, threads);
    let packed = &*packed;
    for image in 0..of.batches {
        let given = &x[image * of.channels * of.area()..][..of.channels * of.area()];
        let right = if planes.are_the_image() {
            given
        } else {
            copy(call.pool, of, planes, given, copied, threads);
            &*copied
        };
        call.pool.run(threads, &|index| {
            // SAFETY: parts of different threads differ in channels or in positions.
            unsafe { whole.compute(image, packed, right, output, threads, index) };
        });
    }
    Ok(())
}

/// Where each term of a group stands in the planes of its first channel.
fn fill_offsets(of: Problem, planes: Planes, offsets: &mut [u32]) {
    let area = of.taps[0] * of.taps[1];
    for (term, offset) in offsets.iter_mut().enumerate() {
        let (channel, tap) = (term / area, term % area);
        let tap = planes.offset([tap / of.taps[1], tap % of.taps[1]]);
        *offset = (channel * planes.channel() + tap) as u32;
    }
}

/// Packs the weights of each group, split among threads.
fn pack_weights(
    pool: &Pool,
    isa: Isa,
    of: Problem,
    weights: &[f32],
    to: &mut [f32],
    threads: usize,
) {
    let (terms, each) = (of.terms(), of.group_outputs());
    let rows = RowsMut::from_slice(to, of.outputs, terms);
    // SAFETY: the view is not used again while the handle is.
    let shared = unsafe { rows.share() };
    pool.run(threads, &|index| {
        for group in 0..of.groups {
            let own = match of.groups >= threads {
                true if split(of.groups, threads, index, 1).contains(&group) => 0..each,
                true => continue,
                false => split(each, threads, index, grain(isa)),
            };
            let first = group * each;
            let weights = &weights[first * terms..][..each * terms];
            // SAFETY: threads have other groups, or other rows of each.
            let mut to = unsafe { shared.range_mut(first + own.start..first + own.end) };
            let Some(to) = to.as_mut_slice() else { unreachable!("packed rows lie densely") };
            pack(isa, own, terms, weights, to);
        }
    });
}

/// Copies an image into its planes, channels split among threads.
pub(super) fn copy(
    pool: &Pool,
    of: Problem,
    planes: Planes,
    image: &[f32],
    to: &mut [f32],
    threads: usize,
) {
    let rows = RowsMut::from_slice(
        &mut to[..of.channels * planes.channel()],
        of.channels,
        planes.channel(),
    );
    pool.for_rows(threads, rows, 1, |own, mut to| {
        for (at, channel) in own.enumerate() {
            planes.fill(&image[channel * of.area()..][..of.area()], to.row_mut(at));
        }
    });
}

/// What is the same for all images of a call.
struct Image<'a> {
    of: Problem,
    isa: Isa,
    planes: Planes,
    offsets: &'a [u32],
    bias: Option<&'a [f32]>,
}

/// What one thread computes: groups, channels of each, and positions of each.
struct Part {
    groups: Range<usize>,
    rows: Range<usize>,
    columns: Range<usize>,
}

impl Image<'_> {
    /// Whole groups if there are enough, else the channels or the positions of each, whichever
    /// come out more even.
    fn part(&self, threads: usize, index: usize) -> Part {
        let (groups, rows) = (self.of.groups, self.of.group_outputs());
        let columns = self.planes.positions();
        let whole = Part { groups: 0..groups, rows: 0..rows, columns: 0..columns };
        let largest = |total: usize, grain: usize| {
            split(total, threads, 0, grain).len() as f64 / total.max(1) as f64
        };
        if groups >= threads {
            return Part { groups: split(groups, threads, index, 1), ..whole };
        }
        if largest(rows, grain(self.isa)) < largest(columns, COLUMNS) {
            return Part { rows: split(rows, threads, index, grain(self.isa)), ..whole };
        }
        Part { columns: split(columns, threads, index, COLUMNS), ..whole }
    }

    /// The part of an image that falls to one thread.
    ///
    /// # Safety
    /// Each index is taken by one thread, and nothing else uses `output` meanwhile.
    unsafe fn compute(
        &self,
        image: usize,
        packed: &[f32],
        right: &[f32],
        output: SharedRows<'_, f32>,
        threads: usize,
        index: usize,
    ) {
        let (of, planes) = (self.of, self.planes);
        let Part { groups, rows, columns } = self.part(threads, index);
        let (each, terms) = (of.group_outputs(), of.terms());
        let readable = planes.positions() + if planes.are_the_image() { 0 } else { SLACK };
        for group in groups.filter(|_| !rows.is_empty()) {
            let first = image * of.outputs + group * each;
            let own = first + rows.start..first + rows.end;
            let image = Pitch { pitch: planes.pitch(), width: planes.results[1] };
            let channel = group * of.group_inputs() * planes.channel();
            for columns in self.blocks(&columns) {
                let elements = image.elements(columns.start)..image.elements(columns.end);
                dispatch(
                    self.isa,
                    Tiles {
                        left: &packed[group * each * terms..][..each * terms],
                        rows: rows.clone(),
                        offsets: self.offsets,
                        right: &right[channel..],
                        columns,
                        readable,
                        skipped: elements.start,
                        // SAFETY: the columns of different threads are different elements.
                        output: unsafe { output.block_mut(own.clone(), elements) },
                        image,
                        bias: self.bias.map(|bias| &bias[group * each..][..each]),
                    },
                );
            }
        }
    }

    /// Columns in blocks whose elements stay in L2 while panels pass over them.
    fn blocks(&self, columns: &Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let half = l2_bytes() / 2 / size_of::<f32>();
        let rows = self.of.group_inputs() * self.of.stride[0] * self.of.stride[1];
        let step = (half / rows.max(1)).next_multiple_of(COLUMNS);
        let end = columns.end;
        columns.clone().step_by(step).map(move |start| start..end.min(start + step))
    }
}
