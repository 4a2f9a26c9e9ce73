//! What the judge knows of an elementwise op: work, limits, what the gate tries, laws.

use super::definition::{ALPHA, Elementwise, INPLACE, ROUNDING, Variant, alpha, shape};
use super::oracle;
use proofmark_contract::{
    Filling, Law, Limits, Op, Portfolio, Signature, Specials, Truth, Values, Want,
};
use proofmark_schema::Work;
use proofmark_tensor::Fill;
use proofmark_terms::{AttrValue, Case, DType};

/// What the judge knows of a member.
pub(super) struct Judged {
    /// Operations for one element.
    pub(super) flops: u64,
    /// Exponentials and similar functions for one element.
    pub(super) transcendentals: u64,
    /// The truth about one element.
    pub(super) truth: oracle::Formula,
    /// Greatest q of a right kernel for an output of this type; kernels compute in f32.
    pub(super) limit: fn(DType) -> f64,
    /// Operands on which every right kernel is exact in every type.
    pub(super) exact: fn(&Case) -> Option<Fill>,
    /// Where the formula has its own dangers: fills of the first operand and of the others.
    pub(super) fills: &'static [(Fill, Fill)],
    /// The part of the largest number that operands may have: less than 1 where a step of a right
    /// kernel overflows although the result does not.
    pub(super) reach: f64,
    /// Whether the sign of a zero result matters.
    pub(super) signed_zero: bool,
    /// Its laws.
    pub(super) laws: &'static [Law],
}

impl Op for Elementwise {
    /// The making of random bits is not counted: it is the variant's means, not the formula.
    fn work(&self, case: &Case) -> Work {
        let count: u64 = shape(case).iter().map(|&size| size as u64).product();
        let bytes = count * case.dtype.size() as u64;
        let state = if Variant::of(case).stochastic { 16 } else { 0 };
        Work {
            flops: count * self.judged.flops,
            bytes_read: bytes * self.arity() as u64 + state,
            bytes_written: bytes,
            transcendentals: count * self.judged.transcendentals,
        }
    }

    /// No sum has an order that kernels may choose.
    fn reduction(&self, _case: &Case) -> u64 {
        1
    }

    fn oracle(&self, case: &Case, inputs: &Values, _output: usize, want: &Want) -> Truth {
        let variant = Variant::of(case);
        let operands: Vec<&[f64]> =
            (0..self.arity()).map(|k| inputs.of(variant.position(self.arity(), k))).collect();
        let state = variant.random(self.arity()).map(|position| inputs.of(position));
        let [batch, sequence, row] = shape(case);
        let indices = want.indices(batch * sequence, row);
        oracle::truth(self.judged.truth, alpha(case), &operands, state, &indices)
    }

    /// Nearest: the member's own bound. Stochastic: the result is defined to the bit, so the
    /// truth's scale is 0 and its value the one right number. The gate then measures in units of
    /// the smallest subnormal of the output, which it adds to `u·scale`, and any q above 0 fails.
    fn limits(&self, case: &Case) -> Limits {
        let q = if Variant::of(case).stochastic { 0.0 } else { (self.judged.limit)(case.dtype) };
        Limits { q_max: q, q_rms: q.min(2.0), structured: q, ..Limits::default() }
    }

    fn portfolio(&self, case: &Case, signature: &Signature) -> Portfolio {
        let all = |fill: Fill| Filling::uniform(signature, &fill);
        let mut portfolio = Portfolio::standard(signature);
        portfolio.exact.extend((self.judged.exact)(case).map(all));
        // Without sums there is nothing to grow: the extremes of the range are met everywhere.
        portfolio.structured.push(all(Fill::Subnormal));
        portfolio.structured.push(all(Fill::NearOverflow { fraction: self.judged.reach }));
        let variant = Variant::of(case);
        // Neighbours of very different size: here the second operand only decides the rounding.
        let last = variant.position(self.arity(), self.arity() - 1);
        portfolio.structured.push(all(Fill::Normal).with(last, Fill::Graded { decades: 4.0 }));
        let first = variant.position(self.arity(), 0);
        let own = |(one, others): &(Fill, Fill)| all(others.clone()).with(first, one.clone());
        portfolio.structured.extend(self.judged.fills.iter().map(own));
        portfolio
    }

    /// Up to the largest number of the type, if the formula computes nothing larger than its
    /// result: a result beyond it is infinite by definition.
    fn specials(&self, case: &Case, _signature: &Signature) -> Specials {
        let variant = Variant::of(case);
        let operands: Vec<usize> =
            (0..self.arity()).map(|k| variant.position(self.arity(), k)).collect();
        let standard =
            Specials::standard(&operands, case.dtype, case.dtype.largest() * self.judged.reach);
        Specials { signed_zero: self.judged.signed_zero, ..standard }
    }

    fn laws(&self) -> &'static [Law] {
        self.judged.laws
    }

    fn proof_cases(&self, dtype: DType) -> Vec<Case> {
        let case = |&[b, s, d]: &[u64; 3]| {
            Case::new(self.name, dtype).axis("b", b).axis("s", s).axis("d", d)
        };
        let has = |name: &str| self.attributes.iter().any(|attribute| attribute.name == name);
        let in_place = |case: Case| case.attr("inplace", AttrValue::Flag(true));
        let mut cases: Vec<Case> = SHAPES.iter().map(case).collect();
        if has(INPLACE.name) {
            cases.extend(VARIANT_SHAPES.iter().map(|shape| in_place(case(shape))));
        }
        if has(ALPHA.name) {
            // Exact in every type; rounded to f32.
            for factor in [-0.75, 0.3] {
                let with = |shape| case(shape).attr(ALPHA.name, AttrValue::Real(factor));
                cases.extend(VARIANT_SHAPES.iter().map(with));
            }
        }
        if has(ROUNDING.name) && dtype == DType::Bf16 {
            let word = || AttrValue::Word("stochastic".to_owned());
            let stochastic = |shape| case(shape).attr("rounding", word());
            cases.extend(VARIANT_SHAPES.iter().map(stochastic));
            cases.push(in_place(stochastic(&[2, 3, 65])));
        }
        cases
    }
}

/// Every length around a vector and its multiples, primes, an empty axis, and enough for threads.
const SHAPES: &[[u64; 3]] = &[
    [1, 1, 1],
    [2, 1, 3],
    [1, 3, 7],
    [1, 2, 15],
    [2, 2, 16],
    [1, 3, 17],
    [1, 2, 31],
    [3, 1, 33],
    [1, 2, 63],
    [1, 2, 64],
    [2, 1, 65],
    [1, 40, 127],
    [1, 3, 129],
    [2, 3, 0],
    [0, 4, 16],
    [1, 1, 4097],
    [2, 4, 2053],
];

const VARIANT_SHAPES: &[[u64; 3]] = &[[1, 1, 1], [2, 3, 17], [1, 2, 129], [1, 1, 4097]];
