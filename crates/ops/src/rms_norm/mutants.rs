//! Wrong RMS normalisations that the gate must refuse.

use super::definition::Problem;
use crate::blocks::stored::Stored;
use crate::flawed::mutants;
use proofmark_contract::{Call, KernelError};
use proofmark_tensor::{Rows, RowsMut, bf16, f16};
use proofmark_terms::DType;

/// The right computation in steps; each mutant gets one of them wrong.
trait Slip {
    fn rows<T: Stored>(problem: &Problem, x: Rows<'_, T>, w: &[T], y: &mut RowsMut<'_, T>) {
        for i in 0..x.rows() {
            Self::row(problem, x.row(i), w, y.row_mut(i));
        }
    }

    fn row<T: Stored>(problem: &Problem, x: &[T], w: &[T], y: &mut [T]) {
        let r = Self::inverse(Self::squares(x), x.len() as f32, problem.eps as f32);
        for i in 0..x.len() {
            y[i] = Self::result(Self::element(x[i]), r, Self::weight(problem, w, i));
        }
    }

    fn element<T: Stored>(x: T) -> f32 {
        x.widen()
    }

    fn squares<T: Stored>(x: &[T]) -> f32 {
        x.iter().map(|&x| Self::element(x) * Self::element(x)).sum()
    }

    fn inverse(squares: f32, length: f32, eps: f32) -> f32 {
        1.0 / (squares / length + eps).sqrt()
    }

    fn weight<T: Stored>(problem: &Problem, w: &[T], i: usize) -> f32 {
        if problem.is_gemma { 1.0 + w[i].widen() } else { w[i].widen() }
    }

    fn result<T: Stored>(x: f32, r: f32, weight: f32) -> T {
        T::narrow(x * r * weight)
    }
}

fn run<M: Slip>(call: &mut Call<'_>) -> Result<(), KernelError> {
    match call.case.dtype {
        DType::Bf16 => typed::<M, bf16>(call),
        DType::F16 => typed::<M, f16>(call),
        _ => typed::<M, f32>(call),
    }
}

fn typed<M: Slip, T: Stored>(call: &mut Call<'_>) -> Result<(), KernelError> {
    let x = call.inputs[0].rows::<T>()?;
    let w = call.inputs[1].rows::<T>()?.row(0);
    M::rows(&Problem::of(call.case), x, w, &mut call.outputs[0].rows_mut::<T>()?);
    Ok(())
}

struct EpsIgnored;
impl Slip for EpsIgnored {
    fn inverse(squares: f32, length: f32, _eps: f32) -> f32 {
        1.0 / (squares / length).sqrt()
    }
}

struct EpsOutsideRoot;
impl Slip for EpsOutsideRoot {
    fn inverse(squares: f32, length: f32, eps: f32) -> f32 {
        1.0 / ((squares / length).sqrt() + eps)
    }
}

struct EpsFixed;
impl Slip for EpsFixed {
    fn inverse(squares: f32, length: f32, _eps: f32) -> f32 {
        1.0 / (squares / length + 1e-6).sqrt()
    }
}

struct EpsOnSum;
impl Slip for EpsOnSum {
    fn inverse(squares: f32, length: f32, eps: f32) -> f32 {
        1.0 / ((squares + eps) / length).sqrt()
    }
}

struct SumForMean;
impl Slip for SumForMean {
    fn inverse(squares: f32, _length: f32, eps: f32) -> f32 {
        1.0 / (squares + eps).sqrt()
    }
}

struct DivisorOffByOne;
impl Slip for DivisorOffByOne {
    fn inverse(squares: f32, length: f32, eps: f32) -> f32 {
        1.0 / (squares / (length - 1.0) + eps).sqrt()
    }
}

struct RootEstimateUnrefined;
impl Slip for RootEstimateUnrefined {
    fn inverse(squares: f32, length: f32, eps: f32) -> f32 {
        let exact = 1.0 / (squares / length + eps).sqrt();
        // The 12 bits that the estimating instruction gives.
        f32::from_bits(exact.to_bits() & 0xffff_f000)
    }
}

struct RootEstimateOneStep;
impl Slip for RootEstimateOneStep {
    fn inverse(squares: f32, length: f32, eps: f32) -> f32 {
        let mean = squares / length + eps;
        let guess = f32::from_bits(0x5f37_59df_u32.wrapping_sub(mean.to_bits() >> 1));
        guess * (1.5 - 0.5 * mean * guess * guess)
    }
}

struct TailDroppedFromSum;
impl Slip for TailDroppedFromSum {
    fn squares<T: Stored>(x: &[T]) -> f32 {
        x[..x.len() / 16 * 16].iter().map(|x| x.widen() * x.widen()).sum()
    }
}

struct LastElementTwice;
impl Slip for LastElementTwice {
    fn squares<T: Stored>(x: &[T]) -> f32 {
        x.iter().chain(x.last()).map(|x| x.widen() * x.widen()).sum()
    }
}

struct Bf16Accumulate;
impl Slip for Bf16Accumulate {
    fn squares<T: Stored>(x: &[T]) -> f32 {
        let add = |sum: bf16, x: &T| bf16::from_f32(sum.to_f32() + x.widen() * x.widen());
        x.iter().fold(bf16::ZERO, add).to_f32()
    }
}

struct Centred;
impl Slip for Centred {
    fn row<T: Stored>(problem: &Problem, x: &[T], w: &[T], y: &mut [T]) {
        let length = x.len() as f32;
        let mean = x.iter().map(|x| x.widen()).sum::<f32>() / length;
        let squares = x.iter().map(|x| (x.widen() - mean).powi(2)).sum();
        let r = Self::inverse(squares, length, problem.eps as f32);
        for i in 0..x.len() {
            y[i] = T::narrow((x[i].widen() - mean) * r * Self::weight(problem, w, i));
        }
    }
}

struct LastElementUnwritten;
impl Slip for LastElementUnwritten {
    fn row<T: Stored>(problem: &Problem, x: &[T], w: &[T], y: &mut [T]) {
        let r = Self::inverse(Self::squares(x), x.len() as f32, problem.eps as f32);
        for i in 0..x.len().saturating_sub(1) {
            y[i] = Self::result(x[i].widen(), r, Self::weight(problem, w, i));
        }
    }
}

struct LastRowStale;
impl Slip for LastRowStale {
    fn rows<T: Stored>(problem: &Problem, x: Rows<'_, T>, w: &[T], y: &mut RowsMut<'_, T>) {
        for i in 0..x.rows() {
            let source = if i > 0 && i + 1 == x.rows() { i - 1 } else { i };
            Self::row(problem, x.row(source), w, y.row_mut(i));
        }
    }
}

struct FirstRowsRoot;
impl Slip for FirstRowsRoot {
    fn rows<T: Stored>(problem: &Problem, x: Rows<'_, T>, w: &[T], y: &mut RowsMut<'_, T>) {
        if x.rows() == 0 {
            return;
        }
        let r = Self::inverse(Self::squares(x.row(0)), x.cols() as f32, problem.eps as f32);
        for i in 0..x.rows() {
            for j in 0..x.cols() {
                let weight = Self::weight(problem, w, j);
                y.row_mut(i)[j] = Self::result(x.row(i)[j].widen(), r, weight);
            }
        }
    }
}

struct RowStrideIgnored;
impl Slip for RowStrideIgnored {
    fn rows<T: Stored>(problem: &Problem, x: Rows<'_, T>, w: &[T], y: &mut RowsMut<'_, T>) {
        // SAFETY: rows of the same length at a smaller or equal stride end before the last row
        // of `x` does; what lies between rows is initialised memory of the same operand.
        let dense = unsafe { Rows::from_raw(x.as_ptr(), x.rows(), x.cols(), x.cols()) };
        for i in 0..x.rows() {
            Self::row(problem, dense.row(i), w, y.row_mut(i));
        }
    }
}

struct WeightOffByOne;
impl Slip for WeightOffByOne {
    fn weight<T: Stored>(problem: &Problem, w: &[T], i: usize) -> f32 {
        let w = w[(i + 1) % w.len()].widen();
        if problem.is_gemma { 1.0 + w } else { w }
    }
}

struct WeightUnsigned;
impl Slip for WeightUnsigned {
    fn weight<T: Stored>(problem: &Problem, w: &[T], i: usize) -> f32 {
        if problem.is_gemma { (1.0 + w[i].widen()).abs() } else { w[i].widen().abs() }
    }
}

struct GemmaAsLlama;
impl Slip for GemmaAsLlama {
    fn weight<T: Stored>(_problem: &Problem, w: &[T], i: usize) -> f32 {
        w[i].widen()
    }
}

struct InputRoundedToBf16;
impl Slip for InputRoundedToBf16 {
    fn element<T: Stored>(x: T) -> f32 {
        bf16::from_f32(x.widen()).to_f32()
    }
}

struct NanSwallowed;
impl Slip for NanSwallowed {
    fn element<T: Stored>(x: T) -> f32 {
        let x = x.widen();
        if x.is_nan() { 0.0 } else { x }
    }
}

struct SubnormalsFlushed;
impl Slip for SubnormalsFlushed {
    fn element<T: Stored>(x: T) -> f32 {
        let smallest_normal = 2f32.powi(T::DTYPE.min_exponent());
        if x.widen().abs() < smallest_normal { 0.0 } else { x.widen() }
    }
}

struct ResultScaled;
impl Slip for ResultScaled {
    fn result<T: Stored>(x: f32, r: f32, weight: f32) -> T {
        T::narrow(x * r * weight * 1.001)
    }
}

struct RoundedBeforeWeight;
impl Slip for RoundedBeforeWeight {
    fn result<T: Stored>(x: f32, r: f32, weight: f32) -> T {
        T::narrow(T::narrow(x * r).widen() * weight)
    }
}

const ALL: &[DType] = &[DType::F32, DType::Bf16, DType::F16];
const NARROW: &[DType] = &[DType::Bf16, DType::F16];

mutants! {
    EpsIgnored ALL, "eps_ignored": "eps is not added";
    EpsOutsideRoot ALL, "eps_outside_root": "eps is added to the root, not to the mean";
    EpsFixed ALL, "eps_fixed": "eps is always the default";
    EpsOnSum ALL, "eps_on_sum": "eps is added before the division by the length";
    SumForMean ALL, "sum_for_mean": "the sum of squares is not divided by the length";
    DivisorOffByOne ALL, "divisor_off_by_one": "the sum is divided by the length minus one";
    RootEstimateUnrefined ALL, "root_estimate_unrefined": "the inverse root has 12 bits";
    RootEstimateOneStep ALL, "root_estimate_one_step": "a bit trick and one step of Newton's";
    TailDroppedFromSum ALL, "tail_dropped_from_sum": "only whole vectors of 16 are summed";
    LastElementTwice ALL, "last_element_twice": "the last square is added twice";
    Bf16Accumulate ALL, "bf16_accumulate": "the sum is kept in bf16";
    Centred ALL, "centred": "the mean is subtracted, as in layer normalisation";
    LastElementUnwritten ALL, "last_element_unwritten": "the last element of a row stays";
    LastRowStale ALL, "last_row_stale": "the last row repeats the one before";
    FirstRowsRoot ALL, "first_rows_root": "every row is divided by the first row's root";
    RowStrideIgnored ALL, "row_stride_ignored": "rows of x are taken to lie densely";
    WeightOffByOne ALL, "weight_off_by_one": "each element gets its neighbour's weight";
    WeightUnsigned ALL, "weight_unsigned": "the weight's sign is lost";
    GemmaAsLlama ALL, "gemma_as_llama": "the variant is ignored";
    InputRoundedToBf16 &[DType::F32, DType::F16], "input_rounded_to_bf16": "x loses bits first";
    NanSwallowed ALL, "nan_swallowed": "NaN counts as 0";
    SubnormalsFlushed ALL, "subnormals_flushed": "subnormal elements count as 0";
    ResultScaled ALL, "result_scaled": "results are 0.1 % too large";
    RoundedBeforeWeight NARROW, "rounded_before_weight": "x·r is rounded before it is weighted";
}
