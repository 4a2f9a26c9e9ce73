//! Rows as columns: the schema of the table `points`, and the way there and back.

use crate::point::Row;
use crate::{HistoryError, Point, SeriesId, SeriesKey};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float32Array, Float64Array, Int32Array, Int64Array, RecordBatch,
    StringArray, TimestampMicrosecondArray,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use proofmark_schema::Outcome;
use std::sync::{Arc, LazyLock};

/// Columns of the table `points`. Later versions may add columns at the end.
static POINTS: LazyLock<SchemaRef> = LazyLock::new(|| {
    let text = |name: &str| Field::new(name, DataType::Utf8, false);
    let maybe = |name: &str, kind: DataType| Field::new(name, kind, true);
    Arc::new(Schema::new(vec![
        text("series"),
        Field::new("commit_time", time(), false),
        text("run"),
        text("outcome"),
        maybe("value", DataType::Float64),
        maybe("low", DataType::Float32),
        maybe("high", DataType::Float32),
        Field::new("trials", DataType::Int32, false),
        maybe("control", DataType::Float32),
        maybe("against", DataType::Utf8),
        maybe("code", DataType::Utf8),
        Field::new("flags", DataType::Int32, false),
        text("op"),
        text("case"),
        text("contender"),
        text("metric"),
        Field::new("threads", DataType::Int32, false),
        text("memory"),
        text("isolation"),
        Field::new("protocol", DataType::Int32, false),
        text("environment"),
    ]))
});

/// Times are in microseconds, in UTC.
pub(crate) fn time() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

/// The schema of the table `points`.
pub(crate) fn schema() -> SchemaRef {
    Arc::clone(&POINTS)
}

/// How many of its first columns rows are sorted by: series, time of the commit, run.
pub(crate) const SORT_COLUMNS: usize = 3;

/// A column of times.
pub(crate) fn times(values: impl Iterator<Item = i64>) -> ArrayRef {
    Arc::new(TimestampMicrosecondArray::from_iter_values(values).with_timezone("UTC"))
}

/// A column of texts.
pub(crate) fn texts<T: AsRef<str>>(values: impl Iterator<Item = T>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

fn ints(values: impl Iterator<Item = u32>) -> ArrayRef {
    Arc::new(Int32Array::from_iter_values(values.map(|value| value.cast_signed())))
}

/// The columns of some rows.
pub(crate) fn columns(rows: &[Row]) -> Result<RecordBatch, HistoryError> {
    let points = || rows.iter().map(|row| &row.point);
    let keys = || rows.iter().map(|row| &row.key);
    let columns: Vec<ArrayRef> = vec![
        texts(points().map(|point| point.series.to_string())),
        times(points().map(|point| point.commit_time)),
        texts(points().map(|point| &point.run)),
        texts(points().map(|point| point.outcome.name())),
        Arc::new(Float64Array::from_iter(points().map(|point| point.value))),
        Arc::new(Float32Array::from_iter(points().map(|point| point.low))),
        Arc::new(Float32Array::from_iter(points().map(|point| point.high))),
        ints(points().map(|point| point.trials)),
        Arc::new(Float32Array::from_iter(points().map(|point| point.control))),
        Arc::new(StringArray::from_iter(points().map(|point| point.against.as_deref()))),
        Arc::new(StringArray::from_iter(points().map(|point| point.code.as_deref()))),
        ints(points().map(|point| point.flags)),
        texts(keys().map(|key| &key.op)),
        texts(keys().map(|key| &key.case)),
        texts(keys().map(|key| &key.contender)),
        texts(keys().map(|key| key.metric.name())),
        ints(keys().map(|key| key.threads)),
        texts(keys().map(|key| &key.memory)),
        texts(keys().map(|key| &key.isolation)),
        ints(keys().map(|key| key.protocol)),
        texts(keys().map(|key| &key.environment)),
    ];
    Ok(RecordBatch::try_new(schema(), columns)?)
}

/// The columns of a batch by name, with the types that they must have.
pub(crate) struct Columns<'a> {
    batch: &'a RecordBatch,
    name: &'a str,
}

impl<'a> Columns<'a> {
    /// The columns of a batch that was read from this object.
    pub(crate) fn of(batch: &'a RecordBatch, name: &'a str) -> Columns<'a> {
        Columns { batch, name }
    }

    fn column(&self, column: &str) -> Result<&'a dyn Array, HistoryError> {
        let missing = || HistoryError::damaged(self.name, format!("it has no column {column}"));
        self.batch.column_by_name(column).map(AsRef::as_ref).ok_or_else(missing)
    }

    fn wrong(&self, column: &str) -> HistoryError {
        HistoryError::damaged(self.name, format!("its column {column} has another type"))
    }

    pub(crate) fn text(&self, column: &str) -> Result<&'a StringArray, HistoryError> {
        self.column(column)?.as_string_opt().ok_or_else(|| self.wrong(column))
    }

    pub(crate) fn time(&self, column: &str) -> Result<&'a TimestampMicrosecondArray, HistoryError> {
        let found = self.column(column)?.as_primitive_opt::<TimestampMicrosecondType>();
        found.ok_or_else(|| self.wrong(column))
    }

    pub(crate) fn int(&self, column: &str) -> Result<&'a Int32Array, HistoryError> {
        let found = self.column(column)?.as_primitive_opt::<Int32Type>();
        found.ok_or_else(|| self.wrong(column))
    }

    pub(crate) fn double(&self, column: &str) -> Result<&'a Float64Array, HistoryError> {
        let found = self.column(column)?.as_primitive_opt::<Float64Type>();
        found.ok_or_else(|| self.wrong(column))
    }

    pub(crate) fn float(&self, column: &str) -> Result<&'a Float32Array, HistoryError> {
        let found = self.column(column)?.as_primitive_opt::<Float32Type>();
        found.ok_or_else(|| self.wrong(column))
    }

    pub(crate) fn long(&self, column: &str) -> Result<&'a Int64Array, HistoryError> {
        let found = self.column(column)?.as_primitive_opt::<Int64Type>();
        found.ok_or_else(|| self.wrong(column))
    }

    pub(crate) fn flag(&self, column: &str) -> Result<&'a BooleanArray, HistoryError> {
        self.column(column)?.as_boolean_opt().ok_or_else(|| self.wrong(column))
    }

    /// The key in one row.
    pub(crate) fn key(&self, row: usize) -> Result<SeriesKey, HistoryError> {
        let text = |column: &str| Ok::<_, HistoryError>(self.text(column)?.value(row).to_owned());
        Ok(SeriesKey {
            op: text("op")?,
            case: text("case")?,
            contender: text("contender")?,
            metric: self.text("metric")?.value(row).parse()?,
            threads: self.int("threads")?.value(row).cast_unsigned(),
            memory: text("memory")?,
            isolation: text("isolation")?,
            protocol: self.int("protocol")?.value(row).cast_unsigned(),
            environment: text("environment")?,
        })
    }
}

/// A value that may be absent.
#[expect(clippy::needless_pass_by_value, reason = "an accessor is a reference")]
fn maybe<'a, A: arrow_array::ArrayAccessor<Item = T> + 'a, T: 'a>(
    array: A,
    row: usize,
) -> Option<T> {
    array.is_valid(row).then(|| array.value(row))
}

/// Whether [`points`] reads a column; the others are the key of the series.
pub(crate) fn is_of_point(column: &str) -> bool {
    let names = [
        "series",
        "commit_time",
        "run",
        "outcome",
        "value",
        "low",
        "high",
        "trials",
        "control",
        "against",
        "code",
        "flags",
    ];
    names.contains(&column)
}

/// The points of a batch.
pub(crate) fn points(batch: &RecordBatch, name: &str) -> Result<Vec<Point>, HistoryError> {
    let of = Columns::of(batch, name);
    let (series, time, run) = (of.text("series")?, of.time("commit_time")?, of.text("run")?);
    let (outcome, value) = (of.text("outcome")?, of.double("value")?);
    let (low, high, control) = (of.float("low")?, of.float("high")?, of.float("control")?);
    let (trials, flags) = (of.int("trials")?, of.int("flags")?);
    let (against, code) = (of.text("against")?, of.text("code")?);
    let mut id = None;
    let mut points = Vec::with_capacity(batch.num_rows());
    for row in 0..batch.num_rows() {
        // Rows are sorted by series, so that most have the id of the row before.
        let text = series.value(row);
        let id = match id {
            Some((known, id)) if known == text => id,
            _ => {
                let parsed: SeriesId =
                    text.parse().map_err(|error| HistoryError::damaged(name, error))?;
                id = Some((text, parsed));
                parsed
            }
        };
        points.push(Point {
            series: id,
            commit_time: time.value(row),
            run: run.value(row).to_owned(),
            outcome: outcome_of(outcome.value(row), name)?,
            value: maybe(value, row),
            low: maybe(low, row),
            high: maybe(high, row),
            trials: trials.value(row).cast_unsigned(),
            control: maybe(control, row),
            against: maybe(against, row).map(str::to_owned),
            code: maybe(code, row).map(str::to_owned),
            flags: flags.value(row).cast_unsigned(),
        });
    }
    Ok(points)
}

fn outcome_of(word: &str, name: &str) -> Result<Outcome, HistoryError> {
    serde_json::from_value(serde_json::Value::String(word.to_owned()))
        .map_err(|error| HistoryError::damaged(name, error))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Metric;

    /// A row of a made-up series.
    pub(crate) fn row(series: u64, run: &str, time: i64, value: Option<f64>) -> Row {
        let key = SeriesKey {
            op: "add".to_owned(),
            case: format!("add:f32[b=1,s=1,d={series}]"),
            contender: "native/simd@avx2".to_owned(),
            metric: Metric::Time,
            threads: 1,
            memory: "hot/4k".to_owned(),
            isolation: "T1".to_owned(),
            protocol: 1,
            environment: "0123456789abcdef".to_owned(),
        };
        let point = Point {
            series: key.id().unwrap(),
            commit_time: time,
            run: run.to_owned(),
            outcome: if value.is_some() { Outcome::Proven } else { Outcome::Wrong },
            value,
            low: value.map(|value| value as f32 * 0.99),
            high: value.map(|value| value as f32 * 1.01),
            trials: 12,
            control: value.map(|_| 0.5),
            against: value.map(|_| "peer/onednn".to_owned()),
            code: Some("00112233445566ff".to_owned()),
            flags: 3,
        };
        Row { key, point }
    }

    #[test]
    fn rows_survive_as_columns() {
        let rows = [row(1, "a", 5, Some(2.5)), row(2, "b", -7, None)];
        let batch = columns(&rows).unwrap();
        let back = points(&batch, "x").unwrap();
        assert_eq!(back, [rows[0].point.clone(), rows[1].point.clone()]);
        for (index, row) in rows.iter().enumerate() {
            assert_eq!(Columns::of(&batch, "x").key(index).unwrap(), row.key);
        }
    }
}
