//! Numbers that several commands take, read in one place.

/// The longest time that a race may be given: a day.
const LONGEST: f64 = 86_400.0;

/// Reads an error rate.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "write a number such as 0.01")?;
    if value > 0.0 && value < 0.5 { Ok(value) } else { Err("it lies between 0 and 0.5".into()) }
}

/// Reads seconds above 0, up to a day.
pub(super) fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|&seconds: &f64| seconds > 0.0 && seconds <= LONGEST);
    seconds.ok_or_else(|| "write seconds above 0, up to 86400".to_owned())
}

/// Reads seconds from 0 to an hour.
pub(super) fn settling(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.0..=3600.0).contains(seconds));
    seconds.ok_or_else(|| "write seconds from 0 to 3600".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_share_or_time_is_refused() {
        for text in ["0", "-0.01", "0.5", "1", "nan", "inf", "", "x"] {
            assert!(share(text).is_err(), "{text}");
        }
        for text in ["0", "-1", "nan", "inf", "-inf", "1e300", "86401", "", "x"] {
            assert!(seconds(text).is_err(), "{text}");
        }
        for text in ["-1", "nan", "inf", "3601", ""] {
            assert!(settling(text).is_err(), "{text}");
        }
        assert_eq!((share("0.01"), seconds("0.5"), settling("0")), (Ok(0.01), Ok(0.5), Ok(0.0)));
    }
}
