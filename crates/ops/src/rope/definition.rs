//! The definition of rotary embedding: axes, attributes and operands.

use proofmark_contract::{
    Attribute, AttributeKind, Axis, AxisRole, BadCase, Definition, Operand, Role, Signature,
};
use proofmark_tensor::Fill;
use proofmark_terms::{Case, DType};

/// The op.
#[derive(Debug, Default)]
pub(crate) struct Rope;

/// How frequencies are stretched for contexts longer than a model was trained on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scaling {
    /// Not at all.
    None,
    /// All of them by the factor.
    Linear,
    /// The slow ones by the factor, the fast ones not.
    Llama3,
}

/// A case's sizes and attributes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Problem {
    /// Sequences, positions of each, heads of each position, elements of a head.
    pub(crate) sizes: [usize; 4],
    /// Positions of a sequence.
    pub(crate) positions: usize,
    /// Heads of a position.
    pub(crate) heads: usize,
    /// Elements of a head.
    pub(crate) length: usize,
    /// Elements of a head that are turned, from the first on.
    pub(crate) part: usize,
    /// Pairs are neighbours (gptj), not half of the part apart (neox).
    pub(crate) is_interleaved: bool,
    /// Angles are made of positions, not read.
    pub(crate) is_exact: bool,
    /// One operand is both x and y.
    pub(crate) is_in_place: bool,
    /// The base of the frequencies.
    pub(crate) theta: f64,
    /// How frequencies are stretched.
    pub(crate) scaling: Scaling,
    /// By how much.
    pub(crate) factor: f64,
}

impl Problem {
    /// Reads a case that the op's signature accepted.
    pub(crate) fn of(case: &Case) -> Problem {
        let sizes = ["b", "s", "h", "d"].map(|axis| case.size(axis).unwrap_or(0) as usize);
        let part = match PART.int(case) {
            0 => sizes[3],
            part => part as usize,
        };
        Problem {
            sizes,
            positions: sizes[1],
            heads: sizes[2],
            length: sizes[3],
            part,
            is_interleaved: PAIRING.word(case) == "gptj",
            is_exact: ANGLES.word(case) == "exact",
            is_in_place: INPLACE.flag(case),
            theta: THETA.real(case),
            scaling: match SCALING.word(case) {
                "linear" => Scaling::Linear,
                "llama3" => Scaling::Llama3,
                _ => Scaling::None,
            },
            factor: FACTOR.real(case),
        }
    }

    /// Heads of all positions.
    pub(crate) fn rows(&self) -> usize {
        self.sizes[..3].iter().product()
    }

    /// The pair that element `i` of a head belongs to, and its two elements.
    pub(crate) fn pair_of(&self, i: usize) -> Option<(usize, usize, usize)> {
        let half = self.part / 2;
        if i >= self.part {
            None
        } else if self.is_interleaved {
            Some((i / 2, i / 2 * 2, i / 2 * 2 + 1))
        } else {
            Some((i % half, i % half, i % half + half))
        }
    }
}

const fn axis(name: &'static str, meaning: &'static str, role: AxisRole, default: u64) -> Axis {
    Axis { name, meaning, role, default }
}

const AXES: &[Axis] = &[
    axis("b", "sequences in the batch", AxisRole::Batch, 1),
    axis("s", "positions", AxisRole::Sequence, 128),
    axis("h", "heads", AxisRole::Dimension, 32),
    axis("d", "elements of a head", AxisRole::Dimension, 128),
];

const fn word(
    name: &'static str,
    meaning: &'static str,
    words: &'static [&'static str],
) -> Attribute {
    Attribute { name, meaning, kind: AttributeKind::Word { words, default: words[0] } }
}

const ANGLES: Attribute =
    word("angles", "read as cosines and sines, or made of positions", &["table", "exact"]);
const PAIRING: Attribute =
    word("pairing", "pairs half of the part apart, or neighbours", &["neox", "gptj"]);
const PART: Attribute = Attribute {
    name: "part",
    meaning: "elements of a head that are turned, an even number; 0: all",
    kind: AttributeKind::Int { low: 0, high: 65536, default: 0 },
};
const THETA: Attribute = Attribute {
    name: "theta",
    meaning: "base of the frequencies, for exact angles",
    kind: AttributeKind::Real { low: 1.0, high: 1e9, default: 10_000.0 },
};
const SCALING: Attribute =
    word("scaling", "how frequencies are stretched", &["none", "linear", "llama3"]);
const FACTOR: Attribute = Attribute {
    name: "factor",
    meaning: "by how much they are stretched",
    kind: AttributeKind::Real { low: 1.0, high: 1e4, default: 8.0 },
};
const INPLACE: Attribute = Attribute {
    name: "inplace",
    meaning: "one operand is read and written",
    kind: AttributeKind::Flag { default: false },
};

const ATTRIBUTES: &[Attribute] = &[ANGLES, PAIRING, PART, THETA, SCALING, FACTOR, INPLACE];

impl Definition for Rope {
    fn name(&self) -> &'static str {
        "rope"
    }

    fn summary(&self) -> &'static str {
        "(y₁, y₂) = (x₁·cos − x₂·sin, x₂·cos + x₁·sin) for each pair of a head, by its position"
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
        let problem = Problem::of(case);
        if problem.part % 2 == 1 || problem.part > problem.length {
            let words = format!(
                "{} of {} elements of a head cannot be turned: name an even part of them",
                problem.part, problem.length
            );
            return Err(BadCase::Contradiction(words));
        }
        let x = |name, role| Operand::new(name, role, case.dtype, &problem.sizes);
        let table = |name| {
            Operand::new(name, Role::Input, DType::F32, &[problem.positions, problem.part / 2])
        };
        let mut operands = Vec::new();
        if !problem.is_in_place {
            operands.push(x("x", Role::Input));
        }
        if problem.is_exact {
            let positions =
                Operand::new("positions", Role::Input, DType::U32, &[problem.positions]).dense();
            operands.push(positions.only(Fill::RandomBits { bits: 17 }));
        } else {
            operands.extend([table("cos"), table("sin")]);
        }
        operands.push(match problem.is_in_place {
            true => x("x", Role::InOut),
            false => x("y", Role::Output),
        });
        Ok(Signature::new(operands))
    }
}
