//! Writing a group: segments of sorted rows, with the runs and series in them.

use crate::log::{self, Add, Group, NullsOf, Stats};
use crate::merge::{self, Merge};
use crate::tables::{self, SeriesOf};
use crate::{HistoryError, Place, Run, object, rows};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use std::collections::BTreeMap;

/// Rows of a segment. A segment is made in memory and created by one request.
const SEGMENT_ROWS: u64 = 4 << 20;

/// Merges sources into segments, and writes the runs and series in them.
pub(crate) async fn write(
    place: &Place,
    sources: Vec<merge::Batches>,
    mut runs: Vec<Run>,
    time_ms: i64,
    adds: &mut Vec<Add>,
) -> Result<Group, HistoryError> {
    let mut merged = Merge::new(sources).await?;
    let mut written = Written::default();
    let mut writing = None;
    loop {
        // The rows before are encoded meanwhile, by another thread.
        let batch = merged.next().await?;
        if let Some(done) = writing.take() {
            let done: tokio::task::JoinHandle<Result<Written, HistoryError>> = done;
            written = done.await.expect("no panic in the encoding of rows")?;
            if let Some(full) = written.full.take() {
                adds.push(full.finish(place, time_ms).await?);
            }
        }
        let Some(batch) = batch else { break };
        writing = Some(tokio::task::spawn_blocking(move || written.take(&batch)));
        written = Written::default();
    }
    if let Some(open) = written.open.take() {
        adds.push(open.finish(place, time_ms).await?);
    }
    runs.sort_by(|a, b| a.id.cmp(&b.id));
    let of_runs = tables::of_runs(&runs)?;
    let of_series = tables::of_series(&written.series.finish())?;
    Ok(Group {
        id: uuid::Uuid::now_v7().to_string(),
        rows: written.rows,
        segments: adds.iter().map(|add| add.path.clone()).collect(),
        runs: put_table(place, "runs", &tables::runs_schema(), of_runs).await?,
        series: put_table(place, "series", &tables::series_schema(), of_series).await?,
    })
}

/// Creates an object in this folder, named by a fresh id and its hash.
async fn put(place: &Place, folder: &str, bytes: Bytes) -> Result<String, HistoryError> {
    let name =
        format!("{folder}/{}-{}.parquet", uuid::Uuid::now_v7().simple(), object::hash(&bytes));
    place.put_content(&name, bytes).await?;
    Ok(name)
}

async fn put_table(
    place: &Place,
    folder: &str,
    schema: &SchemaRef,
    batch: RecordBatch,
) -> Result<String, HistoryError> {
    let bytes = object::to_parquet(schema, &[batch], object::plain_properties().build())?;
    put(place, folder, bytes).await
}

/// What was written of a group so far.
#[derive(Default)]
struct Written {
    series: SeriesOf,
    rows: u64,
    open: Option<SegmentWriter>,
    /// A segment that is complete, and not yet created.
    full: Option<SegmentWriter>,
}

impl Written {
    fn take(mut self, batch: &RecordBatch) -> Result<Written, HistoryError> {
        self.series.take(batch, "merged rows")?;
        self.rows += batch.num_rows() as u64;
        let mut open = match self.open.take() {
            Some(open) => open,
            None => SegmentWriter::new()?,
        };
        open.write(batch)?;
        let is_full = open.rows >= SEGMENT_ROWS;
        *(if is_full { &mut self.full } else { &mut self.open }) = Some(open);
        Ok(self)
    }
}

/// A segment that is being written.
struct SegmentWriter {
    writer: ArrowWriter<Vec<u8>>,
    rows: u64,
    first: String,
    last: String,
}

impl SegmentWriter {
    fn new() -> Result<SegmentWriter, HistoryError> {
        let properties = object::points_properties().build();
        let writer = ArrowWriter::try_new(Vec::new(), rows::schema(), Some(properties))?;
        Ok(SegmentWriter { writer, rows: 0, first: String::new(), last: String::new() })
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<(), HistoryError> {
        let ids = rows::Columns::of(batch, "merged rows").text("series")?;
        if self.rows == 0 {
            ids.value(0).clone_into(&mut self.first);
        }
        ids.value(batch.num_rows() - 1).clone_into(&mut self.last);
        self.rows += batch.num_rows() as u64;
        Ok(self.writer.write(batch)?)
    }

    async fn finish(self, place: &Place, time_ms: i64) -> Result<Add, HistoryError> {
        let bytes = Bytes::from(self.writer.into_inner()?);
        let size = bytes.len() as u64;
        let of = |series| log::SeriesOf { series };
        let stats = Stats {
            num_records: self.rows,
            min_values: of(self.first),
            max_values: of(self.last),
            null_count: NullsOf { series: 0 },
        };
        let stats = serde_json::to_string(&stats)
            .map_err(|error| HistoryError::Usage(format!("statistics have no JSON: {error}")))?;
        Ok(Add {
            path: put(place, "segments", bytes).await?,
            partition_values: BTreeMap::new(),
            size,
            modification_time: time_ms,
            data_change: true,
            stats,
        })
    }
}
