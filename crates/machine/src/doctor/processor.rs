//! Checks of the processor: how many there are, which instructions they have, what emulates them.

use super::Check;
use crate::kernel_text::read;
use crate::{facts, processor};
use proofmark_schema::Isa;

pub(super) fn cpus() -> Check {
    let count = facts::cpus().len();
    match count {
        0 | 1 => Check::warning(
            "processors",
            "1 processor: the supervisor and the worker share it",
            "give the process a second processor (`taskset`, container limits); times will be \
             noisier until then",
        ),
        _ => Check::fine("processors", format!("{count} processors")),
    }
}

pub(super) fn instruction_sets() -> Check {
    match proofmark_simd::detect() {
        Isa::Scalar => Check::warning(
            "instruction sets",
            "neither AVX2 nor AVX-512",
            "only scalar kernels run here; use a machine with AVX2 to judge vector kernels",
        ),
        Isa::Avx2 => Check::fine("instruction sets", "AVX2 (no AVX-512)"),
        Isa::Avx512 => Check::fine("instruction sets", "AVX2 and AVX-512"),
    }
}

/// Tile registers need the kernel's permission besides the processor's support.
pub(super) fn amx() -> Check {
    let listed = processor::features().iter().any(|feature| feature == "amx_tile");
    match (listed, kernel_grants_tiles()) {
        (true, true) => Check::fine("AMX", "available; a process must ask the kernel for it"),
        (true, false) => Check::warning(
            "AMX",
            "the processor has it, the kernel does not grant it",
            "use Linux 5.16 or later",
        ),
        (false, _) => Check::fine("AMX", "not on this processor"),
    }
}

#[cfg(target_arch = "x86_64")]
fn kernel_grants_tiles() -> bool {
    /// Asks which extended states the kernel supports; changes nothing.
    const ARCH_GET_XCOMP_SUPP: libc::c_int = 0x1021;
    /// The tile data state.
    const TILE_DATA: u64 = 1 << 18;
    let mut supported = 0_u64;
    // SAFETY: the kernel writes one u64 through the pointer, to a local that lives on.
    let answer =
        unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_GET_XCOMP_SUPP, &raw mut supported) };
    answer == 0 && supported & TILE_DATA != 0
}

#[cfg(not(target_arch = "x86_64"))]
fn kernel_grants_tiles() -> bool {
    false
}

/// Emulators give results at speeds that mean nothing; hypervisors are common and noisy.
pub(super) fn emulation() -> Check {
    let mapped = read("/proc/self/maps").unwrap_or_default();
    if mapped.contains("/valgrind/") || mapped.contains("vgpreload") {
        let hint = "proofs hold under valgrind, times do not: run without it to measure";
        return Check::problem("emulation", "this process runs under valgrind", hint);
    }
    match processor::hypervisor().as_deref() {
        None => Check::fine("emulation", "no hypervisor seen"),
        Some("QEMU") => Check::problem(
            "emulation",
            "the processor is emulated (QEMU without acceleration)",
            "proofs hold here, times do not: measure on a real or virtualised processor",
        ),
        Some(name) => Check::warning(
            "emulation",
            format!("virtual machine ({name})"),
            "neighbours may take the processor and caches may be reported wrongly; compare side \
             by side, never with times from another day",
        ),
    }
}

pub(super) fn governor() -> Check {
    match facts::governor().as_deref() {
        None => Check::fine("governor", "not shown by this kernel (usual in virtual machines)"),
        Some("performance") => Check::fine("governor", "performance"),
        Some(other) => Check::warning(
            "governor",
            format!("{other}: the clock rate follows the load"),
            "`cpupower frequency-set -g performance` while measuring",
        ),
    }
}
