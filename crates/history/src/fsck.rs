//! The check of a whole history: every object against its hash, the log against the objects, and
//! every row against its neighbours.

use crate::log;
use crate::object::{self, InboxObject};
use crate::state::State;
use crate::{Event, HistoryError, Place, checkpoint, merge, rows, tables};
use arrow_array::RecordBatch;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// It costs room and nothing else.
    Note,
    /// Something is lost, doubled or changed.
    Damage,
}

/// Something that a check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Found {
    /// How bad it is.
    pub grade: Grade,
    /// The object.
    pub object: String,
    /// What is wrong, and what to do.
    pub what: String,
}

/// What a check saw.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// The latest entry of the log.
    pub version: Option<u64>,
    /// Inbox objects that are visible.
    pub inbox: usize,
    /// Live segments.
    pub segments: usize,
    /// Runs that are visible.
    pub runs: usize,
    /// Points that are visible.
    pub points: u64,
    /// Events.
    pub events: usize,
    /// Objects whose hashes were computed.
    pub hashed: usize,
    /// Bytes of them.
    pub bytes: u64,
    /// What is wrong.
    pub found: Vec<Found>,
}

impl Checked {
    /// Whether nothing is lost, doubled or changed.
    pub fn is_sound(&self) -> bool {
        self.found.iter().all(|found| found.grade == Grade::Note)
    }

    fn note(&mut self, object: &str, what: impl ToString) {
        self.say(Grade::Note, object, what);
    }

    fn damage(&mut self, object: &str, what: impl ToString) {
        self.say(Grade::Damage, object, what);
    }

    #[expect(clippy::needless_pass_by_value, reason = "a text or an error, as it comes")]
    fn say(&mut self, grade: Grade, object: &str, what: impl ToString) {
        self.found.push(Found { grade, object: object.to_owned(), what: what.to_string() });
    }
}

/// Checks a whole history. It reads every byte and changes nothing.
///
/// # Errors
/// If the place is no history or cannot be read. Damage is not an error: it is in the result.
pub async fn fsck(place: &Place) -> Result<Checked, HistoryError> {
    place.check().await?;
    let mut checked = Checked::default();
    let mut digests = BTreeMap::new();
    let mut visit = |state: &State| {
        let version = state.version.unwrap_or_default();
        if version.is_multiple_of(checkpoint::EVERY) {
            digests.insert(version, checkpoint::digest(state)?);
        }
        Ok(())
    };
    let state = match State::replay(place, &mut visit).await {
        Ok(state) => state,
        Err(HistoryError::Damaged { name, reason }) => {
            checked.damage(&name, reason);
            return Ok(checked);
        }
        Err(error) => return Err(error),
    };
    checked.version = state.version;
    if state.version.is_none() {
        checked.damage(log::FOLDER, "the log is empty: `proofmark history init` begins it");
    }
    checkpoints(place, &digests, &mut checked).await?;
    let mut runs = Runs::default();
    groups(place, &state, &mut checked, &mut runs).await?;
    inbox(place, &state, &mut checked, &mut runs).await?;
    events(place, &mut checked).await?;
    for (object, folder) in orphans(place, &state).await? {
        let of = if folder == "probe" { "a probe left it" } else { "no entry of the log names it" };
        checked.note(&object, format!("{of}: `proofmark history compact --collect` removes it"));
    }
    checked.runs = runs.seen.len();
    Ok(checked)
}

/// Checks that checkpoints say what the entries say, and that those for other engines are whole.
async fn checkpoints(
    place: &Place,
    digests: &BTreeMap<u64, String>,
    checked: &mut Checked,
) -> Result<(), HistoryError> {
    let advice = "delete it, and the entries are read instead";
    for listed in place.list(checkpoint::OWN_FOLDER).await? {
        checked.hashed += 1;
        checked.bytes += listed.size;
        let version = checkpoint::version_of(&listed.name).unwrap_or_default();
        let read = match checkpoint::read(place, &listed.name).await {
            Ok(read) => read,
            Err(HistoryError::Damaged { reason, .. }) => {
                checked.damage(&listed.name, format!("{reason}: {advice}"));
                continue;
            }
            Err(error) => return Err(error),
        };
        if digests.get(&version) != Some(&checkpoint::digest(&read.state)?) {
            checked.damage(&listed.name, format!("the entries say otherwise: {advice}"));
        }
        let delta = checkpoint::delta_name(version);
        let is_whole = match place.get(&delta).await {
            Ok(bytes) => object::hash(&bytes) == read.delta,
            Err(HistoryError::Missing(_)) => true,
            Err(error) => return Err(error),
        };
        if !is_whole {
            checked.damage(&delta, format!("it is not what was written: {advice}"));
        }
    }
    Ok(())
}

/// Which runs were seen, and in which object.
#[derive(Default)]
struct Runs {
    seen: BTreeMap<String, String>,
}

impl Runs {
    fn see(&mut self, run: &str, object: &str, checked: &mut Checked) {
        if let Some(before) = self.seen.insert(run.to_owned(), object.to_owned()) {
            checked.damage(object, format!("run {run} is in {before} too, and counts twice"));
        }
    }
}

/// The bytes of an object that has the hash in its name; nothing, and a remark, if it has not.
async fn hashed(
    place: &Place,
    name: &str,
    checked: &mut Checked,
) -> Result<Option<bytes::Bytes>, HistoryError> {
    let bytes = match place.get(name).await {
        Ok(bytes) => bytes,
        Err(error @ HistoryError::Missing(_)) => {
            checked.damage(name, error);
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    checked.hashed += 1;
    checked.bytes += bytes.len() as u64;
    match object::check_hash(name, &bytes) {
        Ok(()) => Ok(Some(bytes)),
        Err(error) => {
            checked.damage(name, error);
            Ok(None)
        }
    }
}

/// Checks the groups: their segments are there, whole and sorted, and have the rows, runs and
/// series that the group states.
async fn groups(
    place: &Place,
    state: &State,
    checked: &mut Checked,
    runs: &mut Runs,
) -> Result<(), HistoryError> {
    let mut grouped = BTreeSet::new();
    for group in state.groups.values() {
        let (mut points, mut runs_in_rows) = (0, BTreeSet::new());
        let mut series = tables::SeriesOf::default();
        let mut before = None;
        let mut is_whole = true;
        for name in &group.segments {
            grouped.insert(name.clone());
            checked.segments += 1;
            let Some(segment) = state.segments.get(name) else {
                checked.damage(name, "a group names it, and no entry of the log adds it");
                is_whole = false;
                continue;
            };
            let Some(batches) = batches(place, name, checked).await? else {
                is_whole = false;
                continue;
            };
            let count: u64 = batches.iter().map(|batch| batch.num_rows() as u64).sum();
            if count != segment.stats.num_records {
                let stated = segment.stats.num_records;
                checked.damage(name, format!("it has {count} rows, and the log says {stated}"));
            }
            points += count;
            for batch in &batches {
                if !merge::is_sorted(batch, &mut before, name)? {
                    checked.damage(name, "its rows are not in order, or one is there twice");
                }
                let ids = rows::Columns::of(batch, name).text("run")?;
                for id in ids.iter().flatten() {
                    if !runs_in_rows.contains(id) {
                        runs_in_rows.insert(id.to_owned());
                    }
                }
                series.take(batch, name)?;
            }
        }
        checked.points += points;
        if is_whole && points != group.rows {
            let what =
                format!("group {} has {points} rows, and {} are stated", group.id, group.rows);
            checked.damage(&group.series, what);
        }
        let mut stated_runs = BTreeSet::new();
        for batch in batches(place, &group.runs, checked).await?.unwrap_or_default() {
            for run in tables::to_runs(&batch, &group.runs)? {
                runs.see(&run.id, &group.runs, checked);
                if !state.runs.contains(&run.id) {
                    checked.damage(&group.runs, format!("no entry consumes run {}", run.id));
                }
                stated_runs.insert(run.id);
            }
        }
        if is_whole && stated_runs != runs_in_rows {
            checked.damage(&group.runs, "its runs are not those of the segments");
        }
        let mut stated = Vec::new();
        for batch in batches(place, &group.series, checked).await?.unwrap_or_default() {
            stated.extend(tables::to_series(&batch, &group.series)?);
        }
        if is_whole && stated != series.finish() {
            checked.damage(&group.series, "its series are not those of the segments");
        }
    }
    for name in state.segments.keys().filter(|name| !grouped.contains(*name)) {
        checked.damage(name, "the log adds it, and it belongs to no group");
    }
    let missing = state.runs.iter().filter(|run| !runs.seen.contains_key(*run));
    for run in missing {
        checked.damage(log::FOLDER, format!("run {run} is consumed and is in no group"));
    }
    Ok(())
}

/// The batches of a Parquet object; nothing, and a remark, if it is damaged.
async fn batches(
    place: &Place,
    name: &str,
    checked: &mut Checked,
) -> Result<Option<Vec<RecordBatch>>, HistoryError> {
    let Some(bytes) = hashed(place, name, checked).await? else {
        return Ok(None);
    };
    match object::from_parquet(name, bytes) {
        Ok(batches) => Ok(Some(batches)),
        Err(error) => {
            checked.damage(name, error);
            Ok(None)
        }
    }
}

/// Checks every inbox object; those that are visible count.
async fn inbox(
    place: &Place,
    state: &State,
    checked: &mut Checked,
    runs: &mut Runs,
) -> Result<(), HistoryError> {
    for listed in place.list("inbox").await? {
        let name = listed.name;
        let Some(run) = object::run_in_name(&name) else {
            checked.note(&name, "it is not an object of a run, and is passed over");
            continue;
        };
        let Some(bytes) = hashed(place, &name, checked).await? else {
            continue;
        };
        let object = match InboxObject::decode(&name, bytes) {
            Ok(object) => object,
            Err(error) => {
                checked.damage(&name, error);
                continue;
            }
        };
        if state.consumed.contains_key(&name) {
            continue;
        }
        if state.runs.contains(run) || runs.seen.contains_key(run) {
            checked.note(
                &name,
                format!("run {run} is there from another object; this is passed over"),
            );
            continue;
        }
        runs.see(run, &name, checked);
        checked.inbox += 1;
        checked.points += object.row_count() as u64;
        let mut before = None;
        for batch in &object.batches {
            if !merge::is_sorted(batch, &mut before, &name)? {
                checked.damage(&name, "its rows are not in order, or one is there twice");
            }
        }
    }
    Ok(())
}

async fn events(place: &Place, checked: &mut Checked) -> Result<(), HistoryError> {
    for listed in place.list("events").await? {
        if let Some(bytes) = hashed(place, &listed.name, checked).await? {
            match serde_json::from_slice::<Event>(&bytes) {
                Ok(_) => checked.events += 1,
                Err(error) => checked.damage(&listed.name, error),
            }
        }
    }
    Ok(())
}

/// Objects that no entry names, with their folders.
async fn orphans(
    place: &Place,
    state: &State,
) -> Result<Vec<(String, &'static str)>, HistoryError> {
    let live = |name: &String| {
        state.segments.contains_key(name)
            || state.removed_ms.contains_key(name)
            || state.groups.values().any(|group| group.runs == *name || group.series == *name)
    };
    let mut orphans = Vec::new();
    for folder in ["segments", "runs", "series", "probe"] {
        let listed = place.list(folder).await?;
        orphans.extend(
            listed
                .into_iter()
                .map(|listed| listed.name)
                .filter(|name| !live(name))
                .map(|name| (name, folder)),
        );
    }
    Ok(orphans)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compact::{Options, compact};
    use crate::object::tests::run_object;
    use crate::{append, init};
    use std::fs;
    use std::path::PathBuf;
    use std::time::SystemTime;

    /// A history with a group of two runs, one run in the inbox and one event.
    async fn history() -> (tempfile::TempDir, Place) {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::folder(folder.path()).unwrap();
        init(&place).await.unwrap();
        for run in ["a", "b"] {
            append(&place, &run_object(run, 1, 4)).await.unwrap();
        }
        let options = Options::at(SystemTime::UNIX_EPOCH);
        compact(&place, options).await.unwrap();
        append(&place, &run_object("c", 1, 4)).await.unwrap();
        let event = Event {
            time: 5,
            actor: "test".to_owned(),
            alert: "x".to_owned(),
            state: crate::EventState::Noted,
            series: Vec::new(),
            run: None,
            commit: None,
            text: "a remark".to_owned(),
            detail: serde_json::Value::Null,
        };
        crate::append_event(&place, &event).await.unwrap();
        (folder, place)
    }

    fn files(folder: &std::path::Path) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { files.extend(self::files(&path)) } else { files.push(path) }
        }
        files
    }

    #[tokio::test]
    async fn a_sound_history_is_sound_and_counted() {
        let (_folder, place) = history().await;
        let checked = fsck(&place).await.unwrap();
        assert_eq!(checked.found, []);
        let counts = (checked.inbox, checked.segments, checked.runs, checked.points);
        assert_eq!(counts, (1, 1, 3, 12));
        assert_eq!((checked.events, checked.version), (1, Some(1)));
    }

    #[tokio::test]
    async fn every_file_that_is_changed_is_named() {
        let (folder, place) = history().await;
        for path in files(folder.path()) {
            let name = path.strip_prefix(folder.path()).unwrap().to_str().unwrap().to_owned();
            let bytes = fs::read(&path).unwrap();
            let mut broken = bytes.clone();
            // The first byte of JSON, and a byte of the data of Parquet.
            let at = if name.ends_with(".json") { 0 } else { bytes.len() / 2 };
            broken[at] ^= 1;
            fs::write(&path, &broken).unwrap();
            match fsck(&place).await {
                Ok(checked) => {
                    let is_named = checked.found.iter().any(|found| found.object == name);
                    assert!(!checked.is_sound() && is_named, "{name}: {:?}", checked.found);
                }
                Err(error) => assert!(error.to_string().contains(&name), "{name}: {error}"),
            }
            fs::write(&path, &bytes).unwrap();
        }
        assert!(fsck(&place).await.unwrap().is_sound());
    }

    #[tokio::test]
    async fn every_file_that_is_missing_is_missed() {
        let (folder, place) = history().await;
        for path in files(folder.path()) {
            let name = path.strip_prefix(folder.path()).unwrap().to_str().unwrap().to_owned();
            // An object of a run that is only there is all that is known of it; an event too.
            let is_only_copy = name.starts_with("inbox") || name.starts_with("events");
            let bytes = fs::read(&path).unwrap();
            fs::remove_file(&path).unwrap();
            let is_sound = fsck(&place).await.is_ok_and(|checked| checked.is_sound());
            // The last entry of a log leaves no trace either, but its segments become orphans.
            let is_last_entry = name.ends_with("1.json");
            assert!(!is_sound || is_only_copy || is_last_entry, "{name}");
            fs::write(&path, &bytes).unwrap();
        }
    }

    #[tokio::test]
    async fn orphans_are_notes() {
        let (folder, place) = history().await;
        let name = "segments/00-00000000000000000000000000000000.parquet";
        fs::write(folder.path().join(name), b"x").unwrap();
        let checked = fsck(&place).await.unwrap();
        assert!(checked.is_sound());
        assert_eq!(checked.found[0].object, name);
    }
}
