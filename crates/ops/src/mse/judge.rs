//! What the judge knows of the mean squared error: work, limits, what the gate tries, laws.

use super::definition::{Mse, divisor};
use super::oracle;
use crate::blocks::row::{Shape, edge_cases, same_bits};
use proofmark_contract::{
    Definition, Filling, Law, Op, Portfolio, Signature, Specials, Truth, Values, Want,
};
use proofmark_schema::Work;
use proofmark_tensor::Fill;
use proofmark_terms::{AttrValue, Case, DType};

impl Op for Mse {
    fn work(&self, case: &Case) -> Work {
        let elements = Shape::of(case).elements();
        Work {
            flops: 3 * elements,
            bytes_read: 2 * elements * case.dtype.size() as u64,
            bytes_written: 4,
            transcendentals: 0,
        }
    }

    fn reduction(&self, case: &Case) -> u64 {
        Shape::of(case).elements()
    }

    fn oracle(&self, case: &Case, inputs: &Values, _output: usize, _want: &Want) -> Truth {
        oracle::truth(inputs.of(0), inputs.of(1), divisor(case))
    }

    fn portfolio(&self, case: &Case, signature: &Signature) -> Portfolio {
        let mut portfolio = Portfolio::standard(signature);
        let all = |fill: Fill| Filling::uniform(signature, &fill);
        let is_exact = Shape::of(case).elements() <= 65536 && divisor(case).log2().fract() == 0.0;
        if is_exact {
            // Sums of 65536 squares of at most 16 are exact in f32, and so is a division by a power
            // of two.
            portfolio.exact.push(all(Fill::Ints { magnitude: 8, density: 1.0 }));
        }
        portfolio.structured.push(all(Fill::Offset { mean: 100.0 }));
        portfolio
    }

    /// `largest` is a power of two whose square, 4n times, is at most 2^126.
    fn specials(&self, case: &Case, _signature: &Signature) -> Specials {
        let count = Shape::of(case).elements().max(1);
        let bits = count.next_power_of_two().trailing_zeros() as i32;
        let largest = 2f64.powi((124 - bits) / 2).min(case.dtype.largest());
        Specials::standard(&[0, 1], case.dtype, largest)
    }

    fn laws(&self) -> &'static [Law] {
        LAWS
    }

    fn proof_cases(&self, dtype: DType) -> Vec<Case> {
        let case = |(b, s, d)| Case::new("mse", dtype).axis("b", b).axis("s", s).axis("d", d);
        let sum = |case: Case| case.attr("reduction", AttrValue::Word("sum".to_owned()));
        let mut cases = edge_cases(self.name(), dtype);
        // No test can judge the mean of no elements, because every result is NaN.
        cases.retain(|case| Shape::of(case).elements() > 0);
        cases.push(case((1, 1, 20_011)));
        let sums = [(1, 1, 1), (2, 3, 17), (1, 5, 64), (1, 3, 129), (2, 2, 4097), (1, 3, 0)];
        cases.extend(sums.map(case).map(sum));
        cases
    }
}

const LAWS: &[Law] = &[
    Law {
        name: "symmetric",
        statement: "exchanging x and target changes no bit",
        change: |_, inputs, _| {
            inputs.tensors.swap(0, 1);
            true
        },
        holds: |_, before, after| same_bits(before, after, |_, loss| loss),
    },
    Law {
        name: "no_distance",
        statement: "the loss of the target itself is 0",
        change: |_, inputs, _| {
            inputs.tensors[0] = inputs.of(1).to_vec();
            true
        },
        holds: |_, before, after| same_bits(before, after, |_, _| 0.0),
    },
];
