//! Three plain loops.
//!
//! Idea: the formula as it stands, one i32 sum for each element, in the order of the terms. Each
//! term costs 2 operations and reads two bytes.

use super::Operands;
use crate::blocks::made::Made;
use crate::matmul_int8::definition::Problem;
use proofmark_contract::{Call, KernelError};

/// The kernel.
pub(crate) static SCALAR: Made =
    Made::scalar("three plain loops, one i32 sum for each element", run);

fn run(call: &mut Call<'_>) -> Result<(), KernelError> {
    let problem = Problem::of(call.case);
    let operands = Operands::of(&problem, call.inputs, call.outputs)?;
    // SAFETY: there is one block.
    let mut sums = unsafe { operands.block(0..problem.m, 0..problem.n) };
    for i in 0..problem.m {
        let a = operands.left.row(i);
        for j in 0..problem.n {
            let terms = a.iter().zip(operands.right.row(j));
            let sum = terms.map(|(&a, &b)| i32::from(a) * i32::from(b)).sum();
            sums.put(i, j, &[sum]);
        }
    }
    Ok(())
}
