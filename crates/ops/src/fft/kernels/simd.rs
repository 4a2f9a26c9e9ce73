//! Vectors of columns on one thread, one source for every instruction-set level.
//!
//! Idea: n points are a matrix of about √n rows. Its columns are transformed side by side in the
//! lanes of vectors, multiplied by factors, transposed, and transformed again. Results leave in
//! order, and stages never shuffle. Lengths with a prime factor above 13 are a convolution of
//! smooth length (Bluestein). An even number of reals is transformed as half as many complex
//! numbers. Columns along y and x are lanes as they lie. Reads and writes every point twice, and a
//! factor each; lines of 64 points stay in registers where vectors have sixteen lanes.

use super::whole;
use crate::blocks::made::Made;

/// The kernel.
pub(crate) static SIMD: Made = Made {
    prepared: whole::prepared_bytes,
    prepare: whole::prepare,
    workspace: |case, isa, _| whole::workspace_bytes(case, isa, 1),
    ..Made::simd("columns of a matrix in lanes, twice; any length", |call| whole::run(call, 1))
};
