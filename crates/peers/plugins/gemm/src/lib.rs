//! The crate `gemm` as a peer.

#[path = "../../abi.rs"]
mod abi;

use abi::{Call, Info, Peer};
use gemm::Parallelism;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static INFO: LazyLock<Info> =
    LazyLock::new(|| abi::info::<Gemm>(concat!(env!("CARGO_PKG_VERSION"), "\0")));
static THREADS: AtomicUsize = AtomicUsize::new(1);

struct Gemm;

impl Peer for Gemm {
    const BUILD: &std::ffi::CStr = match cfg!(feature = "avx512") {
        true => c"cargo release, features default and x86-v4, no target-cpu",
        false => c"cargo release, features default, no target-cpu",
    };
    const HAS_AVX512: bool = cfg!(feature = "avx512");

    fn supports(call: &Call) -> Result<(), String> {
        call.take_matmul()
    }

    fn run(call: &Call) -> Result<(), String> {
        let parallelism = match THREADS.load(Relaxed) {
            1 => Parallelism::None,
            threads => Parallelism::Rayon(threads),
        };
        for product in call.products() {
            let (left, right, result) = (product.left, product.right_strides, product.result);
            // SAFETY: sizes and strides are those of the operands behind the pointers.
            unsafe {
                gemm::gemm(
                    product.m,
                    product.n,
                    product.k,
                    result.0,
                    1,
                    result.1,
                    false,
                    left.0,
                    1,
                    left.1,
                    product.right,
                    right.1,
                    right.0,
                    0.0,
                    1.0,
                    false,
                    false,
                    false,
                    parallelism,
                );
            }
        }
        Ok(())
    }

    fn set_threads(threads: usize) {
        THREADS.store(threads, Relaxed);
    }
}

/// The interface's one export.
#[unsafe(no_mangle)]
pub extern "C" fn proofmark_peer() -> *const Info {
    &raw const *INFO
}
