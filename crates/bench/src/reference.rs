//! Runs a reference for the judge: once for the truth, once in f32, and with noise for the scale.

use crate::number::{AMPLITUDE, Noise, Noisy, Real};

/// Runs with noise.
const RUNS: u64 = 24;

/// An argument of a reference, as `proofmark` passes it. The crate `proofmark-own` has the same.
#[repr(C)]
#[derive(Debug)]
pub struct Argument {
    /// Elements of an operand; null for a number.
    pub values: *mut f64,
    /// Where the error scale of an output goes; null for what is read.
    pub scales: *mut f64,
    /// Elements.
    pub length: usize,
    /// The value of an axis or an attribute.
    pub number: f64,
}

/// A reference that is generic over its numbers.
pub trait Reference {
    /// Calls it.
    fn call<T: Real>(bound: &mut Bound<T>);
}

/// The arguments of one run.
#[derive(Debug)]
pub struct Bound<T> {
    given: Vec<Vec<f64>>,
    outputs: Vec<Vec<T>>,
    numbers: Vec<f64>,
}

impl<T: Real> Bound<T> {
    /// An operand of real numbers that is read.
    pub fn real(&self, place: usize) -> Vec<T> {
        self.given[place].iter().map(|value| T::of(*value)).collect()
    }

    /// An operand of whole numbers that is read.
    pub fn whole(&self, place: usize) -> &[f64] {
        &self.given[place]
    }

    /// An axis or an attribute.
    pub fn number(&self, place: usize) -> f64 {
        self.numbers[place]
    }

    /// An operand to be written.
    pub fn output(&self, place: usize) -> Vec<T> {
        vec![T::ZERO; self.given[place].len()]
    }

    /// An operand that was written.
    pub fn written(&mut self, place: usize, values: Vec<T>) {
        self.outputs[place] = values;
    }
}

/// Writes values and scales; the terms of the longest sum.
///
/// # Safety
/// `count` arguments lie there, and as many elements behind their pointers as each says.
pub unsafe fn reference<R: Reference>(
    arguments: *const Argument,
    count: usize,
    seed: u64,
    unit: f64,
) -> u64 {
    // SAFETY: the caller's promise.
    let arguments = unsafe { std::slice::from_raw_parts(arguments, count) };
    let given = |argument: &Argument| match argument.values.is_null() || argument.length == 0 {
        true => Vec::new(),
        // SAFETY: the caller's promise.
        false => unsafe { std::slice::from_raw_parts(argument.values, argument.length) }.to_vec(),
    };
    let inputs = Inputs {
        given: arguments.iter().map(given).collect(),
        numbers: arguments.iter().map(|argument| argument.number).collect(),
    };
    let judged = judge::<R>(&inputs, seed, unit);
    for (argument, (values, scales)) in arguments.iter().zip(judged.outputs) {
        if argument.scales.is_null() || argument.length == 0 {
            continue;
        }
        // SAFETY: the caller's promise; the numbers of elements are equal by `judge`.
        unsafe {
            std::slice::from_raw_parts_mut(argument.values, argument.length)
                .copy_from_slice(&values);
            std::slice::from_raw_parts_mut(argument.scales, argument.length)
                .copy_from_slice(&scales);
        }
    }
    judged.longest
}

/// What every run is given.
struct Inputs {
    given: Vec<Vec<f64>>,
    numbers: Vec<f64>,
}

impl Inputs {
    /// Runs the reference; the operands that it wrote, by place. Others are empty.
    fn run<R: Reference, T: Real>(&self) -> Vec<Vec<f64>> {
        let (given, numbers) = (self.given.clone(), self.numbers.clone());
        let outputs = given.iter().map(|_| Vec::new()).collect();
        let mut bound = Bound::<T> { given, outputs, numbers };
        R::call(&mut bound);
        let values = |all: Vec<T>| all.into_iter().map(T::get).collect();
        bound.outputs.into_iter().map(values).collect()
    }
}

/// Values and scales of the written operands, by place.
struct Judged {
    outputs: Vec<(Vec<f64>, Vec<f64>)>,
    longest: u64,
}

fn judge<R: Reference>(inputs: &Inputs, seed: u64, unit: f64) -> Judged {
    let truth = inputs.run::<R, f64>();
    let single = inputs.run::<R, f32>();
    let mut squares: Vec<Vec<f64>> = truth.iter().map(|values| vec![0.0; values.len()]).collect();
    let mut longest = 1;
    for run in 1..=RUNS {
        Noise::begin(seed.wrapping_mul(RUNS + 1).wrapping_add(run), unit);
        let moved = inputs.run::<R, Noisy>();
        longest = longest.max(Noise::longest());
        for ((squares, moved), truth) in squares.iter_mut().zip(&moved).zip(&truth) {
            for ((square, moved), value) in squares.iter_mut().zip(moved).zip(truth) {
                *square += (moved - value).powi(2);
            }
        }
    }
    let scale = |(value, (square, single)): (&f64, (&f64, &f64))| {
        let rms = (square / RUNS as f64).sqrt() / (AMPLITUDE * unit);
        match (value.is_finite(), rms.is_finite() && single.is_finite()) {
            (false, _) => 1.0,
            // A run has no number there, so that no kernel can be asked for one.
            (true, false) => f64::INFINITY,
            (true, true) => rms,
        }
    };
    let outputs = truth.into_iter().zip(squares).zip(single).map(|((truth, squares), single)| {
        let scales = truth.iter().zip(squares.iter().zip(&single)).map(scale).collect();
        (truth, scales)
    });
    Judged { outputs: outputs.collect(), longest }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: f64 = 1.0 / 16_777_216.0;

    /// The scales of one output that is computed from one input of these values.
    fn scales<R: Reference>(values: &[f64], length: usize) -> (Vec<f64>, Vec<f64>, u64) {
        let given = vec![values.to_vec(), vec![0.0; length]];
        let mut judged = judge::<R>(&Inputs { given, numbers: vec![0.0; 2] }, 7, UNIT);
        let (value, scale) = judged.outputs.remove(1);
        (value, scale, judged.longest)
    }

    macro_rules! reference {
        ($name:ident, $x:ident, $y:ident, $body:block) => {
            struct $name;
            impl Reference for $name {
                fn call<T: Real>(bound: &mut Bound<T>) {
                    let ($x, mut $y) = (bound.real(0), bound.output(1));
                    $body
                    bound.written(1, $y);
                }
            }
        };
    }

    reference!(Total, x, y, {
        for value in x {
            y[0] += value;
        }
    });
    reference!(Softmax, x, y, {
        let max = x.iter().fold(T::NEG_INFINITY, |max, value| max.max(*value));
        let sum: T = x.iter().map(|value| (*value - max).exp()).sum();
        for (y, x) in y.iter_mut().zip(x) {
            *y = (x - max).exp() / sum;
        }
    });
    reference!(Rounded, x, y, {
        for (y, x) in y.iter_mut().zip(x) {
            *y = (x / T::of(3.0)).round();
        }
    });
    reference!(Scaled, x, y, {
        for (y, x) in y.iter_mut().zip(x) {
            *y = T::of(2.0) * x / T::of(8.0);
        }
    });
    reference!(Raised, x, y, {
        for (y, x) in y.iter_mut().zip(x) {
            *y = x.exp() / T::of(1e30);
        }
    });

    #[test]
    fn the_scale_of_a_sum_is_that_of_its_terms_whatever_their_order() {
        let alternating: Vec<f64> =
            (0..1000).map(|at| if at % 2 == 0 { 1.1 } else { -1.1 }).collect();
        let (value, scale, longest) = scales::<Total>(&alternating, 1);
        assert_eq!((value[0], longest), (0.0, 1000));
        // The sum of magnitudes is 1100.
        assert!((600.0..1700.0).contains(&scale[0]), "{scale:?}");
    }

    #[test]
    fn exact_results_have_no_scale() {
        let (_, scale, _) = scales::<Scaled>(&[0.1, 1.7, -3.3], 3);
        assert_eq!(scale, [0.0; 3]);
        let (_, scale, _) = scales::<Total>(&[1.0, 2.0, 3.0], 1);
        assert_eq!(scale, [0.0]);
    }

    #[test]
    fn a_softmax_on_large_inputs_is_as_sharp_as_on_small_ones() {
        let small: Vec<f64> = (0..64).map(|at| f64::from(at % 7) * 0.3).collect();
        let large: Vec<f64> = small.iter().map(|value| value + 1000.0).collect();
        let (value, sharp, _) = scales::<Softmax>(&small, 64);
        let (_, offset, _) = scales::<Softmax>(&large, 64);
        for at in 0..64 {
            let (relative, other) = (sharp[at] / value[at], offset[at] / value[at]);
            assert!((1.0..20.0).contains(&relative), "{relative}");
            assert!(other < 2.0 * relative, "{other} and {relative}");
        }
    }

    #[test]
    fn both_sides_of_a_jump_are_admitted_near_it_and_only_there() {
        let (value, scale, _) = scales::<Rounded>(&[1.5, 2.7], 2);
        assert_eq!(value, [1.0, 1.0]);
        // A kernel that gives 0 instead of 1 is off by 1 = q · u · scale.
        assert!(1.0 / (UNIT * scale[0]) < 16.0, "{scale:?}");
        assert_eq!(scale[1], 0.0);
    }

    #[test]
    fn what_f32_cannot_hold_is_not_judged() {
        let (value, scale, _) = scales::<Raised>(&[100.0, 1.0], 2);
        assert!(value[0].is_finite() && scale[0] == f64::INFINITY, "{value:?} {scale:?}");
        assert!(scale[1].is_finite());
    }

    #[test]
    fn the_noise_is_the_same_in_every_run_of_the_program() {
        let values: Vec<f64> = (0..10).map(|at| f64::from(at) * 0.37).collect();
        assert_eq!(scales::<Softmax>(&values, 10), scales::<Softmax>(&values, 10));
    }
}
