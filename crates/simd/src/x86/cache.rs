//! Lines of caches: flushing them, and timing one load.

use core::arch::asm;
use core::arch::x86_64::{__cpuid, __cpuid_count, _mm_clflush, _mm_mfence, _rdtsc};
use std::sync::OnceLock;

/// Bytes of a line on every x86-64 processor.
const LINE: usize = 64;

/// Whether lines can be flushed here: always.
pub fn can_flush() -> bool {
    true
}

fn has_clflushopt() -> bool {
    static KNOWN: OnceLock<bool> = OnceLock::new();
    *KNOWN.get_or_init(|| __cpuid(0).eax >= 7 && __cpuid_count(7, 0).ebx & 1 << 23 != 0)
}

/// Takes every line of the span out of all caches of all processors; [`fence`] waits for it.
///
/// # Safety
///
/// The span must be mapped and readable.
pub unsafe fn flush(start: *const u8, bytes: usize) {
    if bytes == 0 {
        return;
    }
    let first = start as usize & !(LINE - 1);
    let lines = (first..start as usize + bytes).step_by(LINE);
    if has_clflushopt() {
        for line in lines {
            // SAFETY: the processor has the instruction, which changes no value in memory; the
            // line holds a byte of the span, so that its page is mapped.
            unsafe { asm!("clflushopt [{}]", in(reg) line, options(nostack, preserves_flags)) };
        }
    } else {
        for line in lines {
            // SAFETY: as above; every x86-64 processor has this one.
            unsafe { _mm_clflush(line as *const u8) };
        }
    }
}

/// Waits until all flushes, loads and stores before it are done.
pub fn fence() {
    // SAFETY: every x86-64 processor has it; it touches no memory.
    unsafe { _mm_mfence() };
}

/// The time stamp counter: a clock of fixed rate on every processor of the last decade.
pub fn ticks() -> u64 {
    // SAFETY: reads a counter.
    unsafe { _rdtsc() }
}

/// Ticks from before to after one load of this byte; no other instruction overlaps it.
pub fn load_ticks(line: &u8) -> u32 {
    let ticks: u32;
    // SAFETY: loads one byte that the reference says is there, and reads a counter.
    unsafe {
        asm!(
            "mfence",
            "lfence",
            "rdtsc",
            "lfence",
            "mov {start:e}, eax",
            "movzx {value:e}, byte ptr [{line}]",
            "lfence",
            "rdtsc",
            "sub eax, {start:e}",
            line = in(reg) line,
            start = out(reg) _,
            value = out(reg) _,
            out("eax") ticks,
            out("edx") _,
            options(nostack, readonly),
        );
    }
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flush_changes_no_byte_and_takes_spans_of_any_start_and_length() {
        let bytes: Vec<u8> = (0..=255).cycle().take(1000).collect();
        for (start, length) in [(0, 0), (0, 1), (63, 2), (7, 900), (999, 1)] {
            // SAFETY: the span lies in the vector.
            unsafe { flush(bytes[start..].as_ptr(), length) };
        }
        fence();
        assert!(bytes.iter().enumerate().all(|(at, &byte)| byte == (at % 256) as u8));
    }
}
