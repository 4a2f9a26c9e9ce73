//! ISA tokens, portable vectors, safe loads; the only `asm!`.
//!
//! A kernel is written once, as a [`Body`] over a [`Simd`] token, and [`dispatch`] compiles it
//! for every instruction-set level and enters the wanted one:
//!
//! ```
//! use proofmark_simd::{Body, Simd, detect, dispatch};
//!
//! struct Sum<'a>(&'a [f32]);
//!
//! impl Body for Sum<'_> {
//!     type Output = f32;
//!
//!     #[inline(always)]
//!     fn run<S: Simd>(self, simd: S) -> f32 {
//!         let mut total = simd.zero();
//!         let mut chunks = self.0.chunks_exact(S::LANES);
//!         for chunk in &mut chunks {
//!             total = simd.add(total, simd.load(chunk));
//!         }
//!         total = simd.add(total, simd.load_partial(chunks.remainder(), 0.0));
//!         simd.reduce_sum(total)
//!     }
//! }
//!
//! assert_eq!(dispatch(detect(), Sum(&[1.0; 37])), 37.0);
//! ```

#[cfg(test)]
mod byte_tests;
mod dispatch;
mod isa;
mod l2;
#[cfg(test)]
mod memory_tests;
mod scalar;
#[cfg(feature = "probe")]
pub mod stream;
#[cfg(test)]
mod tests;
mod vector;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(not(target_arch = "x86_64"))]
pub mod cache;
#[cfg(all(feature = "probe", not(target_arch = "x86_64")))]
pub mod peak;
#[cfg(not(target_arch = "x86_64"))]
pub mod state;
#[cfg(not(target_arch = "x86_64"))]
pub mod tile;
#[cfg(all(feature = "probe", target_arch = "x86_64"))]
pub use x86::peak;
#[cfg(target_arch = "x86_64")]
pub use x86::{cache, state, tile};

pub use dispatch::{dispatch, dispatch_byte_dot};
pub use isa::{available, detect, has_byte_dot};
pub use l2::{USUAL_L2_BYTES, l2_bytes};
pub use scalar::Scalar;
pub use vector::{Body, Simd};
#[cfg(target_arch = "x86_64")]
pub use x86::{Avx2, Avx512};
