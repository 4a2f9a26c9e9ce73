//! Checkpoints: what the log says up to an entry, so that a reader of a long log reads that and
//! the entries after it.
//!
//! There are two of each. One is Delta Lake's, for other engines. The other has what this crate
//! needs in addition. Its name contains its own hash, and it holds the hash of the first. The
//! entries stay: a checkpoint that is damaged or not there costs time and nothing else.

use crate::durable::Created;
use crate::log::{FOLDER, PROVIDER, Segment};
use crate::object::{self, hash, plain_properties, to_parquet};
use crate::rows::{Columns, texts};
use crate::state::{Gone, State};
use crate::tables::maybe_texts;
use crate::{HistoryError, Place};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Int32Array, Int64Array, ListArray, MapArray, RecordBatch,
    StringArray, StructArray, new_empty_array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Fields, Schema};
use bytes::Bytes;
use std::sync::Arc;

/// A checkpoint is written after this many entries.
pub(crate) const EVERY: u64 = 10;

/// The folder of those that only this crate reads.
pub(crate) const OWN_FOLDER: &str = "checkpoints";

/// Kinds of rows of a checkpoint of our own.
const PROTOCOL: &str = "protocol";
const TABLE: &str = "table";
const SEGMENT: &str = "segment";
const CONSUMED: &str = "consumed";
const SUPERSEDED: &str = "superseded";
const REMOVED: &str = "removed";
const GROUP: &str = "group";
const DELTA: &str = "delta";

/// The name of the checkpoint of an entry for other engines.
pub(crate) fn delta_name(version: u64) -> String {
    format!("{FOLDER}/{version:020}.checkpoint.parquet")
}

/// The entry of a checkpoint of our own, from its name.
pub(crate) fn version_of(name: &str) -> Option<u64> {
    let (digits, _) = name.strip_prefix(OWN_FOLDER)?.strip_prefix('/')?.split_once('-')?;
    digits.parse().ok()
}

/// A hash of all that a state says. It is kept instead of the state where many states would take
/// much memory.
pub(crate) fn digest(state: &State) -> Result<String, HistoryError> {
    Ok(hash(json(state)?.as_bytes()))
}

/// A checkpoint, read.
pub(crate) struct Checkpoint {
    pub(crate) state: State,
    /// The hash of the one for other engines.
    pub(crate) delta: String,
}

/// Writes the checkpoints of an entry.
pub(crate) async fn write(place: &Place, version: u64) -> Result<(), HistoryError> {
    let state = State::load_to(place, version).await?;
    let delta = encode(&state)?;
    let delta_hash = hash(&delta);
    if state.version != Some(version)
        || place.put_if_absent(&delta_name(version), delta).await? == Created::Present
    {
        return Ok(());
    }
    let own = own_bytes(&state, delta_hash)?;
    let name = format!("{OWN_FOLDER}/{version:020}-{}.parquet", hash(&own));
    place.put_content(&name, own).await?;
    Ok(())
}

/// Reads a checkpoint of our own.
pub(crate) async fn read(place: &Place, name: &str) -> Result<Checkpoint, HistoryError> {
    let mut read = Checkpoint { state: State::default(), delta: String::new() };
    read.state.version = version_of(name);
    for batch in object::from_parquet(name, place.get(name).await?)? {
        take(&mut read, &batch, name)?;
    }
    Ok(read)
}

/// A row of a checkpoint of our own: its kind, a name, a time, and JSON.
type Own = (&'static str, String, i64, Option<String>);

fn own_bytes(state: &State, delta: String) -> Result<Bytes, HistoryError> {
    let mut own: Vec<Own> = vec![
        (DELTA, delta, 0, None),
        (PROTOCOL, String::new(), 0, Some(json(&state.protocol)?)),
        (TABLE, String::new(), 0, Some(json(&state.meta_data)?)),
    ];
    for (name, segment) in &state.segments {
        own.push((SEGMENT, name.clone(), 0, Some(json(segment)?)));
    }
    for (name, gone) in &state.consumed {
        let kind = if gone.is_superseded { SUPERSEDED } else { CONSUMED };
        own.push((kind, name.clone(), gone.time_ms, None));
    }
    own.extend(state.removed_ms.iter().map(|(name, ms)| (REMOVED, name.clone(), *ms, None)));
    for (id, group) in &state.groups {
        own.push((GROUP, id.clone(), 0, Some(json(group)?)));
    }
    let columns: [(&str, ArrayRef); 4] = [
        ("kind", texts(own.iter().map(|(kind, ..)| kind))),
        ("name", texts(own.iter().map(|(_, name, ..)| name))),
        ("time", Arc::new(Int64Array::from_iter_values(own.iter().map(|(_, _, ms, _)| *ms)))),
        ("detail", maybe_texts(own.iter().map(|(.., detail)| detail.as_deref()))),
    ];
    let batch = RecordBatch::try_from_iter(columns)?;
    to_parquet(&batch.schema(), &[batch], plain_properties().build())
}

/// Takes the rows of a batch of our own.
fn take(read: &mut Checkpoint, batch: &RecordBatch, file: &str) -> Result<(), HistoryError> {
    let of = Columns::of(batch, file);
    let (kind, name) = (of.text("kind")?, of.text("name")?);
    let (time, detail) = (of.long("time")?, of.text("detail")?);
    let state = &mut read.state;
    for row in 0..batch.num_rows() {
        let (name, time_ms) = (name.value(row).to_owned(), time.value(row));
        let detail = detail.value(row);
        match kind.value(row) {
            DELTA => read.delta = name,
            PROTOCOL => state.protocol = parsed(file, detail)?,
            TABLE => state.meta_data = parsed(file, detail)?,
            SEGMENT => {
                state.segments.insert(name, parsed(file, detail)?);
            }
            CONSUMED => {
                let run = object::run_in_name(&name)
                    .ok_or_else(|| HistoryError::damaged(file, format!("{name} names no run")))?;
                state.runs.insert(run.to_owned());
                state.consumed.insert(name, Gone { time_ms, is_superseded: false });
            }
            SUPERSEDED => {
                state.consumed.insert(name, Gone { time_ms, is_superseded: true });
            }
            REMOVED => {
                state.removed_ms.insert(name, time_ms);
            }
            GROUP => {
                state.groups.insert(name, parsed(file, detail)?);
            }
            other => return Err(HistoryError::damaged(file, format!("{other} is no kind of row"))),
        }
    }
    Ok(())
}

fn json(value: &impl serde::Serialize) -> Result<String, HistoryError> {
    serde_json::to_string(value)
        .map_err(|error| HistoryError::Usage(format!("an action has no JSON: {error}")))
}

fn parsed<T: serde::de::DeserializeOwned>(file: &str, json: &str) -> Result<T, HistoryError> {
    serde_json::from_str(json).map_err(|error| HistoryError::damaged(file, error))
}

/// Rows of the file, of which a column has values in one stretch and is null elsewhere.
struct Stretch {
    before: usize,
    count: usize,
    after: usize,
}

impl Stretch {
    fn rows(&self) -> usize {
        self.before + self.count + self.after
    }

    fn spread<T>(&self, values: impl Iterator<Item = T>) -> impl Iterator<Item = Option<T>> {
        let nothing = |count| std::iter::repeat_with(|| None).take(count);
        nothing(self.before).chain(values.map(Some)).chain(nothing(self.after))
    }

    fn texts(&self, values: impl Iterator<Item = String>) -> ArrayRef {
        Arc::new(self.spread(values).collect::<StringArray>())
    }

    fn longs(&self, values: impl Iterator<Item = i64>) -> ArrayRef {
        Arc::new(self.spread(values).collect::<Int64Array>())
    }

    fn flags(&self, value: bool) -> ArrayRef {
        let values = self.spread(std::iter::repeat_n(value, self.count));
        Arc::new(values.collect::<BooleanArray>())
    }

    /// A map without entries in each row.
    fn no_map(&self) -> ArrayRef {
        let fields = [("key", false), ("value", true)];
        let fields: Fields =
            fields.map(|(name, is_null)| Field::new(name, DataType::Utf8, is_null)).to_vec().into();
        let entries = StructArray::new_null(fields, 0);
        let field = Arc::new(Field::new("key_value", entries.data_type().clone(), false));
        Arc::new(MapArray::new(field, OffsetBuffer::new_zeroed(self.rows()), entries, None, false))
    }

    /// A list without elements in each row.
    fn no_list(&self) -> ArrayRef {
        let field = Arc::new(Field::new("element", DataType::Utf8, true));
        let values = new_empty_array(&DataType::Utf8);
        Arc::new(ListArray::new(field, OffsetBuffer::new_zeroed(self.rows()), values, None))
    }

    /// A column of the file: nothing outside of the stretch.
    fn column(&self, members: Vec<(&str, ArrayRef)>) -> ArrayRef {
        let fields = members.iter();
        let fields = fields.map(|(name, of)| Field::new(*name, of.data_type().clone(), true));
        let fields: Fields = fields.collect();
        let arrays = members.into_iter().map(|(_, array)| array).collect();
        let valid = self.spread(std::iter::repeat_n((), self.count)).map(|it| it.is_some());
        Arc::new(StructArray::new(fields, arrays, Some(valid.collect::<NullBuffer>())))
    }
}

/// A state as the bytes of a checkpoint of Delta Lake.
fn encode(state: &State) -> Result<Bytes, HistoryError> {
    let damaged = || HistoryError::damaged(FOLDER, "no entry says what the table is");
    let protocol = state.protocol.as_ref().ok_or_else(damaged)?;
    let meta = state.meta_data.as_ref().ok_or_else(damaged)?;
    let segments: Vec<&Segment> = state.segments.values().collect();
    let removes: Vec<(&String, &i64)> =
        state.removed_ms.iter().filter(|(name, _)| name.starts_with("segments/")).collect();
    let counts = [1, 1, segments.len(), removes.len()];
    let rows: usize = counts.iter().sum();
    let stretch = |index: usize| {
        let (before, count) = (counts[..index].iter().sum(), counts[index]);
        Stretch { before, count, after: rows - before - count }
    };
    let of = stretch(0);
    let version = |number: u32| -> ArrayRef {
        Arc::new(of.spread(std::iter::once(number.cast_signed())).collect::<Int32Array>())
    };
    let protocol = of.column(vec![
        ("minReaderVersion", version(protocol.min_reader_version)),
        ("minWriterVersion", version(protocol.min_writer_version)),
    ]);
    let of = stretch(1);
    let text = |text: &str| of.texts(std::iter::once(text.to_owned()));
    let format = of.column(vec![("provider", text(PROVIDER)), ("options", of.no_map())]);
    let meta_data = of.column(vec![
        ("id", text(&meta.id)),
        ("name", text(&meta.name)),
        ("format", format),
        ("schemaString", text(&meta.schema_string)),
        ("partitionColumns", of.no_list()),
        ("configuration", of.no_map()),
        ("createdTime", of.longs(std::iter::once(meta.created_time))),
    ]);
    let of = stretch(2);
    let stats: Result<Vec<String>, _> = segments.iter().map(|of| json(&of.stats)).collect();
    let add = of.column(vec![
        ("path", of.texts(segments.iter().map(|segment| segment.path.clone()))),
        ("partitionValues", of.no_map()),
        ("size", of.longs(segments.iter().map(|segment| segment.size.cast_signed()))),
        ("modificationTime", of.longs(segments.iter().map(|segment| segment.modified_ms))),
        ("dataChange", of.flags(false)),
        ("stats", of.texts(stats?.into_iter())),
    ]);
    let of = stretch(3);
    let remove = of.column(vec![
        ("path", of.texts(removes.iter().map(|(name, _)| (*name).clone()))),
        ("deletionTimestamp", of.longs(removes.iter().map(|(_, ms)| **ms))),
        ("dataChange", of.flags(false)),
    ]);
    let columns =
        [("protocol", protocol), ("metaData", meta_data), ("add", add), ("remove", remove)];
    let fields = columns.iter();
    let fields = fields.map(|(name, of)| Field::new(*name, of.data_type().clone(), true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let batch = RecordBatch::try_new(
        Arc::clone(&schema),
        columns.into_iter().map(|(_, column)| column).collect(),
    )?;
    to_parquet(&schema, &[batch], plain_properties().build())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compact::{Options, compact};
    use crate::object::tests::run_object;
    use crate::{Snapshot, append, fsck, init};
    use std::time::{Duration, SystemTime};

    #[tokio::test]
    async fn a_checkpoint_says_what_the_entries_say_and_a_damaged_one_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::folder(folder.path()).unwrap();
        init(&place).await.unwrap();
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        for run in 0..(EVERY as i64 + 2) {
            append(&place, &run_object(&format!("run{run:02}"), run, 3)).await.unwrap();
            // Another content of a run that is there: it is superseded.
            append(&place, &run_object("run00", 0, 1 + run as u64)).await.unwrap();
            compact(&place, Options { all: run % 4 == 0, ..Options::at(now) }).await.unwrap();
        }
        let [own] = &place.list(OWN_FOLDER).await.unwrap()[..] else { panic!("one checkpoint") };
        assert_eq!(version_of(&own.name), Some(EVERY));
        let mut of_entries = State::default();
        let mut visit = |state: &State| {
            if state.version == Some(EVERY) {
                of_entries = state.clone();
            }
            Ok(())
        };
        let whole = State::replay(&place, &mut visit).await.unwrap();
        assert!(!of_entries.removed_ms.is_empty() && of_entries.consumed.len() > EVERY as usize);
        let checkpoint = read(&place, &own.name).await.unwrap();
        assert_eq!(checkpoint.state, of_entries);
        let delta = place.get(&delta_name(EVERY)).await.unwrap();
        assert_eq!(checkpoint.delta, hash(&delta));
        assert_eq!(State::load(&place).await.unwrap(), whole);
        assert!(whole.version > Some(EVERY));
        let checked = fsck::fsck(&place).await.unwrap();
        assert!(checked.is_sound(), "{checked:?}");

        // With a checkpoint the entries before it are not read.
        let first = folder.path().join(crate::log::entry_name(3));
        let entry = std::fs::read(&first).unwrap();
        std::fs::remove_file(&first).unwrap();
        assert_eq!(State::load(&place).await.unwrap(), whole);
        std::fs::write(&first, entry).unwrap();

        for (name, count) in [(own.name.clone(), own.size), (delta_name(EVERY), 99)] {
            let path = folder.path().join(&name);
            let bytes = std::fs::read(&path).unwrap();
            let mut broken = bytes.clone();
            broken[count as usize / 2] ^= 1;
            std::fs::write(&path, broken).unwrap();
            assert_eq!(State::load(&place).await.unwrap(), whole);
            assert_eq!(Snapshot::load(&place).await.unwrap().runs().await.unwrap().len(), 12);
            let checked = fsck::fsck(&place).await.unwrap();
            assert!(!checked.is_sound() && checked.found[0].object == name, "{checked:?}");
            std::fs::write(&path, bytes).unwrap();
        }
    }
}
