//! What the judge knows of the change of element type: work, limits, what the gate tries, laws.

use super::definition::{Cast, DTYPES, shape, target};
use super::oracle;
use crate::blocks::row::ROWS_ARE_INDEPENDENT;
use proofmark_contract::{
    Filling, Law, Limits, Op, Portfolio, Signature, Specials, Truth, Values, Want,
};
use proofmark_schema::Work;
use proofmark_tensor::Fill;
use proofmark_terms::{AttrValue, Case, DType};

impl Op for Cast {
    /// A conversion is counted as an operation.
    fn work(&self, case: &Case) -> Work {
        let count: u64 = shape(case).iter().map(|&size| size as u64).product();
        Work {
            flops: count,
            bytes_read: count * case.dtype.size() as u64,
            bytes_written: count * target(case).size() as u64,
            transcendentals: 0,
        }
    }

    fn reduction(&self, _case: &Case) -> u64 {
        1
    }

    fn oracle(&self, case: &Case, inputs: &Values, _output: usize, want: &Want) -> Truth {
        let [batch, sequence, row] = shape(case);
        oracle::truth(target(case), inputs.of(0), &want.indices(batch * sequence, row))
    }

    /// The truth is the one right number, so any q above 0 fails.
    fn limits(&self, _case: &Case) -> Limits {
        Limits { q_max: 0.0, q_rms: 0.0, structured: 0.0, ..Limits::default() }
    }

    fn portfolio(&self, case: &Case, signature: &Signature) -> Portfolio {
        let all = |fill: Fill| Filling::uniform(signature, &fill);
        let mut portfolio = Portfolio::standard(signature);
        portfolio.exact.push(all(Fill::Ints { magnitude: 256, density: 1.0 }));
        // Ties of bf16 and of f16, in types that have them: odd numbers above their gaps' borders.
        for magnitude in [512, 4096] {
            portfolio.structured.push(all(Fill::Ints { magnitude, density: 1.0 }));
        }
        portfolio.structured.push(all(Fill::Subnormal));
        portfolio.structured.push(all(Fill::NearOverflow { fraction: 1.0 }));
        // Around the least and the largest f16.
        let least = 2f64.powi(-14);
        portfolio.structured.push(all(Fill::Uniform { low: -least, high: least }));
        if case.dtype != DType::F16 {
            portfolio.structured.push(all(Fill::Uniform { low: -70_000.0, high: 70_000.0 }));
        }
        portfolio
    }

    fn specials(&self, case: &Case, _signature: &Signature) -> Specials {
        let standard = Specials::standard(&[0], case.dtype, case.dtype.largest());
        Specials { signed_zero: true, ..standard }
    }

    fn laws(&self) -> &'static [Law] {
        &[ROWS_ARE_INDEPENDENT]
    }

    fn proof_cases(&self, dtype: DType) -> Vec<Case> {
        let case = |(to, [b, s, d]): (&DType, &[u64; 3])| {
            let to = AttrValue::Word(to.to_string());
            Case::new("cast", dtype).axis("b", *b).axis("s", *s).axis("d", *d).attr("to", to)
        };
        DTYPES.iter().flat_map(|to| SHAPES.iter().map(move |shape| case((to, shape)))).collect()
    }
}

/// Every length around a vector and its multiples, an empty axis, and enough for threads.
const SHAPES: &[[u64; 3]] = &[
    [1, 1, 1],
    [2, 1, 3],
    [1, 3, 7],
    [1, 2, 15],
    [2, 2, 16],
    [1, 3, 17],
    [3, 1, 33],
    [1, 40, 65],
    [2, 3, 0],
    [1, 2, 4097],
    [1, 1, 20_011],
];
