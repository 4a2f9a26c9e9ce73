//! Cache lines on machines where they cannot be flushed: nothing is flushed or timed.

/// Always false.
pub fn can_flush() -> bool {
    false
}

/// Does nothing.
///
/// # Safety
///
/// None needed; unsafe as on x86-64.
pub unsafe fn flush(_start: *const u8, _bytes: usize) {}

/// Does nothing.
pub fn fence() {}

/// Always 0.
pub fn ticks() -> u64 {
    0
}

/// Always 0.
pub fn load_ticks(_line: &u8) -> u32 {
    0
}
