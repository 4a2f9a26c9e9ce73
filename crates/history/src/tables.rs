//! The tables `runs` and `series`, as columns and back.

use crate::read::Series;
use crate::rows::{Columns, texts, time, times};
use crate::{Calibration, Environment, HistoryError, Run, SeriesId};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

static RUNS: LazyLock<SchemaRef> = LazyLock::new(|| {
    let must = |name: &str, kind: DataType| Field::new(name, kind, false);
    let maybe = |name: &str, kind: DataType| Field::new(name, kind, true);
    Arc::new(Schema::new(vec![
        must("run", DataType::Utf8),
        must("started", time()),
        must("commit_time", time()),
        maybe("commit", DataType::Utf8),
        maybe("branch", DataType::Utf8),
        must("kind", DataType::Utf8),
        must("is_whole", DataType::Boolean),
        must("environment", DataType::Utf8),
        must("arch", DataType::Utf8),
        must("cpu", DataType::Utf8),
        must("cpus", DataType::Int32),
        must("memory_bytes", DataType::Int64),
        maybe("hypervisor", DataType::Utf8),
        maybe("governor", DataType::Utf8),
        must("kernel", DataType::Utf8),
        must("huge_pages", DataType::Utf8),
        maybe("chain_ns", DataType::Float64),
        maybe("triad_ns", DataType::Float64),
        maybe("stream_ns", DataType::Float64),
    ]))
});

static SERIES: LazyLock<SchemaRef> = LazyLock::new(|| {
    let must = |name: &str, kind: DataType| Field::new(name, kind, false);
    let maybe = |name: &str, kind: DataType| Field::new(name, kind, true);
    Arc::new(Schema::new(vec![
        must("series", DataType::Utf8),
        must("op", DataType::Utf8),
        must("case", DataType::Utf8),
        must("contender", DataType::Utf8),
        must("metric", DataType::Utf8),
        must("threads", DataType::Int32),
        must("memory", DataType::Utf8),
        must("isolation", DataType::Utf8),
        must("protocol", DataType::Int32),
        must("environment", DataType::Utf8),
        must("points", DataType::Int64),
        must("first_time", time()),
        must("last_time", time()),
        maybe("last_value", DataType::Float64),
        must("last_run", DataType::Utf8),
    ]))
});

/// The schema of the table `runs`.
pub(crate) fn runs_schema() -> SchemaRef {
    Arc::clone(&RUNS)
}

/// The schema of the table `series`.
pub(crate) fn series_schema() -> SchemaRef {
    Arc::clone(&SERIES)
}

/// A column of texts that may be absent.
pub(crate) fn maybe_texts<'a>(values: impl Iterator<Item = Option<&'a str>>) -> ArrayRef {
    Arc::new(StringArray::from_iter(values))
}

/// The columns of some runs.
pub(crate) fn of_runs(runs: &[Run]) -> Result<RecordBatch, HistoryError> {
    let of = |value: fn(&Run) -> Option<f64>| -> ArrayRef {
        Arc::new(Float64Array::from_iter(runs.iter().map(value)))
    };
    let places = || runs.iter().map(|run| &run.environment);
    let columns: Vec<ArrayRef> = vec![
        texts(runs.iter().map(|run| &run.id)),
        times(runs.iter().map(|run| run.started)),
        times(runs.iter().map(|run| run.commit_time)),
        maybe_texts(runs.iter().map(|run| run.commit.as_deref())),
        maybe_texts(runs.iter().map(|run| run.branch.as_deref())),
        texts(runs.iter().map(|run| &run.kind)),
        Arc::new(BooleanArray::from_iter(runs.iter().map(|run| Some(run.is_whole)))),
        texts(places().map(|place| &place.class)),
        texts(places().map(|place| &place.arch)),
        texts(places().map(|place| &place.cpu)),
        Arc::new(Int32Array::from_iter_values(places().map(|place| place.cpus.cast_signed()))),
        Arc::new(Int64Array::from_iter_values(
            places().map(|place| place.memory_bytes.cast_signed()),
        )),
        maybe_texts(places().map(|place| place.hypervisor.as_deref())),
        maybe_texts(places().map(|place| place.governor.as_deref())),
        texts(places().map(|place| &place.kernel)),
        texts(places().map(|place| &place.huge_pages)),
        of(|run| run.calibration.chain_ns),
        of(|run| run.calibration.triad_ns),
        of(|run| run.calibration.stream_ns),
    ];
    Ok(RecordBatch::try_new(runs_schema(), columns)?)
}

/// The runs in some columns.
pub(crate) fn to_runs(batch: &RecordBatch, name: &str) -> Result<Vec<Run>, HistoryError> {
    let of = Columns::of(batch, name);
    let text = |column: &str, row: usize| -> Result<String, HistoryError> {
        Ok(of.text(column)?.value(row).to_owned())
    };
    let maybe = |column: &str, row: usize| -> Result<Option<String>, HistoryError> {
        let column = of.text(column)?;
        Ok(column.is_valid(row).then(|| column.value(row).to_owned()))
    };
    let number = |column: &str, row: usize| -> Result<Option<f64>, HistoryError> {
        let column = of.double(column)?;
        Ok(column.is_valid(row).then(|| column.value(row)))
    };
    let run = |row| -> Result<Run, HistoryError> {
        Ok(Run {
            id: text("run", row)?,
            started: of.time("started")?.value(row),
            commit_time: of.time("commit_time")?.value(row),
            commit: maybe("commit", row)?,
            branch: maybe("branch", row)?,
            kind: text("kind", row)?,
            environment: Environment {
                class: text("environment", row)?,
                arch: text("arch", row)?,
                cpu: text("cpu", row)?,
                cpus: of.int("cpus")?.value(row).cast_unsigned(),
                memory_bytes: of.long("memory_bytes")?.value(row).cast_unsigned(),
                hypervisor: maybe("hypervisor", row)?,
                governor: maybe("governor", row)?,
                kernel: text("kernel", row)?,
                huge_pages: text("huge_pages", row)?,
            },
            calibration: Calibration {
                chain_ns: number("chain_ns", row)?,
                triad_ns: number("triad_ns", row)?,
                stream_ns: number("stream_ns", row)?,
            },
            is_whole: of.flag("is_whole")?.value(row),
        })
    };
    (0..batch.num_rows()).map(run).collect()
}

/// The columns of some series.
pub(crate) fn of_series(all: &[Series]) -> Result<RecordBatch, HistoryError> {
    let ints = |values: &mut dyn Iterator<Item = u32>| -> ArrayRef {
        Arc::new(Int32Array::from_iter_values(values.map(u32::cast_signed)))
    };
    let keys = || all.iter().map(|series| &series.key);
    let columns: Vec<ArrayRef> = vec![
        texts(all.iter().map(|series| series.id.to_string())),
        texts(keys().map(|key| &key.op)),
        texts(keys().map(|key| &key.case)),
        texts(keys().map(|key| &key.contender)),
        texts(keys().map(|key| key.metric.name())),
        ints(&mut keys().map(|key| key.threads)),
        texts(keys().map(|key| &key.memory)),
        texts(keys().map(|key| &key.isolation)),
        ints(&mut keys().map(|key| key.protocol)),
        texts(keys().map(|key| &key.environment)),
        Arc::new(Int64Array::from_iter_values(
            all.iter().map(|series| series.points.cast_signed()),
        )),
        times(all.iter().map(|series| series.first_time)),
        times(all.iter().map(|series| series.last_time)),
        Arc::new(Float64Array::from_iter(all.iter().map(|series| series.last_value))),
        texts(all.iter().map(|series| &series.last_run)),
    ];
    Ok(RecordBatch::try_new(series_schema(), columns)?)
}

/// The series in some columns.
pub(crate) fn to_series(batch: &RecordBatch, name: &str) -> Result<Vec<Series>, HistoryError> {
    let of = Columns::of(batch, name);
    let (id, points) = (of.text("series")?, of.long("points")?);
    let (first, last) = (of.time("first_time")?, of.time("last_time")?);
    let (value, run) = (of.double("last_value")?, of.text("last_run")?);
    let series = |row: usize| -> Result<Series, HistoryError> {
        Ok(Series {
            id: id.value(row).parse()?,
            key: of.key(row)?,
            points: points.value(row).cast_unsigned(),
            first_time: first.value(row),
            last_time: last.value(row),
            last_value: value.is_valid(row).then(|| value.value(row)),
            last_run: run.value(row).to_owned(),
        })
    };
    (0..batch.num_rows()).map(series).collect()
}

/// Collects the series of rows that come in any order.
#[derive(Debug, Default)]
pub(crate) struct SeriesOf {
    known: BTreeMap<SeriesId, Series>,
}

impl SeriesOf {
    /// Takes the rows of a batch. Rows of one series are mostly together, so that the key is read
    /// once for each stretch.
    pub(crate) fn take(&mut self, batch: &RecordBatch, name: &str) -> Result<(), HistoryError> {
        let of = Columns::of(batch, name);
        let (ids, times, runs) = (of.text("series")?, of.time("commit_time")?, of.text("run")?);
        let values = of.double("value")?;
        let mut row = 0;
        while row < batch.num_rows() {
            let id = ids.value(row);
            let end = (row..batch.num_rows()).find(|&at| ids.value(at) != id);
            let end = end.unwrap_or(batch.num_rows());
            let id: SeriesId = id.parse().map_err(|error| HistoryError::damaged(name, error))?;
            for at in row..end {
                let value = values.is_valid(at).then(|| values.value(at));
                let (time, run) = (times.value(at), runs.value(at));
                match self.known.get_mut(&id) {
                    Some(series) => series.extend(time, run, value, 1),
                    None => {
                        let series = Series {
                            id,
                            key: of.key(at)?,
                            points: 1,
                            first_time: time,
                            last_time: time,
                            last_value: value,
                            last_run: run.to_owned(),
                        };
                        self.known.insert(id, series);
                    }
                }
            }
            row = end;
        }
        Ok(())
    }

    /// Takes what is known about a series from elsewhere.
    pub(crate) fn merge(&mut self, series: Series) {
        match self.known.get_mut(&series.id) {
            Some(known) => {
                known.first_time = known.first_time.min(series.first_time);
                let (time, run) = (series.last_time, &series.last_run);
                known.extend(time, run, series.last_value, series.points);
            }
            None => {
                self.known.insert(series.id, series);
            }
        }
    }

    /// All of them, in order of their ids.
    pub(crate) fn finish(self) -> Vec<Series> {
        self.known.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{self, tests::row};

    #[test]
    fn runs_and_series_survive_as_columns() {
        let run = Run {
            id: "a".to_owned(),
            commit: Some("c0ffee".to_owned()),
            environment: Environment { cpus: 2, memory_bytes: 1 << 34, ..Environment::default() },
            calibration: Calibration { chain_ns: Some(7.5), ..Calibration::default() },
            ..Run::default()
        };
        let runs = [run, Run { is_whole: true, ..Run::default() }];
        assert_eq!(to_runs(&of_runs(&runs).unwrap(), "x").unwrap(), runs);

        let rows = [row(1, "b", 20, Some(3.0)), row(1, "a", 10, Some(1.0)), row(2, "a", 10, None)];
        let mut series = SeriesOf::default();
        series.take(&rows::columns(&rows).unwrap(), "x").unwrap();
        let series = series.finish();
        assert_eq!(to_series(&of_series(&series).unwrap(), "x").unwrap(), series);
        let first = series.iter().find(|of| of.id == rows[0].point.series).unwrap();
        assert_eq!((first.points, first.first_time, first.last_time), (2, 10, 20));
        assert_eq!((first.last_value, first.last_run.as_str()), (Some(3.0), "b"));
    }
}
