//! Wrong mean squared errors that the gate must refuse.

use super::definition::divisor;
use crate::flawed::{self, mutants};
use proofmark_contract::{Call, KernelError};
use proofmark_tensor::{Tensor, bf16};
use proofmark_terms::DType;

/// The right computation in steps; each mutant gets one of them wrong.
trait Slip {
    fn read(tensor: &Tensor) -> Vec<Vec<f32>> {
        flawed::read(tensor)
    }

    /// Which row of the target a row is compared with.
    fn row(i: usize) -> usize {
        i
    }

    /// The terms of a row that count.
    fn counted(length: usize) -> usize {
        length
    }

    /// The rows that count.
    fn rows(rows: usize) -> usize {
        rows
    }

    fn term(x: f32, target: f32) -> f32 {
        (x - target) * (x - target)
    }

    fn add(sum: f32, term: f32) -> f32 {
        sum + term
    }

    fn divisor(divisor: f32, _elements: usize, _length: usize) -> f32 {
        divisor
    }

    fn finish(loss: f32) -> f32 {
        loss
    }
}

fn run<M: Slip>(call: &mut Call<'_>) -> Result<(), KernelError> {
    let (x, target) = (M::read(&call.inputs[0]), M::read(&call.inputs[1]));
    let length = x.first().map_or(0, Vec::len);
    let mut sum = 0.0f64;
    for i in 0..M::rows(x.len()) {
        let pairs = x[i].iter().zip(&target[M::row(i)]).take(M::counted(length));
        // A chain for each row, as only a slip should be wrong.
        let chain = pairs.fold(0.0, |sum, (&x, &target)| M::add(sum, M::term(x, target)));
        sum += f64::from(chain);
    }
    let divisor = M::divisor(divisor(call.case) as f32, x.len() * length, length);
    flawed::write(&mut call.outputs[0], &[vec![M::finish(sum as f32 / divisor)]]);
    Ok(())
}

fn narrowed(value: f32) -> f32 {
    bf16::from_f32(value).to_f32()
}

struct Absolute;
impl Slip for Absolute {
    fn term(x: f32, target: f32) -> f32 {
        (x - target).abs()
    }
}

struct Added;
impl Slip for Added {
    fn term(x: f32, target: f32) -> f32 {
        (x + target) * (x + target)
    }
}

struct Expanded;
impl Slip for Expanded {
    fn term(x: f32, target: f32) -> f32 {
        x * x - 2.0 * x * target + target * target
    }
}

struct Halved;
impl Slip for Halved {
    fn finish(loss: f32) -> f32 {
        0.5 * loss
    }
}

struct Rooted;
impl Slip for Rooted {
    fn finish(loss: f32) -> f32 {
        loss.sqrt()
    }
}

struct DividedByRow;
impl Slip for DividedByRow {
    fn divisor(divisor: f32, elements: usize, length: usize) -> f32 {
        if divisor == elements as f32 { length as f32 } else { divisor }
    }
}

struct ReductionIgnored;
impl Slip for ReductionIgnored {
    fn divisor(_divisor: f32, elements: usize, _length: usize) -> f32 {
        elements as f32
    }
}

struct PaddingCounted;
impl Slip for PaddingCounted {
    fn divisor(divisor: f32, elements: usize, length: usize) -> f32 {
        let is_mean = divisor == elements as f32;
        let rows = elements as f32 / length.max(1) as f32;
        if is_mean { rows * length.next_multiple_of(16) as f32 } else { divisor }
    }
}

struct TailDropped;
impl Slip for TailDropped {
    fn counted(length: usize) -> usize {
        length / 16 * 16
    }
}

struct LastTermMissing;
impl Slip for LastTermMissing {
    fn counted(length: usize) -> usize {
        length.saturating_sub(1)
    }
}

struct LastRowMissing;
impl Slip for LastRowMissing {
    fn rows(rows: usize) -> usize {
        rows.saturating_sub(1)
    }
}

struct FirstTargetReused;
impl Slip for FirstTargetReused {
    fn row(_i: usize) -> usize {
        0
    }
}

struct RowStrideIgnored;
impl Slip for RowStrideIgnored {
    fn read(tensor: &Tensor) -> Vec<Vec<f32>> {
        flawed::read_densely(tensor)
    }
}

struct SumInBf16;
impl Slip for SumInBf16 {
    fn add(sum: f32, term: f32) -> f32 {
        narrowed(sum + term)
    }
}

struct DifferenceInBf16;
impl Slip for DifferenceInBf16 {
    fn term(x: f32, target: f32) -> f32 {
        narrowed(x - target).powi(2)
    }
}

struct NanSwallowed;
impl Slip for NanSwallowed {
    fn add(sum: f32, term: f32) -> f32 {
        if term.is_nan() { sum } else { sum + term }
    }
}

struct ResultRounded;
impl Slip for ResultRounded {
    fn finish(loss: f32) -> f32 {
        narrowed(loss)
    }
}

const ALL: &[DType] = &[DType::F32, DType::Bf16, DType::F16];

mutants! {
    Absolute ALL, "absolute": "Σ |x − target|";
    Added ALL, "added": "the target is added";
    Expanded &[DType::F32], "expanded": "x² − 2·x·target + target², which cancels";
    Halved ALL, "halved": "half of it, as some define it";
    Rooted ALL, "rooted": "its root";
    DividedByRow ALL, "divided_by_row": "divided by the length of a row";
    ReductionIgnored ALL, "reduction_ignored": "always the mean";
    PaddingCounted ALL, "padding_counted": "divided by the padded count";
    TailDropped ALL, "tail_dropped": "elements past the last whole vector of 16 are left out";
    LastTermMissing ALL, "last_term_missing": "the loop ends one element early";
    LastRowMissing ALL, "last_row_missing": "the loop over rows ends early";
    FirstTargetReused ALL, "first_target_reused": "every row is compared with the first target";
    RowStrideIgnored ALL, "row_stride_ignored": "rows are taken to lie densely";
    SumInBf16 ALL, "sum_in_bf16": "the sum is kept in bf16";
    DifferenceInBf16 ALL, "difference_in_bf16": "differences are stored as bf16";
    NanSwallowed ALL, "nan_swallowed": "NaN counts as 0";
    ResultRounded ALL, "result_rounded": "the loss is rounded to bf16";
}
