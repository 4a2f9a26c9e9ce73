//! The comparison: one dimensionless error for every op, element type and length.

use proofmark_contract::Truth;
use proofmark_schema::proof::Errors;
use proofmark_schema::{DType, ErrorContract, Underflow};
use proofmark_tensor::round_to;

/// How errors are measured under a contract.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    /// The unit `u` of the precision that sums are promised in.
    pub unit: f64,
    /// Errors up to this size count as none: a contender that flushes subnormals may lose this
    /// much.
    pub floor: f64,
    /// Whether the scale includes the additional error that weaker contracts are allowed.
    pub forgives: bool,
}

/// How the error of a contender with this contract is measured, and what it may lose near zero. A
/// flushed step loses at most the smallest normal number. The result may lose `AMPLIFIED` times as
/// much, because a norm of small numbers divides by the root of its `eps`.
pub fn measure(contract: &ErrorContract) -> Measure {
    const AMPLIFIED: f64 = 4096.0;
    let floor = match contract.underflow {
        Underflow::Gradual => 0.0,
        Underflow::Flushed => AMPLIFIED * f64::from(f32::MIN_POSITIVE),
    };
    let forgives = contract.cancels || contract.rounds_inside;
    Measure { unit: contract.accumulate.unit(), floor, forgives }
}

/// How an output compares with the truth.
#[derive(Clone, Debug, Default)]
pub struct Score {
    /// The error of each element in units of `u·scale`, beyond the half unit in the last place that
    /// rounding to the output type costs any kernel. Infinite where the class is wrong (a number
    /// instead of NaN, a finite value instead of an overflow).
    pub q: Vec<f64>,
    /// The position of the greatest error.
    pub worst: usize,
    /// All summaries.
    pub errors: Errors,
    /// Mean of the signed relative error over row means, in units of `u·scale` plus rounding.
    pub mean_signed: f64,
}

/// Number of elements that are scored together, so that what one step leaves is in the cache for
/// the next.
const BLOCK: usize = 256;

/// Scores `got` against the truth, for outputs of type `dtype`. `row` is the length of a row, over
/// which errors are correlated.
pub fn score(dtype: DType, measure: Measure, truth: &Truth, got: &[f64], row: usize) -> Score {
    assert_eq!(truth.value.len(), got.len(), "one value for each wanted element");
    assert_eq!(truth.scale.len(), got.len(), "one scale for each wanted element");
    let mut score = Score { q: vec![0.0; got.len()], ..Score::default() };
    let ruler = Ruler::new(dtype, measure);
    let mut sums = Sums::default();
    let mut rows = RowMeans::new(row.max(1));
    let (mut scales, mut ulps) = ([0.0; BLOCK], [0.0; BLOCK]);
    for (n, (got, q)) in got.chunks(BLOCK).zip(score.q.chunks_mut(BLOCK)).enumerate() {
        let here = n * BLOCK..n * BLOCK + got.len();
        let want = &truth.value[here.clone()];
        let (scale, ulp) = (&mut scales[..got.len()], &mut ulps[..got.len()]);
        scale.copy_from_slice(&truth.scale[here.clone()]);
        if measure.forgives
            && let Some(forgiven) = truth.forgiven.get(here.clone())
        {
            scale.iter_mut().zip(forgiven).for_each(|(scale, forgiven)| *scale += forgiven);
        }
        ulp.iter_mut().zip(want).for_each(|(ulp, &want)| *ulp = dtype.ulp(want));
        ruler.elements(want, ulp, scale, got, q);
        for (i, &q) in q.iter().enumerate() {
            if q > score.errors.q_max || (here.start + i == 0) {
                score.errors.q_max = q;
                score.worst = here.start + i;
            }
        }
        for i in 0..got.len() {
            sums.add(want[i], ulp[i], got[i], q[i]);
        }
        for i in 0..got.len() {
            rows.add(ruler.signed(want[i], ulp[i], scale[i], got[i]));
        }
    }
    sums.finish(&mut score.errors, got.len());
    (score.mean_signed, score.errors.bias) = rows.finish();
    score
}

/// What every element is judged by. It is computed once because a proof judges millions of
/// elements.
struct Ruler {
    dtype: DType,
    measure: Measure,
    /// The first magnitude that is no longer finite. It stands for infinity, so that a result near
    /// overflow is judged by distance like any other.
    ceiling: f64,
    /// Beyond this magnitude the right result is infinity. It is infinite for a type without
    /// infinities.
    overflow: f64,
    smallest: f64,
    /// 1 for types that round, 0 for integers.
    is_float: f64,
}

impl Ruler {
    fn new(dtype: DType, measure: Measure) -> Ruler {
        let is_float = f64::from(dtype.is_float());
        let last = dtype.ulp(dtype.largest()) * is_float;
        let ceiling = dtype.largest() + last;
        let has_infinity = dtype.is_float() && dtype != DType::F8e4m3;
        let overflow = if has_infinity { ceiling - 0.5 * last } else { f64::INFINITY };
        Ruler { dtype, measure, ceiling, overflow, smallest: dtype.smallest(), is_float }
    }

    /// The errors of elements; `ulp` are the spacings around `want`. All elements are judged as
    /// plain first, in a loop without branches. The few that are not plain are then judged again.
    fn elements(&self, want: &[f64], ulp: &[f64], scale: &[f64], got: &[f64], q: &mut [f64]) {
        let all = want.len();
        let (ulp, scale, got, q) = (&ulp[..all], &scale[..all], &got[..all], &mut q[..all]);
        // Ops that copy or count are exact to the bit, and need no further judgement.
        if want == got && want.iter().all(|want| want.is_finite()) {
            return q.fill(0.0);
        }
        let mut strange = 0;
        for i in 0..all {
            q[i] = self.plain(want[i], 0.5 * ulp[i] * self.is_float, scale[i], got[i]);
            strange += u64::from(!self.is_plain(want[i], scale[i], got[i]));
        }
        for i in 0..if strange == 0 { 0 } else { all } {
            if !self.is_plain(want[i], scale[i], got[i]) {
                let element = self.element(want[i], ulp[i], scale[i], got[i]);
                // An error that is NaN must not count as small.
                q[i] = if element.is_nan() { f64::INFINITY } else { element };
            }
        }
    }

    /// The signed error in units of the tolerance; 0 where that is not finite.
    fn signed(&self, want: f64, ulp: f64, scale: f64, got: f64) -> f64 {
        let tolerance = self.measure.unit * scale + 0.5 * ulp * self.is_float;
        let signed = (got - want) * want.signum() / tolerance;
        if signed.is_finite() { signed } else { 0.0 }
    }

    /// Whether an element is judged by distance alone, and may differ by rounding.
    fn is_plain(&self, want: f64, scale: f64, got: f64) -> bool {
        let slack = 64.0 * self.measure.unit * scale;
        // All of these comparisons are false for NaN.
        (want.abs() - slack <= self.overflow)
            & (want.abs() < f64::INFINITY)
            & (got.abs() < f64::INFINITY)
            & (scale > 0.0)
            & (scale < f64::INFINITY)
    }

    /// The error of a plain element beyond the `rounding` that is allowed.
    fn plain(&self, want: f64, rounding: f64, scale: f64, got: f64) -> f64 {
        let clamp = |value: f64| value.max(-self.ceiling).min(self.ceiling);
        let error = (clamp(got) - clamp(want)).abs();
        let Measure { unit, floor, .. } = self.measure;
        (error - rounding - floor).max(0.0) / (unit * scale + self.smallest)
    }

    /// The error of one element in units of `u·scale`; `ulp` is the spacing around `want`.
    fn element(&self, want: f64, ulp: f64, scale: f64, got: f64) -> f64 {
        if want.is_nan() || got.is_nan() {
            return if want.is_nan() && got.is_nan() { 0.0 } else { f64::INFINITY };
        }
        if want.is_infinite() {
            return if got == want { 0.0 } else { f64::INFINITY };
        }
        let slack = 64.0 * self.measure.unit * scale;
        if want.abs() - slack > self.overflow && got.is_finite() {
            return f64::INFINITY;
        }
        // Where the scale is 0 the bits are defined: only the nearest number of the type is right,
        // though below a power of two the next one is only half a unit away.
        let rounding = match scale == 0.0 && self.dtype.is_float() {
            true => (round_to(self.dtype, want) - want).abs(),
            false => 0.5 * ulp * self.is_float,
        };
        self.plain(want, rounding, scale, got)
    }
}

/// The familiar error measures. They are reported but never decide.
#[derive(Default)]
struct Sums {
    q2: f64,
    error2: f64,
    want2: f64,
    got2: f64,
    product: f64,
    max_relative: f64,
    max_ulp: f64,
}

impl Sums {
    fn add(&mut self, want: f64, ulp: f64, got: f64, q: f64) {
        self.q2 += q * q;
        if !want.is_finite() || !got.is_finite() {
            return;
        }
        let error = (got - want).abs();
        self.error2 += error * error;
        self.want2 += want * want;
        self.got2 += got * got;
        self.product += want * got;
        if want != 0.0 {
            self.max_relative = self.max_relative.max(error / want.abs());
        }
        self.max_ulp = self.max_ulp.max(error / ulp);
    }

    fn finish(&self, errors: &mut Errors, count: usize) {
        errors.q_rms = (self.q2 / count.max(1) as f64).sqrt();
        errors.max_relative = self.max_relative;
        errors.max_ulp = self.max_ulp;
        errors.nmse = if self.want2 > 0.0 { self.error2 / self.want2 } else { 0.0 };
        let norms = (self.want2 * self.got2).sqrt();
        errors.cosine_distance =
            if norms > 0.0 { (1.0 - self.product / norms).max(0.0) } else { 0.0 };
    }
}

/// Means over rows. The elements of a row share a factor or a sum, and with it an error, so only
/// rows can be averaged as independent samples.
struct RowMeans {
    row: usize,
    current: (f64, usize),
    means: Vec<f64>,
}

impl RowMeans {
    fn new(row: usize) -> RowMeans {
        RowMeans { row, current: (0.0, 0), means: Vec::new() }
    }

    fn add(&mut self, value: f64) {
        self.current.0 += value;
        self.current.1 += 1;
        if self.current.1 == self.row {
            self.close();
        }
    }

    fn close(&mut self) {
        if self.current.1 > 0 {
            self.means.push(self.current.0 / self.current.1 as f64);
        }
        self.current = (0.0, 0);
    }

    /// The mean, and how many of its standard errors it lies from 0 (0 below thirty rows).
    ///
    /// Rows of one or two elements have no such mean: a norm of two numbers is always 1 and -1, so
    /// all rows have the same results and the same rounding errors.
    fn finish(mut self) -> (f64, f64) {
        self.close();
        let n = self.means.len() as f64;
        if self.means.len() < 30 || self.row < 3 {
            return (0.0, 0.0);
        }
        let mean = self.means.iter().sum::<f64>() / n;
        let variance = self.means.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / (n - 1.0);
        if variance == 0.0 { (mean, 0.0) } else { (mean, mean / (variance / n).sqrt()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const U: f64 = 1.0 / (1u64 << 24) as f64;
    const PLAIN: Measure = Measure { unit: U, floor: 0.0, forgives: false };

    fn element(measure: Measure, want: f64, scale: f64, got: f64) -> f64 {
        Ruler::new(DType::F32, measure).element(want, DType::F32.ulp(want), scale, got)
    }

    fn q(want: f64, scale: f64, got: f64) -> f64 {
        element(PLAIN, want, scale, got)
    }

    #[test]
    fn an_error_that_is_no_number_is_refused() {
        let truth = Truth { value: vec![1.0, 1.0], scale: vec![f64::NAN, 1.0], ..Truth::default() };
        let scored = score(DType::F32, PLAIN, &truth, &[1.5, 1.0], 2);
        assert_eq!(scored.errors.q_max, f64::INFINITY);
    }

    #[test]
    fn rounding_to_the_output_type_is_free() {
        let third = 1.0 / 3.0;
        assert_eq!(q(third, 1.0, f64::from(third as f32)), 0.0);
    }

    #[test]
    fn one_unit_of_scale_counts_one() {
        let error = 100.0 * U;
        assert!((q(1.0, 1.0, 1.0 + error) - 99.0).abs() < 1.0);
    }

    #[test]
    fn classes_must_agree() {
        assert_eq!(q(f64::NAN, 1.0, f64::NAN), 0.0);
        assert_eq!(q(f64::NAN, 1.0, 0.0), f64::INFINITY);
        assert_eq!(q(0.0, 1.0, f64::NAN), f64::INFINITY);
        assert_eq!(q(f64::INFINITY, 1.0, f64::NEG_INFINITY), f64::INFINITY);
        assert_eq!(q(f64::INFINITY, 1.0, f64::INFINITY), 0.0);
    }

    #[test]
    fn overflow_is_due_beyond_the_largest_and_only_there() {
        let largest = f64::from(f32::MAX);
        assert_eq!(q(1e39, 1e39, f64::INFINITY), 0.0);
        assert_eq!(q(1e39, 1e39, largest), f64::INFINITY);
        assert!(q(1e30, 1e30, f64::INFINITY) > 1e6);
    }

    #[test]
    fn a_zero_scale_admits_only_the_right_bits() {
        assert_eq!(q(1.0, 0.0, 1.0), 0.0);
        assert!(q(1.0, 0.0, f64::from(1.0f32 + f32::EPSILON)) > 1e30);
        assert!(q(1.0, 0.0, f64::from(1.0f32.next_down())) > 1e30);
        assert_eq!(q(1.0 / 3.0, 0.0, f64::from(1.0f32 / 3.0)), 0.0);
    }

    #[test]
    fn a_floor_forgives_what_flushing_loses_and_nothing_larger() {
        let floor = 4096.0 * f64::from(f32::MIN_POSITIVE);
        let measure = Measure { floor, ..PLAIN };
        let with_floor = |want, got| element(measure, want, want, got);
        assert_eq!(with_floor(-2.09e-37, 0.0), 0.0);
        assert!(q(-2.09e-37, 2.09e-37, 0.0) > 1e6);
        assert!(with_floor(1e-30, 0.0) > 1e6);
        assert!(with_floor(1.0, 1.0 + 1e-3) > 1e3);
    }

    #[test]
    fn what_cancels_is_forgiven_only_where_the_contract_says_so() {
        let truth = Truth { value: vec![-1e-9], scale: vec![1e-9], forgiven: vec![6.0] };
        let q = |measure| score(DType::F32, measure, &truth, &[0.0], 1).errors.q_max;
        assert!(q(PLAIN) > 1e6);
        assert!(q(Measure { forgives: true, ..PLAIN }) < 1.0);
    }

    #[test]
    fn together_elements_score_as_they_do_alone() {
        let odd = [0.0, -0.0, 1.0, -1.5, 0.1, 447.9, 65519.0, 1e-45, 2e38, 1e300, f64::NAN];
        let odd = [odd.to_vec(), vec![f64::INFINITY, f64::NEG_INFINITY, f64::MAX, 3.4e38]].concat();
        let mut truth = Truth::default();
        let mut got = Vec::new();
        for &want in &odd {
            for scale in odd.iter().map(|scale| scale.abs()) {
                for &value in &odd {
                    truth.push(want, scale);
                    got.push(value);
                }
            }
        }
        use DType::{Bf16, F8e4m3, F8e5m2, F16, F32, F64, I8};
        for dtype in [F64, F32, Bf16, F16, F8e4m3, F8e5m2, I8] {
            for floor in [0.0, 1e-30] {
                let measure = Measure { floor, ..PLAIN };
                let ruler = Ruler::new(dtype, measure);
                let scored = score(dtype, measure, &truth, &got, 7);
                for (i, &got) in got.iter().enumerate() {
                    let (want, scale) = (truth.value[i], truth.scale[i]);
                    let alone = ruler.element(want, dtype.ulp(want), scale, got);
                    let alone = if alone.is_nan() { f64::INFINITY } else { alone };
                    assert_eq!(scored.q[i], alone, "{dtype}: {want} ± {scale}, got {got}");
                }
                let worst = scored.q.iter().position(|&q| q == scored.errors.q_max);
                assert_eq!(worst, Some(scored.worst), "{dtype}");
            }
        }
    }

    #[test]
    fn rows_with_the_same_results_are_no_sample_of_rounding_errors() {
        let value: Vec<f64> = (0..400).map(|at| 0.3 + 1e-9 * f64::from(at)).collect();
        let got: Vec<f64> = value.iter().map(|value| f64::from(*value as f32) - 40.0 * U).collect();
        let truth = Truth { scale: vec![1.0; value.len()], value, ..Truth::default() };
        let bias = |row: usize| score(DType::F32, PLAIN, &truth, &got, row).errors.bias;
        assert_eq!((bias(1), bias(2)), (0.0, 0.0));
        assert!(bias(4) < -6.0, "{}", bias(4));
    }

    #[test]
    fn truncation_shows_as_bias() {
        let wants: Vec<f64> = (0..4096).map(|i| f64::from(i).sin()).collect();
        let down = |x: f64| {
            let near = x as f32;
            let over = f64::from(near).abs() > x.abs();
            f64::from(if over { f32::from_bits(near.to_bits() - 1) } else { near })
        };
        let got: Vec<f64> = wants.iter().map(|&x| down(x)).collect();
        let scale = wants.iter().map(|x| x.abs()).collect();
        let truth = Truth { scale, value: wants, ..Truth::default() };
        let score = score(DType::F32, PLAIN, &truth, &got, 16);
        assert!(score.errors.bias < -6.0, "{:?}", score.errors);
    }

    #[test]
    fn only_contracts_that_promise_less_are_forgiven_anything() {
        let plain = ErrorContract::default();
        assert!(!measure(&plain).forgives);
        assert!(measure(&ErrorContract { cancels: true, ..plain }).forgives);
        assert!(measure(&ErrorContract { rounds_inside: true, ..plain }).forgives);
    }
}
