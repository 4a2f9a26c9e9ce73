//! What the judge knows of the transpose: work, limits, what the gate tries, laws.

use super::definition::{Problem, Transpose};
use super::oracle;
use proofmark_contract::{
    Filling, Law, Limits, Op, Portfolio, Signature, Specials, Truth, Values, Want,
};
use proofmark_schema::Work;
use proofmark_tensor::Fill;
use proofmark_terms::{Case, DType};

impl Op for Transpose {
    /// A move is counted as an operation.
    fn work(&self, case: &Case) -> Work {
        let Problem { batch, m, n } = Problem::of(case);
        let count = (batch * m * n) as u64;
        let bytes = count * case.dtype.size() as u64;
        Work { flops: count, bytes_read: bytes, bytes_written: bytes, transcendentals: 0 }
    }

    fn reduction(&self, _case: &Case) -> u64 {
        1
    }

    fn oracle(&self, case: &Case, inputs: &Values, _output: usize, want: &Want) -> Truth {
        oracle::truth(&Problem::of(case), inputs.of(0), want)
    }

    /// The truth is the one right number, so any q above 0 fails.
    fn limits(&self, _case: &Case) -> Limits {
        Limits { q_max: 0.0, q_rms: 0.0, structured: 0.0, ..Limits::default() }
    }

    fn portfolio(&self, _case: &Case, signature: &Signature) -> Portfolio {
        let all = |fill: Fill| Filling::uniform(signature, &fill);
        let mut portfolio = Portfolio::standard(signature);
        portfolio.exact.push(all(Fill::Ints { magnitude: 256, density: 1.0 }));
        portfolio.structured.push(all(Fill::Subnormal));
        portfolio.structured.push(all(Fill::NearOverflow { fraction: 1.0 }));
        portfolio
    }

    fn specials(&self, case: &Case, _signature: &Signature) -> Specials {
        let standard = Specials::standard(&[0], case.dtype, case.dtype.largest());
        Specials { signed_zero: true, ..standard }
    }

    fn laws(&self) -> &'static [Law] {
        &[Law {
            name: "signs_are_moved",
            statement: "negating x negates y, to the bit",
            change: |_, inputs, _| {
                inputs.tensors[0].iter_mut().for_each(|x| *x = -*x);
                true
            },
            holds: |_, before, after| {
                let mut pairs = before.outputs[0].iter().zip(&after.outputs[0]);
                match pairs.position(|(old, new)| (-old).to_bits() != new.to_bits()) {
                    Some(i) => Err(format!("element {i} became {:e}", after.outputs[0][i])),
                    None => Ok(()),
                }
            },
        }]
    }

    fn proof_cases(&self, dtype: DType) -> Vec<Case> {
        let case = |&[b, m, n]: &[u64; 3]| {
            Case::new("transpose", dtype).axis("b", b).axis("m", m).axis("n", n)
        };
        SHAPES.iter().map(case).collect()
    }
}

/// Sizes around a tile and a block, one row, one column, many small matrices, empty axes.
const SHAPES: &[[u64; 3]] = &[
    [1, 1, 1],
    [2, 1, 7],
    [1, 7, 1],
    [1, 8, 8],
    [2, 8, 9],
    [1, 9, 8],
    [1, 16, 16],
    [1, 17, 15],
    [2, 15, 33],
    [1, 31, 64],
    [1, 65, 31],
    [1, 64, 64],
    [3, 33, 16],
    [1, 127, 65],
    [40, 3, 5],
    [1, 150, 201],
    [2, 0, 5],
    [1, 5, 0],
    [0, 3, 4],
];
