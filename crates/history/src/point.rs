//! A point of a series.

use crate::{SeriesId, SeriesKey};
use proofmark_schema::Outcome;

/// What may be wrong with a point's circumstances, as bits of [`Point::flags`].
pub mod flag {
    /// The processor became slower during the race.
    pub const THROTTLED: u32 = 1;
    /// The machine was not quiet before the race.
    pub const NOISY: u32 = 1 << 1;
    /// The run was not whole when it was appended.
    pub const PARTIAL: u32 = 1 << 2;
    /// Something was planted into the contender, to test the tool.
    pub const PLANTED: u32 = 1 << 3;
    /// Every call had new inputs, because an arm was faster on inputs that it had seen.
    pub const FRESH_INPUTS: u32 = 1 << 4;
    /// The state of caches or pages that was asked for was not there.
    pub const MEMORY_NOT_ACHIEVED: u32 = 1 << 5;
}

/// One number of one run, or the fact that there is none.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The series.
    pub series: SeriesId,
    /// Its place on the time axis, in microseconds since 1970: see [`crate::Run::commit_time`].
    pub commit_time: i64,
    /// The run.
    pub run: String,
    /// What the gate said.
    pub outcome: Outcome,
    /// The number, in the unit of the metric. None unless the contender is proven and was measured.
    pub value: Option<f64>,
    /// Lower bound of the number.
    pub low: Option<f32>,
    /// Upper bound of the number.
    pub high: Option<f32>,
    /// Trials behind it.
    pub trials: u32,
    /// The number over that of another contender of the same race. What changes both, such as
    /// the machine, does not change the ratio.
    pub control: Option<f32>,
    /// That other contender.
    pub against: Option<String>,
    /// 16 hexadecimal digits over the program and the libraries that were measured. Points with
    /// the same digits are the same code.
    pub code: Option<String>,
    /// Bits of [`flag`].
    pub flags: u32,
}

/// A point with the key of its series: one row of the table `points`.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What the series is.
    pub key: SeriesKey,
    /// The point.
    pub point: Point,
}

impl Row {
    /// What rows are sorted by.
    pub(crate) fn order(&self) -> (SeriesId, i64, &str) {
        (self.point.series, self.point.commit_time, &self.point.run)
    }
}
