//! A heap buffer on a cache line boundary, for workspaces and tests.

use crate::Element;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::slice;

/// One cache line, and the widest vector register.
const ALIGN: usize = 64;

/// Zeroed bytes that start on a multiple of 64.
#[derive(Debug)]
pub struct AlignedBuffer {
    pointer: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the buffer owns its memory, which is plain bytes.
unsafe impl Send for AlignedBuffer {}
// SAFETY: as above; `&AlignedBuffer` only reads.
unsafe impl Sync for AlignedBuffer {}

impl AlignedBuffer {
    /// A buffer of zeros.
    pub fn new(bytes: usize) -> AlignedBuffer {
        let layout = AlignedBuffer::layout(bytes);
        if bytes == 0 {
            let pointer = NonNull::new(std::ptr::without_provenance_mut(ALIGN));
            return AlignedBuffer { pointer: pointer.expect("64 is not null"), bytes };
        }
        // SAFETY: the size is not 0.
        let pointer = unsafe { alloc_zeroed(layout) };
        let pointer = NonNull::new(pointer).unwrap_or_else(|| handle_alloc_error(layout));
        AlignedBuffer { pointer, bytes }
    }

    fn layout(bytes: usize) -> Layout {
        Layout::from_size_align(bytes, ALIGN).expect("a buffer is smaller than the address space")
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: `bytes` initialised bytes owned by the buffer (or none at a dangling address).
        unsafe { slice::from_raw_parts(self.pointer.as_ptr(), self.bytes) }
    }

    /// The bytes, for writing.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as above, borrowed mutably.
        unsafe { slice::from_raw_parts_mut(self.pointer.as_ptr(), self.bytes) }
    }

    /// As many whole elements as the buffer holds.
    pub fn elements<T: Element>(&self) -> &[T] {
        // SAFETY: any bits are a valid `Element`, 64 is a multiple of its alignment, and the
        // elements lie within the buffer.
        unsafe { slice::from_raw_parts(self.pointer.as_ptr().cast(), self.bytes / size_of::<T>()) }
    }

    /// As many whole elements as the buffer holds, for writing.
    pub fn elements_mut<T: Element>(&mut self) -> &mut [T] {
        let count = self.bytes / size_of::<T>();
        // SAFETY: as above, borrowed mutably.
        unsafe { slice::from_raw_parts_mut(self.pointer.as_ptr().cast(), count) }
    }
}

impl Drop for AlignedBuffer {
    fn drop(&mut self) {
        if self.bytes > 0 {
            // SAFETY: allocated in `new` with the same layout.
            unsafe { dealloc(self.pointer.as_ptr(), AlignedBuffer::layout(self.bytes)) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_zeroed_aligned_and_may_be_empty() {
        for bytes in [0, 1, 63, 64, 1000] {
            let mut buffer = AlignedBuffer::new(bytes);
            assert_eq!(buffer.as_slice().as_ptr() as usize % 64, 0);
            assert_eq!(buffer.as_slice(), vec![0; bytes]);
            buffer.elements_mut::<f32>().fill(1.0);
            assert_eq!(buffer.elements::<f32>(), vec![1.0; bytes / 4]);
        }
    }
}
