//! The slow truth of a change of element type: the nearest number of the type, ties to even.
#![forbid(unsafe_code)]

use proofmark_contract::Truth;
use proofmark_tensor::round_to;
use proofmark_terms::DType;

/// The truth about the elements `indices`. The scale is 0: the result is defined to the bit.
pub(super) fn truth(to: DType, x: &[f64], indices: &[usize]) -> Truth {
    let mut truth = Truth::with_capacity(indices.len());
    indices.iter().for_each(|&index| truth.push(round_to(to, x[index]), 0.0));
    truth
}
