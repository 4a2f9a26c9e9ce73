//! Which texts may become part of a path, and short names of runs.

use crate::StoreError;
use jiff::civil::Date;
use proofmark_schema::run_id::started_seconds;

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

/// A name that a person can say.
#[derive(Debug, PartialEq)]
pub(crate) enum ShortName<'a> {
    /// `12`: the oldest run is 1.
    Number(usize),
    /// `2026-11-17` or `2026-11-17-softmax`, in UTC.
    Day { day: Date, op: Option<&'a str> },
}

impl ShortName<'_> {
    /// Reads the text, if it is one. No id begins like a number without a leading zero.
    pub(crate) fn of(text: &str) -> Option<ShortName<'_>> {
        if !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit()) {
            return text.parse().ok().map(ShortName::Number);
        }
        let (day, rest) = text.split_at_checked("2026-11-17".len())?;
        let op = match rest {
            "" => None,
            rest => Some(rest.strip_prefix('-')?),
        };
        Some(ShortName::Day { day: day.parse().ok()?, op })
    }
}

/// The day on which a run was started, in UTC, if its id tells.
pub(crate) fn day(id: &str) -> Option<Date> {
    let time = jiff::Timestamp::from_second(started_seconds(id)?).ok()?;
    Some(jiff::tz::Offset::UTC.to_datetime(time).date())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_are_numbers_and_days() {
        let day = jiff::civil::date(2026, 11, 17);
        assert_eq!(ShortName::of("12"), Some(ShortName::Number(12)));
        assert_eq!(ShortName::of("2026-11-17"), Some(ShortName::Day { day, op: None }));
        let op = Some("softmax");
        assert_eq!(ShortName::of("2026-11-17-softmax"), Some(ShortName::Day { day, op }));
        for other in ["0194", "0194-c", "2026-13-17", "2026-11-17x", "mine", "ä"] {
            assert_eq!(ShortName::of(other), None, "{other}");
        }
    }

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
