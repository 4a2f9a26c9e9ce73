//! The definition of the Fourier transform: operands, work, what the gate tries.

use super::{laws, oracle};
use proofmark_contract::{
    Attribute, AttributeKind, Axis, AxisRole, BadCase, Law, Op, Operand, Portfolio, Role,
    Signature, Specials, Truth, Values, Want,
};
use proofmark_schema::{AttrValue, Case, DType, Work};

/// The op.
#[derive(Debug)]
pub(super) struct Fft;

/// What is transformed into what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Complex numbers into complex numbers.
    Complex,
    /// Reals into the half of their spectrum that says it all.
    FromReal,
    /// Half a spectrum into reals.
    ToReal,
}

/// A case's sizes and ways.
#[derive(Clone, Copy, Debug)]
pub(super) struct Problem {
    /// Transforms.
    pub(super) batch: usize,
    /// Points along the slowest axis.
    pub(super) x: usize,
    /// Points along the axis between.
    pub(super) y: usize,
    /// Points along the fastest axis; of reals, as many reals.
    pub(super) z: usize,
    /// What into what.
    pub(super) kind: Kind,
    /// With positive exponents, and divided by the number of points.
    pub(super) is_inverse: bool,
}

impl Problem {
    /// Reads a case that the op's signature accepted.
    pub(super) fn of(case: &Case) -> Problem {
        let size = |axis| case.size(axis).unwrap_or(0) as usize;
        let kind = match case.word("kind", "c2c") {
            "r2c" => Kind::FromReal,
            "c2r" => Kind::ToReal,
            _ => Kind::Complex,
        };
        let is_inverse = kind == Kind::ToReal || case.word("direction", "forward") == "inverse";
        Problem { batch: size("b"), x: size("x"), y: size("y"), z: size("z"), kind, is_inverse }
    }

    /// Complex numbers along z.
    pub(super) fn bins(&self) -> usize {
        if self.kind == Kind::Complex { self.z } else { self.z / 2 + 1 }
    }

    /// Complex numbers of a transform.
    pub(super) fn spectrum(&self) -> usize {
        self.x * self.y * self.bins()
    }

    /// Points of a transform.
    pub(super) fn points(&self) -> usize {
        self.x * self.y * self.z
    }

    /// What results are multiplied by.
    pub(super) fn scale(&self) -> f64 {
        if self.is_inverse { 1.0 / self.points() as f64 } else { 1.0 }
    }

    /// Floats of a line along z, read and written.
    pub(super) fn line_floats(&self) -> [usize; 2] {
        match self.kind {
            Kind::Complex => [2 * self.z; 2],
            Kind::FromReal => [self.z, 2 * self.bins()],
            Kind::ToReal => [2 * self.bins(), self.z],
        }
    }

    /// Floats of a transform, read and written.
    pub(super) fn batch_floats(&self) -> [usize; 2] {
        self.line_floats().map(|floats| self.x * self.y * floats)
    }
}

const AXES: &[Axis] = &[
    Axis { name: "b", meaning: "transforms", role: AxisRole::Batch, default: 1 },
    Axis { name: "x", meaning: "points, slowest", role: AxisRole::Sequence, default: 1 },
    Axis { name: "y", meaning: "points, between", role: AxisRole::Sequence, default: 1 },
    Axis { name: "z", meaning: "points, fastest", role: AxisRole::Dimension, default: 1024 },
];

const ATTRIBUTES: &[Attribute] = &[
    Attribute {
        name: "kind",
        meaning: "complex to complex, reals to half a spectrum, or back",
        kind: AttributeKind::Word(&["c2c", "r2c", "c2r"]),
        default: "c2c",
    },
    Attribute {
        name: "direction",
        meaning: "of c2c; r2c is forward and c2r inverse",
        kind: AttributeKind::Word(&["forward", "inverse"]),
        default: "forward",
    },
];

impl Op for Fft {
    fn name(&self) -> &'static str {
        "fft"
    }

    fn summary(&self) -> &'static str {
        "X[k] = Σ x[j] · exp(−2πi·jk/n) along x, y and z"
    }

    fn edges(&self) -> &'static [&'static str] {
        &[
            "NaN or an infinity makes numbers of its own transform non-finite, any or all of them",
            "magnitudes up to 2^64 are exact to the bound; beyond, sums inside may overflow",
            "c2r does not read the imaginary parts of bins that are real: 0, and the middle one",
            "subnormal numbers count; the sign of a zero is free",
        ]
    }

    fn axes(&self) -> &'static [Axis] {
        AXES
    }

    fn attributes(&self) -> &'static [Attribute] {
        ATTRIBUTES
    }

    fn dtypes(&self) -> &'static [DType] {
        &[DType::F32]
    }

    fn signature(&self, case: &Case) -> Result<Signature, BadCase> {
        let problem = Problem::of(case);
        let Problem { batch, x, y, z, kind, .. } = problem;
        if problem.points() == 0 {
            return Err(BadCase::Contradiction("a transform has a point on every axis".to_owned()));
        }
        if kind != Kind::Complex && case.get("direction").is_some() {
            let message = "only c2c has a direction: r2c is forward and c2r inverse";
            return Err(BadCase::Contradiction(message.to_owned()));
        }
        let bins = [batch, x, y, problem.bins(), 2];
        let reals = [batch, x, y, z];
        let (from, to): (&[usize], &[usize]) = match kind {
            Kind::Complex => (&bins, &bins),
            Kind::FromReal => (&reals, &bins),
            Kind::ToReal => (&bins, &reals),
        };
        // Complex numbers without gaps, as every library has them.
        Ok(Signature::new(vec![
            Operand::new("x", Role::Input, case.dtype, from).dense(),
            Operand::new("y", Role::Output, case.dtype, to).dense(),
        ]))
    }

    /// The convention 5·n·log2 n, and half of it of reals.
    fn work(&self, case: &Case) -> Work {
        let problem = Problem::of(case);
        let points = problem.points() as f64;
        let each = if problem.kind == Kind::Complex { 5.0 } else { 2.5 };
        let flops = (each * points * points.log2()).round() as u64;
        let batch = problem.batch as u64;
        let [read, written] = problem.batch_floats().map(|floats| 4 * floats as u64);
        Work {
            flops: batch * flops,
            bytes_read: batch * read,
            bytes_written: batch * written,
            transcendentals: 0,
        }
    }

    /// Errors are measured by the norm of the whole, which has its growth in it.
    fn reduction(&self, _case: &Case) -> u64 {
        1
    }

    fn oracle(&self, case: &Case, inputs: &Values, _output: usize, want: &Want) -> Truth {
        oracle::truth(&Problem::of(case), inputs.of(0), want)
    }

    fn portfolio(&self, _case: &Case, signature: &Signature) -> Portfolio {
        Portfolio::standard(signature)
    }

    fn specials(&self, case: &Case, _signature: &Signature) -> Specials {
        let mut specials = Specials::standard(&[0], case.dtype, 2f64.powi(64));
        // What they spread to depends on the way that a sum is made; a law says what must be.
        specials.values.retain(|value| value.is_finite());
        specials
    }

    fn laws(&self) -> &'static [Law] {
        laws::LAWS
    }

    fn proof_cases(&self, dtype: DType) -> Vec<Case> {
        let case = |&[b, x, y, z]: &[u64; 4]| {
            Case::new("fft", dtype).axis("b", b).axis("x", x).axis("y", y).axis("z", z)
        };
        let word =
            |case: Case, name: &str, word: &str| case.attr(name, AttrValue::Word(word.to_owned()));
        let mut cases: Vec<Case> = COMPLEX.iter().map(case).collect();
        cases.extend(INVERSE.iter().map(|shape| word(case(shape), "direction", "inverse")));
        cases.extend(REAL.iter().map(|shape| word(case(shape), "kind", "r2c")));
        cases.extend(REAL.iter().map(|shape| word(case(shape), "kind", "c2r")));
        cases.extend(LONG.iter().map(case));
        cases
    }
}

/// Powers of every small prime and products of them, primes small and large, lengths around
/// vectors and their squares, more axes, many transforms (for the test of bias), and none.
const COMPLEX: &[[u64; 4]] = &[
    [1, 1, 1, 1],
    [3, 1, 1, 2],
    [1, 1, 1, 3],
    [2, 1, 1, 4],
    [1, 1, 1, 5],
    [40, 1, 1, 7],
    [1, 1, 1, 8],
    [2, 1, 1, 11],
    [1, 1, 1, 13],
    [1, 1, 1, 16],
    [6, 1, 1, 16],
    [2, 1, 1, 17],
    [1, 1, 1, 30],
    [3, 1, 1, 32],
    [1, 1, 1, 60],
    [2, 1, 1, 64],
    [1, 1, 5, 6],
    [2, 3, 4, 5],
    [1, 17, 1, 8],
    [0, 1, 1, 16],
];

const INVERSE: &[[u64; 4]] = &[
    [2, 1, 1, 1],
    [1, 1, 1, 12],
    [5, 1, 1, 16],
    [1, 1, 1, 32],
    [2, 1, 1, 37],
    [3, 1, 1, 64],
    [2, 1, 1, 128],
    [1, 1, 1, 256],
    [2, 1, 6, 35],
    [1, 4, 5, 19],
];

const REAL: &[[u64; 4]] = &[
    [1, 1, 1, 1],
    [2, 1, 1, 2],
    [1, 1, 1, 3],
    [2, 1, 1, 4],
    [1, 1, 1, 9],
    [1, 1, 1, 30],
    [40, 1, 1, 64],
    [1, 1, 1, 37],
    [2, 1, 1, 74],
    [1, 1, 1, 128],
    [1, 1, 1, 135],
    [3, 1, 1, 400],
    [2, 1, 1, 512],
    [1, 1, 1, 1024],
    [2, 1, 6, 8],
    [1, 1, 17, 15],
    [1, 3, 4, 10],
    [1, 2, 1, 7],
];

/// Longer ones, last because they take longest.
const LONG: &[[u64; 4]] = &[
    [1, 1, 1, 127],
    [1, 1, 1, 128],
    [1, 1, 1, 243],
    [1, 1, 1, 256],
    [2, 1, 1, 272],
    [3, 1, 1, 400],
    [1, 1, 1, 512],
    [2, 1, 16, 17],
    [1, 1, 37, 3],
    [1, 8, 19, 6],
    [1, 1, 1, 1000],
    [1, 1, 1, 1001],
    [1, 1, 1, 1021],
    [2, 1, 1, 1024],
    [1, 1, 64, 64],
    [1, 1, 1, 4096],
];
