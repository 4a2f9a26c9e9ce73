//! One result after the other: the kernel that does every case anywhere.
//!
//! Idea: the sum as written, in one chain of f32; taps that fall on padding are left out. Each term
//! costs 2 flops and reads two elements.

use crate::blocks::made::Made;
use crate::conv::definition::{BIAS, Problem, WEIGHTS, X};
use proofmark_contract::{Call, KernelError};

/// The kernel.
pub(crate) static SCALAR: Made = Made::scalar("plain loops, one f32 sum for each result", run);

fn run(call: &mut Call<'_>) -> Result<(), KernelError> {
    let of = Problem::of(call.case);
    let (x, weights) = (call.inputs[X].slice::<f32>()?, call.inputs[WEIGHTS].slice::<f32>()?);
    let bias = bias(call, of)?;
    let images = x.chunks_exact((of.channels * of.area()).max(1));
    let results = call.outputs[0].slice_mut::<f32>()?;
    if of.channels * of.area() == 0 {
        fill_empty(of, bias, results);
        return Ok(());
    }
    let results = results.chunks_exact_mut((of.outputs * of.result_area()).max(1));
    for (image, result) in images.zip(results) {
        for (output, channel) in result.chunks_exact_mut(of.result_area()).enumerate() {
            for (at, y) in channel.iter_mut().enumerate() {
                let place = [at / of.result[1], at % of.result[1]];
                *y = sum(of, image, weights, output, place) + bias.map_or(0.0, |bias| bias[output]);
            }
        }
    }
    Ok(())
}

/// The bias of a call, if its case has one.
pub(super) fn bias<'a>(call: &Call<'a>, of: Problem) -> Result<Option<&'a [f32]>, KernelError> {
    Ok(if of.has_bias { Some(call.inputs[BIAS].slice::<f32>()?) } else { None })
}

/// Results without terms: the bias, or 0.
pub(super) fn fill_empty(of: Problem, bias: Option<&[f32]>, results: &mut [f32]) {
    for (at, channel) in results.chunks_exact_mut(of.result_area().max(1)).enumerate() {
        channel.fill(bias.map_or(0.0, |bias| bias[at % of.outputs]));
    }
}

/// The sum of one result of an image, without its bias.
pub(super) fn sum(
    of: Problem,
    image: &[f32],
    weights: &[f32],
    output: usize,
    place: [usize; 2],
) -> f32 {
    let (inputs, [height, width]) = (of.group_inputs(), of.taps);
    let mut sum = 0.0;
    for c in 0..inputs {
        let channel = output / of.group_outputs() * inputs + c;
        for ki in 0..height {
            let Some(row) = of.place(0, place[0], ki) else { continue };
            let row = &image[channel * of.area() + row * of.size[1]..][..of.size[1]];
            let weights = &weights[((output * inputs + c) * height + ki) * width..][..width];
            for (kj, weight) in weights.iter().enumerate() {
                if let Some(column) = of.place(1, place[1], kj) {
                    sum += row[column] * weight;
                }
            }
        }
    }
    sum
}
