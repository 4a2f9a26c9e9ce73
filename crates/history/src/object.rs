//! One run as one immutable Parquet object, and how Parquet is written here.

use crate::point::Row;
use crate::{FORMAT, HistoryError, Metric, Run, rows};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use proofmark_schema::Outcome;

/// The metadata of a Parquet file that holds the run.
const RUN: &str = "proofmark.run";
/// The metadata that holds the version of the columns.
const FORMAT_KEY: &str = "proofmark.format";

/// Rows of a row group. A group has one dictionary of runs, which many rows should share.
const GROUP_ROWS: usize = 1 << 19;
/// Rows of a page: what a reader of one series decodes at least.
const PAGE_ROWS: usize = 8192;

/// A run with its points, as it is appended.
#[derive(Clone, Debug, PartialEq)]
pub struct RunObject {
    run: Run,
    rows: Vec<Row>,
}

/// 32 hexadecimal digits of BLAKE3.
pub(crate) fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex()[..32].to_owned()
}

/// The hash in an object's name: the digits between the last dash and the extension.
pub(crate) fn hash_in_name(name: &str) -> Option<&str> {
    let (stem, _) = name.rsplit_once('.')?;
    let (_, hash) = stem.rsplit_once('-')?;
    (hash.len() == 32).then_some(hash)
}

/// Whether the bytes have the hash that the name states.
pub(crate) fn check_hash(name: &str, bytes: &[u8]) -> Result<(), HistoryError> {
    match hash_in_name(name) {
        Some(stated) if stated == hash(bytes) => Ok(()),
        Some(_) => {
            Err(HistoryError::damaged(name, "its content does not have the hash in its name"))
        }
        None => Err(HistoryError::damaged(name, "there is no hash in its name")),
    }
}

/// The run in the name of an inbox object.
pub(crate) fn run_in_name(name: &str) -> Option<&str> {
    let stem = name.rsplit_once('/').map_or(name, |(_, stem)| stem).strip_suffix(".parquet")?;
    let (run, hash) = stem.rsplit_once('-')?;
    (hash.len() == 32 && !run.is_empty()).then_some(run)
}

impl RunObject {
    /// A run with its points. A history trusts its objects, so that what cannot be is refused here.
    ///
    /// # Errors
    /// If there is no point, a series stands twice, a contender that is not proven has a number, or
    /// a number is not finite or negative.
    pub fn new(run: Run, mut rows: Vec<Row>) -> Result<RunObject, HistoryError> {
        let bad = |reason: String| HistoryError::BadRun { run: run.id.clone(), reason };
        proofmark_store::check_run_id(&run.id)?;
        if rows.is_empty() {
            return Err(bad("it has no record; finish it first".to_owned()));
        }
        rows.sort_by(|a, b| a.order().cmp(&b.order()));
        for row in &rows {
            let point = &row.point;
            let numbers = [point.value, point.low.map(f64::from), point.high.map(f64::from)];
            let of = || format!("{} of {}", row.key.metric, row.key);
            if point.outcome != Outcome::Proven && numbers.iter().any(Option::is_some) {
                return Err(bad(format!("{} is {} and has a number", of(), point.outcome)));
            }
            if numbers.iter().flatten().any(|number| !number.is_finite() || *number < 0.0) {
                return Err(bad(format!("{} is not a number from 0", of())));
            }
            if row.key.metric == Metric::Time && point.value == Some(0.0) {
                return Err(bad(format!("{} is zero", of())));
            }
            if point.run != run.id || point.commit_time != run.commit_time {
                return Err(bad(format!("{} belongs to another run", of())));
            }
        }
        if let Some(pair) =
            rows.windows(2).find(|pair| pair[0].point.series == pair[1].point.series)
        {
            return Err(bad(format!("it has two points of {}", pair[0].key)));
        }
        Ok(RunObject { run, rows })
    }

    /// The run.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Its points, in order of their series.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The object: its name and its bytes. The same run gives the same.
    ///
    /// # Errors
    /// If it cannot be written as Parquet.
    pub fn encode(&self) -> Result<(String, Bytes), HistoryError> {
        let json = serde_json::to_string(&self.run)
            .map_err(|error| HistoryError::Usage(format!("the run has no JSON: {error}")))?;
        let properties = points_properties()
            .set_key_value_metadata(Some(vec![
                KeyValue::new(FORMAT_KEY.to_owned(), FORMAT.to_string()),
                KeyValue::new(RUN.to_owned(), json),
            ]))
            .build();
        let bytes = to_parquet(&rows::schema(), &[rows::columns(&self.rows)?], properties)?;
        let name = format!("inbox/{}/{}-{}.parquet", hour(&self.run), self.run.id, hash(&bytes));
        Ok((name, bytes))
    }
}

/// The folder of the hour in which a run was started, in UTC.
fn hour(run: &Run) -> String {
    let time = jiff::Timestamp::from_microsecond(run.started.max(0)).unwrap_or_default();
    let time = jiff::tz::Offset::UTC.to_datetime(time);
    format!("{:04}/{:02}/{:02}/{:02}", time.year(), time.month(), time.day(), time.hour())
}

/// An inbox object as it was read: its run, and its rows in order.
#[derive(Clone, Debug)]
pub(crate) struct InboxObject {
    pub(crate) name: String,
    pub(crate) run: Run,
    pub(crate) batches: Vec<RecordBatch>,
}

impl InboxObject {
    /// Reads an object, and checks it against its name.
    pub(crate) fn decode(name: &str, bytes: Bytes) -> Result<InboxObject, HistoryError> {
        check_hash(name, &bytes)?;
        let damaged = |error: &dyn ToString| HistoryError::damaged(name, error.to_string());
        let builder =
            ParquetRecordBatchReaderBuilder::try_new(bytes).map_err(|error| damaged(&error))?;
        let metadata = builder.metadata().file_metadata().key_value_metadata();
        let value = |key: &str| {
            let entry = metadata?.iter().find(|entry| entry.key == key)?;
            entry.value.as_deref()
        };
        let format = value(FORMAT_KEY).and_then(|format| format.parse::<u32>().ok());
        match format {
            Some(format) if format <= FORMAT => {}
            Some(format) => {
                return Err(HistoryError::Newer { place: name.to_owned(), format, known: FORMAT });
            }
            None => return Err(damaged(&"it does not say its format")),
        }
        let run: Run = serde_json::from_str(value(RUN).ok_or_else(|| damaged(&"it has no run"))?)
            .map_err(|error| damaged(&error))?;
        if run_in_name(name) != Some(run.id.as_str()) {
            return Err(damaged(&"its name states another run"));
        }
        let reader = builder.build().map_err(|error| damaged(&error))?;
        let batches: Result<Vec<RecordBatch>, _> = reader.collect();
        let batches = batches.map_err(|error| damaged(&error))?;
        Ok(InboxObject { name: name.to_owned(), run, batches })
    }

    pub(crate) fn row_count(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}

/// How columns of the table `points` are written: floats split by bytes, times as differences, all
/// else by dictionary, then zstd.
pub(crate) fn points_properties() -> WriterPropertiesBuilder {
    let mut properties = plain_properties()
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_data_page_row_count_limit(PAGE_ROWS)
        .set_write_batch_size(1024)
        // A column that outgrows its dictionary costs more than the dictionary.
        .set_dictionary_page_size_limit(8 << 20)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_column_statistics_enabled("series".into(), EnabledStatistics::Page)
        .set_column_statistics_enabled("commit_time".into(), EnabledStatistics::Page);
    for column in ["value", "low", "high", "control"] {
        properties = properties
            .set_column_dictionary_enabled(column.into(), false)
            .set_column_encoding(column.into(), Encoding::BYTE_STREAM_SPLIT);
    }
    properties
        .set_column_dictionary_enabled("commit_time".into(), false)
        .set_column_encoding("commit_time".into(), Encoding::DELTA_BINARY_PACKED)
}

/// How any table is written: compressed, with nothing in it that depends on when or where.
pub(crate) fn plain_properties() -> WriterPropertiesBuilder {
    let level = ZstdLevel::try_new(3).expect("a level of zstd");
    WriterProperties::builder()
        .set_created_by("proofmark-history".to_owned())
        .set_compression(Compression::ZSTD(level))
}

/// Batches as the bytes of a Parquet file.
pub(crate) fn to_parquet(
    schema: &SchemaRef,
    batches: &[RecordBatch],
    properties: WriterProperties,
) -> Result<Bytes, HistoryError> {
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, SchemaRef::clone(schema), Some(properties))?;
    for batch in batches {
        writer.write(batch)?;
    }
    writer.close()?;
    Ok(bytes.into())
}

/// The batches of a small Parquet object whose name states its hash.
pub(crate) fn from_parquet(name: &str, bytes: Bytes) -> Result<Vec<RecordBatch>, HistoryError> {
    check_hash(name, &bytes)?;
    let read = || {
        let reader = ParquetRecordBatchReaderBuilder::try_new(bytes)?.build()?;
        reader.collect::<Result<Vec<RecordBatch>, _>>().map_err(Into::into)
    };
    read().map_err(|error: parquet::errors::ParquetError| HistoryError::damaged(name, error))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::rows::tests::row;

    /// A run with one point of each of this many series.
    pub(crate) fn run_object(id: &str, time: i64, series: u64) -> RunObject {
        let run = Run {
            id: id.to_owned(),
            started: time,
            commit_time: time,
            kind: "quick".to_owned(),
            is_whole: true,
            ..Run::default()
        };
        let rows = (0..series).map(|of| row(of, id, time, Some(100.0 + of as f64))).collect();
        RunObject::new(run, rows).unwrap()
    }

    #[test]
    fn a_run_survives_as_an_object_and_its_bytes_repeat() {
        let object = run_object("01a1eae6-e0a1-76f6-b2ec-6e5b38781805", 1_794_768_453_000_000, 40);
        let (name, bytes) = object.encode().unwrap();
        assert!(name.starts_with("inbox/2026/11/15/18/01a1eae6-e0a1-76f6-b2ec-6e5b38781805-"));
        assert_eq!(object.encode().unwrap(), (name.clone(), bytes.clone()));
        let back = InboxObject::decode(&name, bytes).unwrap();
        assert_eq!(&back.run, object.run());
        let points = rows::points(&back.batches[0], &name).unwrap();
        let rows: Vec<_> = object.rows().iter().map(|row| row.point.clone()).collect();
        assert_eq!(points, rows);
        assert!(points.is_sorted_by_key(|point| point.series));
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_seen() {
        let (name, bytes) = run_object("a", 7, 3).encode().unwrap();
        for place in (0..bytes.len()).step_by(17) {
            let mut broken = bytes.to_vec();
            broken[place] ^= 1 << (place % 8);
            assert!(InboxObject::decode(&name, broken.into()).is_err(), "byte {place}");
            assert!(InboxObject::decode(&name, bytes.slice(..place)).is_err(), "cut at {place}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let object = run_object("a", 7, 2);
        let changed = |change: fn(&mut Vec<Row>)| {
            let mut rows = object.rows.clone();
            change(&mut rows);
            RunObject::new(object.run.clone(), rows)
        };
        assert!(changed(|_| {}).is_ok());
        let bad: [fn(&mut Vec<Row>); 7] = [
            Vec::clear,
            |rows| rows[0].point.value = Some(f64::NAN),
            |rows| rows[0].point.value = Some(-1.0),
            |rows| rows[0].point.value = Some(0.0),
            |rows| rows[0].point.outcome = Outcome::Wrong,
            |rows| rows[0].point.run = "b".to_owned(),
            |rows| rows[1] = rows[0].clone(),
        ];
        for (index, change) in bad.into_iter().enumerate() {
            assert!(changed(change).is_err(), "{index}");
        }
    }

    #[test]
    fn names_state_runs_and_hashes() {
        let hash = "0123456789abcdef0123456789abcdef";
        let name = format!("inbox/2026/11/18/09/0a-b-{hash}.parquet");
        assert_eq!(run_in_name(&name), Some("0a-b"));
        assert_eq!(hash_in_name(&name), Some(hash));
        for other in ["inbox/x", "inbox/x.parquet", "x-12.parquet", &format!("-{hash}.parquet")] {
            assert_eq!(run_in_name(other), None, "{other}");
        }
    }
}
