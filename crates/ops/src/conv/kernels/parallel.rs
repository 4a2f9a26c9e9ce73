//! Threads over channels and positions, by the algorithm that suits the case.
//!
//! Rule: Winograd's where the case has its squares, enough channels on both sides to pay for
//! turning elements and back, and enough results to pay for turning weights; else direct register
//! tiles.
//! Sums are never split, so every number of threads gives the same bits.

use super::{simd, winograd};
use crate::blocks::made::Made;
use crate::conv::definition::Problem;
use proofmark_schema::Case;

/// The kernel.
pub(crate) static PARALLEL: Made = Made {
    cancels: is_winograd,
    workspace: |case, isa, threads| match is_winograd(case) {
        true => winograd::workspace(case, threads),
        false => simd::workspace(case, isa, threads),
    },
    ..Made::parallel("winograd where its squares pay, else simd, split among threads", |call| {
        match is_winograd(call.case) {
            true => winograd::run(call, call.threads),
            false => simd::run(call, call.threads),
        }
    })
};

/// Channels from which Winograd's algorithm pays, on both sides. Reasoned, not tuned.
const CHANNELS: usize = 32;
/// Results of an image's channel from which it does: those of 28 rows and columns. Chosen by
/// timings beside `simd` on a busy machine: a quarter faster there, slower at 14 rows and columns.
const RESULTS: usize = 784;

fn is_winograd(case: &Case) -> bool {
    let of = Problem::of(case);
    let has_channels = of.channels.min(of.outputs) >= CHANNELS;
    of.has_squares() && has_channels && of.result_area() >= RESULTS
}
