//! The ops that this build knows.

use crate::{EngineError, nearest};
use proofmark_contract::Entry;

/// Every op this build knows.
pub fn ops() -> &'static [&'static Entry] {
    proofmark_ops::OPS
}

/// The op of that name, or an error that names the nearest.
///
/// # Errors
/// If there is no such op.
pub fn find_op(name: &str) -> Result<&'static Entry, EngineError> {
    proofmark_ops::find(name).ok_or_else(|| {
        let names: Vec<&str> = ops().iter().map(|entry| entry.op.name()).collect();
        EngineError::UnknownOp {
            name: name.to_owned(),
            nearest: nearest(name, &names).map(str::to_owned),
            known: names.join(", "),
        }
    })
}
