//! What precision the errors of a contender look like.

use crate::DType;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A precision that a contender may have cut its inputs down to without saying so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputPrecision {
    /// bf16: 8 significand bits.
    Bf16,
    /// tf32: 11 significand bits.
    Tf32,
    /// 16 significand bits.
    Bits16,
}

impl InputPrecision {
    /// Every class, the coarsest first.
    pub const ALL: [InputPrecision; 3] =
        [InputPrecision::Bf16, InputPrecision::Tf32, InputPrecision::Bits16];

    /// Significand bits that it keeps.
    pub fn significand_bits(self) -> u32 {
        match self {
            InputPrecision::Bf16 => 8,
            InputPrecision::Tf32 => 11,
            InputPrecision::Bits16 => 16,
        }
    }

    /// The words in files and reports.
    pub fn name(self) -> &'static str {
        match self {
            InputPrecision::Bf16 => "bf16 inputs",
            InputPrecision::Tf32 => "tf32 inputs",
            InputPrecision::Bits16 => "inputs cut to 16 significand bits",
        }
    }
}

impl fmt::Display for InputPrecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What a proof says of precision. In files it is the text that [`fmt::Display`] writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Precision {
    /// Nothing, as in a record that was read from a flat table; its text is empty.
    #[default]
    Unstated,
    /// The contender was refused and its errors look like none of the classes: `unknown`.
    Unknown,
    /// The contender was proven with sums of this type: `f32`.
    Sums(DType),
    /// The contender was refused and its errors are those of inputs cut down to this class.
    Inputs(InputPrecision),
}

const UNKNOWN: &str = "unknown";

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Precision::Unstated => Ok(()),
            Precision::Unknown => f.write_str(UNKNOWN),
            Precision::Sums(dtype) => dtype.fmt(f),
            Precision::Inputs(class) => class.fmt(f),
        }
    }
}

/// A text that is no precision.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no precision of a proof")]
pub struct ParsePrecisionError(pub String);

impl FromStr for Precision {
    type Err = ParsePrecisionError;

    fn from_str(text: &str) -> Result<Precision, ParsePrecisionError> {
        match text {
            "" => return Ok(Precision::Unstated),
            UNKNOWN => return Ok(Precision::Unknown),
            _ => {}
        }
        let class = InputPrecision::ALL.into_iter().find(|class| class.name() == text);
        match (class, text.parse()) {
            (Some(class), _) => Ok(Precision::Inputs(class)),
            (None, Ok(dtype)) => Ok(Precision::Sums(dtype)),
            (None, Err(_)) => Err(ParsePrecisionError(text.to_owned())),
        }
    }
}

impl From<Precision> for String {
    fn from(precision: Precision) -> String {
        precision.to_string()
    }
}

impl TryFrom<String> for Precision {
    type Error = ParsePrecisionError;

    fn try_from(text: String) -> Result<Precision, ParsePrecisionError> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_precision_is_the_text_that_older_records_have() {
        for (text, precision) in [
            ("", Precision::Unstated),
            ("unknown", Precision::Unknown),
            ("f32", Precision::Sums(DType::F32)),
            ("bf16", Precision::Sums(DType::Bf16)),
            ("bf16 inputs", Precision::Inputs(InputPrecision::Bf16)),
            ("tf32 inputs", Precision::Inputs(InputPrecision::Tf32)),
            ("inputs cut to 16 significand bits", Precision::Inputs(InputPrecision::Bits16)),
        ] {
            let json = serde_json::Value::from(text);
            assert_eq!(serde_json::from_value::<Precision>(json.clone()).unwrap(), precision);
            assert_eq!(serde_json::to_value(precision).unwrap(), json);
        }
        assert!("f99".parse::<Precision>().is_err());
    }
}
