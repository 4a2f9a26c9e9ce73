//! Wrong normalisations of queries and keys that the gate must refuse.

use super::definition::Problem;
use crate::flawed::{self, mutants};
use proofmark_contract::{Call, KernelError};
use proofmark_tensor::{Tensor, bf16};
use proofmark_terms::DType;

/// The right computation in steps; each mutant gets one of them wrong.
trait Slip {
    fn read(x: &Tensor) -> Vec<Vec<f32>> {
        flawed::read(x)
    }

    /// Which operand's weight operand `n` of `count` gets.
    fn weight_of(n: usize, _count: usize) -> usize {
        n
    }

    /// The heads whose mean square normalises head `i`: from here, so many.
    fn mean_over(i: usize, _heads: usize) -> (usize, usize) {
        (i, 1)
    }

    /// The head that head `i` is computed from.
    fn source(i: usize, _rows: usize, _heads: usize) -> usize {
        i
    }

    /// How many elements of a head are summed.
    fn summed(length: usize) -> usize {
        length
    }

    fn add(sum: f32, square: f32) -> f32 {
        sum + square
    }

    fn inverse(mean: f32, eps: f32) -> f32 {
        1.0 / (mean + eps).sqrt()
    }

    fn weigh(x: f32, r: f32, w: &[f32], j: usize) -> f32 {
        x * r * w[j]
    }

    /// Elements of a head that are written.
    fn written(length: usize) -> usize {
        length
    }
}

fn run<M: Slip>(call: &mut Call<'_>) -> Result<(), KernelError> {
    let problem = Problem::of(call.case);
    let count = problem.present.len();
    for n in 0..count {
        let heads = problem.heads[problem.present[n]];
        let x = M::read(&call.inputs[n]);
        let w = flawed::read(&call.inputs[count + M::weight_of(n, count)]).remove(0);
        let row = |i: usize| {
            let source = M::source(i, x.len(), heads);
            let (first, many) = M::mean_over(source, heads);
            let of = x[first..first + many].iter();
            let terms = of.flat_map(|x| &x[..M::summed(x.len())]);
            let squares = terms.fold(0.0, |sum, x| M::add(sum, x * x));
            let r = M::inverse(squares / (many * problem.length) as f32, problem.eps as f32);
            let element = |j: usize| M::weigh(x[source][j], r, &w, j);
            (0..M::written(problem.length)).map(element).collect()
        };
        let y: Vec<Vec<f32>> = (0..x.len()).map(row).collect();
        flawed::write(&mut call.outputs[n], &y);
    }
    Ok(())
}

struct WeightsSwapped;
impl Slip for WeightsSwapped {
    fn weight_of(n: usize, count: usize) -> usize {
        count - 1 - n
    }
}

struct WeightOfFirst;
impl Slip for WeightOfFirst {
    fn weight_of(_n: usize, _count: usize) -> usize {
        0
    }
}

struct MeanOverAllHeads;
impl Slip for MeanOverAllHeads {
    fn mean_over(i: usize, heads: usize) -> (usize, usize) {
        (i / heads * heads, heads)
    }
}

struct MeanOfFirstHead;
impl Slip for MeanOfFirstHead {
    fn mean_over(i: usize, heads: usize) -> (usize, usize) {
        (i / heads * heads, 1)
    }
}

struct LastHeadStale;
impl Slip for LastHeadStale {
    fn source(i: usize, rows: usize, _heads: usize) -> usize {
        if i > 0 && i + 1 == rows { i - 1 } else { i }
    }
}

struct FirstHeadRepeated;
impl Slip for FirstHeadRepeated {
    fn source(i: usize, _rows: usize, heads: usize) -> usize {
        i / heads * heads
    }
}

struct HeadsAndPositionsSwapped;
impl Slip for HeadsAndPositionsSwapped {
    fn source(i: usize, rows: usize, heads: usize) -> usize {
        let positions = rows / heads;
        i % positions * heads + i / positions
    }
}

struct TailDroppedFromSum;
impl Slip for TailDroppedFromSum {
    fn summed(length: usize) -> usize {
        length / 16 * 16
    }
}

struct Bf16Accumulate;
impl Slip for Bf16Accumulate {
    fn add(sum: f32, square: f32) -> f32 {
        bf16::from_f32(sum + square).to_f32()
    }
}

struct EpsIgnored;
impl Slip for EpsIgnored {
    fn inverse(mean: f32, _eps: f32) -> f32 {
        1.0 / mean.sqrt()
    }
}

struct EpsOutsideRoot;
impl Slip for EpsOutsideRoot {
    fn inverse(mean: f32, eps: f32) -> f32 {
        1.0 / (mean.sqrt() + eps)
    }
}

struct EpsFixed;
impl Slip for EpsFixed {
    fn inverse(mean: f32, _eps: f32) -> f32 {
        1.0 / (mean + 1e-6).sqrt()
    }
}

struct RootEstimate;
impl Slip for RootEstimate {
    fn inverse(mean: f32, eps: f32) -> f32 {
        // The 12 bits that the estimating instruction gives.
        f32::from_bits((1.0 / (mean + eps).sqrt()).to_bits() & 0xffff_f000)
    }
}

struct WeightIgnored;
impl Slip for WeightIgnored {
    fn weigh(x: f32, r: f32, _w: &[f32], _j: usize) -> f32 {
        x * r
    }
}

struct WeightPlusOne;
impl Slip for WeightPlusOne {
    fn weigh(x: f32, r: f32, w: &[f32], j: usize) -> f32 {
        x * r * (1.0 + w[j])
    }
}

struct WeightOffByOne;
impl Slip for WeightOffByOne {
    fn weigh(x: f32, r: f32, w: &[f32], j: usize) -> f32 {
        x * r * w[(j + 1) % w.len()]
    }
}

struct NanSwallowed;
impl Slip for NanSwallowed {
    fn read(x: &Tensor) -> Vec<Vec<f32>> {
        let mut rows = flawed::read(x);
        rows.iter_mut().flatten().filter(|x| x.is_nan()).for_each(|x| *x = 0.0);
        rows
    }
}

struct RowStrideIgnored;
impl Slip for RowStrideIgnored {
    fn read(x: &Tensor) -> Vec<Vec<f32>> {
        flawed::read_densely(x)
    }
}

struct LastElementUnwritten;
impl Slip for LastElementUnwritten {
    fn written(length: usize) -> usize {
        length.saturating_sub(1)
    }
}

const ALL: &[DType] = &[DType::F32, DType::Bf16, DType::F16];

mutants! {
    WeightsSwapped ALL, "weights_swapped": "queries get the keys' weights, and the reverse";
    WeightOfFirst ALL, "weight_of_first": "keys get the queries' weights";
    MeanOverAllHeads ALL, "mean_over_all_heads": "one mean square for all heads of a position";
    MeanOfFirstHead ALL, "mean_of_first_head": "the first head's mean square for all";
    LastHeadStale ALL, "last_head_stale": "the last head repeats the one before";
    FirstHeadRepeated ALL, "first_head_repeated": "every head is the first of its position";
    HeadsAndPositionsSwapped ALL, "heads_and_positions_swapped": "read as [b, h, s, d]";
    TailDroppedFromSum ALL, "tail_dropped_from_sum": "only whole vectors of 16 are summed";
    Bf16Accumulate ALL, "bf16_accumulate": "the sum is kept in bf16";
    EpsIgnored ALL, "eps_ignored": "eps is not added";
    EpsOutsideRoot ALL, "eps_outside_root": "eps is added to the root, not to the mean";
    EpsFixed ALL, "eps_fixed": "eps is always the default";
    RootEstimate ALL, "root_estimate": "the inverse root has 12 bits";
    WeightIgnored ALL, "weight_ignored": "results are not weighted";
    WeightPlusOne ALL, "weight_plus_one": "weighted by 1 + w";
    WeightOffByOne ALL, "weight_off_by_one": "each element gets its neighbour's weight";
    NanSwallowed ALL, "nan_swallowed": "NaN counts as 0";
    RowStrideIgnored ALL, "row_stride_ignored": "heads are taken to lie densely";
    LastElementUnwritten ALL, "last_element_unwritten": "the last element of a head stays";
}
