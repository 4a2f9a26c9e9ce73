//! Plain loops: the sum of each block, then its scales.
//!
//! Idea: the formula with the scales taken out of the sums of blocks. Per term 2 flops and a byte
//! of each operand; codes are looked up in a table. One accumulator.

use crate::blocks::made::Made;
use crate::blocks::quantise::Step;
use crate::blocks::scratch::elements_mut;
use crate::blocks::stored::Stored;
use crate::matmul_fp8_block::definition::Problem;
use proofmark_contract::{Call, KernelError};
use proofmark_tensor::{F8E4m3, bf16};
use proofmark_terms::DType;

/// The kernel.
pub(crate) static SCALAR: Made = Made {
    // A row of activations and its scales.
    workspace: |case, _, _| {
        let problem = Problem::of(case);
        (problem.k + problem.across()) * size_of::<f32>()
    },
    ..Made::scalar("plain loops, block by block", |call| match call.case.dtype {
        DType::Bf16 => product::<bf16>(call),
        _ => product::<f32>(call),
    })
};

fn product<C: Stored>(call: &mut Call<'_>) -> Result<(), KernelError> {
    let problem = Problem::of(call.case);
    let Problem { k, block, .. } = problem;
    let across = problem.across();
    let workspace = elements_mut::<f32>(call.workspace, k + across, "workspace")?;
    let (codes, scales) = workspace.split_at_mut(k);
    let b = call.inputs[problem.right()].rows::<F8E4m3>()?;
    let right_scales = call.inputs[problem.right() + 1].slice::<f32>()?;
    let mut c = call.outputs[0].rows_mut::<C>()?;
    for i in 0..c.rows() {
        if problem.is_quantised {
            quantise(call.inputs[0].rows::<bf16>()?.row(i), block, codes, scales);
        } else {
            let a = call.inputs[0].rows::<F8E4m3>()?;
            codes.iter_mut().zip(a.row(i)).for_each(|(code, a)| *code = a.to_f32());
            scales.copy_from_slice(&call.inputs[1].slice::<f32>()?[i * across..][..across]);
        }
        for j in 0..c.cols() {
            let mut sum = 0.0;
            let blocks = codes.chunks(block).zip(b.row(j).chunks(block));
            for (at, (a, b)) in blocks.enumerate() {
                let partial: f32 = a.iter().zip(b).map(|(a, b)| a * b.to_f32()).sum();
                sum += partial * (scales[at] * right_scales[j / block * across + at]);
            }
            c.row_mut(i)[j] = C::narrow(sum);
        }
    }
    Ok(())
}

fn quantise(a: &[bf16], block: usize, codes: &mut [f32], scales: &mut [f32]) {
    let blocks = a.chunks(block).zip(codes.chunks_mut(block)).zip(scales);
    for ((a, codes), scale) in blocks {
        let larger = |most: f32, a: &bf16| {
            let a = a.to_f32().abs();
            if a > most || a.is_nan() { a } else { most }
        };
        let step = Step::symmetric(a.iter().fold(0.0, larger), 448.0);
        *scale = step.scale;
        for (code, a) in codes.iter_mut().zip(a) {
            let nearest = F8E4m3::narrow(a.to_f32() * step.inverse).to_f32();
            *code = if step.is_void { 0.0 } else { nearest };
        }
    }
}
