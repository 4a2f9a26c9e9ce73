//! The loops of [`crate::stream`] on wide vectors. They are written in `asm!`, because a compiler
//! would turn copies into calls and drop reads whose values are unused.

use crate::stream::BLOCK;
use core::arch::asm;
use core::arch::x86_64::_mm_sfence;
use proofmark_schema::probe::Traffic;
use proofmark_terms::Isa;

/// The factor of triads, and what is written.
static VALUES: [f32; 2] = [0.5, 1.0];

/// The arrays of a walk: `times` passes over their first `count` blocks.
struct Walk {
    a: *const f32,
    b: *const f32,
    to: *mut f32,
    count: usize,
    times: usize,
}

/// Walks `times` times over whole blocks; false where this machine has no wide vectors.
///
/// # Panics
/// If the arrays that the traffic needs are not of one length, whole blocks and aligned.
pub(crate) fn walk(traffic: Traffic, a: &[f32], b: &[f32], to: &mut [f32], times: usize) -> bool {
    let isa = crate::detect();
    let blocks = size_of_val(to) / BLOCK;
    let fits = |array: &[f32]| {
        array.len() == to.len() && array.as_ptr().cast::<u8>().align_offset(64) == 0
    };
    assert!(size_of_val(to) == blocks * BLOCK && fits(to));
    assert!(traffic.arrays() < 2 || fits(a));
    assert!(traffic.arrays() < 3 || fits(b));
    if isa == Isa::Scalar {
        return false;
    }
    if blocks > 0 && times > 0 {
        let (a, b, to) = (a.as_ptr(), b.as_ptr(), to.as_mut_ptr());
        let walk = Walk { a, b, to, count: blocks, times };
        // SAFETY: the level was detected, it has FMA; the assertions give the arrays that the
        // traffic reads and writes `blocks` whole blocks each, on lines of the caches.
        unsafe {
            match isa {
                Isa::Avx512 => blocks_of_512_bits(traffic, walk),
                _ => blocks_of_256_bits(traffic, walk),
            }
            // Non-temporal stores, which bypass the caches, are complete only after this fence.
            _mm_sfence();
        }
    }
    true
}

/// One loop: `$line` is what is done to a block.
macro_rules! blocks {
    ($walk:ident, $factor:literal, [$($register:literal)+],
     $($line:expr),+) => {
        asm!(
            concat!("vbroadcastss ", $factor, ", dword ptr [r8]"),
            $(concat!("vbroadcastss ", $register, ", dword ptr [r8 + 4]"),)+
            "3:",
            "mov rdi, r10",
            "mov rsi, r11",
            "mov rdx, rax",
            "mov rcx, r12",
            "2:",
            $($line,)+
            "add rdi, 256",
            "add rsi, 256",
            "add rdx, 256",
            "dec rcx",
            "jnz 2b",
            "dec r9",
            "jnz 3b",
            "vzeroupper",
            in("r8") VALUES.as_ptr(), inout("r9") $walk.times => _, in("r10") $walk.to,
            in("r11") $walk.a, in("rax") $walk.b, in("r12") $walk.count,
            clobber_abi("C"), options(nostack),
        )
    };
}

/// The function of all loops on registers that together hold a block.
macro_rules! walks {
    ($name:ident, $factor:literal, [$($register:literal at $offset:literal),+]) => {
        /// # Safety
        ///
        /// The processor has the registers and FMA; the arrays that the traffic needs have
        /// `count` blocks on lines of the caches; `count` and `times` are not 0.
        unsafe fn $name(traffic: Traffic, walk: Walk) {
            // SAFETY: as the caller vouches; every register is clobbered.
            unsafe {
                match traffic {
                    Traffic::Read => blocks!(walk, $factor, [$($register)+],
                        $(concat!("vmovaps ", $register, ", [rdi + ", $offset, "]")),+),
                    Traffic::Write => blocks!(walk, $factor, [$($register)+],
                        $(concat!("vmovaps [rdi + ", $offset, "], ", $register)),+),
                    Traffic::NtWrite => blocks!(walk, $factor, [$($register)+],
                        $(concat!("vmovntps [rdi + ", $offset, "], ", $register)),+),
                    Traffic::Copy => blocks!(walk, $factor, [$($register)+],
                        $(concat!("vmovaps ", $register, ", [rsi + ", $offset, "]")),+,
                        $(concat!("vmovaps [rdi + ", $offset, "], ", $register)),+),
                    Traffic::NtCopy => blocks!(walk, $factor, [$($register)+],
                        $(concat!("vmovaps ", $register, ", [rsi + ", $offset, "]")),+,
                        $(concat!("vmovntps [rdi + ", $offset, "], ", $register)),+),
                    Traffic::Triad => blocks!(walk, $factor, [$($register)+],
                        $(concat!("vmovaps ", $register, ", [rsi + ", $offset, "]")),+,
                        $(concat!("vfmadd231ps ", $register, ", ", $factor,
                            ", [rdx + ", $offset, "]")),+,
                        $(concat!("vmovaps [rdi + ", $offset, "], ", $register)),+),
                    Traffic::NtTriad => blocks!(walk, $factor, [$($register)+],
                        $(concat!("vmovaps ", $register, ", [rsi + ", $offset, "]")),+,
                        $(concat!("vfmadd231ps ", $register, ", ", $factor,
                            ", [rdx + ", $offset, "]")),+,
                        $(concat!("vmovntps [rdi + ", $offset, "], ", $register)),+),
                }
            }
        }
    };
}

walks!(
    blocks_of_512_bits, "zmm15",
    ["zmm0" at "0", "zmm1" at "64", "zmm2" at "128", "zmm3" at "192"]
);
walks!(
    blocks_of_256_bits, "ymm15",
    ["ymm0" at "0", "ymm1" at "32", "ymm2" at "64", "ymm3" at "96",
     "ymm4" at "128", "ymm5" at "160", "ymm6" at "192", "ymm7" at "224"]
);
