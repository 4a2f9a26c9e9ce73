//! The crate `faer` as a peer.

#[path = "../../abi.rs"]
mod abi;

use abi::{Call, Info, Peer};
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static INFO: LazyLock<Info> =
    LazyLock::new(|| abi::info::<Faer>(concat!(env!("CARGO_PKG_VERSION"), "\0")));
static THREADS: AtomicUsize = AtomicUsize::new(1);

struct Faer;

impl Peer for Faer {
    const BUILD: &std::ffi::CStr =
        c"cargo release, features std and rayon, no target-cpu; a vzeroupper added after each call";
    const HAS_AVX512: bool = true;

    fn supports(call: &Call) -> Result<(), String> {
        call.take_matmul()
    }

    fn run(call: &Call) -> Result<(), String> {
        let parallelism = match THREADS.load(Relaxed) {
            1 => Par::Seq,
            threads => Par::rayon(threads),
        };
        for product in call.products() {
            let (m, n, k) = (product.m, product.n, product.k);
            let (left, right, result) = (product.left, product.right_strides, product.result);
            // SAFETY: sizes and strides are those of the operands behind the pointers, and the
            // result overlaps nothing.
            let (left, right, result) = unsafe {
                (
                    MatRef::from_raw_parts(left.0, m, k, left.1, 1),
                    MatRef::from_raw_parts(product.right, k, n, right.0, right.1),
                    MatMut::from_raw_parts_mut(result.0, m, n, result.1, 1),
                )
            };
            matmul(result, Accum::Replace, left, right, 1.0f32, parallelism);
        }
        clean();
        Ok(())
    }

    fn set_threads(threads: usize) {
        THREADS.store(threads, Relaxed);
    }
}

/// Clears the upper halves of vector registers, which the crate's hand-written loops leave in use:
/// no result is wrong by that, but everything after it that has no AVX would run slower.
fn clean() {
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx") {
        // SAFETY: the processor has it, and no value lives in an upper half across a call.
        unsafe { std::arch::x86_64::_mm256_zeroupper() };
    }
}

/// The interface's one export.
#[unsafe(no_mangle)]
pub extern "C" fn proofmark_peer() -> *const Info {
    &raw const *INFO
}
