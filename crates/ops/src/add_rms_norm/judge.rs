//! What the judge knows of the normalised sum: work, limits, what the gate tries, laws.

use super::definition::AddRmsNorm;
use super::oracle;
use crate::blocks::row::{ROWS_ARE_INDEPENDENT, Shape, columns_follow, edge_cases, same_bits};
use crate::rms_norm::definition::Problem;
use crate::rms_norm::judge::{specials, variants};
use proofmark_contract::{
    Definition, Filling, Law, Op, Portfolio, Signature, Specials, Truth, Values, Want,
};
use proofmark_schema::Work;
use proofmark_tensor::Fill;
use proofmark_terms::{Case, DType};

impl Op for AddRmsNorm {
    fn work(&self, case: &Case) -> Work {
        let (shape, size) = (Shape::of(case), case.dtype.size() as u64);
        // Sum; square, sum, two products.
        Work {
            flops: 5 * shape.elements(),
            bytes_read: (2 * shape.elements() + shape.length as u64) * size,
            bytes_written: 2 * shape.elements() * size,
            transcendentals: shape.rows as u64,
        }
    }

    fn reduction(&self, case: &Case) -> u64 {
        Problem::of(case).length as u64
    }

    fn oracle(&self, case: &Case, inputs: &Values, output: usize, want: &Want) -> Truth {
        let inputs = [0, 1, 2].map(|i| inputs.of(i));
        oracle::truth(&Problem::of(case), case.dtype, inputs, output, want)
    }

    fn portfolio(&self, case: &Case, signature: &Signature) -> Portfolio {
        let mut portfolio = Portfolio::standard(signature);
        let normal = Filling::uniform(signature, &Fill::Normal);
        let mut add = |fill: Fill| {
            let both = normal.clone().with(0, fill.clone()).with(1, fill);
            portfolio.structured.push(both);
        };
        // Rows whose mean square is near or below eps show what is done with it.
        add(Fill::Uniform { low: -1e-3, high: 1e-3 });
        add(Fill::Uniform { low: -1e-4, high: 1e-4 });
        if Problem::of(case).admits_tiny() {
            add(Fill::Subnormal);
        }
        portfolio.structured.push(normal.with(1, Fill::Offset { mean: 1000.0 }));
        portfolio
    }

    fn specials(&self, case: &Case, _signature: &Signature) -> Specials {
        specials(&Problem::of(case), case.dtype, &[0, 1, 2])
    }

    fn laws(&self) -> &'static [Law] {
        LAWS
    }

    fn proof_cases(&self, dtype: DType) -> Vec<Case> {
        let mut cases = edge_cases(self.name(), dtype);
        cases.extend(variants(self.name(), dtype));
        cases
    }
}

const LAWS: &[Law] = &[
    ROWS_ARE_INDEPENDENT,
    columns_follow::<AddRmsNorm>(),
    Law {
        name: "operands_swap",
        statement: "swapping x and residual changes no bit",
        change: |_, inputs, _| {
            inputs.tensors.swap(0, 1);
            true
        },
        holds: |_, before, after| same_bits(before, after, |_, y| y),
    },
    Law {
        name: "odd",
        statement: "negating x and residual negates both results, to the bit",
        change: |_, inputs, _| {
            inputs.tensors[..2].iter_mut().flatten().for_each(|x| *x = -*x);
            true
        },
        holds: |_, before, after| same_bits(before, after, |_, y| -y),
    },
];
