//! Cases that fit: their op, the free memory, and the state of the caches.

use super::room::check_room;
use crate::{EngineError, find_op};
use proofmark_contract::{Entry, Role, check_case, complete_case};
use proofmark_schema::{Cache, Case};

/// The op of a case, and the case with all its attributes.
pub(crate) fn fitting(given: &Case) -> Result<(&'static Entry, Case), EngineError> {
    let entry = find_op(&given.op)?;
    let case = complete_case(entry.op, given);
    check_case(entry.op, &case)
        .map_err(|reason| EngineError::Case { case: case.to_string(), reason })?;
    Ok((entry, case))
}

/// The cases with their ops and all their attributes, if each fits its op, the free memory and the
/// state of the caches.
pub(crate) fn checked(
    cases: &[Case],
    cache: Cache,
) -> Result<Vec<(&'static Entry, Case)>, EngineError> {
    let free_bytes = proofmark_machine::load().available_bytes;
    let check = |case: &Case| {
        let (entry, case) = fitting(case)?;
        check_room(entry, &case, free_bytes)?;
        match inapplicable(cache, entry, &case) {
            Some(reason) => Err(EngineError::Unfit(reason)),
            None => Ok((entry, case)),
        }
    };
    cases.iter().map(check).collect()
}

/// Why a case cannot be measured with the caches in this state, if it cannot.
pub(crate) fn inapplicable(cache: Cache, entry: &Entry, case: &Case) -> Option<String> {
    let signature = entry.op.signature(case);
    let has_weights =
        signature.is_ok_and(|of| of.operands().iter().any(|operand| operand.role == Role::Weight));
    let op = entry.op.name();
    (cache == Cache::WeightsCold && !has_weights)
        .then(|| format!("`{op}` has no weights, so that {cache} does not apply: use cold"))
}
