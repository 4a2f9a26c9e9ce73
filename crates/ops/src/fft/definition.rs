//! The definition of the Fourier transform: axes, attributes and operands.

use proofmark_contract::{
    Attribute, AttributeKind, Axis, AxisRole, BadCase, Definition, Operand, Role, Signature,
};
use proofmark_terms::{Case, DType};

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
        let kind = match KIND.word(case) {
            "r2c" => Kind::FromReal,
            "c2r" => Kind::ToReal,
            _ => Kind::Complex,
        };
        let is_inverse = kind == Kind::ToReal || DIRECTION.word(case) == "inverse";
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

const KIND: Attribute = Attribute {
    name: "kind",
    meaning: "complex to complex, reals to half a spectrum, or back",
    kind: AttributeKind::Word { words: &["c2c", "r2c", "c2r"], default: "c2c" },
};
const DIRECTION: Attribute = Attribute {
    name: "direction",
    meaning: "of c2c; r2c is forward and c2r inverse",
    kind: AttributeKind::Word { words: &["forward", "inverse"], default: "forward" },
};

const ATTRIBUTES: &[Attribute] = &[KIND, DIRECTION];

impl Definition for Fft {
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
        if kind != Kind::Complex && case.get(DIRECTION.name).is_some() {
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
}
