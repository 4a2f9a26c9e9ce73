//! Processor state that a kernel must hand back as it found it: reading, checking, resetting.
//!
//! What [`upper_state`] reports, measured on a Sapphire Rapids Xeon:
//!
//! | code before | AVX (2) | opmask (5) | ZMM_Hi256 (6) | Hi16_ZMM (7) |
//! |---|---|---|---|---|
//! | wrote `ymm0`, even zeros | set | | | |
//! | wrote `zmm0` | set | | set | |
//! | `vzeroupper` after either | | | | |
//! | wrote `ymm16` or `zmm16` | | | | set |
//! | wrote `k1` | | set | | |
//! | `vzeroupper` after either, or zeroing what was written | | set | | set |
//!
//! So a missing `vzeroupper` shows in [`VECTOR_UPPER`], bits 2 and 6, and only there: in 396
//! million reads across preemptions the two were never set after a `vzeroupper`, and in 246
//! million never clear after a write. Bits 5 and 7 say nothing about a kernel: no calling
//! convention wants them clear, `vzeroupper` and `vzeroall` leave them set, and the C library's
//! own string functions use masks and the registers from 16 up.

use core::arch::asm;
use core::arch::x86_64::{__cpuid, __cpuid_count};
use std::sync::OnceLock;

/// `MXCSR` as a process starts: all exceptions masked, round to nearest even, subnormals kept.
pub const MXCSR_DEFAULT: u32 = 0x1f80;
/// The bits of `MXCSR` that a kernel must hand back: all but the sticky exception flags.
pub const MXCSR_CONTROL_MASK: u32 = 0xffc0;
/// The components of [`upper_state`] that a `vzeroupper` clears: AVX and ZMM_Hi256.
pub const VECTOR_UPPER: u64 = 1 << 2 | 1 << 6;
/// The AMX components of [`upper_state`]: tile configuration and tile data.
pub const TILES: u64 = 1 << 17 | 1 << 18;
/// The x87 control word as a process starts.
pub const X87_CONTROL_DEFAULT: u16 = 0x037f;
/// The x87 tag word with every register empty, as calls and returns require it.
pub const X87_TAGS_EMPTY: u16 = 0xffff;

/// What a kernel could leave changed in the x87 unit, which MMX shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct X87 {
    /// Precision, rounding and exception masks.
    pub control_word: u16,
    /// Two bits per register, 3 for empty; anything but [`X87_TAGS_EMPTY`] means a missing
    /// `emms` or an unbalanced stack.
    pub tag_word: u16,
}

/// The facts from CPUID, which a virtual machine traps: asked once.
struct Abilities {
    xgetbv_in_use: bool,
    avx: bool,
    amx: bool,
}

fn abilities() -> &'static Abilities {
    static ABILITIES: OnceLock<Abilities> = OnceLock::new();
    ABILITIES.get_or_init(|| {
        let highest_leaf = __cpuid(0).eax;
        let os_xsave = __cpuid(1).ecx & 1 << 27 != 0;
        let xgetbv_in_use =
            os_xsave && highest_leaf >= 0xd && __cpuid_count(0xd, 1).eax & 1 << 2 != 0;
        let amx_tile = highest_leaf >= 7 && __cpuid_count(7, 0).edx & 1 << 24 != 0;
        Abilities {
            xgetbv_in_use,
            avx: is_x86_feature_detected!("avx"),
            amx: amx_tile && os_xsave && xgetbv::<0>() & TILES == TILES,
        }
    })
}

/// Reads an extended control register; only called where CPUID says that it exists.
fn xgetbv<const REGISTER: u32>() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: every caller has checked CPUID for the register; it reads registers alone.
    unsafe {
        asm!("xgetbv", in("ecx") REGISTER, out("eax") low, out("edx") high,
            options(nomem, nostack, preserves_flags));
    }
    u64::from(high) << 32 | u64::from(low)
}

/// The floating-point control and status register of SSE, AVX and AVX-512.
pub fn mxcsr() -> u32 {
    let mut value = 0_u32;
    // SAFETY: writes four bytes to a local; every x86-64 processor has the instruction.
    unsafe {
        asm!("stmxcsr [{}]", in(reg) &raw mut value, options(nostack, preserves_flags));
    }
    value
}

/// Sets `MXCSR`, for putting back an earlier value; reserved bits are dropped, because they trap.
///
/// The compiler assumes the default control bits: any others are for code in `asm!` alone, and
/// for tests that leave them behind on purpose.
pub fn set_mxcsr(value: u32) {
    let value = value & 0xffff;
    // SAFETY: reads four bytes of a local; no reserved bit is set.
    unsafe {
        asm!("ldmxcsr [{}]", in(reg) &raw const value, options(nostack, preserves_flags));
    }
}

/// Whether [`upper_state`] can report anything here.
pub fn upper_state_known() -> bool {
    abilities().xgetbv_in_use
}

/// The state components in use (`XGETBV` with `ECX` = 1), 0 where the processor does not say.
///
/// Bits: 2 upper halves of `ymm0..15`, 5 masks, 6 upper halves of `zmm0..15`, 7 `zmm16..31`,
/// 17 and 18 AMX. See [`VECTOR_UPPER`] and [`TILES`] for those worth a check.
pub fn upper_state() -> u64 {
    if upper_state_known() { xgetbv::<1>() } else { 0 }
}

/// The x87 control and tag words, left unchanged.
pub fn x87() -> X87 {
    let mut environment = [0_u32; 7];
    // SAFETY: the environment is 28 bytes. `fnstenv` masks all exceptions as it stores, and
    // `fldenv` puts back what was stored, so the unit is left as found.
    unsafe {
        asm!("fnstenv [{0}]", "fldenv [{0}]", in(reg) environment.as_mut_ptr(),
            options(nostack, preserves_flags));
    }
    X87 { control_word: environment[0] as u16, tag_word: environment[2] as u16 }
}

/// Zeroes the upper halves of the first sixteen vector registers; nothing without AVX.
#[inline(never)]
pub fn vzeroupper() {
    if abilities().avx {
        // SAFETY: AVX was detected; the clobbers name every register it changes.
        unsafe { asm!("vzeroupper", clobber_abi("C"), options(nomem, nostack)) }
    }
}

/// Returns the AMX tiles to their initial state, if they are in use.
pub fn tile_release() {
    if abilities().amx && upper_state() & TILES != 0 {
        // SAFETY: tiles in use mean that the processor has AMX and this thread may use it.
        unsafe { asm!("tilerelease", options(nomem, nostack, preserves_flags)) }
    }
}

/// Restores what a call may rely on: default `MXCSR`, clean upper halves, no live tiles, an
/// empty x87 stack with its default control word.
#[inline(never)]
pub fn reset() {
    set_mxcsr(MXCSR_DEFAULT);
    vzeroupper();
    tile_release();
    if x87() != (X87 { control_word: X87_CONTROL_DEFAULT, tag_word: X87_TAGS_EMPTY }) {
        // SAFETY: no value of ours lives in x87 or MMX registers; the clobbers say so.
        unsafe { asm!("fninit", clobber_abi("C"), options(nomem, nostack)) }
    }
}

/// Asks the kernel to let this process use AMX tile data; false where it is not granted.
pub fn request_amx() -> bool {
    abilities().amx && permit_tile_data()
}

#[cfg(target_os = "linux")]
fn permit_tile_data() -> bool {
    const ARCH_PRCTL: i64 = 158;
    const ARCH_REQ_XCOMP_PERM: u64 = 0x1023;
    const TILE_DATA_COMPONENT: u64 = 18;
    let result: i64;
    // SAFETY: the call takes two numbers and touches no memory of this process; the system-call
    // instruction itself changes `rcx` and `r11`.
    unsafe {
        asm!("syscall", inlateout("rax") ARCH_PRCTL => result, in("rdi") ARCH_REQ_XCOMP_PERM,
            in("rsi") TILE_DATA_COMPONENT, out("rcx") _, out("r11") _, options(nostack));
    }
    result == 0
}

#[cfg(not(target_os = "linux"))]
fn permit_tile_data() -> bool {
    false
}

#[repr(C, align(64))]
struct TileConfig([u8; 64]);

/// Loads a configuration of one 16 x 64-byte tile and zeroes the tile, so that a test can leave
/// tiles live.
///
/// # Safety
///
/// [`request_amx`] must have returned true in this process.
pub unsafe fn load_tile_config_for_tests() {
    let mut config = TileConfig([0; 64]);
    config.0[0] = 1; // palette
    config.0[16] = 64; // bytes in a row of tile 0
    config.0[48] = 16; // rows of tile 0
    // SAFETY: the caller vouches for AMX and the permission to use it; the configuration is 64
    // readable bytes and valid for palette 1.
    unsafe {
        asm!("ldtilecfg [{}]", "tilezero tmm0", in(reg) &raw const config,
            options(nostack, preserves_flags));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs `instruction`, then says which components are in use.
    macro_rules! state_after {
        ($($instruction:literal),+) => {{
            reset();
            // SAFETY: the test has checked that the registers exist; all are clobbered.
            unsafe { asm!($($instruction),+, clobber_abi("C"), options(nomem, nostack)) };
            upper_state()
        }};
    }

    #[test]
    fn upper_halves_left_dirty_are_seen_and_cleared() {
        if !upper_state_known() || !crate::available(proofmark_terms::Isa::Avx2) {
            return;
        }
        reset();
        assert_eq!(upper_state() & VECTOR_UPPER, 0);
        assert_eq!(state_after!("vpcmpeqd ymm0, ymm0, ymm0") & VECTOR_UPPER, 1 << 2);
        vzeroupper();
        assert_eq!(upper_state() & VECTOR_UPPER, 0);
    }

    #[test]
    fn wide_registers_left_dirty_are_seen_and_cleared() {
        if !upper_state_known() || !crate::available(proofmark_terms::Isa::Avx512) {
            return;
        }
        let dirty = state_after!("vpternlogd zmm0, zmm0, zmm0, 255");
        assert_eq!(dirty & VECTOR_UPPER, VECTOR_UPPER);
        reset();
        assert_eq!(upper_state() & VECTOR_UPPER, 0);
        let high_only =
            state_after!("vpternlogd zmm16, zmm16, zmm16, 255", "kxnorw k1, k1, k1", "vzeroupper");
        assert_eq!(high_only & VECTOR_UPPER, 0);
        assert_eq!(high_only & (1 << 5 | 1 << 7), 1 << 5 | 1 << 7);
    }

    #[test]
    fn dispatched_kernels_leave_clean_upper_halves() {
        use crate::{Body, Simd, available, dispatch};
        use proofmark_terms::Isa;

        struct Double<'a>(&'a mut [f32]);
        impl Body for Double<'_> {
            type Output = ();
            #[inline(always)]
            fn run<S: Simd>(self, simd: S) {
                for chunk in self.0.chunks_exact_mut(S::LANES) {
                    let value = simd.load(chunk);
                    simd.store(simd.add(value, value), chunk);
                }
            }
        }

        let mut data = [1.5; 64];
        for isa in Isa::ALL.into_iter().filter(|isa| available(*isa)) {
            reset();
            dispatch(isa, Double(&mut data));
            assert_eq!(upper_state() & VECTOR_UPPER, 0, "{isa}");
        }
    }

    #[test]
    fn control_bits_left_changed_are_seen_and_restored() {
        reset();
        assert_eq!(mxcsr() & MXCSR_CONTROL_MASK, MXCSR_DEFAULT);
        set_mxcsr(MXCSR_DEFAULT | 0x8040);
        assert_eq!(mxcsr(), MXCSR_DEFAULT | 0x8040);
        reset();
        assert_eq!(mxcsr(), MXCSR_DEFAULT);
        set_mxcsr(MXCSR_DEFAULT | 0x003f);
        assert_eq!(mxcsr() & MXCSR_CONTROL_MASK, MXCSR_DEFAULT, "sticky flags are not control");
        reset();
    }

    #[test]
    fn x87_state_left_changed_is_seen_and_restored() {
        let clean = X87 { control_word: X87_CONTROL_DEFAULT, tag_word: X87_TAGS_EMPTY };
        reset();
        assert_eq!(x87(), clean);
        // SAFETY: pushes one value on the empty x87 stack, which is what the test is about.
        unsafe { asm!("fld1", options(nomem, nostack)) };
        assert_ne!(x87().tag_word, X87_TAGS_EMPTY);
        assert_eq!(x87().control_word, X87_CONTROL_DEFAULT);
        reset();
        assert_eq!(x87(), clean);
        let single_precision = 0x007f_u16;
        // SAFETY: reads two bytes of a local; every exception stays masked.
        unsafe { asm!("fldcw [{}]", in(reg) &raw const single_precision, options(nostack)) };
        assert_eq!(x87().control_word, single_precision);
        reset();
        assert_eq!(x87(), clean);
    }

    #[test]
    fn live_tiles_are_seen_and_released() {
        if !request_amx() {
            return;
        }
        reset();
        assert_eq!(upper_state() & TILES, 0);
        // SAFETY: the permission was just granted.
        unsafe { load_tile_config_for_tests() };
        assert_eq!(upper_state() & TILES, TILES);
        reset();
        assert_eq!(upper_state() & TILES, 0);
    }
}
