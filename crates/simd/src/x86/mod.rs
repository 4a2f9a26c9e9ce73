//! The x86-64 levels, and the processor state that their code may leave behind.

mod avx2;
mod avx512;
pub mod cache;
#[cfg(feature = "probe")]
pub mod peak;
pub mod state;
#[cfg(feature = "probe")]
pub(crate) mod stream;
pub mod tile;
mod transpose;

pub use avx2::Avx2;
pub use avx512::Avx512;

/// Trait methods that compute on registers alone: no pointer enters, so the token is all the
/// proof that they need.
macro_rules! register_methods {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $result:ty = $body:expr;)*) => {$(
        #[inline(always)]
        fn $name(self, $($argument: $kind),*) -> $result {
            // SAFETY: `self` exists only where its instructions were detected, and the body
            // passes registers, never pointers.
            unsafe { $body }
        }
    )*};
}
use register_methods;
