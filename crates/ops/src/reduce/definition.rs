//! The definition of a reduction: axes, operands, work, limits and what the gate tries.

use super::oracle;
use crate::blocks::row::{Shape, axes, edge_cases};
use proofmark_contract::{
    Attribute, AttributeKind, Axis, BadCase, Filling, Law, Limits, Op, Operand, Portfolio, Role,
    Signature, Specials, Truth, Values, Want, check_case,
};
use proofmark_schema::{AttrValue, Case, DType, Work};
use proofmark_tensor::Fill;

/// A member's definition.
pub(super) struct Reduction {
    /// Its name.
    pub(super) name: &'static str,
    /// Its formula.
    pub(super) summary: &'static str,
    /// What it makes of special values, a rule each.
    pub(super) edges: &'static [&'static str],
    /// The attributes it has, of those below.
    pub(super) attributes: &'static [Attribute],
    /// The element type of y, where it is not that of x.
    pub(super) output: Option<DType>,
    /// Operations for one term.
    pub(super) flops: u64,
    /// Whether results are defined to the bit.
    pub(super) is_exact: bool,
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

/// Which axis is reduced.
pub(super) const AXIS: Attribute = Attribute {
    name: "axis",
    meaning: "the axis that is reduced and that y lacks, or all of them",
    kind: AttributeKind::Word(&["d", "s", "b", "all"]),
    default: "d",
};

/// What the variance's divisor is less than the count.
pub(super) const CORRECTION: Attribute = Attribute {
    name: "correction",
    meaning: "what is taken from the count before it divides: 0 of a population, 1 of a sample",
    kind: AttributeKind::Int { low: 0, high: 1 },
    default: "0",
};

/// The reduced axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    /// Elements of a row.
    D,
    /// Rows of a sequence.
    S,
    /// Sequences.
    B,
    /// Everything.
    All,
}

/// A case's sizes and attributes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Problem {
    /// Sequences, positions, elements of a row.
    pub(super) sizes: [usize; 3],
    /// The reduced axis.
    pub(super) over: Over,
    /// What the variance's count is lessened by.
    pub(super) correction: f64,
}

impl Problem {
    /// Reads a case that the op's signature accepted.
    pub(super) fn of(case: &Case) -> Problem {
        let over = match case.word(AXIS.name, AXIS.default) {
            "s" => Over::S,
            "b" => Over::B,
            "all" => Over::All,
            _ => Over::D,
        };
        let correction = case.real(CORRECTION.name, 0.0);
        Problem { sizes: Shape::of(case).sizes, over, correction }
    }

    /// The shape of y.
    pub(super) fn shape(&self) -> Vec<usize> {
        let [b, s, d] = self.sizes;
        match self.over {
            Over::D => vec![b, s],
            Over::S => vec![b, d],
            Over::B => vec![s, d],
            Over::All => vec![1],
        }
    }

    /// Elements of y.
    pub(super) fn outputs(&self) -> usize {
        self.shape().iter().product()
    }

    /// Terms of each element of y.
    pub(super) fn terms(&self) -> usize {
        let [b, s, d] = self.sizes;
        match self.over {
            Over::D => d,
            Over::S => s,
            Over::B => b,
            Over::All => b * s * d,
        }
    }

    /// Where a term of an output stands in x, padding not counted.
    pub(super) fn flat(&self, output: usize, term: usize) -> usize {
        let [_, s, d] = self.sizes;
        match self.over {
            Over::D => output * d + term,
            Over::S => (output / d * s + term) * d + output % d,
            Over::B => term * s * d + output,
            Over::All => term,
        }
    }
}

const AXES: &[Axis] = &axes(1024);

impl Op for Reduction {
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn edges(&self) -> &'static [&'static str] {
        self.edges
    }

    fn axes(&self) -> &'static [Axis] {
        AXES
    }

    fn attributes(&self) -> &'static [Attribute] {
        self.attributes
    }

    fn dtypes(&self) -> &'static [DType] {
        &[DType::F32, DType::Bf16, DType::F16]
    }

    fn signature(&self, case: &Case) -> Result<Signature, BadCase> {
        let problem = Problem::of(case);
        if self.output.is_some() && problem.terms() == 0 && problem.outputs() > 0 {
            let message = "there is no place of the largest of no elements".to_owned();
            return Err(BadCase::Contradiction(message));
        }
        let dtype = self.output.unwrap_or(case.dtype);
        Ok(Signature::new(vec![
            Operand::new("x", Role::Input, case.dtype, &problem.sizes),
            Operand::new("y", Role::Output, dtype, &problem.shape()).dense(),
        ]))
    }

    fn work(&self, case: &Case) -> Work {
        let (problem, elements) = (Problem::of(case), Shape::of(case).elements());
        let size = self.output.unwrap_or(case.dtype).size();
        Work {
            flops: self.flops * elements,
            bytes_read: elements * case.dtype.size() as u64,
            bytes_written: (problem.outputs() * size) as u64,
            transcendentals: 0,
        }
    }

    fn reduction(&self, case: &Case) -> u64 {
        Problem::of(case).terms() as u64
    }

    fn oracle(&self, case: &Case, inputs: &Values, _output: usize, want: &Want) -> Truth {
        oracle::truth(self.truth, &Problem::of(case), inputs.of(0), want)
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
        if (self.exact_on_ints)(Problem::of(case).terms()) {
            // Sums of 65536 of them are exact in f32; many are equal.
            portfolio.exact.push(all(&Fill::Ints { magnitude: 15, density: 1.0 }));
        }
        portfolio.structured.push(all(&Fill::Subnormal));
        portfolio.structured.extend(self.fills.iter().map(all));
        portfolio
    }

    fn specials(&self, case: &Case, _signature: &Signature) -> Specials {
        let largest = (self.largest)(case.dtype, Problem::of(case).terms());
        Specials::standard(&[0], case.dtype, largest)
    }

    fn laws(&self) -> &'static [Law] {
        self.laws
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
            self.takes_nothing || problem.terms() > 0 || problem.outputs() == 0
        };
        cases.retain(|case| is_seen(case) && check_case(self, case).is_ok());
        cases
    }
}

/// Beside rows of every length: columns around a vector's end, terms around a group's, enough of
/// both to be cut into blocks and pieces, rows enough for the test of bias, and no terms.
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
