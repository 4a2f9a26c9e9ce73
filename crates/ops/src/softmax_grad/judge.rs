//! What the judge knows of softmax's gradient: work, limits, what the gate tries, laws.

use super::definition::SoftmaxGrad;
use super::oracle;
use crate::blocks::row::{ROWS_ARE_INDEPENDENT, Shape, columns_follow, edge_cases, same_bits};
use proofmark_contract::{
    Definition, Filling, Law, Op, Portfolio, Signature, Specials, Truth, Values, Want,
};
use proofmark_schema::Work;
use proofmark_tensor::Fill;
use proofmark_terms::{Case, DType};

impl Op for SoftmaxGrad {
    fn work(&self, case: &Case) -> Work {
        let elements = Shape::of(case).elements();
        let bytes = elements * case.dtype.size() as u64;
        // Product, sum; difference, product.
        Work {
            flops: 4 * elements,
            bytes_read: 2 * bytes,
            bytes_written: bytes,
            transcendentals: 0,
        }
    }

    fn reduction(&self, case: &Case) -> u64 {
        Shape::of(case).length as u64
    }

    fn oracle(&self, case: &Case, inputs: &Values, _output: usize, want: &Want) -> Truth {
        let Shape { rows, length, .. } = Shape::of(case);
        oracle::truth(rows, length, [inputs.of(0), inputs.of(1)], want)
    }

    fn portfolio(&self, case: &Case, signature: &Signature) -> Portfolio {
        let mut portfolio = Portfolio::standard(signature);
        let normal = Filling::uniform(signature, &Fill::Normal);
        // What softmax gives: positive, about one over the length.
        let usual = 2.0 / Shape::of(case).length.max(1) as f64;
        let likely = Fill::Uniform { low: 0.0, high: usual };
        portfolio.structured.push(normal.clone().with(0, likely));
        portfolio.structured.push(normal.with(1, Fill::Subnormal));
        if Shape::of(case).length <= 4097 {
            // Sums of products to 64 are exact, and so is what they are multiplied with.
            let ints = |magnitude| Fill::Ints { magnitude, density: 1.0 };
            let exact = Filling::uniform(signature, &ints(8));
            portfolio.exact.push(exact);
        }
        portfolio
    }

    /// `largest` leaves room for the product of three, and for the sum of all.
    fn specials(&self, case: &Case, _signature: &Signature) -> Specials {
        Specials::standard(&[0, 1], case.dtype, 2f64.powi(30).min(case.dtype.largest()))
    }

    fn laws(&self) -> &'static [Law] {
        LAWS
    }

    fn proof_cases(&self, dtype: DType) -> Vec<Case> {
        let mut cases = edge_cases(self.name(), dtype);
        cases.push(Case::new(self.name(), dtype).axis("b", 1).axis("s", 1).axis("d", 20_011));
        cases
    }
}

const LAWS: &[Law] = &[
    ROWS_ARE_INDEPENDENT,
    columns_follow::<SoftmaxGrad>(),
    Law {
        name: "linear_in_dy",
        statement: "doubling and negating dy does the same to dx, to the bit",
        change: |case, inputs, _| {
            inputs.tensors[1].iter_mut().for_each(|dy| *dy *= -2.0);
            // Results of f16 may be subnormal, where a doubled one keeps a digit more.
            case.dtype != DType::F16
        },
        holds: |_, before, after| same_bits(before, after, |_, dx| -2.0 * dx),
    },
];
