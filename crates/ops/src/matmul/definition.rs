//! The definition of matmul: axes, attributes and operands.

use crate::blocks::math::Activation;
use proofmark_contract::{
    Attribute, AttributeKind, Axis, AxisRole, BadCase, Definition, Operand, Role, Signature,
};
use proofmark_terms::{Case, DType};

/// The op.
#[derive(Clone, Copy, Debug)]
pub struct Matmul;

/// Positions of the operands in the signature.
pub(super) const LEFT: usize = 0;
pub(super) const RIGHT: usize = 1;

/// The sizes and attributes of a case.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Products in the batch.
    pub(super) batches: usize,
    /// Rows of the result.
    pub(super) m: usize,
    /// Columns of the result.
    pub(super) n: usize,
    /// Terms of each sum.
    pub(super) k: usize,
    /// The right operand is stored `n × k`.
    pub(super) is_transposed: bool,
    /// One right operand serves every batch.
    pub(super) is_shared: bool,
}

impl Shape {
    pub(super) fn of(case: &Case) -> Shape {
        let size = |axis: &str| case.size(axis).unwrap_or(1) as usize;
        Shape {
            batches: size("b"),
            m: size("m"),
            n: size("n"),
            k: size("k"),
            is_transposed: LAYOUT.word(case) == "nt",
            is_shared: SHARED.flag(case),
        }
    }

    /// Rows of the right operand of one batch, as it is stored.
    pub(super) fn right_rows(&self) -> usize {
        if self.is_transposed { self.n } else { self.k }
    }

    /// Columns of the right operand, as it is stored.
    pub(super) fn right_cols(&self) -> usize {
        if self.is_transposed { self.k } else { self.n }
    }

    /// Right operands in memory.
    pub(super) fn right_batches(&self) -> usize {
        if self.is_shared { 1 } else { self.batches }
    }

    /// Position in the dense right operand of term `p` of column `j` in `batch`.
    pub(super) fn right_index(&self, batch: usize, p: usize, j: usize) -> usize {
        let batch = if self.is_shared { 0 } else { batch };
        let within = if self.is_transposed { j * self.k + p } else { p * self.n + j };
        batch * self.k * self.n + within
    }
}

/// What the sums go through.
pub(super) const ACTIVATION: Attribute = Attribute {
    name: "activation",
    meaning: "applied to the sum and its bias, before the one rounding",
    kind: AttributeKind::Word { words: Activation::WORDS, default: "none" },
};
const BIAS: Attribute = Attribute {
    name: "bias",
    meaning: "an operand [n] after A and B is added to every row",
    kind: AttributeKind::Flag { default: false },
};
const LAYOUT: Attribute = Attribute {
    name: "layout",
    meaning: "nn: B is [k,n]; nt: B is [n,k], as linear layers store weights",
    kind: AttributeKind::Word { words: &["nn", "nt"], default: "nn" },
};
const OUT: Attribute = Attribute {
    name: "out",
    meaning: "element type of C: that of A and B, or f32",
    kind: AttributeKind::Word { words: &["same", "f32"], default: "same" },
};
/// Whether one right operand serves every batch.
pub(super) const SHARED: Attribute = Attribute {
    name: "shared",
    meaning: "B has no batch axis: one weight for all batches",
    kind: AttributeKind::Flag { default: false },
};

/// Position of the bias, if the case has one.
pub(super) fn bias_of(case: &Case) -> Option<usize> {
    BIAS.flag(case).then_some(RIGHT + 1)
}

/// The element type of the result.
pub(super) fn output_dtype(case: &Case) -> DType {
    if OUT.word(case) == "f32" { DType::F32 } else { case.dtype }
}

impl Definition for Matmul {
    fn name(&self) -> &'static str {
        "matmul"
    }

    fn summary(&self) -> &'static str {
        "C[b,m,n] = activation(sum over k of A[b,m,k] * B[b,k,n] + bias[n])"
    }

    fn axes(&self) -> &'static [Axis] {
        const AXES: [Axis; 4] = [
            Axis { name: "b", meaning: "independent products", role: AxisRole::Batch, default: 1 },
            Axis { name: "m", meaning: "rows of A and C", role: AxisRole::Sequence, default: 512 },
            Axis {
                name: "n",
                meaning: "columns of B and C",
                role: AxisRole::Dimension,
                default: 512,
            },
            Axis {
                name: "k",
                meaning: "terms of each sum",
                role: AxisRole::Dimension,
                default: 512,
            },
        ];
        &AXES
    }

    fn attributes(&self) -> &'static [Attribute] {
        &[ACTIVATION, BIAS, LAYOUT, OUT, SHARED]
    }

    fn dtypes(&self) -> &'static [DType] {
        &[DType::F32, DType::Bf16, DType::F16]
    }

    fn signature(&self, case: &Case) -> Result<Signature, BadCase> {
        let shape = Shape::of(case);
        let right = match (shape.is_transposed, shape.is_shared) {
            (false, true) => vec![shape.k, shape.n],
            (true, true) => vec![shape.n, shape.k],
            (false, false) => vec![shape.batches, shape.k, shape.n],
            (true, false) => vec![shape.batches, shape.n, shape.k],
        };
        let mut operands = vec![
            Operand::new("a", Role::Input, case.dtype, &[shape.batches, shape.m, shape.k]),
            Operand::new("b", Role::Weight, case.dtype, &right),
        ];
        if bias_of(case).is_some() {
            operands.push(Operand::new("bias", Role::Weight, case.dtype, &[shape.n]));
        }
        let result = &[shape.batches, shape.m, shape.n];
        operands.push(Operand::new("c", Role::Output, output_dtype(case), result));
        Ok(Signature::new(operands))
    }
}
