//! What the id of a run tells. An id is a UUID of version 7, which begins with the time at which it
//! was made.

/// When the run was started, in seconds since 1970; nothing if the id is no such UUID.
pub fn started_seconds(id: &str) -> Option<i64> {
    let digits: String = id.chars().filter(|&digit| digit != '-').collect();
    let is_uuid = digits.len() == 32 && digits.as_bytes()[12] == b'7';
    let millis = i64::from_str_radix(digits.get(..12).filter(|_| is_uuid)?, 16).ok()?;
    Some(millis / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_tells_when_its_run_was_started() {
        assert_eq!(started_seconds("01a1e089-40b6-7359-9350-6f6b43a3af88"), Some(1_794_768_453));
        for other in ["mine", "", "01a1e089-40b6-4359-9350-6f6b43a3af88", "ä1a1e08940b67359935"] {
            assert_eq!(started_seconds(other), None, "{other}");
        }
    }
}
