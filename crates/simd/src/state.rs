//! Processor state on machines whose state we do not read: always clean, nothing to reset.

/// The control register's value as every call finds it.
pub const MXCSR_DEFAULT: u32 = 0;
/// No control bits are known.
pub const MXCSR_CONTROL_MASK: u32 = 0;
/// No vector components are known.
pub const VECTOR_UPPER: u64 = 0;
/// No tile components are known.
pub const TILES: u64 = 0;
/// The control word that [`x87`] reports.
pub const X87_CONTROL_DEFAULT: u16 = 0x037f;
/// The tag word that [`x87`] reports.
pub const X87_TAGS_EMPTY: u16 = 0xffff;

/// The x87 unit of x86-64, here always in its initial state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct X87 {
    /// Always [`X87_CONTROL_DEFAULT`].
    pub control_word: u16,
    /// Always [`X87_TAGS_EMPTY`].
    pub tag_word: u16,
}

/// Always [`MXCSR_DEFAULT`].
pub fn mxcsr() -> u32 {
    MXCSR_DEFAULT
}

/// Does nothing.
pub fn set_mxcsr(_value: u32) {}

/// Always false.
pub fn upper_state_known() -> bool {
    false
}

/// Always 0.
pub fn upper_state() -> u64 {
    0
}

/// Always the initial state.
pub fn x87() -> X87 {
    X87 { control_word: X87_CONTROL_DEFAULT, tag_word: X87_TAGS_EMPTY }
}

/// Does nothing.
pub fn vzeroupper() {}

/// Does nothing.
pub fn tile_release() {}

/// Does nothing.
pub fn reset() {}

/// Always false.
pub fn request_amx() -> bool {
    false
}

/// Does nothing, because [`request_amx`] is never true.
///
/// # Safety
///
/// None needed; unsafe as on x86-64.
pub unsafe fn load_tile_config_for_tests() {}
