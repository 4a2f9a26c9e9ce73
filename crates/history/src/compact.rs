//! Compaction: rows move from the inbox into segments that are sorted by series.
//!
//! Any process may compact at any time, also several at once. Each writes objects of its own, then
//! commits. One that finds that another took some of its inputs drops what it wrote and begins
//! again.

use crate::log::{self, Commit, Committed, Compaction, Group, Remove};
use crate::read::{Shard, Snapshot};
use crate::{HistoryError, Place, Run, checkpoint, durable, group, merge, object, probe, tables};
use serde::Serialize;
use std::collections::BTreeSet;
use std::time::SystemTime;

/// How a compaction is done.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The time now, which entries of the log state.
    pub now: SystemTime,
    /// Whether all segments are merged into one group, however large they are.
    pub all: bool,
    /// Fewer inbox objects than this are left where they are.
    pub least: usize,
    /// Bytes of inbox objects that are held at a time; more are taken in several commits. Rows
    /// take some six times as much in memory.
    pub inbox_bytes: u64,
}

impl Options {
    /// As the command does it without options.
    pub fn at(now: SystemTime) -> Options {
        Options { now, all: false, least: 1, inbox_bytes: 256 << 20 }
    }
}

/// What a compaction did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Compacted {
    /// The entry that it committed; none if there was nothing to do.
    pub version: Option<u64>,
    /// Inbox objects that it consumed.
    pub consumed: usize,
    /// Inbox objects that it passed over, because their runs were there already.
    pub superseded: usize,
    /// Groups of segments that it merged with them.
    pub merged_groups: usize,
    /// Segments that it wrote.
    pub segments: usize,
    /// Rows in them.
    pub rows: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// How often another compactor was first.
    pub conflicts: u32,
    /// Inbox objects that are damaged and stay where they are.
    pub damaged: Vec<String>,
}

impl Compacted {
    /// Adds what a further commit did.
    fn add(&mut self, next: Compacted) {
        self.version = next.version.or(self.version);
        self.consumed += next.consumed;
        self.superseded += next.superseded;
        self.merged_groups += next.merged_groups;
        self.segments += next.segments;
        self.rows += next.rows;
        self.bytes += next.bytes;
        self.damaged = next.damaged;
    }
}

/// Moves rows from the inbox into segments. Groups of segments that are not much larger are merged
/// with them, so that the number of groups grows with the logarithm of the rows.
///
/// # Errors
/// If the place cannot be read or written, or does not refuse to create an object twice.
pub async fn compact(place: &Place, options: Options) -> Result<Compacted, HistoryError> {
    place.check().await?;
    probe::probe(place).await?;
    log::begin(place).await?;
    if let Some(folder) = place.as_folder() {
        durable::sweep(folder, options.now);
    }
    let mut done = Compacted::default();
    loop {
        let (snapshot, has_more) = Snapshot::load_part(place, options.inbox_bytes).await?;
        // Everything is merged once, with the last part of the inbox.
        let part = Options { all: options.all && !has_more, ..options };
        let Some(compacted) = attempt(place, &snapshot, part).await? else {
            done.conflicts += 1;
            continue;
        };
        let is_over = !has_more || compacted.version.is_none();
        done.add(compacted);
        if is_over {
            return Ok(done);
        }
    }
}

/// One attempt; nothing if another compactor was first.
async fn attempt(
    place: &Place,
    snapshot: &Snapshot,
    options: Options,
) -> Result<Option<Compacted>, HistoryError> {
    let (objects, damaged) = snapshot.objects().await?;
    let damaged: Vec<String> = damaged.iter().map(ToString::to_string).collect();
    let inbox_rows = objects.iter().map(|object| object.row_count() as u64).sum();
    let groups = chosen_groups(snapshot, inbox_rows, options.all);
    let is_enough = objects.len() >= options.least.max(1) || !snapshot.superseded.is_empty();
    let is_merge = options.all && groups.len() > 1;
    if !is_enough && !is_merge {
        return Ok(Some(Compacted { damaged, ..Compacted::default() }));
    }
    let mut compacted = Compacted {
        consumed: objects.len(),
        superseded: snapshot.superseded.len(),
        merged_groups: groups.len(),
        damaged,
        ..Compacted::default()
    };
    let time_ms = unix_ms(options.now);
    let mut commit = Commit {
        time_ms,
        compaction: Compaction {
            consumed: objects.iter().map(|object| object.name.clone()).collect(),
            superseded: snapshot.superseded.clone(),
            group: None,
            replaced: groups.iter().map(|group| group.id.clone()).collect(),
        },
        ..Commit::default()
    };
    let mut written = Vec::new();
    if !objects.is_empty() || !groups.is_empty() {
        let mut sources = Vec::new();
        let mut runs: Vec<Run> = objects.iter().map(|object| object.run.clone()).collect();
        for group in &groups {
            sources.push(snapshot.group_rows(group, Shard::WHOLE)?);
            commit.removes.extend(group.segments.iter().map(|path| Remove {
                path: path.clone(),
                deletion_timestamp: time_ms,
                data_change: true,
            }));
            for batch in object::from_parquet(&group.runs, place.get(&group.runs).await?)? {
                runs.extend(tables::to_runs(&batch, &group.runs)?);
            }
        }
        sources.extend(objects.iter().map(|object| merge::of_batches(object.batches.clone())));
        let group = group::write(place, sources, runs, time_ms, &mut commit.adds).await?;
        compacted.rows = group.rows;
        compacted.segments = group.segments.len();
        compacted.bytes = commit.adds.iter().map(|add| add.size).sum();
        written.extend(group.segments.iter().cloned());
        written.extend([group.runs.clone(), group.series.clone()]);
        commit.compaction.group = Some(group);
    }
    let after = snapshot.state.version.expect("the log has been begun");
    match log::commit(place, after, commit).await? {
        Committed::As(version) => {
            compacted.version = Some(version);
            if version.is_multiple_of(checkpoint::EVERY) {
                // The commit is made. Without its checkpoint readers read more entries.
                let _ = checkpoint::write(place, version).await;
            }
            Ok(Some(compacted))
        }
        Committed::Conflict => {
            for name in written {
                // No entry names it. If it cannot be deleted, it is an orphan that does no harm.
                let _ = place.delete(&name).await;
            }
            Ok(None)
        }
    }
}

/// The groups that are merged with the inbox: from the smallest on, as long as each is at most
/// twice as large as all before it.
fn chosen_groups(snapshot: &Snapshot, inbox_rows: u64, all: bool) -> Vec<Group> {
    let mut groups: Vec<Group> = snapshot.state.groups.values().cloned().collect();
    groups.sort_by_key(|group| group.rows);
    let mut rows = inbox_rows;
    let mut chosen = Vec::new();
    for group in groups {
        if !all && (inbox_rows == 0 || group.rows > 2 * rows) {
            break;
        }
        rows += group.rows;
        chosen.push(group);
    }
    chosen
}

/// Milliseconds since 1970.
pub(crate) fn unix_ms(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// What a collection of garbage did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Collected {
    /// Objects that were deleted.
    pub objects: usize,
    /// Bytes of them.
    pub bytes: u64,
}

/// Deletes objects that no reader needs: inbox objects that are consumed, segments and tables that
/// are replaced, and what no entry of the log names. Only objects that are older than `age` are
/// deleted, by the time in their names or in the log: a reader may still use an older snapshot, and
/// a compactor may not have committed yet.
///
/// # Errors
/// If the place cannot be read, or an object cannot be deleted.
pub async fn collect(
    place: &Place,
    now: SystemTime,
    age: std::time::Duration,
) -> Result<Collected, HistoryError> {
    let snapshot = Snapshot::load(place).await?;
    let state = &snapshot.state;
    let live: BTreeSet<&String> = state
        .segments
        .keys()
        .chain(state.groups.values().flat_map(|group| [&group.runs, &group.series]))
        .collect();
    let oldest_kept =
        unix_ms(now).saturating_sub(i64::try_from(age.as_millis()).unwrap_or(i64::MAX));
    let mut collected = Collected::default();
    for folder in ["inbox", "segments", "runs", "series"] {
        for found in place.list(folder).await? {
            let is_needed = match folder {
                "inbox" => !state.consumed.contains_key(&found.name),
                _ => live.contains(&found.name),
            };
            let since = match folder {
                // The commit that consumed it says when it became garbage.
                "inbox" => state.consumed.get(&found.name).map(|gone| gone.time_ms),
                _ => state.removed_ms.get(&found.name).copied().or_else(|| made_ms(&found.name)),
            };
            if is_needed || since.is_none_or(|since| since >= oldest_kept) {
                continue;
            }
            place.delete(&found.name).await?;
            collected.objects += 1;
            collected.bytes += found.size;
        }
    }
    Ok(collected)
}

/// When an object was made, from the time in its name.
fn made_ms(name: &str) -> Option<i64> {
    let digits = name.rsplit_once('/')?.1.get(..12)?;
    i64::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::tests::run_object;
    use crate::{Point, SeriesKey, append, init};
    use std::time::Duration;

    fn options() -> Options {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        Options::at(now)
    }

    async fn fresh() -> (tempfile::TempDir, Place) {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::folder(folder.path()).unwrap();
        init(&place).await.unwrap();
        (folder, place)
    }

    async fn all_points(place: &Place) -> Vec<Point> {
        let snapshot = Snapshot::load(place).await.unwrap();
        let mut all = Vec::new();
        let visit = |_: &SeriesKey, points: &[Point]| {
            all.extend_from_slice(points);
            Ok(())
        };
        snapshot.for_each_series(Shard::WHOLE, visit).await.unwrap();
        all
    }

    #[tokio::test]
    async fn rows_are_the_same_before_and_after_and_in_order() {
        let (_folder, place) = fresh().await;
        for (index, run) in ["c", "a", "b"].into_iter().enumerate() {
            append(&place, &run_object(run, 10 + index as i64, 5)).await.unwrap();
        }
        let before = all_points(&place).await;
        assert_eq!(before.len(), 15);
        let first = compact(&place, options()).await.unwrap();
        assert_eq!((first.version, first.consumed, first.rows), (Some(1), 3, 15));
        assert_eq!(all_points(&place).await, before);
        assert_eq!(compact(&place, options()).await.unwrap(), Compacted::default());

        append(&place, &run_object("d", 5, 6)).await.unwrap();
        append(&place, &run_object("e", 50, 20)).await.unwrap();
        let before = all_points(&place).await;
        let second = compact(&place, options()).await.unwrap();
        assert_eq!((second.consumed, second.merged_groups, second.rows), (2, 1, 41));
        assert_eq!(all_points(&place).await, before);
        let snapshot = Snapshot::load(&place).await.unwrap();
        assert_eq!(snapshot.version(), (Some(2), 0));
        assert_eq!(snapshot.runs().await.unwrap().len(), 5);
        for series in snapshot.series().await.unwrap() {
            let points = snapshot.points(series.id).await.unwrap();
            assert_eq!(points.len() as u64, series.points);
            assert_eq!(points.first().unwrap().commit_time, series.first_time);
            assert_eq!(points.last().unwrap().run, series.last_run);
        }
    }

    #[tokio::test]
    async fn an_inbox_that_is_larger_than_memory_is_taken_in_parts() {
        let (_folder, place) = fresh().await;
        for run in 0..7 {
            append(&place, &run_object(&format!("{run}"), run, 50)).await.unwrap();
        }
        let before = all_points(&place).await;
        let size = place.list("inbox").await.unwrap()[0].size;
        let few = Options { inbox_bytes: 2 * size + size / 2, all: true, ..options() };
        let done = compact(&place, few).await.unwrap();
        // Two, two, two and one of them; all are merged at the end.
        assert_eq!((done.version, done.consumed), (Some(4), 7));
        assert_eq!(all_points(&place).await, before);
        assert_eq!(Snapshot::load(&place).await.unwrap().segments().count(), 1);
        // An object that is larger than the bound is taken alone.
        append(&place, &run_object("x", 9, 50)).await.unwrap();
        let none = Options { inbox_bytes: 1, ..options() };
        assert_eq!(compact(&place, none).await.unwrap().consumed, 1);
    }

    #[tokio::test]
    async fn a_small_inbox_does_not_rewrite_a_large_group() {
        let (_folder, place) = fresh().await;
        append(&place, &run_object("a", 1, 100)).await.unwrap();
        compact(&place, options()).await.unwrap();
        append(&place, &run_object("b", 2, 3)).await.unwrap();
        let small = compact(&place, options()).await.unwrap();
        assert_eq!((small.merged_groups, small.rows), (0, 3));
        let all = compact(&place, Options { all: true, ..options() }).await.unwrap();
        assert_eq!((all.merged_groups, all.rows, all.segments), (2, 103, 1));
        assert_eq!(all_points(&place).await.len(), 103);
    }

    #[tokio::test]
    async fn a_run_that_comes_again_with_other_content_is_passed_over() {
        let (_folder, place) = fresh().await;
        append(&place, &run_object("a", 1, 4)).await.unwrap();
        compact(&place, options()).await.unwrap();
        append(&place, &run_object("a", 1, 7)).await.unwrap();
        assert_eq!(all_points(&place).await.len(), 4);
        let again = compact(&place, options()).await.unwrap();
        assert_eq!((again.consumed, again.superseded), (0, 1));
        assert_eq!(all_points(&place).await.len(), 4);
        assert!(Snapshot::load(&place).await.unwrap().superseded.is_empty());
    }

    #[tokio::test]
    async fn garbage_is_deleted_when_it_is_old_and_nothing_else() {
        let (folder, place) = fresh().await;
        for run in ["a", "b"] {
            append(&place, &run_object(run, 1, 4)).await.unwrap();
            compact(&place, options()).await.unwrap();
        }
        append(&place, &run_object("c", 1, 4)).await.unwrap();
        let before = all_points(&place).await;
        let week = Duration::from_secs(7 * 86_400);
        let later = |days: u64| options().now + Duration::from_secs(86_400 * days);
        assert_eq!(collect(&place, later(6), week).await.unwrap().objects, 0);
        // Two inbox objects, one segment and its two tables.
        let collected = collect(&place, later(8), week).await.unwrap();
        assert_eq!(collected.objects, 5);
        assert_eq!(all_points(&place).await, before);
        drop(folder);
    }

    #[tokio::test]
    async fn a_damaged_object_stays_and_the_rest_moves_on() {
        let (folder, place) = fresh().await;
        let broken = append(&place, &run_object("a", 1, 4)).await.unwrap().name;
        append(&place, &run_object("b", 1, 4)).await.unwrap();
        std::fs::write(folder.path().join(&broken), b"PAR1").unwrap();
        let compacted = compact(&place, options()).await.unwrap();
        assert_eq!((compacted.consumed, compacted.damaged.len()), (1, 1));
        assert!(folder.path().join(&broken).exists());
        assert_eq!(all_points(&place).await.len(), 4);
    }
}
