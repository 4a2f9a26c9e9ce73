//! The definition of block-scaled fp8 products: axes, attributes and operands.

use proofmark_contract::{
    Attribute, AttributeKind, Axis, AxisRole, BadCase, Definition, Operand, Role, Signature,
};
use proofmark_terms::{Case, DType};

/// The op.
#[derive(Debug)]
pub(super) struct MatmulFp8Block;

/// A case's sizes and attributes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Problem {
    /// Rows of the output.
    pub(super) m: usize,
    /// Columns of the output.
    pub(super) n: usize,
    /// Terms of each sum.
    pub(super) k: usize,
    /// Terms, and rows of the right operand, that share a scale.
    pub(super) block: usize,
    /// The left operand is quantised on the way.
    pub(super) is_quantised: bool,
}

impl Problem {
    /// Reads a case that the op's signature accepted.
    pub(super) fn of(case: &Case) -> Problem {
        let size = |axis| case.size(axis).unwrap_or(0) as usize;
        Problem {
            m: size("m"),
            n: size("n"),
            k: size("k"),
            block: BLOCK.int(case) as usize,
            is_quantised: ACTIVATIONS.word(case) == "quantised",
        }
    }

    /// Blocks beside each other.
    pub(super) fn across(&self) -> usize {
        self.k.div_ceil(self.block)
    }

    /// Where the right operand stands; its scales follow.
    pub(super) fn right(&self) -> usize {
        if self.is_quantised { 1 } else { 2 }
    }
}

const AXES: &[Axis] = &[
    Axis { name: "m", meaning: "rows of a and c", role: AxisRole::Sequence, default: 512 },
    Axis { name: "n", meaning: "columns of c", role: AxisRole::Dimension, default: 512 },
    Axis { name: "k", meaning: "terms of each sum", role: AxisRole::Dimension, default: 512 },
];

const BLOCK: Attribute = Attribute {
    name: "block",
    meaning: "terms, and rows of b, that share a scale: 128, 256 or 512",
    kind: AttributeKind::Int { low: 128, high: 512, default: 128 },
};
const ACTIVATIONS: Attribute = Attribute {
    name: "activations",
    meaning: "a is given in e4m3 with scales, or in bf16 and quantised on the way",
    kind: AttributeKind::Word { words: &["given", "quantised"], default: "given" },
};

const ATTRIBUTES: &[Attribute] = &[BLOCK, ACTIVATIONS];

impl Definition for MatmulFp8Block {
    fn name(&self) -> &'static str {
        "matmul_fp8_block"
    }

    fn summary(&self) -> &'static str {
        "c[m,n] = sum over k of a[m,k] * b[n,k], e4m3 with a scale for each block"
    }

    fn axes(&self) -> &'static [Axis] {
        AXES
    }

    fn attributes(&self) -> &'static [Attribute] {
        ATTRIBUTES
    }

    fn dtypes(&self) -> &'static [DType] {
        &[DType::F32, DType::Bf16]
    }

    fn signature(&self, case: &Case) -> Result<Signature, BadCase> {
        let problem = Problem::of(case);
        let Problem { m, n, k, block, is_quantised } = problem;
        if !matches!(block, 128 | 256 | 512) {
            let message = format!("a block has 128, 256 or 512 terms, not {block}");
            return Err(BadCase::Contradiction(message));
        }
        let across = problem.across();
        let mut operands = if is_quantised {
            vec![Operand::new("a", Role::Input, DType::Bf16, &[m, k])]
        } else {
            vec![
                Operand::new("a", Role::Input, DType::F8e4m3, &[m, k]),
                Operand::new("scale_a", Role::Input, DType::F32, &[m, across]).dense(),
            ]
        };
        let scales = [n.div_ceil(block), across];
        operands.push(Operand::new("b", Role::Weight, DType::F8e4m3, &[n, k]));
        operands.push(Operand::new("scale_b", Role::Weight, DType::F32, &scales).dense());
        operands.push(Operand::new("c", Role::Output, case.dtype, &[m, n]));
        Ok(Signature::new(operands))
    }
}
