//! The op folders: definition, oracle, kernels. A new op is one folder and two lines here.

pub mod blocks;
pub mod elementwise;
mod flawed;
pub mod library;
pub mod matmul;
pub mod rms_norm;
pub mod silu;
pub mod softmax;

use proofmark_contract::Entry;

/// Every op. Help, docs, tests and sweeps are derived from this list.
#[rustfmt::skip] // One line an op.
pub static OPS: &[&Entry] = &[
    &elementwise::ADD,
    &matmul::ENTRY,
    &rms_norm::ENTRY,
    &silu::ENTRY,
    &softmax::ENTRY,
];

/// The op of that name.
pub fn find(op: &str) -> Option<&'static Entry> {
    proofmark_contract::find(OPS, op)
}
