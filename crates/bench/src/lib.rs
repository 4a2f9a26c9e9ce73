//! A harness for `cargo bench`: kernels written in Rust are proven, then measured side by side.
//!
//! A bench with `harness = false` has functions with [`macro@kernel`], references of its own ops
//! with [`macro@op`], and [`main!`]. `docs/cargo-bench.md` of the repository shows all of it.

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
mod flags;
mod number;
mod place;
mod reference;
mod registry;
mod run;

pub use number::Real;
pub use proofmark_bench_macros::{kernel, op, setup};

/// The `main` of a bench with `harness = false`.
///
/// It compiles the bench a second time as a shared library, which `proofmark` loads into the
/// sandbox of a worker.
#[macro_export]
macro_rules! main {
    () => {
        #[allow(dead_code)]
        fn main() -> ::std::process::ExitCode {
            $crate::__private::main(&$crate::__private::Built {
                library: $crate::__private::library!(),
                package: env!("CARGO_PKG_NAME"),
                bench: env!("CARGO_CRATE_NAME"),
            })
        }
    };
}
