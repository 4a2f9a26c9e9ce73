//! Raw workspace bytes as floats.

use proofmark_contract::KernelError;

/// The first `count` floats of `bytes`.
///
/// # Errors
/// If there are fewer, or the bytes are not aligned for floats.
pub fn floats<'a>(
    bytes: &'a [u8],
    count: usize,
    what: &'static str,
) -> Result<&'a [f32], KernelError> {
    // SAFETY: every bit pattern is an f32, and `align_to` yields the aligned part only.
    let (before, floats, _) = unsafe { bytes.align_to::<f32>() };
    let usable = if before.is_empty() { floats } else { &[] };
    usable.get(..count).ok_or_else(|| too_small(bytes.len(), count, what))
}

/// As [`floats`], for writing.
///
/// # Errors
/// If there are fewer, or the bytes are not aligned for floats.
pub fn floats_mut<'a>(
    bytes: &'a mut [u8],
    count: usize,
    what: &'static str,
) -> Result<&'a mut [f32], KernelError> {
    let got = bytes.len();
    // SAFETY: every bit pattern is an f32 and a byte, and `align_to_mut` yields the aligned part.
    let (before, floats, _) = unsafe { bytes.align_to_mut::<f32>() };
    let usable = if before.is_empty() { floats } else { &mut [] };
    usable.get_mut(..count).ok_or_else(|| too_small(got, count, what))
}

fn too_small(got: usize, count: usize, what: &'static str) -> KernelError {
    KernelError::TooSmall { what, got, need: count * size_of::<f32>() }
}
