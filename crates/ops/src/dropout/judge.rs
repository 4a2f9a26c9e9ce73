//! What the judge knows of dropout: work, limits, what the gate tries, laws.

use super::definition::{Dropout, Rule};
use super::oracle;
use crate::blocks::row::{ROWS_ARE_INDEPENDENT, Shape, edge_cases, same_bits};
use proofmark_contract::{
    Definition, Filling, Law, Limits, Op, Portfolio, Signature, Specials, Truth, Values, Want,
};
use proofmark_schema::Work;
use proofmark_tensor::Fill;
use proofmark_terms::{AttrValue, Case, DType};

impl Op for Dropout {
    /// The making of random words is not counted: it is the op's means, not its formula.
    fn work(&self, case: &Case) -> Work {
        let elements = Shape::of(case).elements();
        let bytes = elements * case.dtype.size() as u64;
        Work { flops: elements, bytes_read: bytes, bytes_written: bytes, transcendentals: 0 }
    }

    fn reduction(&self, _case: &Case) -> u64 {
        1
    }

    fn oracle(&self, case: &Case, inputs: &Values, _output: usize, want: &Want) -> Truth {
        let Shape { rows, length, .. } = Shape::of(case);
        oracle::truth(&Rule::of(case), inputs.of(0), &want.indices(rows, length))
    }

    /// The bits are defined: the truth's scale is 0, and any q above 0 fails.
    fn limits(&self, _case: &Case) -> Limits {
        Limits { q_max: 0.0, q_rms: 0.0, structured: 0.0, ..Limits::default() }
    }

    fn portfolio(&self, _case: &Case, signature: &Signature) -> Portfolio {
        let mut portfolio = Portfolio::standard(signature);
        let all = |fill: Fill| Filling::uniform(signature, &fill);
        portfolio.exact.push(all(Fill::Ints { magnitude: 64, density: 1.0 }));
        portfolio.structured.push(all(Fill::Subnormal));
        portfolio.structured.push(all(Fill::NearOverflow { fraction: 1.0 }));
        portfolio
    }

    fn specials(&self, case: &Case, _signature: &Signature) -> Specials {
        let standard = Specials::standard(&[0], case.dtype, case.dtype.largest());
        Specials { signed_zero: true, ..standard }
    }

    fn laws(&self) -> &'static [Law] {
        LAWS
    }

    fn proof_cases(&self, dtype: DType) -> Vec<Case> {
        let case = |b, s, d, p: f64, seed| {
            let case = Case::new("dropout", dtype).axis("b", b).axis("s", s).axis("d", d);
            case.attr("p", AttrValue::Real(p)).attr("seed", AttrValue::Int(seed))
        };
        let mut cases = edge_cases(self.name(), dtype);
        cases.extend([
            case(1, 3, 40, 0.0, 3),
            case(2, 3, 70, 1.0, 3),
            case(2, 5, 130, 0.5, 1 << 40),
            case(1, 7, 61, 0.9, -1),
            case(1, 33, 99, 0.25, 12_345_678_901),
        ]);
        cases
    }
}

const LAWS: &[Law] = &[
    ROWS_ARE_INDEPENDENT,
    Law {
        name: "mask_is_of_the_seed",
        statement: "the same elements are dropped of other values",
        change: |_, inputs, _| {
            inputs.tensors[0].iter_mut().for_each(|x| *x = -*x);
            true
        },
        holds: |_, before, after| same_bits(before, after, |_, y| -y),
    },
];
