//! Raw workspace bytes as elements.

use proofmark_contract::KernelError;
use proofmark_tensor::Element;

/// The first `count` elements of `bytes`.
///
/// # Errors
/// If there are fewer, or the bytes are not aligned for them.
pub fn elements<'a, T: Element>(
    bytes: &'a [u8],
    count: usize,
    what: &'static str,
) -> Result<&'a [T], KernelError> {
    // SAFETY: `Element` admits every bit pattern, and `align_to` yields the aligned part only.
    let (before, elements, _) = unsafe { bytes.align_to::<T>() };
    let usable = if before.is_empty() { elements } else { &[] };
    usable.get(..count).ok_or_else(|| too_small::<T>(bytes.len(), count, what))
}

/// As [`elements`], for writing.
///
/// # Errors
/// If there are fewer, or the bytes are not aligned for them.
pub fn elements_mut<'a, T: Element>(
    bytes: &'a mut [u8],
    count: usize,
    what: &'static str,
) -> Result<&'a mut [T], KernelError> {
    let got = bytes.len();
    // SAFETY: `Element` admits every bit pattern, and `align_to_mut` yields the aligned part.
    let (before, elements, _) = unsafe { bytes.align_to_mut::<T>() };
    let usable = if before.is_empty() { elements } else { &mut [] };
    usable.get_mut(..count).ok_or_else(|| too_small::<T>(got, count, what))
}

fn too_small<T>(got: usize, count: usize, what: &'static str) -> KernelError {
    KernelError::TooSmall { what, got, need: count * size_of::<T>() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_or_crooked_memory_is_refused() {
        let aligned = [0f32; 4];
        // SAFETY: floats are bytes, and the array outlives the slice.
        let bytes = unsafe { std::slice::from_raw_parts(aligned.as_ptr().cast::<u8>(), 16) };
        assert_eq!(elements::<f32>(bytes, 4, "it").unwrap().len(), 4);
        assert!(elements::<f32>(bytes, 5, "it").is_err());
        assert!(elements::<f32>(&bytes[1..], 1, "it").is_err());
    }
}
