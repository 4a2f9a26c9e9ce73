//! Threads over channels and positions, by the algorithm that suits the case.
//!
//! Rule: Winograd's algorithm is used where the case has its squares, enough channels on both sides
//! to pay for transforming elements and back, and enough results to pay for transforming weights. A
//! product of matrices is used where enough channels of the result share what is written out. Other
//! cases use direct register tiles. Sums are never split, so every number of threads gives the same
//! bits.

use super::{im2col, simd, winograd};
use crate::blocks::made::Made;
use crate::conv::definition::Problem;
use proofmark_contract::{Call, KernelError};
use proofmark_terms::{Case, Isa};

/// The kernel.
pub(crate) static PARALLEL: Made = Made {
    // Even on one thread it chooses between the algorithms.
    is_serial_twin: false,
    cancels: is_winograd,
    workspace: |case, isa, threads| Algorithm::of(case).workspace(case, isa, threads),
    ..Made::parallel("winograd or im2col where they pay, else simd, split among threads", |call| {
        Algorithm::of(call.case).run(call)
    })
};

/// Channels from which Winograd's algorithm pays, on both sides, and a product of matrices with
/// one tap. Reasoned, not tuned.
const CHANNELS: usize = 32;
/// Results of an image's channel from which Winograd's algorithm pays: those of 28 rows and
/// columns. Chosen by timings against `simd` on a busy machine: a quarter faster there, slower at
/// 14 rows and columns.
const RESULTS: usize = 784;

/// Channels of a result from which a product of matrices pays where several taps are written out.
/// Chosen by single-thread timings against `simd` on a busy machine: a sixth slower at 32, even at
/// 64, 1.15 to 2.3 times as fast from 96 on.
const SHARED: usize = 96;

fn is_winograd(case: &Case) -> bool {
    Algorithm::of(case) == Algorithm::Winograd
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Algorithm {
    Winograd,
    Im2col,
    Direct,
}

impl Algorithm {
    fn of(case: &Case) -> Algorithm {
        let of = Problem::of(case);
        let has_channels = of.channels.min(of.outputs) >= CHANNELS;
        let shared = if of.taps == [1, 1] { CHANNELS } else { SHARED };
        if of.has_squares() && has_channels && of.result_area() >= RESULTS {
            Algorithm::Winograd
        } else if of.group_inputs() >= CHANNELS && of.group_outputs() >= shared {
            Algorithm::Im2col
        } else {
            Algorithm::Direct
        }
    }

    fn workspace(self, case: &Case, isa: Isa, threads: usize) -> usize {
        match self {
            Algorithm::Winograd => winograd::workspace(case, threads),
            Algorithm::Im2col => im2col::workspace(case, isa, threads),
            Algorithm::Direct => simd::workspace(case, isa, threads),
        }
    }

    fn run(self, call: &mut Call<'_>) -> Result<(), KernelError> {
        match self {
            Algorithm::Winograd => winograd::run(call, call.threads),
            Algorithm::Im2col => im2col::run(call, call.threads),
            Algorithm::Direct => simd::run(call, call.threads),
        }
    }
}
