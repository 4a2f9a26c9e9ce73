//! Which instruction-set levels this machine has.

use proofmark_terms::Isa;
use std::sync::OnceLock;

/// The best level of this machine; asked of the processor once.
///
/// It reports what the machine can do and reads no environment variable; a caller that wants a
/// lower level applies that cap itself.
#[inline]
pub fn detect() -> Isa {
    static BEST: OnceLock<Isa> = OnceLock::new();
    *BEST.get_or_init(best)
}

/// Whether this machine has `isa`. Levels are nested: having one means having all below it.
#[inline]
pub fn available(isa: Isa) -> bool {
    isa <= detect()
}

/// Whether level `isa` has an instruction for products of unsigned with signed bytes here, so
/// that [`crate::Simd::dot_u8_i8`] may be used within [`crate::dispatch_byte_dot`].
pub fn has_byte_dot(isa: Isa) -> bool {
    #[cfg(target_arch = "x86_64")]
    let it_has = match isa {
        Isa::Scalar => true,
        Isa::Avx2 => is_x86_feature_detected!("avxvnni"),
        Isa::Avx512 => is_x86_feature_detected!("avx512vnni"),
    };
    #[cfg(not(target_arch = "x86_64"))]
    let it_has = true;
    it_has && available(isa)
}

#[cfg(target_arch = "x86_64")]
fn best() -> Isa {
    // The standard library's detection also asks whether the operating system saves the wide
    // registers, which the CPUID feature bits alone do not say.
    let avx2 = is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("f16c");
    let avx512 = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl");
    match (avx2, avx512) {
        (true, true) => Isa::Avx512,
        (true, false) => Isa::Avx2,
        (false, _) => Isa::Scalar,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn best() -> Isa {
    Isa::Scalar
}
