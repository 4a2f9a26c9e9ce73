//! Calls code that may panic, and returns the message of the panic.

use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::{Mutex, PoisonError};

/// What the first panic since the last [`call`] said; its thread may be one of the pool's.
static WORDS: Mutex<Option<String>> = Mutex::new(None);

/// Keeps the messages of panics instead of printing them.
pub(crate) fn install() {
    panic::set_hook(Box::new(|info| {
        let mut words = WORDS.lock().unwrap_or_else(PoisonError::into_inner);
        words.get_or_insert_with(|| describe(info));
    }));
}

fn describe(info: &PanicHookInfo<'_>) -> String {
    let said = info.payload_as_str().unwrap_or("no message");
    match info.location() {
        Some(place) => format!("panicked: {said} ({}:{})", place.file(), place.line()),
        None => format!("panicked: {said}"),
    }
}

/// Calls `code`, and returns the message of a panic as an error.
///
/// After a panic, what `code` held may be in any state. That does no harm: a kernel's memory holds
/// arbitrary bytes before every call anyway, and the supervisor replaces a worker that it no longer
/// trusts.
pub(crate) fn call<T>(code: impl FnOnce() -> T) -> Result<T, String> {
    panic::catch_unwind(AssertUnwindSafe(code)).map_err(|_| {
        let words = WORDS.lock().unwrap_or_else(PoisonError::into_inner).take();
        words.unwrap_or_else(|| "panicked".to_owned())
    })
}
