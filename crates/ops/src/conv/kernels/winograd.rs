//! Winograd's F(2×2, 3×3): four results from a square of 4 × 4 elements by 16 products, not 36.
//!
//! After Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (2016), with
//!
//! ```text
//! Y = Aᵀ [ (G g Gᵀ) ∘ (Bᵀ d B) ] A        Bᵀ d = (d0 − d2, d1 + d2, d2 − d1, d1 − d3)
//! G g = (g0, (g0 + g1 + g2)/2, (g0 − g1 + g2)/2, g2)     Aᵀ m = (m0 + m1 + m2, m1 − m2 − m3)
//! ```
//!
//! Idea: weights are transformed once a call. Squares are transformed in blocks whose transformed
//! elements and products stay in L2, one block per thread at a time. The 16 products over channels
//! are matrix products by register tiles. Terms larger than a result cancel in it, which the
//! contract says. A result that does not come out finite is recomputed directly, so infinities, and
//! sums that overflow only on the way, are those of the direct algorithm.

use super::planes::{Planes, SLACK};
use super::scalar::{bias, fill_empty, sum};
use super::simd::copy;
use super::tiles::{Pitch, Tiles, grain, panels};
use crate::blocks::made::Made;
use crate::blocks::scratch::elements_mut;
use crate::conv::definition::{Problem, WEIGHTS, X};
use proofmark_contract::{Call, KernelError, Unsupported};
use proofmark_simd::{Body, Simd, dispatch, l2_bytes};
use proofmark_tensor::{Pool, RowsMut, split};
use proofmark_terms::{Case, Isa};
use std::ops::Range;

/// The kernel.
pub(crate) static WINOGRAD: Made = Made {
    name: "winograd",
    supports: |case, _| match Problem::of(case).has_squares() {
        true => Ok(()),
        false => Err(Unsupported("it does 3 x 3 taps without stride, dilation, groups".to_owned())),
    },
    cancels: |_| true,
    workspace: |case, _, _| workspace(case, 1),
    ..Made::simd("F(2x2, 3x3): four results by 16 products instead of 36", |call| run(call, 1))
};

/// Elements of a square.
const SQUARE: usize = 16;
/// Columns of a tile; blocks are multiples of it.
const COLUMNS: usize = 32;
/// Floats of a cache line, the padding that keeps rows and products from sharing L1 sets.
const LINE: usize = 16;
/// Channels whose weights are transformed at a time, and rows of the highest panel.
const CHANNELS: usize = 16;
const HIGHEST: usize = 14;

/// Squares of a block: transformed, they take half of L2, and every thread has a block.
fn block(of: Problem, threads: usize) -> usize {
    let half = l2_bytes() / 2 / size_of::<f32>();
    let fitting = half / (SQUARE * (of.channels + of.outputs));
    let each = Planes::of_squares(of).positions().div_ceil(threads);
    fitting.min(each).next_multiple_of(COLUMNS)
}

/// Floats of the transformed weights, an image's planes and what each thread needs, in whole lines.
fn parts(of: Problem, threads: usize) -> [usize; 3] {
    let weights = SQUARE * of.outputs * of.channels;
    let row = block(of, threads) + LINE;
    // Transformed elements, with what a tile reads past the last; products; four results.
    let product = |rows: usize| SQUARE * (rows * row + LINE);
    let each = product(of.channels) + SLACK + product(of.outputs) + 4 * row;
    [weights, Planes::of_squares(of).image(), each].map(|count| count.next_multiple_of(16))
}

pub(super) fn workspace(case: &Case, threads: usize) -> usize {
    let (of, threads) = (Problem::of(case), threads.max(1));
    let [weights, planes, each] = parts(of, threads);
    let offsets = of.channels.next_multiple_of(16);
    (offsets + weights + planes + threads * each) * size_of::<f32>()
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
    let (planes, most) = (Planes::of_squares(of), block(of, threads));
    let row = most + LINE;
    let [turned_count, planes_count, each] = parts(of, threads);
    let offset_bytes = of.channels.next_multiple_of(16) * size_of::<u32>();
    let (got, need) = (call.workspace.len(), workspace(call.case, threads));
    let Some(scratch) = call.workspace.get_mut(..need) else {
        return Err(KernelError::TooSmall { what: "workspace", got, need });
    };
    let (offsets, rest) = scratch.split_at_mut(offset_bytes);
    let offsets = elements_mut::<u32>(offsets, of.channels, "workspace")?;
    offsets.iter_mut().enumerate().for_each(|(c, offset)| *offset = (c * row) as u32);
    let count = turned_count + planes_count + threads * each;
    let (turned, rest) = elements_mut::<f32>(rest, count, "workspace")?.split_at_mut(turned_count);
    let (copied, own) = rest.split_at_mut(planes_count);
    turn_weights((call.pool, threads), isa, of, weights, turned);
    let block = Block { of, isa, planes, row, offsets, turned, weights, bias };
    let output = RowsMut::from_slice(output, of.batches * of.outputs, of.result_area());
    let mut own = RowsMut::from_slice(own, threads, each);
    // SAFETY: the view is not used again while the handle is.
    let output = unsafe { output.share() };
    for image in 0..of.batches {
        let given = &x[image * of.channels * of.area()..][..of.channels * of.area()];
        copy(call.pool, of, planes, given, copied, threads);
        let (planes, copied) = (block.planes, &*copied);
        call.pool.with_rows(own.reborrow(), |index, own| {
            // Rows of squares are whole, so that the results of threads are blocks of their own.
            let rows = split(planes.results[0], threads, index, 1);
            if rows.is_empty() {
                return;
            }
            let results = rows.start * 2..of.result[0].min(rows.end * 2);
            let elements = results.start * of.result[1]..results.end * of.result[1];
            let channels = image * of.outputs..(image + 1) * of.outputs;
            // SAFETY: the rows of results of different threads do not meet.
            let mut output = unsafe { output.block_mut(channels, elements) };
            let end = (rows.end - 1) * planes.pitch() + planes.results[1];
            for start in (rows.start * planes.pitch()..end).step_by(most) {
                let squares = start..end.min(start + most);
                block.compute(given, copied, squares, rows.start * 2, own, &mut output);
            }
        });
    }
    Ok(())
}

/// `G g Gᵀ` of each channel's weights, packed for 16 products.
fn turn_weights(
    (pool, threads): (&Pool, usize),
    isa: Isa,
    of: Problem,
    weights: &[f32],
    to: &mut [f32],
) {
    let each = of.outputs * of.channels;
    let rows = RowsMut::from_slice(&mut to[..SQUARE * each], SQUARE * of.outputs, of.channels);
    // SAFETY: the view is not used again while the handle is.
    let shared = unsafe { rows.share() };
    pool.run(threads, &|index| {
        let own = split(of.outputs, threads, index, grain(isa));
        let mut squares: [RowsMut<'_, f32>; SQUARE] = std::array::from_fn(|place| {
            let first = place * of.outputs;
            // SAFETY: threads have other rows of each product.
            unsafe { shared.range_mut(first + own.start..first + own.end) }
        });
        let mut to = squares.each_mut().map(|rows| {
            let Some(dense) = rows.as_mut_slice() else { unreachable!("packed rows are dense") };
            dense
        });
        for (first, height) in panels(isa, own.clone()) {
            for channels in (0..of.channels).step_by(CHANNELS) {
                let count = height * CHANNELS.min(of.channels - channels);
                // Results are collected side by side first: products lie so far apart that their
                // cache lines would map to the same L1 sets.
                let mut few = [[0.0; CHANNELS * HIGHEST]; SQUARE];
                for at in 0..count {
                    let (channel, row) = (channels + at / height, first + at % height);
                    let taps = &weights[(row * of.channels + channel) * 9..];
                    let square = turned([row_of(taps, 0), row_of(taps, 1), row_of(taps, 2)]);
                    for (few, value) in few.iter_mut().zip(square.as_flattened()) {
                        few[at] = *value;
                    }
                }
                let place = (first - own.start) * of.channels + channels * height;
                for (to, few) in to.iter_mut().zip(&few) {
                    to[place..][..count].copy_from_slice(&few[..count]);
                }
            }
        }
    });
}

fn row_of(taps: &[f32], row: usize) -> [f32; 3] {
    [taps[3 * row], taps[3 * row + 1], taps[3 * row + 2]]
}

/// `G g Gᵀ`.
fn turned(g: [[f32; 3]; 3]) -> [[f32; 4]; 4] {
    let side = |g: [f32; 3]| [g[0], 0.5 * (g[0] + g[1] + g[2]), 0.5 * (g[0] - g[1] + g[2]), g[2]];
    // Rows are transformed first; column j of the result then gives column j of the square.
    let half = g.map(side);
    let columns = [0, 1, 2, 3].map(|j| side([half[0][j], half[1][j], half[2][j]]));
    [0, 1, 2, 3].map(|i| [0, 1, 2, 3].map(|j| columns[j][i]))
}

/// What is the same for all blocks of a call.
struct Block<'a> {
    of: Problem,
    isa: Isa,
    planes: Planes,
    /// Floats from one row of a block's squares to the next.
    row: usize,
    offsets: &'a [u32],
    turned: &'a [f32],
    weights: &'a [f32],
    bias: Option<&'a [f32]>,
}

impl Block<'_> {
    /// Floats from one of 16 products of this many rows to the next.
    #[inline(always)]
    fn product(&self, rows: usize) -> usize {
        rows * self.row + LINE
    }

    /// The results of some squares; `output` begins with row `first` of them.
    fn compute(
        &self,
        image: &[f32],
        copied: &[f32],
        squares: Range<usize>,
        first: usize,
        scratch: &mut [f32],
        output: &mut RowsMut<'_, f32>,
    ) {
        let (of, row) = (self.of, self.row);
        let (turned, rest) = scratch.split_at_mut(SQUARE * self.product(of.channels) + SLACK);
        let (products, results) = rest.split_at_mut(SQUARE * self.product(of.outputs));
        dispatch(self.isa, Turn { block: self, copied, squares: squares.clone(), to: turned });
        for place in 0..SQUARE {
            let each = of.outputs * of.channels;
            let first = place * self.product(of.outputs);
            let products = &mut products[first..][..of.outputs * row];
            let mut output = RowsMut::from_slice(products, of.outputs, row);
            let tiles = Tiles {
                left: &self.turned[place * each..][..each],
                rows: 0..of.outputs,
                offsets: self.offsets,
                right: &turned[place * self.product(of.channels)..],
                columns: 0..squares.len(),
                readable: row + SLACK,
                output: output.columns(0..squares.len()),
                image: Pitch::DENSE,
                skipped: 0,
                bias: None,
            };
            dispatch(self.isa, tiles);
        }
        let results = &mut results[..4 * row];
        for channel in 0..of.outputs {
            let bias = self.bias.map_or(0.0, |bias| bias[channel]);
            let count = squares.len();
            dispatch(self.isa, Return { block: self, products, channel, count, bias, to: results });
            let own = output.row_mut(channel);
            self.place(image, channel, squares.clone(), first, results, own);
        }
    }

    /// Brings four results of each square to their places, those that are not finite anew.
    fn place(
        &self,
        image: &[f32],
        channel: usize,
        squares: Range<usize>,
        first: usize,
        results: &[f32],
        to: &mut [f32],
    ) {
        let ([height, width], pitch) = (self.of.result, self.planes.pitch());
        let mut at = squares.start;
        while at < squares.end {
            let (i, j) = (at / pitch, at % pitch);
            let run = (squares.end - at).min(pitch - j);
            let kept = run.min(self.planes.results[1].saturating_sub(j));
            for down in (0..2).filter(|down| 2 * i + down < height) {
                let row = 2 * i + down;
                let to = &mut to[(row - first) * width..][..width];
                let to = &mut to[(2 * j).min(width)..width.min(2 * (j + kept))];
                let of_column = |side: usize| {
                    &results[(2 * down + side) * self.row + at - squares.start..][..kept]
                };
                let mut is_finite = true;
                for (to, pair) in to.chunks_mut(2).zip(of_column(0).iter().zip(of_column(1))) {
                    to[0] = *pair.0;
                    is_finite &= pair.0.is_finite();
                    if let Some(to) = to.get_mut(1) {
                        *to = *pair.1;
                        is_finite &= pair.1.is_finite();
                    }
                }
                if !is_finite {
                    self.anew(image, channel, [row, 2 * j], to);
                }
            }
            at += run;
        }
    }

    /// Computes directly what is not finite, in a row from a place on.
    #[cold]
    fn anew(&self, image: &[f32], channel: usize, place: [usize; 2], to: &mut [f32]) {
        let bias = self.bias.map_or(0.0, |bias| bias[channel]);
        for (at, y) in to.iter_mut().enumerate().filter(|(_, y)| !y.is_finite()) {
            let place = [place[0], place[1] + at];
            *y = sum(self.of, image, self.weights, channel, place) + bias;
        }
    }
}

/// `Bᵀ d`.
#[inline(always)]
fn turn<S: Simd>(simd: S, d: [S::F; 4]) -> [S::F; 4] {
    [simd.sub(d[0], d[2]), simd.add(d[1], d[2]), simd.sub(d[2], d[1]), simd.sub(d[1], d[3])]
}

/// `Aᵀ m`.
#[inline(always)]
fn turn_back<S: Simd>(simd: S, m: [S::F; 4]) -> [S::F; 2] {
    let inner = (simd.add(m[1], m[2]), simd.sub(m[1], m[2]));
    [simd.add(m[0], inner.0), simd.sub(inner.1, m[3])]
}

/// `Bᵀ d B` of some squares of each channel.
struct Turn<'a> {
    block: &'a Block<'a>,
    copied: &'a [f32],
    squares: Range<usize>,
    to: &'a mut [f32],
}

impl Body for Turn<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Block { of, planes, row, .. } = self.block;
        let mut channel = 0;
        while channel < of.channels {
            let from = &self.copied[channel * planes.channel() + self.squares.start..];
            let mut at = 0;
            while at < self.squares.len() {
                let mut half = [[simd.zero(); 4]; 4];
                for i in 0..4 {
                    let mut d = [simd.zero(); 4];
                    for j in 0..4 {
                        d[j] = simd.load(&from[planes.offset([i, j]) + at..]);
                    }
                    half[i] = turn(simd, d);
                }
                for j in 0..4 {
                    let v = turn(simd, [half[0][j], half[1][j], half[2][j], half[3][j]]);
                    for i in 0..4 {
                        let first = (i * 4 + j) * self.block.product(of.channels);
                        simd.store(v[i], &mut self.to[first + channel * row + at..]);
                    }
                }
                at += S::LANES;
            }
            channel += 1;
        }
    }
}

/// `Aᵀ m A` and the bias of some squares of one channel, as four rows of results.
struct Return<'a> {
    block: &'a Block<'a>,
    products: &'a [f32],
    channel: usize,
    count: usize,
    bias: f32,
    to: &'a mut [f32],
}

impl Body for Return<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Block { of, row, .. } = self.block;
        let bias = simd.splat(self.bias);
        let mut at = 0;
        while at < self.count {
            let mut half = [[simd.zero(); 2]; 4];
            for i in 0..4 {
                let mut m = [simd.zero(); 4];
                for j in 0..4 {
                    let first = (i * 4 + j) * self.block.product(of.outputs);
                    m[j] = simd.load(&self.products[first + self.channel * row + at..]);
                }
                half[i] = turn_back(simd, m);
            }
            for j in 0..2 {
                let y = turn_back(simd, [half[0][j], half[1][j], half[2][j], half[3][j]]);
                for i in 0..2 {
                    simd.store(simd.add(y[i], bias), &mut self.to[(2 * i + j) * row + at..]);
                }
            }
            at += S::LANES;
        }
    }
}
