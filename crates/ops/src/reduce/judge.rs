//! What the judge knows of a reduction: work, limits, what the gate tries, laws.

use super::definition::{AXIS, CORRECTION, Problem, Reduction};
use super::oracle;
use crate::blocks::row::{Shape, edge_cases};
use proofmark_contract::{
    Filling, Law, Limits, Op, Portfolio, Signature, Specials, Truth, Values, Want, check_case,
};
use proofmark_schema::Work;
use proofmark_tensor::Fill;
use proofmark_terms::{AttrValue, Case, DType};

/// What the judge knows of a member.
pub(super) struct Judged {
    /// Operations for one term.
    pub(super) flops: u64,
    /// The truth about one output.
    pub(super) truth: oracle::Formula,
    /// Whether every right kernel is exact on integers, for this many terms.
    pub(super) exact_on_ints: fn(usize) -> bool,
    /// The largest number that x may hold, for this many terms.
    pub(super) largest: fn(DType, usize) -> f64,
    /// Where the formula has its own dangers.
    pub(super) fills: &'static [Fill],
    /// Whether there is a result of no terms that a test can see.
    pub(super) takes_nothing: bool,
    /// Its laws.
    pub(super) laws: &'static [Law],
}

impl Op for Reduction {
    fn work(&self, case: &Case) -> Work {
        let (problem, elements) = (Problem::of(case), Shape::of(case).elements());
        let size = self.output.unwrap_or(case.dtype).size();
        Work {
            flops: self.judged.flops * elements,
            bytes_read: elements * case.dtype.size() as u64,
            bytes_written: (problem.outputs() * size) as u64,
            transcendentals: 0,
        }
    }

    fn reduction(&self, case: &Case) -> u64 {
        Problem::of(case).terms() as u64
    }

    fn oracle(&self, case: &Case, inputs: &Values, _output: usize, want: &Want) -> Truth {
        oracle::truth(self.judged.truth, &Problem::of(case), inputs.of(0), want)
    }

    /// Sums: the default limits, where of a few outputs the greatest error is all that there is.
    /// Places and largest elements are defined to the bit.
    fn limits(&self, case: &Case) -> Limits {
        let usual = Limits::default();
        match (self.is_exact, Problem::of(case).outputs()) {
            (true, _) => Limits { q_max: 0.0, q_rms: 0.0, structured: 0.0, ..usual },
            (false, 0..30) => Limits { q_rms: usual.q_max, ..usual },
            (false, _) => usual,
        }
    }

    fn portfolio(&self, case: &Case, signature: &Signature) -> Portfolio {
        let all = |fill: &Fill| Filling::uniform(signature, fill);
        let mut portfolio = Portfolio::standard(signature);
        if Problem::of(case).outputs() == 1 {
            // The one sum may be near zero by chance, and hide what is wrong with it.
            portfolio.zero_mean[0] = all(&Fill::Offset { mean: 0.25 });
        }
        if (self.judged.exact_on_ints)(Problem::of(case).terms()) {
            // Sums of 65536 of them are exact in f32; many are equal.
            portfolio.exact.push(all(&Fill::Ints { magnitude: 15, density: 1.0 }));
        }
        portfolio.structured.push(all(&Fill::Subnormal));
        portfolio.structured.extend(self.judged.fills.iter().map(all));
        portfolio
    }

    fn specials(&self, case: &Case, _signature: &Signature) -> Specials {
        let largest = (self.judged.largest)(case.dtype, Problem::of(case).terms());
        Specials::standard(&[0], case.dtype, largest)
    }

    fn laws(&self) -> &'static [Law] {
        self.judged.laws
    }

    fn proof_cases(&self, dtype: DType) -> Vec<Case> {
        let case = |&(axis, [b, s, d]): &(&str, [u64; 3])| {
            let case = Case::new(self.name, dtype).axis("b", b).axis("s", s).axis("d", d);
            case.attr(AXIS.name, AttrValue::Word(axis.to_owned()))
        };
        let mut cases = edge_cases(self.name, dtype);
        cases.extend(SHAPES.iter().map(case));
        if self.attributes.len() > 1 {
            let sample = |case: Case| case.attr(CORRECTION.name, AttrValue::Int(1));
            cases.extend([("d", [2, 3, 33]), ("s", [2, 5, 17])].iter().map(case).map(sample));
        }
        let is_seen = |case: &Case| {
            let problem = Problem::of(case);
            self.judged.takes_nothing || problem.terms() > 0 || problem.outputs() == 0
        };
        cases.retain(|case| is_seen(case) && check_case(self, case).is_ok());
        cases
    }
}

/// In addition to rows of every length: columns around a vector's end, terms around a group's,
/// enough of both to be cut into blocks and pieces, rows enough for the test of bias, and no terms.
const SHAPES: &[(&str, [u64; 3])] = &[
    ("d", [1, 1, 20_011]),
    ("s", [2, 3, 1]),
    ("s", [1, 7, 17]),
    ("s", [2, 8, 33]),
    ("s", [33, 19, 15]),
    ("s", [1, 129, 64]),
    ("s", [1, 1100, 5]),
    ("s", [2, 40, 600]),
    ("s", [2, 0, 5]),
    ("b", [3, 2, 17]),
    ("b", [1, 3, 16]),
    ("b", [17, 40, 5]),
    ("b", [9, 2, 513]),
    ("b", [1030, 1, 3]),
    ("all", [2, 3, 7]),
    ("all", [1, 5, 129]),
    ("all", [3, 2, 4097]),
    ("all", [2, 0, 3]),
];
