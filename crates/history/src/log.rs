//! The log: numbered entries in the format of Delta Lake, each created once.
//!
//! Readers of Delta Lake see the table `points` as far as it is compacted. What they do not need is
//! in `commitInfo`, which the format leaves to the writer: the inbox objects that a commit
//! consumed, and the tables of runs and series that belong to its segments.

use crate::durable::Created;
use crate::{HistoryError, Place, object, rows};
use arrow_schema::DataType;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The folder of the log.
pub const FOLDER: &str = "_delta_log";

/// One line of an entry: exactly one of the actions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    commit_info: Option<CommitInfo>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    protocol: Option<Protocol>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    meta_data: Option<MetaData>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    add: Option<Add>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    remove: Option<Remove>,
}

/// What a reader and a writer of the table must know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Protocol {
    pub(crate) min_reader_version: u32,
    pub(crate) min_writer_version: u32,
}

/// What the table is. It has neither partitions nor settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MetaData {
    pub(crate) id: String,
    pub(crate) name: String,
    format: Provider,
    pub(crate) schema_string: String,
    partition_columns: Vec<String>,
    configuration: BTreeMap<String, String>,
    pub(crate) created_time: i64,
}

impl MetaData {
    /// A table of Parquet files.
    pub(crate) fn new(id: String, name: String, schema_string: String, created_time: i64) -> Self {
        let format = Provider { provider: PROVIDER.to_owned(), options: BTreeMap::new() };
        let (partition_columns, configuration) = (Vec::new(), BTreeMap::new());
        MetaData { id, name, format, schema_string, partition_columns, configuration, created_time }
    }
}

/// What the files of the table are.
pub(crate) const PROVIDER: &str = "parquet";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Provider {
    provider: String,
    options: BTreeMap<String, String>,
}

/// A segment that becomes a part of the table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Add {
    /// Its name within the place.
    pub path: String,
    /// None: the table has no partitions.
    pub partition_values: BTreeMap<String, String>,
    /// Its size in bytes.
    pub size: u64,
    /// When it was written, in milliseconds since 1970.
    pub modification_time: i64,
    /// Whether rows are new to readers of the table.
    pub data_change: bool,
    /// JSON: how many rows it has, its first and its last series.
    pub stats: String,
}

/// What the statistics of a segment say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// How many rows it has.
    pub num_records: u64,
    /// The first series.
    pub min_values: SeriesOf,
    /// The last series.
    pub max_values: SeriesOf,
    /// How many rows have no series: none.
    pub null_count: NullsOf,
}

/// The id of a series, as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesOf {
    /// The id.
    pub series: String,
}

/// How many rows have none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NullsOf {
    /// Always 0.
    pub series: u64,
}

/// A segment that is no part of the table any more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Remove {
    /// Its name within the place.
    pub path: String,
    /// When it was removed, in milliseconds since 1970.
    pub deletion_timestamp: i64,
    /// Whether rows vanish for readers of the table.
    pub data_change: bool,
}

/// What a commit was for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CommitInfo {
    timestamp: i64,
    operation: String,
    engine_info: String,
    /// Which attempt this is; no two are alike, so that a commit recognises itself.
    txn_id: String,
    /// What readers of this crate need.
    #[serde(default)]
    proofmark: Compaction,
}

/// What a compaction did besides adding and removing segments.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Compaction {
    /// Inbox objects whose rows are in segments from now on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub consumed: Vec<String>,
    /// Inbox objects that are passed over, because their run is there already from another object.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub superseded: Vec<String>,
    /// The group of segments that was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Group>,
    /// Ids of the groups that it replaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<String>,
}

/// Segments that were written together, with the runs and series in them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// Its id.
    pub id: String,
    /// How many points its segments have.
    pub rows: u64,
    /// Names of its segments, in order of their series.
    pub segments: Vec<String>,
    /// The object with the runs.
    pub runs: String,
    /// The object with the series.
    pub series: String,
}

/// A live segment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Segment {
    /// Its name within the place.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
    /// What is known about its rows.
    pub stats: Stats,
    /// When it was written, in milliseconds since 1970.
    pub modified_ms: i64,
}

/// A commit that has not been made yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Commit {
    pub(crate) time_ms: i64,
    pub(crate) adds: Vec<Add>,
    pub(crate) removes: Vec<Remove>,
    pub(crate) compaction: Compaction,
}

/// The name of an entry.
pub fn entry_name(version: u64) -> String {
    format!("{FOLDER}/{version:020}.json")
}

/// The version of an entry, from its name.
pub(crate) fn version_of(name: &str) -> Option<u64> {
    let digits = name.strip_prefix(FOLDER)?.strip_prefix('/')?.strip_suffix(".json")?;
    let is_number = digits.len() == 20 && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}

/// One entry, read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    pub(crate) protocol: Option<Protocol>,
    pub(crate) meta_data: Option<MetaData>,
    pub(crate) time_ms: i64,
    pub(crate) adds: Vec<Add>,
    pub(crate) removes: Vec<Remove>,
    pub(crate) compaction: Compaction,
}

impl Entry {
    pub(crate) fn parse(name: &str, bytes: &[u8]) -> Result<Entry, HistoryError> {
        let text =
            std::str::from_utf8(bytes).map_err(|error| HistoryError::damaged(name, error))?;
        let mut entry = Entry::default();
        for line in text.lines().filter(|line| !line.is_empty()) {
            let line: Line =
                serde_json::from_str(line).map_err(|error| HistoryError::damaged(name, error))?;
            if line.protocol.as_ref().is_some_and(|protocol| protocol.min_reader_version > 1) {
                let reason = "the table needs a reader of a later version of Delta Lake";
                return Err(HistoryError::damaged(name, reason));
            }
            entry.protocol = line.protocol.or(entry.protocol);
            entry.meta_data = line.meta_data.or(entry.meta_data);
            entry.adds.extend(line.add);
            entry.removes.extend(line.remove);
            if let Some(info) = line.commit_info {
                entry.time_ms = info.timestamp;
                entry.compaction = info.proofmark;
            }
        }
        Ok(entry)
    }
}

/// The lines of an entry.
fn text(lines: &[Line]) -> Result<Vec<u8>, HistoryError> {
    let mut bytes = Vec::new();
    for line in lines {
        serde_json::to_writer(&mut bytes, line)
            .map_err(|error| HistoryError::Usage(format!("an action has no JSON: {error}")))?;
        bytes.push(b'\n');
    }
    Ok(bytes)
}

fn commit_info(operation: &str, time_ms: i64, compaction: Compaction) -> Line {
    let info = CommitInfo {
        timestamp: time_ms,
        operation: operation.to_owned(),
        engine_info: concat!("proofmark-history/", env!("CARGO_PKG_VERSION")).to_owned(),
        txn_id: uuid::Uuid::new_v4().to_string(),
        proofmark: compaction,
    };
    Line { commit_info: Some(info), ..Line::default() }
}

/// Creates entry 0, which says what the table is, if it is not there.
pub(crate) async fn begin(place: &Place) -> Result<(), HistoryError> {
    let protocol = Protocol { min_reader_version: 1, min_writer_version: 2 };
    let id = uuid::Uuid::new_v4().to_string();
    let meta_data = MetaData::new(id, "points".to_owned(), schema_string(), 0);
    let lines = [
        commit_info("CREATE TABLE", 0, Compaction::default()),
        Line { protocol: Some(protocol), ..Line::default() },
        Line { meta_data: Some(meta_data), ..Line::default() },
    ];
    place.put_if_absent(&entry_name(0), text(&lines)?.into()).await?;
    Ok(())
}

/// The columns of the table, as Delta Lake writes them.
fn schema_string() -> String {
    let kind = |kind: &DataType| match kind {
        DataType::Utf8 => "string",
        DataType::Float64 => "double",
        DataType::Float32 => "float",
        DataType::Int32 => "integer",
        DataType::Timestamp(..) => "timestamp",
        other => unreachable!("no column is {other}"),
    };
    let schema = rows::schema();
    let fields: Vec<serde_json::Value> = schema
        .fields()
        .iter()
        .map(|field| {
            serde_json::json!({
                "name": field.name(),
                "type": kind(field.data_type()),
                "nullable": field.is_nullable(),
                "metadata": {},
            })
        })
        .collect();
    serde_json::json!({ "type": "struct", "fields": fields }).to_string()
}

/// How a commit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Committed {
    /// It is the entry of this number.
    As(u64),
    /// Another commit took some of the same inputs first.
    Conflict,
}

/// How many commits of others a commit gives way to before it fails.
const MOST_REBASES: u32 = 1000;

/// Commits on top of an entry. If others commit meanwhile, the commit is put after theirs, unless
/// they took some of its inputs.
pub(crate) async fn commit(
    place: &Place,
    after: u64,
    commit: Commit,
) -> Result<Committed, HistoryError> {
    let runs: BTreeSet<String> = commit
        .compaction
        .consumed
        .iter()
        .chain(&commit.compaction.superseded)
        .filter_map(|name| object::run_in_name(name).map(str::to_owned))
        .collect();
    let removed: BTreeSet<String> =
        commit.removes.iter().map(|remove| remove.path.clone()).collect();
    let mut lines = vec![commit_info("COMPACT", commit.time_ms, commit.compaction)];
    lines.extend(commit.adds.into_iter().map(|add| Line { add: Some(add), ..Line::default() }));
    let remove = |remove| Line { remove: Some(remove), ..Line::default() };
    lines.extend(commit.removes.into_iter().map(remove));
    let bytes = bytes::Bytes::from(text(&lines)?);
    for version in (after + 1..).take(MOST_REBASES as usize) {
        let name = entry_name(version);
        if place.put_if_absent(&name, bytes.clone()).await? == Created::New {
            return Ok(Committed::As(version));
        }
        let theirs = place.get(&name).await?;
        if theirs == bytes {
            // An earlier try of this commit had arrived, although its answer did not.
            return Ok(Committed::As(version));
        }
        let theirs = Entry::parse(&name, &theirs)?;
        let taken = theirs.compaction.consumed.iter().chain(&theirs.compaction.superseded);
        let mut taken = taken.filter_map(|name| object::run_in_name(name));
        let has_taken_run = taken.any(|run| runs.contains(run));
        let has_removed = theirs.removes.iter().any(|remove| removed.contains(&remove.path));
        if has_taken_run || has_removed {
            return Ok(Committed::Conflict);
        }
    }
    Err(HistoryError::Contended(MOST_REBASES))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::state::State;

    #[test]
    fn entries_are_named_by_their_numbers() {
        assert_eq!(entry_name(42), "_delta_log/00000000000000000042.json");
        assert_eq!(version_of(&entry_name(42)), Some(42));
        for other in [
            "_delta_log/42.json",
            "_delta_log/_last_checkpoint",
            "x",
            "_delta_log/+0000000000000000042.json",
        ] {
            assert_eq!(version_of(other), None, "{other}");
        }
    }

    pub(crate) fn consuming(names: &[&str]) -> Commit {
        let consumed =
            names.iter().map(|name| format!("inbox/{name}-{}.parquet", "0".repeat(32))).collect();
        Commit { compaction: Compaction { consumed, ..Compaction::default() }, ..Commit::default() }
    }

    pub(crate) async fn fresh() -> (tempfile::TempDir, Place) {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::folder(folder.path()).unwrap();
        begin(&place).await.unwrap();
        (folder, place)
    }

    #[tokio::test]
    async fn commits_with_other_inputs_follow_each_other_and_equal_ones_conflict() {
        let (_folder, place) = fresh().await;
        assert_eq!(commit(&place, 0, consuming(&["a", "b"])).await.unwrap(), Committed::As(1));
        // Both of these were prepared on top of entry 0 too.
        assert_eq!(commit(&place, 0, consuming(&["c"])).await.unwrap(), Committed::As(2));
        assert_eq!(commit(&place, 0, consuming(&["d", "b"])).await.unwrap(), Committed::Conflict);
        let state = State::load(&place).await.unwrap();
        assert_eq!(state.version, Some(2));
        assert_eq!(state.runs.into_iter().collect::<Vec<_>>(), ["a", "b", "c"]);
    }

    #[tokio::test]
    async fn a_log_with_a_gap_or_a_run_twice_is_damaged() {
        let (folder, place) = fresh().await;
        commit(&place, 0, consuming(&["a"])).await.unwrap();
        commit(&place, 4, consuming(&["b"])).await.unwrap();
        let error = State::load(&place).await.unwrap_err().to_string();
        assert!(error.contains(&entry_name(2)), "{error}");
        std::fs::remove_file(folder.path().join(entry_name(5))).unwrap();
        std::fs::copy(folder.path().join(entry_name(1)), folder.path().join(entry_name(2)))
            .unwrap();
        let error = State::load(&place).await.unwrap_err().to_string();
        assert!(error.contains("run a a second time"), "{error}");
    }
}
