//! The truth of dropout to the bit, one random block for each element.
#![forbid(unsafe_code)]

use super::definition::Rule;
use proofmark_contract::Truth;
use proofmark_tensor::philox4x32;

/// The truth about the elements at these indices; the f32 product is part of the definition.
pub(super) fn truth(rule: &Rule, x: &[f64], indices: &[usize]) -> Truth {
    let mut truth = Truth::with_capacity(indices.len());
    for &index in indices {
        let block = index / 4;
        let words = philox4x32([block as u32, (block >> 32) as u32, 0, 0], rule.key);
        let is_kept = u64::from(words[index % 4]) >= rule.threshold;
        truth.push(if is_kept { f64::from(x[index] as f32 * rule.factor) } else { 0.0 }, 0.0);
    }
    truth
}
