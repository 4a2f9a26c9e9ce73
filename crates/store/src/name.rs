//! Which texts may become part of a path.

use crate::StoreError;

/// Greatest length of a run's id.
pub const GREATEST_LENGTH: usize = 64;

/// Whether the text may name a run: `[A-Za-z0-9._-]{1,64}`, not opening with a point.
///
/// The point at the front is kept for directories that are still being made, and it keeps `.`
/// and `..` out.
pub fn check_run_id(text: &str) -> Result<(), StoreError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let fits = (1..=GREATEST_LENGTH).contains(&text.len());
    if fits && !text.starts_with('.') && text.bytes().all(is_plain) {
        return Ok(());
    }
    Err(StoreError::BadName(text.chars().take(GREATEST_LENGTH).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_runs_are_accepted() {
        for text in ["0193a1b2-7c4d-7e5f-8a9b-0c1d2e3f4a5b", "a", "A.b_c-9", &"x".repeat(64)] {
            assert!(check_run_id(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn paths_and_control_characters_are_refused() {
        let long = "x".repeat(65);
        let names =
            ["", ".", "..", ".x", "a/b", "../a", "/a", "a\0", "a b", "a\n", "ä", "\u{202e}a"];
        for text in names.into_iter().chain([long.as_str()]) {
            assert!(check_run_id(text).is_err(), "{text:?}");
        }
    }
}
