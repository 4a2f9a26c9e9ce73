//! The definition of the change of element type: axes, attributes and operands.

use proofmark_contract::{
    Attribute, AttributeKind, Axis, AxisRole, BadCase, Definition, Operand, Role, Signature,
};
use proofmark_terms::{Case, DType};

/// The op.
#[derive(Debug)]
pub(super) struct Cast;

const AXES: &[Axis] = &[
    Axis { name: "b", meaning: "sequences in the batch", role: AxisRole::Batch, default: 1 },
    Axis { name: "s", meaning: "positions of a sequence", role: AxisRole::Sequence, default: 1 },
    Axis { name: "d", meaning: "elements of a row", role: AxisRole::Dimension, default: 1024 },
];

const TO: Attribute = Attribute {
    name: "to",
    meaning: "the element type of y",
    kind: AttributeKind::Word { words: &["f32", "bf16", "f16"], default: "bf16" },
};

pub(super) const DTYPES: &[DType] = &[DType::F32, DType::Bf16, DType::F16];

/// The element type that a case asks for.
pub(super) fn target(case: &Case) -> DType {
    match TO.word(case) {
        "f32" => DType::F32,
        "f16" => DType::F16,
        _ => DType::Bf16,
    }
}

pub(super) fn shape(case: &Case) -> [usize; 3] {
    ["b", "s", "d"].map(|axis| case.size(axis).unwrap_or(0) as usize)
}

impl Definition for Cast {
    fn name(&self) -> &'static str {
        "cast"
    }

    fn summary(&self) -> &'static str {
        "y = x, rounded to another element type"
    }

    fn edges(&self) -> &'static [&'static str] {
        &[
            "to nearest, ties to even: the result is defined to the bit",
            "NaN and infinities stay; beyond the largest number lies infinity",
            "the sign of zero is kept; subnormals count and are kept",
        ]
    }

    fn axes(&self) -> &'static [Axis] {
        AXES
    }

    fn attributes(&self) -> &'static [Attribute] {
        &[TO]
    }

    fn dtypes(&self) -> &'static [DType] {
        DTYPES
    }

    fn signature(&self, case: &Case) -> Result<Signature, BadCase> {
        let shape = shape(case);
        Ok(Signature::new(vec![
            Operand::new("x", Role::Input, case.dtype, &shape),
            Operand::new("y", Role::Output, target(case), &shape),
        ]))
    }
}
