//! A tiny op for planted kernels: `y = x`, by rows.

use proofmark_contract::{
    Attribute, Axis, AxisRole, BadCase, Definition, Op, Operand, Role, Signature, Specials, Truth,
    Values, Want,
};
use proofmark_schema::{Case, DType, Work};

pub(crate) struct Copy;

const AXES: &[Axis] = &[
    Axis { name: "r", meaning: "rows", role: AxisRole::Sequence, default: 1 },
    Axis { name: "n", meaning: "elements of a row", role: AxisRole::Dimension, default: 16 },
];

impl Definition for Copy {
    fn name(&self) -> &'static str {
        "copy"
    }
    fn summary(&self) -> &'static str {
        "y = x"
    }
    fn axes(&self) -> &'static [Axis] {
        AXES
    }
    fn attributes(&self) -> &'static [Attribute] {
        &[]
    }
    fn dtypes(&self) -> &'static [DType] {
        &[DType::F32]
    }
    fn signature(&self, case: &Case) -> Result<Signature, BadCase> {
        let size = |axis| case.size(axis).unwrap_or(1) as usize;
        let shape = [size("r"), size("n")];
        Ok(Signature::new(vec![
            Operand::new("x", Role::Input, case.dtype, &shape),
            Operand::new("y", Role::Output, case.dtype, &shape),
        ]))
    }
}

impl Op for Copy {
    fn work(&self, _: &Case) -> Work {
        Work::default()
    }
    fn reduction(&self, _: &Case) -> u64 {
        1
    }
    fn oracle(&self, _: &Case, inputs: &Values, _: usize, want: &Want) -> Truth {
        let x = inputs.of(0);
        let mut truth = Truth::default();
        for at in want.indices(1, x.len()) {
            truth.push(x[at], x[at].abs());
        }
        truth
    }
    fn specials(&self, _: &Case, _: &Signature) -> Specials {
        Specials::none()
    }
    fn proof_cases(&self, dtype: DType) -> Vec<Case> {
        vec![case(1, 16, dtype)]
    }
}

/// `copy:f32[r=…,n=…]`.
pub(crate) fn case(rows: u64, cols: u64, dtype: DType) -> Case {
    Case::new("copy", dtype).axis("r", rows).axis("n", cols)
}
