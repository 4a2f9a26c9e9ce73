//! What a series is: its key, and the id that is a hash of it.

use crate::cbor::Value;
use crate::{HistoryError, Run};
use proofmark_schema::{AttrValue, Case, Isolation, Memory, ParseCaseError};
use serde::{Deserialize, Serialize, de};
use std::fmt;
use std::str::FromStr;

/// Version of the canonical form; part of every key, so that a change of the form changes ids and
/// never mixes histories.
pub const CANONICAL_FORM: i64 = 1;

/// Version of the way that time is measured. It is raised when the same kernel would get another
/// number: such a change begins new series.
pub const PROTOCOL: u32 = 1;

/// What is measured. Less is better in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Time of one call.
    Time,
    /// Greatest error over a proof, in units of `u·scale`: correctness drifts too.
    Error,
    /// Resident memory at its peak.
    PeakBytes,
    /// Heap allocations of one call.
    Allocations,
}

impl Metric {
    /// Every metric.
    pub const ALL: [Metric; 4] =
        [Metric::Time, Metric::Error, Metric::PeakBytes, Metric::Allocations];

    /// The word in keys and tables.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Time => "time",
            Metric::Error => "error",
            Metric::PeakBytes => "peak_bytes",
            Metric::Allocations => "allocations",
        }
    }

    /// The unit of its values.
    pub fn unit(self) -> &'static str {
        match self {
            Metric::Time => "ns",
            Metric::Error => "u·scale",
            Metric::PeakBytes => "B",
            Metric::Allocations => "1",
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Metric {
    type Err = HistoryError;

    fn from_str(text: &str) -> Result<Metric, HistoryError> {
        let known = Metric::ALL.into_iter().find(|metric| metric.name() == text);
        known.ok_or_else(|| HistoryError::Usage(format!("`{text}` is not a metric")))
    }
}

/// The id of a series: 128 bits, written as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SeriesId(pub [u8; 16]);

impl fmt::Display for SeriesId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for SeriesId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for SeriesId {
    type Err = HistoryError;

    fn from_str(text: &str) -> Result<SeriesId, HistoryError> {
        let bad = || HistoryError::Usage(format!("`{text}` is not the id of a series"));
        let is_hex = text.len() == 32
            && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        let number = u128::from_str_radix(text, 16).map_err(|_| bad())?;
        if is_hex { Ok(SeriesId(number.to_be_bytes())) } else { Err(bad()) }
    }
}

impl Serialize for SeriesId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SeriesId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<SeriesId, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// What tells one series from another. Points of one series may be compared with each other.
///
/// Fields are what the columns of a history have, so that a key is made from a row again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SeriesKey {
    /// The op.
    pub op: String,
    /// The case, as text that parses; its attributes are in order of their names.
    pub case: String,
    /// The contender.
    pub contender: String,
    /// What is measured.
    pub metric: Metric,
    /// Threads that the contender was given.
    pub threads: u32,
    /// What caches held and which pages were used, as `hot/4k`.
    pub memory: String,
    /// What stood between the contender and the supervisor.
    pub isolation: String,
    /// Version of the way that it was measured.
    pub protocol: u32,
    /// Class of the environment: see [`crate::Environment`].
    pub environment: String,
}

impl SeriesKey {
    /// The key of a measured case.
    pub fn new(
        case: &Case,
        contender: String,
        metric: Metric,
        threads: usize,
        memory: Memory,
        isolation: Isolation,
        run: &Run,
    ) -> SeriesKey {
        SeriesKey {
            op: case.op.clone(),
            case: canonical(case).to_string(),
            contender,
            metric,
            threads: u32::try_from(threads).unwrap_or(u32::MAX),
            memory: format!("{}/{}", memory.cache, memory.pages),
            isolation: isolation.name().to_owned(),
            protocol: PROTOCOL,
            environment: run.environment.class.clone(),
        }
    }

    /// Whether the case is written as keys of stored runs write it, and is of the op.
    pub(crate) fn is_canonical(&self) -> bool {
        let case: Result<Case, ParseCaseError> = self.case.parse();
        case.is_ok_and(|case| case.op == self.op && canonical(&case).to_string() == self.case)
    }

    /// The bytes that the id is a hash of.
    ///
    /// # Errors
    /// If the case does not parse.
    pub fn canonical_bytes(&self) -> Result<Vec<u8>, HistoryError> {
        let bad =
            |error: ParseCaseError| HistoryError::Usage(format!("the key of a series: {error}"));
        let case: Case = self.case.parse().map_err(bad)?;
        let text = |text: &str| Value::Text(text.to_owned());
        let axes = case.axes.iter().map(|(name, size)| (name.clone(), Value::Unsigned(*size)));
        let attributes = case.attrs.iter().map(|(name, value)| {
            let value = match value {
                AttrValue::Flag(flag) => Value::Flag(*flag),
                AttrValue::Int(int) => Value::Int(*int),
                // A real is its shortest decimal text. No word looks like one.
                AttrValue::Real(_) => Value::Text(value.to_string()),
                AttrValue::Word(word) => text(word),
            };
            (name.clone(), value)
        });
        let entries = [
            ("v", Value::Int(CANONICAL_FORM)),
            ("op", text(&self.op)),
            ("dtype", text(case.dtype.name())),
            ("axes", Value::Map(axes.collect())),
            ("attributes", Value::Map(attributes.collect())),
            ("contender", text(&self.contender)),
            ("metric", text(self.metric.name())),
            ("threads", Value::Unsigned(self.threads.into())),
            ("memory", text(&self.memory)),
            ("isolation", text(&self.isolation)),
            ("protocol", Value::Unsigned(self.protocol.into())),
            ("environment", text(&self.environment)),
        ];
        let entries = entries.into_iter().map(|(key, value)| (key.to_owned(), value));
        Ok(Value::Map(entries.collect()).encode())
    }

    /// The id: the first 128 bits of BLAKE3 of the canonical bytes.
    ///
    /// # Errors
    /// If the case does not parse.
    pub fn id(&self) -> Result<SeriesId, HistoryError> {
        let hash = blake3::hash(&self.canonical_bytes()?);
        let mut id = [0; 16];
        id.copy_from_slice(&hash.as_bytes()[..16]);
        Ok(SeriesId(id))
    }
}

impl fmt::Display for SeriesKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SeriesKey { case, contender, metric, threads, environment, .. } = self;
        write!(f, "{case} {contender} {metric} threads={threads} on {environment}")
    }
}

/// The case with its attributes in order of their names: the order in which they were typed makes
/// no other series.
fn canonical(case: &Case) -> Case {
    let mut case = case.clone();
    case.attrs.sort_by(|a, b| a.0.cmp(&b.0));
    case
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn key() -> SeriesKey {
        SeriesKey {
            op: "rms_norm".to_owned(),
            case: "rms_norm:f32[b=1,s=2,d=64;eps=1e-6,variant=gemma]".to_owned(),
            contender: "native/simd@avx512".to_owned(),
            metric: Metric::Time,
            threads: 1,
            memory: "hot/4k".to_owned(),
            isolation: "T1".to_owned(),
            protocol: 1,
            environment: "0123456789abcdef".to_owned(),
        }
    }

    #[test]
    fn the_id_is_fixed_for_ever() {
        // Made by another implementation: cbor2 with `canonical=True` and blake3, in Python.
        assert_eq!(key().id().unwrap().to_string(), "a1e863eb1ecadf12755828719420341f");
    }

    #[test]
    fn every_field_makes_another_series() {
        let other = |change: fn(&mut SeriesKey)| {
            let mut key = key();
            change(&mut key);
            key.id().unwrap()
        };
        let ids = [
            key().id().unwrap(),
            other(|key| key.op = "softmax".to_owned()),
            other(|key| key.case = key.case.replace("d=64", "d=65")),
            other(|key| key.case = key.case.replace("f32", "bf16")),
            other(|key| key.case = key.case.replace("1e-6", "1e-5")),
            other(|key| key.contender = "native/scalar@scalar".to_owned()),
            other(|key| key.metric = Metric::Error),
            other(|key| key.threads = 2),
            other(|key| key.memory = "cold/4k".to_owned()),
            other(|key| key.isolation = "T2".to_owned()),
            other(|key| key.protocol = 2),
            other(|key| key.environment = "0123456789abcdee".to_owned()),
        ];
        let distinct: std::collections::BTreeSet<_> = ids.iter().collect();
        assert_eq!(distinct.len(), ids.len());
    }

    #[test]
    fn the_order_of_axes_and_attributes_does_not_matter() {
        let mut other = key();
        other.case = "rms_norm:f32[d=64,s=2,b=1;variant=gemma,eps=1e-6]".to_owned();
        assert_eq!(other.id().unwrap(), key().id().unwrap());
    }

    #[test]
    fn ids_parse_back_and_nothing_else_does() {
        let id = key().id().unwrap();
        assert_eq!(id.to_string().parse::<SeriesId>().unwrap(), id);
        for text in ["", "12", &"g".repeat(32), &"A".repeat(32), &"+".repeat(32), "ä"] {
            assert!(text.parse::<SeriesId>().is_err(), "{text}");
        }
    }
}
