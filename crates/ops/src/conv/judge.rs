//! What the judge knows of convolutions: work, limits, what the gate tries, laws.

use super::definition::{BIAS, Conv, Problem, WEIGHTS, X};
use super::{laws, oracle};
use proofmark_contract::{Filling, Law, Op, Portfolio, Signature, Specials, Truth, Values, Want};
use proofmark_schema::Work;
use proofmark_tensor::Fill;
use proofmark_terms::{AttrValue, Case, DType};

impl Op for Conv {
    fn work(&self, case: &Case) -> Work {
        let of = Problem::of(case);
        let (bias, size) = (usize::from(of.has_bias), case.dtype.size());
        let read = of.batches * of.channels * of.area() + of.outputs * (of.terms() + bias);
        Work {
            flops: (of.len() * (2 * of.terms() + bias)) as u64,
            bytes_read: (read * size) as u64,
            bytes_written: (of.len() * size) as u64,
            transcendentals: 0,
        }
    }

    fn sums_products(&self) -> bool {
        true
    }

    fn reduction(&self, case: &Case) -> u64 {
        Problem::of(case).terms() as u64
    }

    fn oracle(&self, case: &Case, inputs: &Values, _output: usize, want: &Want) -> Truth {
        oracle::truth(Problem::of(case), inputs, want)
    }

    fn portfolio(&self, case: &Case, signature: &Signature) -> Portfolio {
        let exact = exact_fillings(Problem::of(case), signature);
        Portfolio { exact, ..Portfolio::standard(signature) }
    }

    /// `2^60`: the product of two of them, and 128 such products, stay finite. Weights take special
    /// values only where none falls on padding, because libraries differ there.
    fn specials(&self, case: &Case, _signature: &Signature) -> Specials {
        let of = Problem::of(case);
        let mut operands = vec![X];
        if of.pad == [0, 0] {
            operands.push(WEIGHTS);
        }
        if of.has_bias {
            operands.push(BIAS);
        }
        Specials::standard(&operands, case.dtype, 2f64.powi(60))
    }

    fn laws(&self) -> &'static [Law] {
        laws::LAWS
    }

    fn audit(
        &self,
        case: &Case,
        inputs: &Values,
        outputs: &[Vec<f64>],
        seed: u64,
    ) -> Option<Result<(), String>> {
        oracle::audit(Problem::of(case), inputs, &outputs[0], seed)
    }

    fn proof_cases(&self, _dtype: DType) -> Vec<Case> {
        if self.axes.len() == Conv::CONV1D.axes.len() { lines() } else { planes() }
    }
}

/// Integers whose products sum exactly in every order, and in Winograd's algorithm too, whose
/// terms reach 9 times theirs in steps of a quarter: dense ones, and nearly one-hot images, whose
/// results name the index of any misplaced term.
fn exact_fillings(of: Problem, signature: &Signature) -> Vec<Filling> {
    let terms = of.terms().max(1) as f64;
    let limit = 2f64.powi(24) / 36.0 - 4.0;
    let magnitude = [4u32, 2, 1].into_iter().find(|&side| f64::from(side * side) * terms <= limit);
    let dense = match magnitude {
        Some(magnitude) => Fill::Ints { magnitude, density: 1.0 },
        None => Fill::Ints { magnitude: 1, density: (0.5 * limit / terms).sqrt() },
    };
    let probe = Fill::Ints { magnitude: 4, density: (4.0 / terms).min(1.0) };
    let dense = Filling::uniform(signature, &dense);
    vec![dense.clone(), dense.with(X, probe)]
}

/// A case of sizes in the order of its axes and of attributes.
fn built(op: &Conv, sizes: &[u64], attrs: &[(&str, i64)]) -> Case {
    let axes = op.axes.iter().zip(sizes);
    let case =
        axes.fold(Case::new(op.name, DType::F32), |case, (axis, &size)| case.axis(axis.name, size));
    attrs.iter().fold(case, |case, &(name, value)| {
        let value =
            if name == "bias" { AttrValue::Flag(value == 1) } else { AttrValue::Int(value) };
        case.attr(name, value)
    })
}

/// Edge shapes of planes: around vectors and register tiles (14, 8, 4, 2 rows; 32 columns and
/// more), squares cut by the edge, blocks of squares and of packed columns; every attribute; empty
/// axes.
fn planes() -> Vec<Case> {
    const DEPTHWISE: [(&str, i64); 2] = [("groups", 12), ("bias", 1)];
    let case = |sizes: [u64; 5], attrs: &[(&str, i64)]| built(&Conv::CONV2D, &sizes, attrs);
    let taps = |kh, kw, pad| [("kh", kh), ("kw", kw), ("pad", pad)];
    vec![
        case([1, 1, 1, 1, 1], &[]),
        case([2, 5, 7, 6, 6], &taps(1, 1, 0)),
        case([1, 3, 5, 7, 9], &[("bias", 1)]),
        case([1, 3, 10, 20, 23], &[&taps(7, 7, 3)[..], &[("stride", 2)]].concat()),
        case([2, 4, 16, 14, 14], &[]),
        case([1, 12, 12, 9, 35], &DEPTHWISE),
        case([1, 16, 15, 8, 17], &[("pad", 0)]),
        case([1, 33, 17, 13, 11], &[&taps(1, 1, 0)[..], &[("bias", 1)]].concat()),
        case([1, 8, 12, 7, 8], &[("groups", 4), ("dilation", 2), ("pad", 2)]),
        case([1, 6, 29, 8, 9], &[&taps(1, 1, 0)[..], &[("stride", 2)]].concat()),
        case([3, 8, 33, 5, 40], &[("bias", 1)]),
        case([1, 4, 8, 11, 12], &[("groups", 4), ("stride", 2)]),
        case([1, 5, 6, 12, 13], &taps(3, 5, 2)),
        case([1, 7, 28, 28, 27], &[]),
        case([1, 4, 3, 13, 14], &[("stride", 2), ("dilation", 3), ("pad", 4)]),
        case([1, 200, 3, 4, 5], &[]),
        case([1, 3, 20, 9, 10], &[&taps(2, 2, 0)[..], &[("stride", 3)]].concat()),
        case([2, 6, 8, 6, 5], &[("pad", 2)]),
        case([1, 2, 3, 9, 6], &taps(5, 2, 0)),
        case([1, 300, 9, 3, 3], &taps(1, 1, 0)),
        case([1, 32, 32, 28, 28], &[]),
        case([2, 33, 37, 7, 7], &[&taps(1, 1, 0)[..], &[("bias", 1)]].concat()),
        case([1, 32, 101, 14, 15], &[("stride", 2), ("bias", 1)]),
        case([1, 64, 194, 6, 9], &[("groups", 2)]),
        case([1, 2800, 32, 7, 8], &taps(1, 1, 0)),
        case([0, 3, 4, 5, 5], &[]),
        case([1, 3, 0, 5, 5], &[]),
        case([1, 0, 3, 4, 4], &[("bias", 1)]),
    ]
}

/// Edge shapes of lines: as those of planes, and the front of a speech model in small.
fn lines() -> Vec<Case> {
    let case = |sizes: [u64; 4], attrs: &[(&str, i64)]| built(&Conv::CONV1D, &sizes, attrs);
    vec![
        case([1, 1, 1, 1], &[]),
        case([1, 5, 33, 130], &[("bias", 1)]),
        case([2, 9, 17, 65], &[("stride", 2), ("bias", 1)]),
        case([2, 7, 30, 31], &[("k", 1), ("pad", 0)]),
        case([1, 12, 12, 300], &[("groups", 12), ("k", 4), ("pad", 3)]),
        case([3, 6, 10, 17], &[("dilation", 3), ("pad", 3)]),
        case([1, 8, 14, 40], &[("k", 7), ("stride", 3), ("pad", 2), ("groups", 2)]),
        case([1, 40, 35, 129], &[("pad", 0)]),
        case([1, 2, 3, 9], &[("k", 5), ("pad", 4), ("dilation", 2)]),
        case([1, 1, 16, 400], &[("k", 25), ("stride", 10), ("pad", 0)]),
        case([1, 500, 4, 7], &[]),
        case([2, 0, 3, 5], &[("bias", 1)]),
        case([0, 2, 3, 5], &[]),
    ]
}
