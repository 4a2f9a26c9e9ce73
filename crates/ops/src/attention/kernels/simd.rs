//! Tiles of keys with a running softmax, on one thread.
//!
//! Idea: no row of scores is ever whole; each tile of keys corrects the maximum, total and sums
//! of the rows that see it. Few rows a head of keys stream past the keys ([`super::thin`]), many
//! go in strips of one lane a row ([`super::strip`]); both say their flops, bytes and registers.

use super::tiled;
use crate::blocks::made::Made;

/// The kernel.
pub(crate) static SIMD: Made = Made {
    supports: |case, _| tiled::supports(case),
    workspace: |case, isa, _| tiled::workspace_bytes(case, isa, 1),
    ..Made::simd("tiles of keys with a running softmax, in vectors", |call| tiled::run(call, 1))
};
