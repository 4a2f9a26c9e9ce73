//! Checks whether a case fits the free memory, so that a kernel is not blamed for a lack of it.

use crate::EngineError;
use crate::jobs::processors;
use proofmark_contract::{Entry, Signature};
use proofmark_schema::Case;
use proofmark_schema::quantity::Bytes;

/// The least that a proof of a case takes: operands in a worker, and each of their elements as f64
/// for the oracle.
fn needed_bytes(signature: &Signature) -> u64 {
    let elements: u64 = signature.operands().iter().map(|operand| operand.len() as u64).sum();
    signature.bytes() + elements * size_of::<f64>() as u64
}

/// How many proofs of a case may be made at once: one a processor, if memory allows.
pub(crate) fn proofs_at_once(entry: &Entry, case: &Case) -> usize {
    let free_bytes = proofmark_machine::load().available_bytes;
    let Ok(signature) = entry.op.signature(case) else { return 1 };
    fitting(&signature, free_bytes).min(processors())
}

/// How many proofs fit, each with the inputs of several stages and the oracle's answers.
fn fitting(signature: &Signature, free_bytes: u64) -> usize {
    const TIMES_THE_LEAST: u64 = 4;
    let each = TIMES_THE_LEAST * needed_bytes(signature).max(1);
    usize::try_from(free_bytes / each).unwrap_or(usize::MAX).max(1)
}

/// Refuses a case that takes more than is free.
///
/// # Errors
/// With both sizes. Where the machine does not tell what is free, nothing is refused.
pub(crate) fn check_room(entry: &Entry, case: &Case, free_bytes: u64) -> Result<(), EngineError> {
    match lacking(entry, case, free_bytes) {
        Some(sizes) => Err(EngineError::NoRoom { case: case.to_string(), sizes }),
        None => Ok(()),
    }
}

/// What a case takes and what is free, in words, where it takes more.
pub(crate) fn lacking(entry: &Entry, case: &Case, free_bytes: u64) -> Option<String> {
    let needed = needed_bytes(&entry.op.signature(case).ok()?);
    let is_lacking = free_bytes > 0 && needed > free_bytes;
    is_lacking.then(|| format!("needs about {}, {} are free", Bytes(needed), Bytes(free_bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find_op;
    use proofmark_schema::DType;

    #[test]
    fn proofs_are_made_at_once_as_memory_allows_and_one_always() {
        let case = Case::new("softmax", DType::F32).axis("b", 1).axis("s", 2).axis("d", 1000);
        let signature = find_op("softmax").unwrap().op.signature(&case).unwrap();
        let each = 4 * 2 * 2000 * 12;
        for (free_bytes, many) in [(0, 1), (each - 1, 1), (2 * each, 2), (7 * each + 1, 7)] {
            assert_eq!(fitting(&signature, free_bytes), many, "{free_bytes}");
        }
    }

    #[test]
    fn a_case_is_refused_with_both_sizes_where_it_does_not_fit() {
        let entry = find_op("softmax").unwrap();
        let case = Case::new("softmax", DType::F32).axis("b", 1).axis("s", 2).axis("d", 1000);
        // Two operands of 2000 elements, of 4 bytes each and again of 8.
        let needed = 2 * 2000 * 12;
        assert!(check_room(entry, &case, needed).is_ok());
        assert!(check_room(entry, &case, 0).is_ok(), "unknown");
        let error = check_room(entry, &case, needed - 1).unwrap_err();
        assert!(error.to_string().contains("needs about 46.9 KiB, 46.9 KiB are free"), "{error}");
        assert!(error.hint().is_some() && error.severity().is_some());
    }
}
