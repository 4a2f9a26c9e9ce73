//! When a kernel goes parallel: built-in constants, replaced once at start by tuned ones.
//!
//! A constant is the size of one thread's part: a case that is larger wakes two threads, one that
//! is larger than two parts a third. `proofmark tune` finds constants for a machine and writes them
//! to a file; a program reads the file as it likes and calls [`set`] before its first kernel.

use crate::{attention, find, matmul};
use proofmark_schema::Case;
use std::sync::OnceLock;

/// Few: they are searched from the front in every call of a parallel kernel.
static TUNED: OnceLock<Vec<(String, usize)>> = OnceLock::new();

/// Why constants were not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TuningError {
    /// There is no such op, or its kernels have no such constant.
    #[error("`{0}` has no tuned constant: leave it out")]
    Unknown(String),
    /// No part is smaller than one.
    #[error("the constant of `{0}` is 0: write 1 to go parallel always")]
    Zero(String),
    /// They were set before.
    #[error("tuned constants are set already: set them once, before the first kernel runs")]
    Again,
}

/// Replaces the built-in constants of these ops, once, for the whole process.
///
/// # Errors
/// If an op is unknown or has no constant, a constant is 0, or constants are set already.
pub fn set(constants: Vec<(String, usize)>) -> Result<(), TuningError> {
    for (op, grain) in &constants {
        if !is_tunable(op) {
            return Err(TuningError::Unknown(op.clone()));
        }
        if *grain == 0 {
            return Err(TuningError::Zero(op.clone()));
        }
    }
    TUNED.set(constants).map_err(|_| TuningError::Again)
}

/// The ops whose parallel kernels take no such constant: each shares out work in its own way.
const UNTUNED: &[&str] = &[
    "conv1d",
    "conv2d",
    "coo_to_csr",
    "csr_to_coo",
    "dot",
    "fft",
    "gru",
    "lstm",
    "matmul_fp8_block",
    "spmm",
    "spmv",
];

/// Whether the kernels of an op take a constant.
pub fn is_tunable(op: &str) -> bool {
    find(op).is_some() && !UNTUNED.contains(&op)
}

/// The size of a case in the unit of its op's constant: multiply-adds of products, elements of
/// everything else. `None` where kernels take no constant.
pub fn size(case: &Case) -> Option<usize> {
    if !is_tunable(&case.op) {
        return None;
    }
    let axis = |name: &str| case.size(name).unwrap_or(1) as usize;
    match case.op.as_str() {
        "attention" => Some(attention::products(case)),
        "matmul" => Some(matmul::products(case)),
        "matmul_int8" | "matmul_q8" => Some(axis("m") * axis("n") * axis("k")),
        op => {
            let signature = find(op)?.op.signature(case).ok()?;
            let length = |operand: &proofmark_contract::Operand| operand.layout().len();
            let written: usize = signature.outputs().iter().map(length).sum();
            let read = signature.inputs().iter().map(length).max().unwrap_or(0);
            Some(written.max(read))
        }
    }
}

/// The size of a thread's part of `op`.
pub(crate) fn grain(op: &str, built_in: usize) -> usize {
    let Some(tuned) = TUNED.get() else { return built_in };
    tuned.iter().find(|(name, _)| name == op).map_or(built_in, |(_, grain)| *grain)
}

/// Threads for a case of this size.
pub(crate) fn parts(op: &str, threads: usize, size: usize, built_in: usize) -> usize {
    threads.min(size.div_ceil(grain(op, built_in))).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_refused_where_they_mean_nothing() {
        let one = |op: &str, grain| set(vec![(op.to_owned(), grain)]);
        assert_eq!(one("soft_max", 1), Err(TuningError::Unknown("soft_max".to_owned())));
        assert_eq!(one("fft", 1), Err(TuningError::Unknown("fft".to_owned())));
        assert_eq!(one("softmax", 0), Err(TuningError::Zero("softmax".to_owned())));
    }

    #[test]
    fn constants_are_set_once_and_the_rest_keep_theirs() {
        set(vec![("softmax".to_owned(), 7)]).unwrap();
        assert_eq!(set(Vec::new()), Err(TuningError::Again));
        assert_eq!((grain("softmax", 2048), grain("rope", 4096)), (7, 4096));
        assert_eq!(parts("softmax", 4, 7, 2048), 1);
        assert_eq!(parts("softmax", 4, 8, 2048), 2);
        assert_eq!(parts("softmax", 4, 800, 2048), 4);
        assert_eq!(parts("softmax", 4, 0, 2048), 1);
    }

    #[test]
    fn sizes_are_multiply_adds_of_products_and_elements_of_the_rest() {
        let size = |case: &str| size(&case.parse().unwrap());
        assert_eq!(size("softmax:f32[b=2,s=3,d=5]"), Some(30));
        assert_eq!(size("matmul:f32[b=2,m=3,n=5,k=7]"), Some(210));
        assert_eq!(size("fft:f32[b=1,n=64]"), None);
        let attention = "attention:f32[b=1,h=2,kv=1,q=8,t=16,d=4]";
        let case: Case = attention.parse().unwrap();
        assert!(find("attention").unwrap().op.signature(&case).is_ok(), "{attention}");
        assert_eq!(size(attention), Some(2 * 8 * 16 * 4 * 2));
    }
}
