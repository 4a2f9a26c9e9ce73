//! The definition of an elementwise op: axes, attributes and operands.

use proofmark_contract::{
    Attribute, AttributeKind, Axis, AxisRole, BadCase, Definition, Operand, Role, Signature,
};
use proofmark_tensor::Fill;
use proofmark_terms::{Case, DType};

/// A member's definition.
pub(super) struct Elementwise {
    /// Its name.
    pub(super) name: &'static str,
    /// Its formula.
    pub(super) summary: &'static str,
    /// What it makes of special values, a rule each.
    pub(super) edges: &'static [&'static str],
    /// The operands of the formula in order; in place the first is overwritten.
    pub(super) operands: &'static [&'static str],
    /// The result, where it is not in place.
    pub(super) output: &'static str,
    /// The attributes it has, of those below.
    pub(super) attributes: &'static [Attribute],
    /// Whether the f32 result is defined to the bit: the same on every path.
    pub(super) is_exact: bool,
    /// What the judge knows of it.
    #[cfg(feature = "judge")]
    pub(super) judged: super::judge::Judged,
}

/// Overwrites the first operand.
pub(super) const INPLACE: Attribute = Attribute {
    name: "inplace",
    meaning: "the first operand is overwritten with the result",
    kind: AttributeKind::Flag { default: false },
};

/// How results are rounded; only for formulas whose f32 result is defined to the bit.
pub(super) const ROUNDING: Attribute = Attribute {
    name: "rounding",
    meaning: "how the f32 result becomes an element; stochastic is for bf16",
    kind: AttributeKind::Word { words: &["nearest", "stochastic"], default: "nearest" },
};

/// The factor of `axpy`.
pub(super) const ALPHA: Attribute = Attribute {
    name: "alpha",
    meaning: "what x is multiplied with, rounded to f32",
    kind: AttributeKind::Real { low: -1000.0, high: 1000.0, default: 2.0 },
};

/// The factor of a case, as kernels and truth have it.
pub(super) fn alpha(case: &Case) -> f32 {
    ALPHA.real(case) as f32
}

const AXES: &[Axis] = &[
    Axis { name: "b", meaning: "sequences in the batch", role: AxisRole::Batch, default: 1 },
    Axis { name: "s", meaning: "positions of a sequence", role: AxisRole::Sequence, default: 1 },
    Axis { name: "d", meaning: "elements of a row", role: AxisRole::Dimension, default: 1024 },
];

/// What a case's attributes ask for.
#[derive(Clone, Copy)]
pub(super) struct Variant {
    /// The first operand is overwritten.
    pub(super) in_place: bool,
    /// Results are rounded with the bits of the operand `random`.
    pub(super) stochastic: bool,
}

impl Variant {
    /// The variant of a case.
    pub(super) fn of(case: &Case) -> Variant {
        Variant { in_place: INPLACE.flag(case), stochastic: ROUNDING.word(case) == "stochastic" }
    }

    /// Where operand `k` of a formula of `arity` operands stands in the signature.
    pub(super) fn position(self, arity: usize, k: usize) -> usize {
        match (self.in_place, k) {
            (false, k) => k,
            // Written operands follow everything read.
            (true, 0) => arity - 1 + usize::from(self.stochastic),
            (true, k) => k - 1,
        }
    }

    /// Where the random state stands, if the variant has one.
    pub(super) fn random(self, arity: usize) -> Option<usize> {
        self.stochastic.then(|| arity - usize::from(self.in_place))
    }
}

impl Elementwise {
    pub(super) fn arity(&self) -> usize {
        self.operands.len()
    }
}

impl Definition for Elementwise {
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
        let variant = Variant::of(case);
        if variant.stochastic && case.dtype != DType::Bf16 {
            let message = format!("stochastic rounding is defined for bf16, not {}", case.dtype);
            return Err(BadCase::Contradiction(message));
        }
        let shape = shape(case);
        let operand = |name, role| Operand::new(name, role, case.dtype, &shape);
        let first = if variant.in_place { Role::InOut } else { Role::Input };
        let mut operands = vec![operand(self.operands[0], first)];
        operands.extend(self.operands[1..].iter().map(|name| operand(name, Role::Input)));
        if variant.stochastic {
            let state = Operand::new("random", Role::Random, DType::U32, &[4]);
            operands.push(state.dense().only(Fill::RandomBits { bits: 32 }));
        }
        if !variant.in_place {
            operands.push(operand(self.output, Role::Output));
        }
        Ok(Signature::new(operands))
    }
}

pub(super) fn shape(case: &Case) -> [usize; 3] {
    ["b", "s", "d"].map(|axis| case.size(axis).unwrap_or(0) as usize)
}
