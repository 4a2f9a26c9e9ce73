//! Precision-class inference: what a wrong kernel's errors look like.

use crate::compare::score;
use crate::examination::Examination;
use crate::subject::Outputs;
use proofmark_contract::Values;
use proofmark_schema::DType;
use proofmark_schema::precision::InputPrecision;

/// The class under which the same output would be right: the oracle is asked again on inputs
/// rounded to that class, and the class whose truth the output meets is named.
pub(crate) fn infer(
    exam: &Examination<'_>,
    inputs: &Values,
    outputs: &Outputs,
    k: usize,
    limit: f64,
) -> Option<InputPrecision> {
    let operands = exam.signature.operands();
    let is_wide = |dtype: DType| matches!(dtype, DType::F32 | DType::F64);
    if !operands.iter().any(|operand| operand.role.is_read() && is_wide(operand.dtype)) {
        return None;
    }
    let want = exam.want(k);
    let output = &exam.signature.outputs()[k];
    let layout = output.layout();
    let cols = layout.cols();
    let got: Vec<f64> =
        want.indices(layout.rows(), cols).into_iter().map(|i| outputs.values[k][i]).collect();
    InputPrecision::ALL.into_iter().find(|class| {
        let bits = class.significand_bits();
        let mut rounded = inputs.clone();
        for (operand, tensor) in operands.iter().zip(&mut rounded.tensors) {
            if is_wide(operand.dtype) && operand.only.is_none() {
                tensor.iter_mut().for_each(|value| *value = keep_bits(*value, bits));
            }
        }
        let Ok(truth) = exam.truth(&rounded, k, &want) else { return false };
        let score = score(output.dtype, exam.measure(), &truth, &got, want.cols(cols).len());
        score.errors.q_max <= limit
    })
}

/// Rounds to nearest even at `bits` significand bits, with the range of f64.
fn keep_bits(value: f64, bits: u32) -> f64 {
    if !value.is_finite() || value == 0.0 {
        return value;
    }
    let drop = 53 - bits;
    let raw = value.to_bits();
    let half = (1u64 << (drop - 1)) - 1 + ((raw >> drop) & 1);
    f64::from_bits((raw.wrapping_add(half) >> drop) << drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_bits_are_bf16() {
        for value in [0.1, -2.5049, 1e-3, 255.5, 256.9] {
            let by_half = proofmark_tensor::round_to(DType::Bf16, value);
            assert_eq!(keep_bits(value, 8), by_half);
        }
    }
}
