//! The simd kernel on the lines, columns or groups of columns of each thread.
//!
//! Idea: as many lines as threads are shared out whole; the two passes of a single long line are
//! shared out by groups of columns. No thread count changes a bit.

use super::whole;
use crate::blocks::made::Made;

/// The kernel.
pub(crate) static PARALLEL: Made = Made {
    prepared: whole::prepared_bytes,
    prepare: whole::prepare,
    workspace: whole::workspace_bytes,
    ..Made::parallel("the simd kernel on lines or columns for each thread", |call| {
        whole::run(call, call.threads)
    })
};
