//! The crate `matrixmultiply` as a peer.

#[path = "../../abi.rs"]
mod abi;

use abi::{Call, Info, Peer};
use std::sync::LazyLock;

static INFO: LazyLock<Info> =
    LazyLock::new(|| abi::info::<MatrixMultiply>(concat!(env!("CARGO_PKG_VERSION"), "\0")));

struct MatrixMultiply;

impl Peer for MatrixMultiply {
    const BUILD: &std::ffi::CStr =
        c"cargo release, features default and threading, no target-cpu, at most 4 threads";
    const HAS_AVX512: bool = true;

    fn supports(call: &Call) -> Result<(), String> {
        call.take_matmul()
    }

    fn run(call: &Call) -> Result<(), String> {
        for product in call.products() {
            let (left, right, result) = (product.left, product.right_strides, product.result);
            // SAFETY: sizes and strides are those of the operands behind the pointers.
            unsafe {
                matrixmultiply::sgemm(
                    product.m,
                    product.k,
                    product.n,
                    1.0,
                    left.0,
                    left.1,
                    1,
                    product.right,
                    right.0,
                    right.1,
                    0.0,
                    result.0,
                    result.1,
                    1,
                );
            }
        }
        Ok(())
    }

    /// The crate reads the variable at its first product and keeps to it: a process has the number
    /// that it was loaded with.
    fn set_threads(threads: usize) {
        // SAFETY: called by the one thread of a process that has started no other yet, or later,
        // when nothing reads the variable again.
        unsafe { std::env::set_var("MATMUL_NUM_THREADS", threads.to_string()) };
    }
}

/// The interface's one export.
#[unsafe(no_mangle)]
pub extern "C" fn proofmark_peer() -> *const Info {
    &raw const *INFO
}
