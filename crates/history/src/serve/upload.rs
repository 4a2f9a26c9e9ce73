//! A run as it is uploaded: JSON that becomes the same object as a run of a folder.

use crate::{HistoryError, Point, Row, Run, RunObject, SeriesKey};
use proofmark_schema::Outcome;
use serde::{Deserialize, Serialize};

/// A run with its points.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Upload {
    /// The run.
    pub run: Run,
    /// Its points.
    pub points: Vec<Measured>,
}

/// A point with the key of its series.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// What the series is.
    pub key: SeriesKey,
    /// What the proof said.
    pub outcome: Outcome,
    /// The number; a contender that is not proven has none.
    #[serde(default)]
    pub value: Option<f64>,
    /// Its lower bound.
    #[serde(default)]
    pub low: Option<f32>,
    /// Its upper bound.
    #[serde(default)]
    pub high: Option<f32>,
    /// Trials behind it.
    #[serde(default)]
    pub trials: u32,
    /// The ratio to another contender of the same race.
    #[serde(default)]
    pub control: Option<f32>,
    /// That contender.
    #[serde(default)]
    pub against: Option<String>,
    /// Digits over the program and libraries that were measured.
    #[serde(default)]
    pub code: Option<String>,
    /// Bits of [`crate::flag`].
    #[serde(default)]
    pub flags: u32,
}

/// Bytes of a text.
const TEXT: usize = 512;

/// Whether a text may be shown and kept.
fn is_text(text: &str) -> bool {
    text.len() <= TEXT && !text.chars().any(char::is_control)
}

impl Upload {
    /// What is uploaded of an object.
    pub fn of(object: &RunObject) -> Upload {
        let measured = |row: &Row| {
            let point = row.point.clone();
            Measured {
                key: row.key.clone(),
                outcome: point.outcome,
                value: point.value,
                low: point.low,
                high: point.high,
                trials: point.trials,
                control: point.control,
                against: point.against,
                code: point.code,
                flags: point.flags,
            }
        };
        Upload { run: object.run().clone(), points: object.rows().iter().map(measured).collect() }
    }

    /// The object, checked by the same rules as a run of a folder and by those for texts that
    /// others wrote.
    ///
    /// # Errors
    /// If it is not a run that a history can hold.
    pub fn object(self) -> Result<RunObject, HistoryError> {
        let Upload { run, points } = self;
        let bad = |reason: &str| {
            let reason = reason.to_owned();
            HistoryError::BadRun { run: run.id.chars().take(80).collect(), reason }
        };
        let long = "a text has more than 512 bytes, or characters that are not text";
        let on = &run.environment;
        let texts = [&run.kind, &on.class, &on.arch, &on.cpu, &on.kernel, &on.huge_pages];
        let optional = [&run.commit, &run.branch, &on.hypervisor, &on.governor];
        if !texts.into_iter().chain(optional.into_iter().flatten()).all(|text| is_text(text)) {
            return Err(bad(long));
        }
        let mut rows = Vec::with_capacity(points.len());
        for measured in points {
            let key = measured.key;
            let texts =
                [&key.op, &key.case, &key.contender, &key.memory, &key.isolation, &key.environment];
            let optional = [&measured.against, &measured.code];
            if !texts.into_iter().chain(optional.into_iter().flatten()).all(|text| is_text(text)) {
                return Err(bad(long));
            }
            if !key.is_canonical() {
                return Err(bad("a case is not written as `proofmark history append` writes it"));
            }
            if key.environment != run.environment.class {
                return Err(bad("a point is of another environment than its run"));
            }
            if measured.control.is_some_and(|ratio| !(ratio.is_finite() && ratio > 0.0)) {
                return Err(bad("a ratio to the control is not a positive number"));
            }
            let point = Point {
                series: key.id()?,
                commit_time: run.commit_time,
                run: run.id.clone(),
                outcome: measured.outcome,
                value: measured.value,
                low: measured.low,
                high: measured.high,
                trials: measured.trials,
                control: measured.control,
                against: measured.against,
                code: measured.code,
                flags: measured.flags,
            };
            rows.push(Row { key, point });
        }
        RunObject::new(run, rows)
    }
}
