//! A series as a whole, and parts of all series.

use crate::{SeriesId, SeriesKey};

/// A series with what is known about its points.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its id.
    pub id: SeriesId,
    /// What it is.
    pub key: SeriesKey,
    /// How many points it has.
    pub points: u64,
    /// Time of the first point, in microseconds since 1970.
    pub first_time: i64,
    /// Time of the last point, in microseconds since 1970.
    pub last_time: i64,
    /// The number of the last point, if it has one.
    pub last_value: Option<f64>,
    /// The run of the last point.
    pub last_run: String,
}

impl Series {
    /// Takes further points, of which this is the last.
    pub(crate) fn extend(&mut self, time: i64, run: &str, value: Option<f64>, points: u64) {
        self.points += points;
        self.first_time = self.first_time.min(time);
        if (time, run) >= (self.last_time, self.last_run.as_str()) {
            self.last_time = time;
            self.last_value = value;
            run.clone_into(&mut self.last_run);
        }
    }
}

/// A part of all series: the `number`th of `of`, from 1. Together the parts have each series once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Its number, from 1.
    pub number: u32,
    /// How many there are.
    pub of: u32,
}

impl Shard {
    /// All series.
    pub const WHOLE: Shard = Shard { number: 1, of: 1 };

    /// Whether a series belongs to it. Ids are hashes, so that equal ranges are equal parts.
    pub fn has(self, series: SeriesId) -> bool {
        let id = series.0;
        self.number_of([id[0], id[1], id[2], id[3]]) == u64::from(self.number)
    }

    /// Whether series from the first to the last, both as text, can belong to it.
    pub(crate) fn may_have(self, first: &[u8], last: &[u8]) -> bool {
        let number_of = |text: &[u8]| {
            let digits = std::str::from_utf8(text.get(..8)?).ok()?;
            Some(self.number_of(u32::from_str_radix(digits, 16).ok()?.to_be_bytes()))
        };
        let number = u64::from(self.number);
        number_of(first).is_none_or(|of_first| of_first <= number)
            && number_of(last).is_none_or(|of_last| number <= of_last)
    }

    /// The number of the part that has ids of this start. It never falls as ids rise.
    fn number_of(self, start: [u8; 4]) -> u64 {
        1 + ((u64::from(u32::from_be_bytes(start)) * u64::from(self.of)) >> 32)
    }
}
