//! The definition of dropout: axes, attributes and operands.

use crate::blocks::row::{Shape, axes};
use proofmark_contract::{
    Attribute, AttributeKind, Axis, BadCase, Definition, Operand, Role, Signature,
};
use proofmark_terms::{Case, DType};

/// The op.
#[derive(Debug)]
pub(super) struct Dropout;

/// What a case's attributes ask for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    /// The part that is dropped.
    pub(super) p: f64,
    /// Words below it are dropped; 2^32 drops all.
    pub(super) threshold: u64,
    /// What kept elements are multiplied with.
    pub(super) factor: f32,
    /// The key of the random words.
    pub(super) key: [u32; 2],
}

impl Rule {
    /// Reads a case that the op's signature accepted.
    pub(super) fn of(case: &Case) -> Rule {
        let (p, seed) = (P.real(case), SEED.int(case).cast_unsigned());
        Rule {
            p,
            threshold: (p * (1u64 << 32) as f64).floor() as u64,
            factor: (1.0 / (1.0 - p)) as f32,
            key: [seed as u32, (seed >> 32) as u32],
        }
    }
}

const AXES: &[Axis] = &axes(1024);

const P: Attribute = Attribute {
    name: "p",
    meaning: "the part that is dropped",
    kind: AttributeKind::Real { low: 0.0, high: 1.0, default: 0.1 },
};
const SEED: Attribute = Attribute {
    name: "seed",
    meaning: "the key of the random words",
    kind: AttributeKind::Int { low: i64::MIN, high: i64::MAX, default: 0 },
};

const ATTRIBUTES: &[Attribute] = &[P, SEED];

impl Definition for Dropout {
    fn name(&self) -> &'static str {
        "dropout"
    }

    fn summary(&self) -> &'static str {
        "y = x / (1 − p) where a random word is at least p · 2^32, else 0"
    }

    fn edges(&self) -> &'static [&'static str] {
        &[
            "a dropped element is +0, whatever it was; kept NaN, infinities and zeros stay",
            "p = 0 keeps everything as it is, p = 1 drops everything",
        ]
    }

    fn axes(&self) -> &'static [Axis] {
        AXES
    }

    fn attributes(&self) -> &'static [Attribute] {
        ATTRIBUTES
    }

    fn dtypes(&self) -> &'static [DType] {
        &[DType::F32, DType::Bf16, DType::F16]
    }

    fn signature(&self, case: &Case) -> Result<Signature, BadCase> {
        let operand = |name, role| Operand::new(name, role, case.dtype, &Shape::of(case).sizes);
        Ok(Signature::new(vec![operand("x", Role::Input), operand("y", Role::Output)]))
    }
}
