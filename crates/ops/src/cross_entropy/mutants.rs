//! Wrong cross entropies that the gate must refuse.

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

    fn max(x: &[f32]) -> f32 {
        x.iter().copied().fold(f32::NEG_INFINITY, f32::max)
    }

    /// Logits that the sum is made of.
    fn summed(x: &[f32]) -> &[f32] {
        x
    }

    fn exp(x: f32) -> f32 {
        x.exp()
    }

    fn log(sum: f32) -> f32 {
        sum.ln()
    }

    /// Where the target's logit is read.
    fn target(target: usize, _length: usize) -> usize {
        target
    }

    fn smoothing(smoothing: f32) -> f32 {
        smoothing
    }

    /// The mean of all logits, given the target's place.
    fn others(x: &[f32], _target: usize) -> f32 {
        x.iter().sum::<f32>() / x.len() as f32
    }

    fn is_counted(target: i64, ignore: i64) -> bool {
        target != ignore
    }

    fn divisor(counted: usize, _rows: usize) -> f32 {
        counted as f32
    }

    fn uncounted() -> f32 {
        0.0
    }

    /// Losses that are written or enter the mean.
    fn rows(rows: usize) -> usize {
        rows
    }

    fn finish(loss: f32) -> f32 {
        loss
    }
}

fn run<M: Slip>(call: &mut Call<'_>) -> Result<(), KernelError> {
    let problem = Problem::of(call.case);
    let x = M::read(&call.inputs[0]);
    let targets: Vec<i64> = call.inputs[1].to_f64().iter().map(|&target| target as i64).collect();
    let smoothing = M::smoothing(problem.smoothing as f32);
    let loss = |i: usize| {
        let (x, target) = (&x[i], targets[i]);
        if !M::is_counted(target, problem.ignore) {
            return M::uncounted();
        }
        let target = usize::try_from(target).unwrap_or(0);
        let max = M::max(x);
        let sum: f64 = M::summed(x).iter().map(|x| f64::from(M::exp(x - max))).sum();
        let own = max - x[M::target(target, x.len())];
        let mut loss = M::log(sum as f32) + (1.0 - smoothing) * own;
        if smoothing != 0.0 {
            loss += smoothing * (max - M::others(x, target));
        }
        M::finish(loss)
    };
    let losses: Vec<f32> = (0..M::rows(problem.rows)).map(loss).collect();
    if !problem.is_mean {
        flawed::write(&mut call.outputs[0], &[losses]);
        return Ok(());
    }
    let counted = targets.iter().filter(|&&target| M::is_counted(target, problem.ignore)).count();
    let sum: f64 = losses.iter().map(|&loss| f64::from(loss)).sum();
    let mean = sum as f32 / M::divisor(counted, problem.rows);
    flawed::write(&mut call.outputs[0], &[vec![mean]]);
    Ok(())
}

struct NotShifted;
impl Slip for NotShifted {
    fn max(_x: &[f32]) -> f32 {
        0.0
    }
}

struct TailDropped;
impl Slip for TailDropped {
    fn summed(x: &[f32]) -> &[f32] {
        &x[..x.len() / 16 * 16]
    }
}

struct LastLogitMissing;
impl Slip for LastLogitMissing {
    fn summed(x: &[f32]) -> &[f32] {
        &x[..x.len() - 1]
    }
}

struct ExpEstimate;
impl Slip for ExpEstimate {
    fn exp(x: f32) -> f32 {
        bf16::from_f32(x.exp()).to_f32()
    }
}

struct BinaryLogarithm;
impl Slip for BinaryLogarithm {
    fn log(sum: f32) -> f32 {
        sum.log2()
    }
}

struct LogarithmForgotten;
impl Slip for LogarithmForgotten {
    fn log(_sum: f32) -> f32 {
        0.0
    }
}

struct TargetOffByOne;
impl Slip for TargetOffByOne {
    fn target(target: usize, length: usize) -> usize {
        (target + 1) % length
    }
}

struct TargetAlwaysFirst;
impl Slip for TargetAlwaysFirst {
    fn target(_target: usize, _length: usize) -> usize {
        0
    }
}

struct SmoothingIgnored;
impl Slip for SmoothingIgnored {
    fn smoothing(_smoothing: f32) -> f32 {
        0.0
    }
}

struct SmoothedOverOthers;
impl Slip for SmoothedOverOthers {
    fn others(x: &[f32], target: usize) -> f32 {
        (x.iter().sum::<f32>() - x[target]) / (x.len() as f32 - 1.0)
    }
}

struct IgnoreFixed;
impl Slip for IgnoreFixed {
    fn is_counted(target: i64, _ignore: i64) -> bool {
        target != -100
    }
}

struct DividedByRows;
impl Slip for DividedByRows {
    fn divisor(_counted: usize, rows: usize) -> f32 {
        rows as f32
    }
}

struct NotDivided;
impl Slip for NotDivided {
    fn divisor(_counted: usize, _rows: usize) -> f32 {
        1.0
    }
}

struct UncountedIsNan;
impl Slip for UncountedIsNan {
    fn uncounted() -> f32 {
        f32::NAN
    }
}

struct LastRowMissing;
impl Slip for LastRowMissing {
    fn rows(rows: usize) -> usize {
        rows.saturating_sub(1)
    }
}

struct Negated;
impl Slip for Negated {
    fn finish(loss: f32) -> f32 {
        -loss
    }
}

struct Clamped;
impl Slip for Clamped {
    fn finish(loss: f32) -> f32 {
        // The slip: a small number is added to the probability before its logarithm.
        -((-loss).exp() + 1e-7).ln()
    }
}

struct LossInBf16;
impl Slip for LossInBf16 {
    fn finish(loss: f32) -> f32 {
        bf16::from_f32(loss).to_f32()
    }
}

struct RowStrideIgnored;
impl Slip for RowStrideIgnored {
    fn read(x: &Tensor) -> Vec<Vec<f32>> {
        flawed::read_densely(x)
    }
}

struct InputRoundedToBf16;
impl Slip for InputRoundedToBf16 {
    fn read(x: &Tensor) -> Vec<Vec<f32>> {
        let mut rows = flawed::read(x);
        rows.iter_mut().flatten().for_each(|x| *x = bf16::from_f32(*x).to_f32());
        rows
    }
}

const ALL: &[DType] = &[DType::F32, DType::Bf16, DType::F16];

mutants! {
    NotShifted ALL, "not_shifted": "exponentials are of the logits themselves";
    TailDropped ALL, "tail_dropped": "the sum lacks what follows the last whole vector";
    LastLogitMissing ALL, "last_logit_missing": "the sum lacks the last logit";
    ExpEstimate ALL, "exp_estimate": "exponentials have 8 bits";
    BinaryLogarithm ALL, "binary_logarithm": "the logarithm is to base 2";
    LogarithmForgotten ALL, "logarithm_forgotten": "the largest logit stands for the sum";
    TargetOffByOne ALL, "target_off_by_one": "targets count from one";
    TargetAlwaysFirst ALL, "target_always_first": "every target is the first";
    SmoothingIgnored ALL, "smoothing_ignored": "the loss is not smoothed";
    SmoothedOverOthers ALL, "smoothed_over_others": "the target is left out of the mean";
    IgnoreFixed ALL, "ignore_fixed": "only -100 is ignored";
    DividedByRows ALL, "divided_by_rows": "rows that do not count are counted";
    NotDivided ALL, "not_divided": "the sum of the losses";
    UncountedIsNan ALL, "uncounted_is_nan": "rows that do not count have loss NaN";
    LastRowMissing ALL, "last_row_missing": "the loop over rows ends early";
    Negated ALL, "negated": "the logarithm of the likelihood itself";
    Clamped ALL, "clamped": "1e-7 is added to the probability";
    LossInBf16 ALL, "loss_in_bf16": "losses are rounded to bf16";
    RowStrideIgnored ALL, "row_stride_ignored": "rows of logits are taken to lie densely";
    InputRoundedToBf16 &[DType::F32, DType::F16], "input_rounded_to_bf16": "logits lose bits";
}
