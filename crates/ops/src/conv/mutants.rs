//! Wrong convolutions that the gate must refuse: the plain loops with one slip each.

use super::definition::{BIAS, Problem, WEIGHTS, X};
use crate::flawed::{SINGLE, mutants, narrowed, stale, steps, sum_in_bf16};
use proofmark_contract::{Call, KernelError, Mutant};

steps! { Steps, RIGHT;
    /// A result.
    value: fn(At<'_>) -> f32 = |at| at.whole(),
    /// Whether the result is written.
    writes: fn(At<'_>) -> bool = |_| true,
}

/// Every mutant of conv1d.
pub(super) const CONV1D: &[Mutant] = mutants! { run, Steps { ..RIGHT };
    "drop_last_tap", SINGLE, "the last tap of a row is not added",
        value: |at| at.kept(|term| term.tap[1] + 1 < at.of.taps[1]);
    "drop_last_channel", SINGLE, "the last channel is not added",
        value: |at| at.kept(|term| term.c + 1 < at.of.group_inputs());
    "taps_reversed", SINGLE, "taps are reversed, as mathematicians have it",
        value: |at| {
            let other = |tap: [usize; 2]| [0, 1].map(|side| at.of.taps[side] - 1 - tap[side]);
            at.of(|term| at.right(Term { tap: other(term.tap), ..term }))
        };
    "pad_on_the_left_only", SINGLE,
        "as many zeros are before the first element, none after the last",
        value: |at| {
            let last = at.of.size[1].saturating_sub(1);
            let end = at.of.size[1] + at.of.pad[1];
            let met = |tap: usize| at.place[1] * at.of.stride[1] + tap * at.of.dilation[1];
            let row = |term: Term| at.of.place(0, at.place[0], term.tap[0]);
            // Past the end it meets whatever comes last.
            at.of(|term| match met(term.tap[1]) >= end {
                true => row(term).map(|row| at.x(term.c, [row, last])),
                false => at.right(term),
            })
        };
    "pad_forgotten", SINGLE, "taps begin at the first element, not before it",
        value: |at| At { of: Problem { pad: [at.of.pad[0], 0], ..at.of }, ..at }.whole();
    "pad_repeats_the_edge", SINGLE, "padding repeats the nearest element",
        value: |at| {
            let near = |side: usize, tap: usize| {
                let padded = at.place[side] * at.of.stride[side] + tap * at.of.dilation[side];
                padded.saturating_sub(at.of.pad[side]).min(at.of.size[side] - 1)
            };
            at.of(|term| Some(at.x(term.c, [0, 1].map(|side| near(side, term.tap[side])))))
        };
    "stride_ignored", SINGLE, "results are neighbours",
        value: |at| At { of: Problem { stride: [at.of.stride[0], 1], ..at.of }, ..at }.whole();
    "dilation_ignored", SINGLE, "taps are neighbours",
        value: |at| At { of: Problem { dilation: [1; 2], ..at.of }, ..at }.whole();
    "first_group_for_all", SINGLE, "every group sees the channels of the first",
        value: |at| {
            let first = At { output: at.output % at.of.group_outputs(), ..at };
            at.of(|term| first.right(term))
        };
    "bias_forgotten", SINGLE, "the bias is not added", value: |at| at.unbiased();
    "bias_of_the_neighbour", SINGLE, "the bias of the channel before is added",
        value: |at| at.unbiased() + at.bias(at.output.saturating_sub(1));
    "bias_in_each_channel", SINGLE, "the bias is added once for each channel of the image",
        value: |at| at.unbiased() + at.of.group_inputs().max(1) as f32 * at.bias(at.output);
    "last_column_unwritten", SINGLE, "the last result of a row is not written",
        writes: |at| at.place[1] + 1 < at.of.result[1];
    "last_channel_stale", SINGLE, "the last channel repeats the one before",
        value: |at| At { output: stale(at.output, at.of.outputs), ..at }.whole();
    "first_image_for_all", SINGLE, "every image is the first",
        value: |at| At { image: 0, ..at }.whole();
    "inputs_bf16", SINGLE, "inputs are rounded to bf16",
        value: |at| at.of(|term| at.right(term).map(narrowed));
    "accumulator_bf16", SINGLE, "the sum is rounded to bf16 after each term",
        value: |at| {
            let terms = at.terms().filter_map(|term| Some(at.right(term)? * at.w(term)));
            sum_in_bf16(terms) + at.bias(at.output)
        };
    "result_times_1_001", SINGLE, "the result is 0.1 % too large", value: |at| at.whole() * 1.001;
    "zero_skips_nan", SINGLE, "terms with a zero weight are skipped, and a NaN with them",
        value: |at| at.kept(|term| at.w(term) != 0.0);
};

/// Every mutant of conv2d: those of conv1d, and those of planes alone.
pub(super) static CONV2D: &[Mutant] = mutants! { after CONV1D; run, Steps { ..RIGHT };
    "taps_transposed", SINGLE, "rows and columns of square taps are exchanged",
        value: |at| {
            let is_square = at.of.taps[0] == at.of.taps[1];
            let turn = |tap: [usize; 2]| if is_square { [tap[1], tap[0]] } else { tap };
            at.of(|term| at.right(Term { tap: turn(term.tap), ..term }))
        };
    "last_row_of_taps_dropped", SINGLE, "the last row of taps is not added",
        value: |at| at.kept(|term| term.tap[0] + 1 < at.of.taps[0]);
    "rows_without_stride", SINGLE, "rows of results are neighbours",
        value: |at| At { of: Problem { stride: [1, at.of.stride[1]], ..at.of }, ..at }.whole();
    "squares_overlap_by_one", SINGLE,
        "every second column of results is that of the column before",
        value: |at| {
            let column = if at.of.has_squares() { at.place[1] / 2 * 2 } else { at.place[1] };
            At { place: [at.place[0], column], ..at }.whole()
        };
};

/// One term of a sum: its channel within the group and its tap.
#[derive(Clone, Copy)]
struct Term {
    c: usize,
    tap: [usize; 2],
}

/// The inputs of a call, and the place of one result.
#[derive(Clone, Copy)]
struct At<'a> {
    of: Problem,
    x: &'a [f32],
    w: &'a [f32],
    bias: Option<&'a [f32]>,
    image: usize,
    output: usize,
    place: [usize; 2],
}

impl At<'_> {
    fn x(&self, c: usize, [row, column]: [usize; 2]) -> f32 {
        let channel = self.output / self.of.group_outputs() * self.of.group_inputs() + c;
        let plane = (self.image * self.of.channels + channel) * self.of.area();
        self.x[plane + row * self.of.size[1] + column]
    }

    fn w(&self, Term { c, tap }: Term) -> f32 {
        let row = (self.output * self.of.group_inputs() + c) * self.of.taps[0] + tap[0];
        self.w[row * self.of.taps[1] + tap[1]]
    }

    fn bias(&self, output: usize) -> f32 {
        self.bias.map_or(0.0, |bias| bias[output])
    }

    /// Where a tap falls.
    fn met(&self, tap: [usize; 2]) -> Option<[usize; 2]> {
        let place = |side: usize| self.of.place(side, self.place[side], tap[side]);
        Some([place(0)?, place(1)?])
    }

    fn terms(&self) -> impl Iterator<Item = Term> + use<> {
        let (inputs, [height, width]) = (self.of.group_inputs(), self.of.taps);
        (0..inputs * height * width).map(move |at| Term {
            c: at / (height * width),
            tap: [at / width % height, at % width],
        })
    }

    /// The sum over the terms that are kept, of elements that `x` gives.
    fn sum(&self, keep: impl Fn(Term) -> bool, x: impl Fn(Term) -> Option<f32>) -> f32 {
        let kept = self.terms().filter(|&term| keep(term));
        kept.filter_map(|term| Some(x(term)? * self.w(term))).sum()
    }

    /// The right element of a term.
    fn right(&self, term: Term) -> Option<f32> {
        Some(self.x(term.c, self.met(term.tap)?))
    }

    /// The right sum of the kept terms, with its bias.
    fn kept(&self, keep: impl Fn(Term) -> bool) -> f32 {
        self.sum(keep, |term| self.right(term)) + self.bias(self.output)
    }

    /// The sum of elements that `x` gives, with its bias.
    fn of(&self, x: impl Fn(Term) -> Option<f32>) -> f32 {
        self.sum(|_| true, x) + self.bias(self.output)
    }

    fn whole(&self) -> f32 {
        self.kept(|_| true)
    }

    fn unbiased(&self) -> f32 {
        At { bias: None, ..*self }.whole()
    }
}

fn run(call: &mut Call<'_>, steps: &Steps) -> Result<(), KernelError> {
    let of = Problem::of(call.case);
    let (x, w) = (call.inputs[X].slice::<f32>()?, call.inputs[WEIGHTS].slice::<f32>()?);
    let bias = if of.has_bias { Some(call.inputs[BIAS].slice::<f32>()?) } else { None };
    for (flat, y) in call.outputs[0].slice_mut::<f32>()?.iter_mut().enumerate() {
        let (channel, at) = (flat / of.result_area(), flat % of.result_area());
        let (image, output) = (channel / of.outputs, channel % of.outputs);
        let place = [at / of.result[1], at % of.result[1]];
        let at = At { of, x, w, bias, image, output, place };
        if (steps.writes)(at) {
            *y = (steps.value)(at);
        }
    }
    Ok(())
}
