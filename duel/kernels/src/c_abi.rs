//! The same arms for harnesses in C and C++.

use std::ffi::{CStr, c_char};

use crate::Arm;

/// Makes the arm; null if there is no such track.
///
/// # Safety
/// `case` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn duel_open(case: *const c_char, percent: u64) -> *mut Arm {
    // SAFETY: the caller vouches for the string.
    let case = unsafe { CStr::from_ptr(case) };
    let arm = case.to_str().ok().and_then(|case| Arm::new(case, percent).ok());
    arm.map_or(std::ptr::null_mut(), |arm| Box::into_raw(Box::new(arm)))
}

/// Calls the kernel once.
///
/// # Safety
/// `arm` is of [`duel_open`], not null, not closed, and used by one thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn duel_call(arm: *mut Arm) {
    // SAFETY: the caller vouches for the arm.
    unsafe { &mut *arm }.call();
}

/// Frees the arm.
///
/// # Safety
/// `arm` is of [`duel_open`], not null, and not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn duel_close(arm: *mut Arm) {
    // SAFETY: the caller vouches for the arm, which `duel_open` boxed.
    drop(unsafe { Box::from_raw(arm) });
}
