//! Tables that commands show and that queries read, as columns.

use crate::rows::{self, texts, times};
use crate::tables::{self, maybe_texts};
use crate::{Event, HistoryError, Point, Run, Series};
use arrow_array::{ArrayRef, Float64Array, Int32Array, RecordBatch};
use arrow_schema::SchemaRef;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The columns of the table `points`.
pub fn points_schema() -> SchemaRef {
    rows::schema()
}

/// The table of some series.
///
/// # Errors
/// If the columns do not fit, which is a bug.
pub fn series(all: &[Series]) -> Result<RecordBatch, HistoryError> {
    tables::of_series(all)
}

/// The table of some runs.
///
/// # Errors
/// If the columns do not fit, which is a bug.
pub fn runs(all: &[Run]) -> Result<RecordBatch, HistoryError> {
    tables::of_runs(all)
}

/// The table of some events: a row for each event and each series that it is about.
///
/// # Errors
/// If the columns do not fit, which is a bug.
pub fn events(all: &[Event]) -> Result<RecordBatch, HistoryError> {
    let about = |event: &Event| -> Vec<Option<String>> {
        match event.series.as_slice() {
            [] => vec![None],
            series => series.iter().map(|series| Some(series.to_string())).collect(),
        }
    };
    let rows: Vec<(&Event, Option<String>)> =
        all.iter().flat_map(|event| about(event).into_iter().map(move |of| (event, of))).collect();
    let events = || rows.iter().map(|(event, _)| *event);
    let detail = |event: &Event| (!event.detail.is_null()).then(|| event.detail.to_string());
    let details: Vec<Option<String>> = events().map(detail).collect();
    let columns: [(&str, ArrayRef, bool); 9] = [
        ("time", times(events().map(|event| event.time)), false),
        ("alert", texts(events().map(|event| &event.alert)), false),
        ("state", texts(events().map(|event| event.state.name())), false),
        ("actor", texts(events().map(|event| &event.actor)), false),
        ("series", maybe_texts(rows.iter().map(|(_, series)| series.as_deref())), true),
        ("run", maybe_texts(events().map(|event| event.run.as_deref())), true),
        ("commit", maybe_texts(events().map(|event| event.commit.as_deref())), true),
        ("text", texts(events().map(|event| &event.text)), false),
        ("detail", maybe_texts(details.iter().map(Option::as_deref)), true),
    ];
    Ok(RecordBatch::try_from_iter_with_nullable(columns)?)
}

/// The points of one series, each with the commit of its run.
///
/// # Errors
/// If the columns do not fit, which is a bug.
pub fn shown(points: &[Point], runs: &[Run]) -> Result<RecordBatch, HistoryError> {
    let runs: BTreeMap<&str, &Run> = runs.iter().map(|run| (run.id.as_str(), run)).collect();
    let commit = |point: &Point| runs.get(point.run.as_str())?.commit.as_deref();
    let float = |value: fn(&Point) -> Option<f64>| -> ArrayRef {
        Arc::new(Float64Array::from_iter(points.iter().map(value)))
    };
    let columns: [(&str, ArrayRef); 11] = [
        ("commit_time", times(points.iter().map(|point| point.commit_time))),
        ("commit", maybe_texts(points.iter().map(commit))),
        ("run", texts(points.iter().map(|point| &point.run))),
        ("outcome", texts(points.iter().map(|point| point.outcome.name()))),
        ("value", float(|point| point.value)),
        ("low", float(|point| point.low.map(f64::from))),
        ("high", float(|point| point.high.map(f64::from))),
        ("control", float(|point| point.control.map(f64::from))),
        ("against", maybe_texts(points.iter().map(|point| point.against.as_deref()))),
        ("code", maybe_texts(points.iter().map(|point| point.code.as_deref()))),
        (
            "flags",
            Arc::new(Int32Array::from_iter_values(
                points.iter().map(|point| point.flags.cast_signed()),
            )),
        ),
    ];
    Ok(RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, column)| (name, column, true)),
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EventState, SeriesId};
    use arrow_array::Array;
    use arrow_array::cast::AsArray;

    #[test]
    fn an_event_has_a_row_for_each_series_and_one_if_there_is_none() {
        let event = |series: Vec<SeriesId>| Event {
            time: 7,
            actor: "detect".to_owned(),
            alert: "a".to_owned(),
            state: EventState::Detected,
            series,
            run: None,
            commit: Some("c0ffee".to_owned()),
            text: "slower".to_owned(),
            detail: serde_json::Value::Null,
        };
        let (one, two) = (SeriesId([1; 16]), SeriesId([2; 16]));
        let table = events(&[event(vec![one, two]), event(Vec::new())]).unwrap();
        let ids = table.column_by_name("series").unwrap().as_string::<i32>();
        assert_eq!((ids.value(0), ids.value(1)), (&*one.to_string(), &*two.to_string()));
        assert!(ids.is_null(2) && table.num_rows() == 3);
        assert_eq!(events(&[]).unwrap().num_rows(), 0);
    }
}
