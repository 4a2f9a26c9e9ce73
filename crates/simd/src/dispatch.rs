//! Enters a body with the token of a chosen instruction-set level.

use crate::{Body, Scalar};
use proofmark_terms::Isa;

/// Runs `body` compiled for `isa`.
///
/// The body is entered through a function that enables the level's target features, so a body
/// whose `run` is `#[inline(always)]` is compiled with them throughout. The compiler ends that
/// function with `vzeroupper`, so no caller pays for dirty upper halves.
///
/// # Panics
///
/// Panics if this machine does not have `isa`: ask [`crate::available`] first.
#[inline]
pub fn dispatch<B: Body>(isa: Isa, body: B) -> B::Output {
    match isa {
        Isa::Scalar => body.run(Scalar::new()),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => {
            let token = crate::Avx2::new().unwrap_or_else(|| unavailable(isa));
            // SAFETY: the token exists only where avx2, fma and f16c were detected.
            unsafe { enter_avx2(token, body) }
        }
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => {
            let token = crate::Avx512::new().unwrap_or_else(|| unavailable(isa));
            // SAFETY: the token exists only where avx512f, bw, dq, vl and the Avx2 set were
            // detected.
            unsafe { enter_avx512(token, body) }
        }
        #[cfg(not(target_arch = "x86_64"))]
        Isa::Avx2 | Isa::Avx512 => unavailable(isa),
    }
}

/// As [`dispatch`], compiled with the level's products of bytes too.
///
/// # Panics
///
/// Panics where [`crate::has_byte_dot`] is false.
#[inline]
pub fn dispatch_byte_dot<B: Body>(isa: Isa, body: B) -> B::Output {
    assert!(crate::has_byte_dot(isa), "instruction set {isa} has no products of bytes here");
    match isa {
        Isa::Scalar => body.run(Scalar::new()),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => {
            let token = crate::Avx2::new().unwrap_or_else(|| unavailable(isa));
            // SAFETY: the token proves its set, and avxvnni was just asked for.
            unsafe { enter_avx2_byte_dot(token, body) }
        }
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => {
            let token = crate::Avx512::new().unwrap_or_else(|| unavailable(isa));
            // SAFETY: the token proves its set, and avx512vnni was just asked for.
            unsafe { enter_avx512_byte_dot(token, body) }
        }
        #[cfg(not(target_arch = "x86_64"))]
        Isa::Avx2 | Isa::Avx512 => unavailable(isa),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,avxvnni")]
fn enter_avx2_byte_dot<B: Body>(token: crate::Avx2, body: B) -> B::Output {
    body.run(token)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
fn enter_avx512_byte_dot<B: Body>(token: crate::Avx512, body: B) -> B::Output {
    body.run(token)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
fn enter_avx2<B: Body>(token: crate::Avx2, body: B) -> B::Output {
    body.run(token)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
fn enter_avx512<B: Body>(token: crate::Avx512, body: B) -> B::Output {
    body.run(token)
}

#[cold]
#[inline(never)]
fn unavailable(isa: Isa) -> ! {
    panic!("instruction set {isa} is not available here: the best is {}", crate::detect())
}
