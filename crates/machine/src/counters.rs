//! Whether the kernel lets this process count instructions.

use std::io;

/// Fields of `struct perf_event_attr` up to the flags, padded to its first published size.
///
/// Only this much is needed to ask for one disabled counter (`PERF_ATTR_SIZE_VER0` is 64 bytes).
#[repr(C)]
#[derive(Default)]
struct EventAttributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    rest: [u64; 2],
}

/// `PERF_COUNT_HW_INSTRUCTIONS` of `PERF_TYPE_HARDWARE`, which is 0.
const INSTRUCTIONS: u64 = 1;
/// `disabled`, `exclude_kernel`, `exclude_hv`: what an unprivileged process may ask for.
const FLAGS: u64 = 1 | 1 << 5 | 1 << 6;

/// Opens and closes a counter of this thread's instructions.
pub(crate) fn try_open() -> io::Result<()> {
    let mut attributes = EventAttributes {
        size: size_of::<EventAttributes>() as u32,
        config: INSTRUCTIONS,
        flags: FLAGS,
        ..EventAttributes::default()
    };
    // SAFETY: the kernel reads `size` bytes of the structure, which lives through the call, and
    // may write `size` itself, on a mismatch; nothing else holds it.
    let descriptor =
        unsafe { libc::syscall(libc::SYS_perf_event_open, &raw mut attributes, 0, -1, -1, 0_u64) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just opened and nothing else knows it.
    unsafe { libc::close(descriptor as libc::c_int) };
    Ok(())
}
