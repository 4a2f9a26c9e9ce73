//! Tiles of keys with a running softmax, on one thread.
//!
//! Idea: a row of scores is never stored whole. Each tile of keys corrects the maximum, total and
//! sums of the rows that see it. Where few rows share a head of keys, the keys stream past them
//! ([`super::thin`]). Many rows are processed in strips with one row per lane ([`super::strip`]).
//! Both modules state their flops, bytes and registers.

use super::tiled;
use crate::blocks::made::Made;

/// The kernel.
pub(crate) static SIMD: Made = Made {
    supports: |case, _| tiled::supports(case),
    workspace: |case, isa, _| tiled::workspace_bytes(case, isa, 1),
    ..Made::simd("tiles of keys with a running softmax, in vectors", |call| tiled::run(call, 1))
};
