//! The kernels of reductions, made for each member.

mod pieces;
mod scalar;
mod source;

use super::members::Member;
use crate::blocks::made::{Made, typed};
use proofmark_contract::{Kernel, PartUnit};

/// The three kernels of a member, best first.
pub(super) const fn all<M: Member<K>, const K: usize>() -> &'static [&'static dyn Kernel] {
    const {
        &[
            &Made {
                workspace: |case, _, threads| pieces::workspace::<K>(case, threads),
                ..Made::parallel("the simd kernel's pieces and blocks on threads", |call| {
                    let threads = call.threads;
                    typed!(call.case.dtype, run::<M, K>(call, threads))
                })
                .tuned(PartUnit::Elements)
            } as &dyn Kernel,
            &Made {
                workspace: |case, _, _| pieces::workspace::<K>(case, 1),
                ..Made::simd("pieces of rows, or blocks of columns by groups of rows", |call| {
                    typed!(call.case.dtype, run::<M, K>(call, 1))
                })
            } as &dyn Kernel,
            &Made::scalar("one term at a time, runs of 64 terms joined", |call| {
                typed!(call.case.dtype, one_by_one::<M, K>(call))
            }) as &dyn Kernel,
        ]
    }
}

use pieces::run;
use scalar::one_by_one;
