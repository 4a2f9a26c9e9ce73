//! The slow truth of the normalisation of queries and keys in f64: value and error scale.
#![forbid(unsafe_code)]

use super::definition::Problem;
use crate::rms_norm::oracle;
use proofmark_contract::{Truth, Want};

/// The truth about the wanted elements of one output: an RMS normalisation of its heads.
pub(crate) fn truth(problem: &Problem, output: usize, x: &[f64], w: &[f64], want: &Want) -> Truth {
    oracle::truth(&problem.rows(output), x, w, want)
}
