//! What the macros write: not for programs.

pub use crate::reference::{Argument, Bound, Reference, reference};
pub use crate::registry::{Kernel, Op, Setup};
pub use crate::run::{Built, main};
pub use inventory;
pub use proofmark_bench_macros::library;

use std::ffi::{CStr, c_char};
use std::fmt::Display;
use std::io::Write;

/// What a kernel may return.
pub trait Finished {
    /// 0 for success, as C says it.
    fn code(self) -> i32;
}

impl Finished for () {
    fn code(self) -> i32 {
        0
    }
}

impl<Reason: Display> Finished for Result<(), Reason> {
    fn code(self) -> i32 {
        match self {
            Ok(()) => 0,
            Err(reason) => {
                // What a worker prints stands beside its outcome.
                let _ = writeln!(std::io::stderr(), "{reason}");
                1
            }
        }
    }
}

/// An operand that is read.
///
/// # Safety
/// `length` elements lie there that nothing writes to while the slice is in use, or none.
pub unsafe fn slice<'a, T>(start: *const T, length: usize) -> &'a [T] {
    match length {
        0 => &[],
        // SAFETY: the caller's promise.
        _ => unsafe { std::slice::from_raw_parts(start, length) },
    }
}

/// An operand that is written.
///
/// # Safety
/// `length` elements lie there that nothing else reads or writes while the slice is in use, or
/// none.
pub unsafe fn slice_mut<'a, T>(start: *mut T, length: usize) -> &'a mut [T] {
    match length {
        0 => &mut [],
        // SAFETY: the caller's promise.
        _ => unsafe { std::slice::from_raw_parts_mut(start, length) },
    }
}

/// A word of a case.
///
/// # Safety
/// A text that ends in 0 lies there for as long as the word is in use.
pub unsafe fn word<'a>(start: *const c_char) -> &'a str {
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(start) };
    text.to_str().unwrap_or_default()
}
