//! Wrong convolutions that the gate must refuse: the plain loops with one slip each.

use super::definition::{BIAS, Problem, WEIGHTS, X};
use crate::flawed::mutant;
use proofmark_contract::{Call, KernelError, Mutant};
use proofmark_tensor::bf16;
use proofmark_terms::DType;

/// Lists of lines `function: flaw`; those of planes and lines, then those of planes alone.
macro_rules! mutants {
    (both { $($both:ident: $why:literal;)* } planes { $($plane:ident: $plane_why:literal;)* }) => {
        /// Every mutant of conv1d.
        pub(super) static CONV1D: &[Mutant] = &[$(mutants!(@one $both, $why)),*];
        /// Every mutant of conv2d.
        pub(super) static CONV2D: &[Mutant] =
            &[$(mutants!(@one $both, $why),)* $(mutants!(@one $plane, $plane_why)),*];
    };
    (@one $name:ident, $flaw:literal) => {
        mutant!(stringify!($name), &[DType::F32], $flaw, $name)
    };
}

mutants! {
    both {
        drop_last_tap: "the last tap of a row is not added";
        drop_last_channel: "the last channel is not added";
        taps_reversed: "taps are reversed, as mathematicians have it";
        pad_on_the_left_only: "as many zeros are before the first element, none after the last";
        pad_forgotten: "taps begin at the first element, not before it";
        pad_repeats_the_edge: "padding repeats the nearest element";
        stride_ignored: "results are neighbours";
        dilation_ignored: "taps are neighbours";
        first_group_for_all: "every group sees the channels of the first";
        bias_forgotten: "the bias is not added";
        bias_of_the_neighbour: "the bias of the channel before is added";
        bias_in_each_channel: "the bias is added once for each channel of the image";
        last_column_unwritten: "the last result of a row is not written";
        last_channel_stale: "the last channel repeats the one before";
        first_image_for_all: "every image is the first";
        inputs_bf16: "inputs are rounded to bf16";
        accumulator_bf16: "the sum is rounded to bf16 after each term";
        result_times_1_001: "the result is 0.1 % too large";
        zero_skips_nan: "terms with a zero weight are skipped, and a NaN with them";
    }
    planes {
        taps_transposed: "rows and columns of square taps are exchanged";
        last_row_of_taps_dropped: "the last row of taps is not added";
        rows_without_stride: "rows of results are neighbours";
        squares_overlap_by_one: "every second column of results is that of the column before";
    }
}

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
}

/// Writes what `element` gives for each result; `None` leaves it unwritten.
fn fill(call: &mut Call<'_>, element: impl Fn(At<'_>) -> Option<f32>) -> Result<(), KernelError> {
    let of = Problem::of(call.case);
    let (x, w) = (call.inputs[X].slice::<f32>()?, call.inputs[WEIGHTS].slice::<f32>()?);
    let bias = if of.has_bias { Some(call.inputs[BIAS].slice::<f32>()?) } else { None };
    for (flat, y) in call.outputs[0].slice_mut::<f32>()?.iter_mut().enumerate() {
        let (channel, at) = (flat / of.result_area(), flat % of.result_area());
        let (image, output) = (channel / of.outputs, channel % of.outputs);
        let place = [at / of.result[1], at % of.result[1]];
        if let Some(value) = element(At { of, x, w, bias, image, output, place }) {
            *y = value;
        }
    }
    Ok(())
}

fn drop_last_tap(call: &mut Call<'_>) -> Result<(), KernelError> {
    fill(call, |at| Some(at.kept(|term| term.tap[1] + 1 < at.of.taps[1])))
}

fn drop_last_channel(call: &mut Call<'_>) -> Result<(), KernelError> {
    fill(call, |at| Some(at.kept(|term| term.c + 1 < at.of.group_inputs())))
}

fn taps_reversed(call: &mut Call<'_>) -> Result<(), KernelError> {
    fill(call, |at| {
        let other = |tap: [usize; 2]| [0, 1].map(|side| at.of.taps[side] - 1 - tap[side]);
        Some(at.of(|term| at.right(Term { tap: other(term.tap), ..term })))
    })
}

fn pad_on_the_left_only(call: &mut Call<'_>) -> Result<(), KernelError> {
    fill(call, |at| {
        let last = at.of.size[1].saturating_sub(1);
        let is_past = |tap: usize| {
            at.place[1] * at.of.stride[1] + tap * at.of.dilation[1] >= at.of.size[1] + at.of.pad[1]
        };
        // Past the end it meets whatever comes last.
        Some(at.of(|term| match is_past(term.tap[1]) {
            true => at.of.place(0, at.place[0], term.tap[0]).map(|row| at.x(term.c, [row, last])),
            false => at.right(term),
        }))
    })
}

fn pad_forgotten(call: &mut Call<'_>) -> Result<(), KernelError> {
    fill(call, |at| {
        let moved = At { of: Problem { pad: [at.of.pad[0], 0], ..at.of }, ..at };
        Some(moved.whole())
    })
}

fn pad_repeats_the_edge(call: &mut Call<'_>) -> Result<(), KernelError> {
    fill(call, |at| {
        let near = |side: usize, tap: usize| {
            let padded = at.place[side] * at.of.stride[side] + tap * at.of.dilation[side];
            padded.saturating_sub(at.of.pad[side]).min(at.of.size[side] - 1)
        };
        Some(at.of(|term| Some(at.x(term.c, [0, 1].map(|side| near(side, term.tap[side]))))))
    })
}

fn stride_ignored(call: &mut Call<'_>) -> Result<(), KernelError> {
    fill(call, |at| {
        let of = Problem { stride: [at.of.stride[0], 1], ..at.of };
        Some(At { of, ..at }.whole())
    })
}

fn dilation_ignored(call: &mut Call<'_>) -> Result<(), KernelError> {
    fill(call, |at| Some(At { of: Problem { dilation: [1; 2], ..at.of }, ..at }.whole()))
}

fn first_group_for_all(call: &mut Call<'_>) -> Result<(), KernelError> {
    fill(call, |at| {
        let first = At { output: at.output % at.of.group_outputs(), ..at };
        Some(at.of(|term| first.right(term)))
    })
}

fn bias_forgotten(call: &mut Call<'_>) -> Result<(), KernelError> {
    fill(call, |at| Some(At { bias: None, ..at }.whole()))
}

fn bias_of_the_neighbour(call: &mut Call<'_>) -> Result<(), KernelError> {
    fill(call, |at| {
        let bias = at.bias(at.output.saturating_sub(1));
        Some(At { bias: None, ..at }.whole() + bias)
    })
}

fn bias_in_each_channel(call: &mut Call<'_>) -> Result<(), KernelError> {
    fill(call, |at| {
        let times = at.of.group_inputs().max(1) as f32;
        Some(At { bias: None, ..at }.whole() + times * at.bias(at.output))
    })
}

fn last_column_unwritten(call: &mut Call<'_>) -> Result<(), KernelError> {
    fill(call, |at| (at.place[1] + 1 < at.of.result[1]).then(|| at.whole()))
}

fn last_channel_stale(call: &mut Call<'_>) -> Result<(), KernelError> {
    fill(call, |at| {
        let is_last = at.output > 0 && at.output + 1 == at.of.outputs;
        Some(At { output: at.output - usize::from(is_last), ..at }.whole())
    })
}

fn first_image_for_all(call: &mut Call<'_>) -> Result<(), KernelError> {
    fill(call, |at| Some(At { image: 0, ..at }.whole()))
}

fn to_bf16(value: f32) -> f32 {
    bf16::from_f32(value).to_f32()
}

fn inputs_bf16(call: &mut Call<'_>) -> Result<(), KernelError> {
    fill(call, |at| Some(at.of(|term| at.right(term).map(to_bf16))))
}

fn accumulator_bf16(call: &mut Call<'_>) -> Result<(), KernelError> {
    fill(call, |at| {
        let terms = at.terms().filter_map(|term| Some(at.right(term)? * at.w(term)));
        Some(terms.fold(0.0, |sum, term| to_bf16(sum + term)) + at.bias(at.output))
    })
}

fn result_times_1_001(call: &mut Call<'_>) -> Result<(), KernelError> {
    fill(call, |at| Some(at.whole() * 1.001))
}

fn zero_skips_nan(call: &mut Call<'_>) -> Result<(), KernelError> {
    fill(call, |at| Some(at.kept(|term| at.w(term) != 0.0)))
}

fn taps_transposed(call: &mut Call<'_>) -> Result<(), KernelError> {
    fill(call, |at| {
        let is_square = at.of.taps[0] == at.of.taps[1];
        let turn = |tap: [usize; 2]| if is_square { [tap[1], tap[0]] } else { tap };
        Some(at.of(|term| at.right(Term { tap: turn(term.tap), ..term })))
    })
}

fn last_row_of_taps_dropped(call: &mut Call<'_>) -> Result<(), KernelError> {
    fill(call, |at| Some(at.kept(|term| term.tap[0] + 1 < at.of.taps[0])))
}

fn rows_without_stride(call: &mut Call<'_>) -> Result<(), KernelError> {
    fill(call, |at| {
        let of = Problem { stride: [1, at.of.stride[1]], ..at.of };
        Some(At { of, ..at }.whole())
    })
}

fn squares_overlap_by_one(call: &mut Call<'_>) -> Result<(), KernelError> {
    fill(call, |at| {
        let column = if at.of.has_squares() { at.place[1] / 2 * 2 } else { at.place[1] };
        Some(At { place: [at.place[0], column], ..at }.whole())
    })
}
