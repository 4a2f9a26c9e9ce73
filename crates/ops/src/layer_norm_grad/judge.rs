//! What the judge knows of layer normalisation's gradient: work, limits, what the gate tries, laws.

use super::definition::{LayerNormGrad, Problem};
use super::oracle;
use crate::blocks::row::{ROWS_ARE_INDEPENDENT, Shape, columns_follow, edge_cases, same_bits};
use proofmark_contract::{
    Definition, Filling, Law, Op, Portfolio, Signature, Specials, Truth, Values, Want,
};
use proofmark_schema::Work;
use proofmark_tensor::Fill;
use proofmark_terms::{AttrValue, Case, DType};

impl Op for LayerNormGrad {
    fn work(&self, case: &Case) -> Work {
        let (shape, size) = (Shape::of(case), case.dtype.size() as u64);
        // Mean and variance 4; products and sums 5; dx 5; dgamma 2, dbeta 1.
        Work {
            flops: 17 * shape.elements(),
            bytes_read: (2 * shape.elements() + shape.length as u64) * size,
            bytes_written: (shape.elements() + 2 * shape.length as u64) * size,
            transcendentals: shape.rows as u64,
        }
    }

    fn reduction(&self, case: &Case) -> u64 {
        let Problem { rows, length, .. } = Problem::of(case);
        rows.max(length) as u64
    }

    fn oracle(&self, case: &Case, inputs: &Values, output: usize, want: &Want) -> Truth {
        let inputs = [0, 1, 2].map(|i| inputs.of(i));
        oracle::truth(&Problem::of(case), inputs, output, want)
    }

    fn portfolio(&self, _case: &Case, signature: &Signature) -> Portfolio {
        let mut portfolio = Portfolio::standard(signature);
        let normal = Filling::uniform(signature, &Fill::Normal);
        let mut add = |operand, fill| {
            portfolio.structured.push(normal.clone().with(operand, fill));
        };
        // Variances around eps show what is done with it; offsets, whether squares are taken of
        // differences.
        add(0, Fill::Uniform { low: -1e-2, high: 1e-2 });
        add(0, Fill::Uniform { low: -1e-3, high: 1e-3 });
        add(0, Fill::Offset { mean: 1e3 });
        add(2, Fill::Offset { mean: 10.0 });
        portfolio
    }

    /// `largest` leaves room for the squares of a row and for products of three.
    fn specials(&self, case: &Case, _signature: &Signature) -> Specials {
        let largest = 2f64.powi(20).min(case.dtype.largest());
        let mut specials = Specials::standard(&[0, 1, 2], case.dtype, largest);
        specials.values.retain(|value| !value.is_infinite());
        specials
    }

    fn laws(&self) -> &'static [Law] {
        LAWS
    }

    fn proof_cases(&self, dtype: DType) -> Vec<Case> {
        let case = |b, s, d, eps| {
            let case = Case::new("layer_norm_grad", dtype).axis("b", b).axis("s", s).axis("d", d);
            case.attr("eps", AttrValue::Real(eps))
        };
        let mut cases = edge_cases(self.name(), dtype);
        // With one element everything but dbeta is 0; with two, dx is only what eps leaves of it.
        // No test could trust either.
        cases.retain(|case| Problem::of(case).length > 2);
        cases.extend([
            case(2, 2, 128, 1e-3),
            case(1, 3, 40, 0.1),
            case(3, 30, 33, 1e-5),
            case(1, 300, 5, 1e-5),
        ]);
        cases
    }
}

const LAWS: &[Law] = &[
    ROWS_ARE_INDEPENDENT,
    columns_follow::<LayerNormGrad>(),
    Law {
        name: "linear_in_dy",
        statement: "doubling and negating dy does the same to all gradients, to the bit",
        change: |case, inputs, _| {
            inputs.tensors[2].iter_mut().for_each(|dy| *dy *= -2.0);
            // Results of f16 may be subnormal, where a doubled one keeps a digit more.
            case.dtype != DType::F16
        },
        holds: |_, before, after| same_bits(before, after, |_, gradient| -2.0 * gradient),
    },
];
