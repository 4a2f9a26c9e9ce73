//! The simd kernel on several threads, by heads of keys and blocks of queries.
//!
//! Idea: rows are independent, and tasks are cut by the case alone, so the bits do not depend on
//! the number of threads. An idle thread takes the next task, the longest first, because tasks
//! differ in length under a mask. Each thread has its own scratch memory; traffic, flops and
//! registers are those of the simd kernel.

use super::tiled;
use crate::attention::products;
use crate::blocks::made::Made;
use crate::blocks::tuned;
use proofmark_contract::PartUnit;

/// Multiply-adds that keep a thread busy for longer than the pool's hand-over takes.
const GRAIN: usize = 1 << 15;

/// The kernel.
pub(crate) static PARALLEL: Made = Made {
    supports: |case, _| tiled::supports(case),
    workspace: tiled::workspace_bytes,
    ..Made::parallel("the simd kernel, heads and blocks of queries shared out to threads", |call| {
        let size = products(call.case);
        tiled::run(call, tuned::parts(&call.case.op, call.threads, size, GRAIN))
    })
    .tuned(PartUnit::MultiplyAdds(products))
};
