//! What the judge knows of the product of two vectors: work, limits, what the gate tries, laws.

use super::definition::{Dot, Problem};
use super::oracle;
use proofmark_contract::{
    Filling, Law, Observed, Op, Portfolio, Signature, Specials, Truth, Values, Want,
};
use proofmark_schema::Work;
use proofmark_tensor::Fill;
use proofmark_terms::{Case, DType};

impl Op for Dot {
    fn work(&self, case: &Case) -> Work {
        let Problem { batch, sequence, length } = Problem::of(case);
        let (rows, terms) = ((batch * sequence) as u64, (batch * sequence * length) as u64);
        Work {
            flops: 2 * terms,
            bytes_read: 2 * terms * case.dtype.size() as u64,
            bytes_written: 4 * rows,
            transcendentals: 0,
        }
    }

    fn sums_products(&self) -> bool {
        true
    }

    fn reduction(&self, case: &Case) -> u64 {
        Problem::of(case).length as u64
    }

    fn oracle(&self, case: &Case, inputs: &Values, _output: usize, want: &Want) -> Truth {
        oracle::truth(&Problem::of(case), inputs.of(0), inputs.of(1), want)
    }

    fn portfolio(&self, _case: &Case, signature: &Signature) -> Portfolio {
        let mut portfolio = Portfolio::standard(signature);
        let all = |fill: Fill| Filling::uniform(signature, &fill);
        // Sums of 65536 such products are exact in f32.
        portfolio.exact.push(all(Fill::Ints { magnitude: 15, density: 1.0 }));
        portfolio.structured.push(all(Fill::Normal).with(0, Fill::Subnormal));
        portfolio
    }

    /// `largest` leaves room for a product with the largest of normal numbers and the sum of all.
    fn specials(&self, case: &Case, _signature: &Signature) -> Specials {
        Specials::standard(&[0, 1], case.dtype, case.dtype.largest() / 64.0)
    }

    fn laws(&self) -> &'static [Law] {
        LAWS
    }

    fn proof_cases(&self, dtype: DType) -> Vec<Case> {
        let case =
            |&[b, s, d]: &[u64; 3]| Case::new("dot", dtype).axis("b", b).axis("s", s).axis("d", d);
        SHAPES.iter().map(case).collect()
    }
}

/// Every length around a vector and its multiples, rows enough for the test of bias, empty axes,
/// and rows that are split within.
const SHAPES: &[[u64; 3]] = &[
    [1, 1, 1],
    [2, 3, 2],
    [1, 3, 7],
    [2, 2, 15],
    [1, 4, 16],
    [2, 2, 17],
    [1, 3, 31],
    [2, 1, 33],
    [1, 5, 63],
    [1, 3, 64],
    [5, 1, 65],
    [40, 1, 127],
    [1, 3, 129],
    [2, 3, 509],
    [1, 3, 4097],
    [1, 1, 20_011],
    [1, 3, 0],
    [0, 4, 16],
];

const LAWS: &[Law] = &[
    Law {
        name: "commutes",
        statement: "exchanging x and y changes nothing, on integers that sum exactly",
        change: |_, inputs, _| {
            inputs.tensors.swap(0, 1);
            true
        },
        holds: |_, before, after| same(before, after, |_| false),
    },
    Law {
        name: "rows_are_independent",
        statement: "with 0 in one row of x its sum is 0 and every other stays",
        change: |case, inputs, seed| {
            let Problem { length, .. } = Problem::of(case);
            let row = seed as usize % (inputs.of(0).len() / length.max(1)).max(1);
            inputs.tensors[0].iter_mut().skip(row * length).take(length).for_each(|x| *x = 0.0);
            length > 0
        },
        holds: |case, before, after| {
            let length = Problem::of(case).length.max(1);
            let rows: Vec<&[f64]> = after.inputs.of(0).chunks(length).collect();
            let is_zeroed = |i: usize| rows[i].iter().all(|&x| x == 0.0);
            let zeroed = (0..rows.len()).find(|&i| is_zeroed(i) && after.outputs[0][i] != 0.0);
            if let Some(i) = zeroed {
                return Err(format!("sum {i} of zeros is {:e}", after.outputs[0][i]));
            }
            same(before, after, is_zeroed)
        },
    },
];

fn same(
    before: Observed<'_>,
    after: Observed<'_>,
    is_changed: impl Fn(usize) -> bool,
) -> Result<(), String> {
    let pairs = before.outputs[0].iter().zip(&after.outputs[0]).enumerate();
    for (i, (old, new)) in pairs.filter(|(i, _)| !is_changed(*i)) {
        if old != new {
            return Err(format!("sum {i} was {old:e} and is {new:e}"));
        }
    }
    Ok(())
}
