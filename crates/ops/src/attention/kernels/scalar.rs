//! The formula as it stands: the kernel that does every case anywhere.
//!
//! Idea: for each query all scores, their maximum, the exponentials, then the weighted values. 4
//! flops for each pair of a query and a key in each of `d` columns; every query reads all keys
//! and values that it sees. The workspace holds one row of scores and one of sums.

use crate::attention::definition::Problem;
use crate::blocks::made::{Made, typed};
use crate::blocks::scratch::elements_mut;
use crate::blocks::stored::Stored;
use proofmark_contract::{Call, KernelError};

/// The kernel.
pub(crate) static SCALAR: Made = Made {
    workspace: |case, _, _| {
        let problem = Problem::of(case);
        (problem.keys + problem.width) * size_of::<f32>()
    },
    ..Made::scalar("all scores of a query, then its softmax, then the weighted values", |call| {
        typed!(call.case.dtype, run(call))
    })
};

fn run<T: Stored>(call: &mut Call<'_>) -> Result<(), KernelError> {
    let problem = Problem::of(call.case);
    let [q, k, v] = [0, 1, 2].map(|operand| call.inputs[operand].rows::<T>());
    let (q, k, v) = (q?, k?, v?);
    let mut o = call.outputs[0].rows_mut::<T>()?;
    let count = problem.keys + problem.width;
    let (scores, sums) =
        elements_mut::<f32>(call.workspace, count, "workspace")?.split_at_mut(problem.keys);
    let scale = problem.scale as f32;
    for row in 0..problem.rows() {
        let (query, first) = problem.place(row);
        let visible = problem.visible(query);
        let scores = &mut scores[visible.clone()];
        for (score, key) in scores.iter_mut().zip(visible.clone()) {
            let terms = q.row(row).iter().zip(k.row(first + key));
            *score = scale * terms.map(|(q, k)| q.widen() * k.widen()).sum::<f32>();
        }
        // NaN is passed over here and kept by the exponentials.
        let max = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        // Where every score is -infinity nothing is subtracted: all weights are 0.
        let max = if max == f32::NEG_INFINITY { 0.0 } else { max };
        scores.iter_mut().for_each(|score| *score = (*score - max).exp());
        sums.fill(0.0);
        for (weight, key) in scores.iter().zip(visible.clone()) {
            for (sum, v) in sums.iter_mut().zip(v.row(first + key)) {
                *sum += weight * v.widen();
            }
        }
        let total: f32 = scores.iter().sum();
        let factor = if total == 0.0 { 0.0 } else { 1.0 / total };
        for (o, sum) in o.row_mut(row).iter_mut().zip(&*sums) {
            *o = T::narrow(sum * factor);
        }
    }
    Ok(())
}
