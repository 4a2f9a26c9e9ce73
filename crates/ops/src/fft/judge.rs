//! What the judge knows of the Fourier transform: work, limits, what the gate tries, laws.

use super::definition::{Fft, Kind, Problem};
use super::{laws, oracle};
use proofmark_contract::{Law, Op, Portfolio, Signature, Specials, Truth, Values, Want};
use proofmark_schema::Work;
use proofmark_terms::{AttrValue, Case, DType};

impl Op for Fft {
    /// The convention 5·n·log2 n, and half of it for reals.
    fn work(&self, case: &Case) -> Work {
        let problem = Problem::of(case);
        let points = problem.points() as f64;
        let each = if problem.kind == Kind::Complex { 5.0 } else { 2.5 };
        let flops = (each * points * points.log2()).round() as u64;
        let batch = problem.batch as u64;
        let [read, written] = problem.batch_floats().map(|floats| 4 * floats as u64);
        Work {
            flops: batch * flops,
            bytes_read: batch * read,
            bytes_written: batch * written,
            transcendentals: 0,
        }
    }

    /// Errors are measured by the norm of the whole, which already includes their growth.
    fn reduction(&self, _case: &Case) -> u64 {
        1
    }

    fn oracle(&self, case: &Case, inputs: &Values, _output: usize, want: &Want) -> Truth {
        oracle::truth(&Problem::of(case), inputs.of(0), want)
    }

    fn portfolio(&self, _case: &Case, signature: &Signature) -> Portfolio {
        Portfolio::standard(signature)
    }

    fn specials(&self, case: &Case, _signature: &Signature) -> Specials {
        let mut specials = Specials::standard(&[0], case.dtype, 2f64.powi(64));
        // Which results they reach depends on the order of the sum. A law states what must hold.
        specials.values.retain(|value| value.is_finite());
        specials
    }

    fn laws(&self) -> &'static [Law] {
        laws::LAWS
    }

    fn proof_cases(&self, dtype: DType) -> Vec<Case> {
        let case = |&[b, x, y, z]: &[u64; 4]| {
            Case::new("fft", dtype).axis("b", b).axis("x", x).axis("y", y).axis("z", z)
        };
        let word =
            |case: Case, name: &str, word: &str| case.attr(name, AttrValue::Word(word.to_owned()));
        let mut cases: Vec<Case> = COMPLEX.iter().map(case).collect();
        cases.extend(INVERSE.iter().map(|shape| word(case(shape), "direction", "inverse")));
        cases.extend(REAL.iter().map(|shape| word(case(shape), "kind", "r2c")));
        cases.extend(REAL.iter().map(|shape| word(case(shape), "kind", "c2r")));
        cases.extend(LONG.iter().map(case));
        cases
    }
}

/// Powers of every small prime and products of them, primes small and large, lengths around
/// vectors and their squares, more axes, many transforms (for the test of bias), and none.
const COMPLEX: &[[u64; 4]] = &[
    [1, 1, 1, 1],
    [3, 1, 1, 2],
    [1, 1, 1, 3],
    [2, 1, 1, 4],
    [1, 1, 1, 5],
    [40, 1, 1, 7],
    [1, 1, 1, 8],
    [2, 1, 1, 11],
    [1, 1, 1, 13],
    [1, 1, 1, 16],
    [6, 1, 1, 16],
    [2, 1, 1, 17],
    [1, 1, 1, 30],
    [3, 1, 1, 32],
    [1, 1, 1, 60],
    [2, 1, 1, 64],
    [1, 1, 5, 6],
    [2, 3, 4, 5],
    [1, 17, 1, 8],
    [0, 1, 1, 16],
];

const INVERSE: &[[u64; 4]] = &[
    [2, 1, 1, 1],
    [1, 1, 1, 12],
    [5, 1, 1, 16],
    [1, 1, 1, 32],
    [2, 1, 1, 37],
    [3, 1, 1, 64],
    [2, 1, 1, 128],
    [1, 1, 1, 256],
    [2, 1, 6, 35],
    [1, 4, 5, 19],
];

const REAL: &[[u64; 4]] = &[
    [1, 1, 1, 1],
    [2, 1, 1, 2],
    [1, 1, 1, 3],
    [2, 1, 1, 4],
    [1, 1, 1, 9],
    [1, 1, 1, 30],
    [40, 1, 1, 64],
    [1, 1, 1, 37],
    [2, 1, 1, 74],
    [1, 1, 1, 128],
    [1, 1, 1, 135],
    [3, 1, 1, 400],
    [2, 1, 1, 512],
    [1, 1, 1, 1024],
    [2, 1, 6, 8],
    [1, 1, 17, 15],
    [1, 3, 4, 10],
    [1, 2, 1, 7],
];

/// Longer ones, last because they take longest.
const LONG: &[[u64; 4]] = &[
    [1, 1, 1, 127],
    [1, 1, 1, 128],
    [1, 1, 1, 243],
    [1, 1, 1, 256],
    [2, 1, 1, 272],
    [3, 1, 1, 400],
    [1, 1, 1, 512],
    [2, 1, 16, 17],
    [1, 1, 37, 3],
    [1, 8, 19, 6],
    [1, 1, 1, 1000],
    [1, 1, 1, 1001],
    [1, 1, 1, 1021],
    [2, 1, 1, 1024],
    [1, 1, 64, 64],
    [1, 1, 1, 4096],
];
