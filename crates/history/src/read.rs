//! Reading: one consistent view of a history.
//!
//! A [`Snapshot`] is the log up to an entry, and the inbox objects that it has not consumed. It
//! never changes, whatever writers and compactors do meanwhile.

use crate::log::{Group, Segment};
use crate::merge::{self, Batches, Merge};
use crate::object::{self, InboxObject};
use crate::rows::Columns;
use crate::segment::{self, SegmentReader};
use crate::state::State;
use crate::tables::{self, SeriesOf};
use crate::{Event, HistoryError, Place, Point, Run, SeriesId, SeriesKey, rows};
use arrow_array::cast::AsArray;
use arrow_array::{Array, BooleanArray, RecordBatch, StringArray};
use futures::{StreamExt, TryStreamExt};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowPredicateFn, ArrowReaderMetadata, ArrowReaderOptions, RowFilter, RowSelection, RowSelector,
};
use parquet::arrow::async_reader::ParquetRecordBatchStreamBuilder;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::OnceCell;

pub use crate::series::{Series, Shard};

/// Requests at a time.
const AT_ONCE: usize = 16;

/// One consistent view of a history.
#[derive(Debug)]
pub struct Snapshot {
    place: Place,
    pub(crate) state: State,
    /// Inbox objects that are visible, in order of names.
    pub(crate) inbox: Vec<String>,
    /// Inbox objects that are not visible, because another object has the same run.
    pub(crate) superseded: Vec<String>,
    objects: OnceCell<(Vec<InboxObject>, Vec<HistoryError>)>,
    /// What the segments that were read say about their parts: it is read once.
    footers: Mutex<HashMap<String, ArrowReaderMetadata>>,
}

impl Snapshot {
    /// The view of a history as it is now.
    ///
    /// # Errors
    /// If the place is no history, or its log cannot be read.
    pub async fn load(place: &Place) -> Result<Snapshot, HistoryError> {
        Ok(Snapshot::load_part(place, u64::MAX).await?.0)
    }

    /// The same with at most this many bytes of the inbox, but at least one object, and whether
    /// there are more.
    pub(crate) async fn load_part(
        place: &Place,
        inbox_bytes: u64,
    ) -> Result<(Snapshot, bool), HistoryError> {
        place.check().await?;
        // The log first: what it has not consumed is still in the inbox afterwards.
        let state = State::load(place).await?;
        let listed = place.list("inbox").await?;
        let mut seen = BTreeSet::new();
        let (mut inbox, mut superseded) = (Vec::new(), Vec::new());
        let (mut taken, mut has_more) = (0u64, false);
        for found in listed {
            let Some(run) = object::run_in_name(&found.name).map(str::to_owned) else {
                continue;
            };
            if state.consumed.contains_key(&found.name) {
                continue;
            }
            // A run that was appended with two contents counts once: the first name wins.
            let is_first = !state.runs.contains(&run) && seen.insert(run);
            if !is_first {
                superseded.push(found.name);
            } else if taken == 0 || taken + found.size <= inbox_bytes {
                taken += found.size;
                inbox.push(found.name);
            } else {
                has_more = true;
            }
        }
        let place = place.clone();
        let (objects, footers) = (OnceCell::new(), Mutex::default());
        Ok((Snapshot { place, state, inbox, superseded, objects, footers }, has_more))
    }

    /// Where it lies.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The latest entry of the log, and how many inbox objects are visible in addition. A report
    /// states both, so that its numbers can be found again.
    pub fn version(&self) -> (Option<u64>, usize) {
        (self.state.version, self.inbox.len())
    }

    /// The live segments, by their names.
    pub fn segments(&self) -> impl Iterator<Item = &Segment> {
        self.state.segments.values()
    }

    /// Inbox objects of this snapshot that are damaged, and passed over by every reader.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn damaged(&self) -> Result<&[HistoryError], HistoryError> {
        Ok(&self.objects().await?.1)
    }

    /// The inbox objects, each checked against its hash.
    pub(crate) async fn objects(
        &self,
    ) -> Result<&(Vec<InboxObject>, Vec<HistoryError>), HistoryError> {
        self.objects.get_or_try_init(|| self.load_objects()).await
    }

    /// The rows that are still in the inbox, as columns of the table `points`.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn inbox_rows(&self) -> Result<Vec<RecordBatch>, HistoryError> {
        let objects = &self.objects().await?.0;
        Ok(objects.iter().flat_map(|object| object.batches.iter().cloned()).collect())
    }

    async fn load_objects(&self) -> Result<(Vec<InboxObject>, Vec<HistoryError>), HistoryError> {
        // Names are owned: a future that borrows them cannot be sent to another thread.
        let mut loaded = futures::stream::iter(self.inbox.clone())
            .map(|name| async move {
                let bytes = self.place.get(&name).await;
                (name, bytes)
            })
            .buffered(AT_ONCE);
        let (mut objects, mut damaged) = (Vec::new(), Vec::new());
        while let Some((name, bytes)) = loaded.next().await {
            match InboxObject::decode(&name, bytes?) {
                Ok(object) => objects.push(object),
                Err(error) => damaged.push(error),
            }
        }
        Ok((objects, damaged))
    }

    /// Every series, in order of ids.
    ///
    /// # Errors
    /// If it cannot be read.
    pub async fn series(&self) -> Result<Vec<Series>, HistoryError> {
        let mut all = SeriesOf::default();
        for batch in self.group_batches(|group| &group.series).await? {
            tables::to_series(&batch.1, &batch.0)?.into_iter().for_each(|series| all.merge(series));
        }
        for object in &self.objects().await?.0 {
            object.batches.iter().try_for_each(|batch| all.take(batch, &object.name))?;
        }
        Ok(all.finish())
    }

    /// Every run, in order of ids, and so of the time at which they were started.
    ///
    /// # Errors
    /// If it cannot be read.
    pub async fn runs(&self) -> Result<Vec<Run>, HistoryError> {
        let mut runs = Vec::new();
        for batch in self.group_batches(|group| &group.runs).await? {
            runs.extend(tables::to_runs(&batch.1, &batch.0)?);
        }
        runs.extend(self.objects().await?.0.iter().map(|object| object.run.clone()));
        runs.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(runs)
    }

    /// The batches of one object of each group, with its name.
    async fn group_batches(
        &self,
        name: impl Fn(&Group) -> &String,
    ) -> Result<Vec<(String, RecordBatch)>, HistoryError> {
        let mut batches = Vec::new();
        for group in self.state.groups.values() {
            let name = name(group);
            let read = object::from_parquet(name, self.place.get(name).await?)?;
            batches.extend(read.into_iter().map(|batch| (name.clone(), batch)));
        }
        Ok(batches)
    }

    /// Every event, in order of time.
    ///
    /// # Errors
    /// If one cannot be read, or is damaged.
    pub async fn events(&self) -> Result<Vec<Event>, HistoryError> {
        let listed = self.place.list("events").await?;
        let events = futures::stream::iter(listed).map(|found| async move {
            let bytes = self.place.get(&found.name).await?;
            object::check_hash(&found.name, &bytes)?;
            serde_json::from_slice(&bytes)
                .map_err(|error| HistoryError::damaged(&found.name, error))
        });
        let mut events: Vec<Event> = events.buffered(AT_ONCE).try_collect().await?;
        events.sort_by_key(|event| event.time);
        Ok(events)
    }

    /// The points of one series, in order of the time of their commits, then of their runs.
    ///
    /// # Errors
    /// If it cannot be read.
    pub async fn points(&self, series: SeriesId) -> Result<Vec<Point>, HistoryError> {
        let id = series.to_string();
        let mut points = Vec::new();
        let mut found = futures::stream::iter(self.state.segments.values().filter(|segment| {
            segment.stats.min_values.series <= id && id <= segment.stats.max_values.series
        }))
        .map(|segment| self.segment_points(segment, &id))
        .buffered(AT_ONCE);
        while let Some(more) = found.try_next().await? {
            points.extend(more);
        }
        for object in &self.objects().await?.0 {
            for batch in &object.batches {
                let ids = Columns::of(batch, &object.name).text("series")?;
                // A run has at most one point of a series.
                if let Some(row) = (0..ids.len()).find(|&row| ids.value(row) == id) {
                    points.extend(rows::points(&batch.slice(row, 1), &object.name)?);
                }
            }
        }
        points.sort_by(|a, b| (a.commit_time, &a.run).cmp(&(b.commit_time, &b.run)));
        Ok(points)
    }

    /// The points of one series in one segment: only the row groups and pages that can have it are
    /// read.
    async fn segment_points(
        &self,
        segment: &Segment,
        id: &str,
    ) -> Result<Vec<Point>, HistoryError> {
        let name = &segment.path;
        let builder = self.open(segment).await?;
        let schema = builder.parquet_schema();
        let column = schema.columns().iter().position(|column| column.name() == "series");
        let column = column.ok_or_else(|| HistoryError::damaged(name, "it has no series"))?;
        let may_have = |group: &usize| {
            let (first, last) = segment::series_of(builder.metadata(), *group, column);
            first.is_none_or(|first| first <= id.as_bytes())
                && last.is_none_or(|last| id.as_bytes() <= last)
        };
        let groups: Vec<usize> =
            (0..builder.metadata().num_row_groups()).filter(may_have).collect();
        let pages: Vec<RowSelector> = groups
            .iter()
            .flat_map(|&group| pages_with(builder.metadata(), group, column, id))
            .collect();
        let of_points = schema.columns().iter().enumerate();
        let of_points = of_points.filter(|(_, column)| rows::is_of_point(column.name()));
        let projection = ProjectionMask::leaves(schema, of_points.map(|(index, _)| index));
        let wanted = id.to_owned();
        let is_wanted = ArrowPredicateFn::new(
            ProjectionMask::leaves(schema, [column]),
            move |batch: RecordBatch| {
                let ids: &StringArray = batch.column(0).as_string();
                Ok(BooleanArray::from_unary(ids, |id| id == wanted))
            },
        );
        let mut batches = builder
            .with_row_groups(groups)
            .with_row_selection(RowSelection::from(pages))
            .with_projection(projection)
            .with_row_filter(RowFilter::new(vec![Box::new(is_wanted)]))
            .build()
            .map_err(|error| segment::unreadable(name, error))?;
        let mut points = Vec::new();
        while let Some(batch) = batches.next().await {
            let batch = batch.map_err(|error| segment::unreadable(name, error))?;
            points.extend(rows::points(&batch, name)?);
        }
        Ok(points)
    }

    /// A reader of a segment.
    async fn open(
        &self,
        segment: &Segment,
    ) -> Result<ParquetRecordBatchStreamBuilder<SegmentReader>, HistoryError> {
        let mut reader = SegmentReader::new(&self.place, segment)?;
        let known = self.footers().get(&segment.path).cloned();
        let footer = match known {
            Some(footer) => footer,
            None => {
                let options = ArrowReaderOptions::default();
                let footer = ArrowReaderMetadata::load_async(&mut reader, options).await;
                let footer = footer.map_err(|error| segment::unreadable(&segment.path, error))?;
                self.footers().insert(segment.path.clone(), footer.clone());
                footer
            }
        };
        Ok(ParquetRecordBatchStreamBuilder::new_with_metadata(reader, footer))
    }

    fn footers(&self) -> MutexGuard<'_, HashMap<String, ArrowReaderMetadata>> {
        self.footers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rows of a group that a shard can have, in order.
    pub(crate) fn group_rows(&self, group: &Group, shard: Shard) -> Result<Batches, HistoryError> {
        let mut segments = Vec::new();
        for path in &group.segments {
            let segment = self.state.segments.get(path).ok_or_else(|| {
                HistoryError::damaged(path, "a group names it and no entry adds it")
            })?;
            let stats = &segment.stats;
            let (first, last) = (&stats.min_values.series, &stats.max_values.series);
            if shard.may_have(first.as_bytes(), last.as_bytes()) {
                segments.push(segment.clone());
            }
        }
        Ok(segment::rows_of(&self.place, segments, shard))
    }

    /// The points of every series of a shard, one series after the other in order of ids, each in
    /// order of the time of its commits. `visit` is given the key and the points of a series; it
    /// may end the walk with an error.
    ///
    /// Only the parts of segments that can have series of the shard are read. Memory is that of the
    /// longest series, of a row group of each group of segments, and of the inbox.
    ///
    /// # Errors
    /// If it cannot be read, or `visit` fails.
    pub async fn for_each_series(
        &self,
        shard: Shard,
        mut visit: impl FnMut(&SeriesKey, &[Point]) -> Result<(), HistoryError>,
    ) -> Result<(), HistoryError> {
        let mut sources = Vec::new();
        for group in self.state.groups.values() {
            sources.push(self.group_rows(group, shard)?);
        }
        for object in &self.objects().await?.0 {
            sources.push(merge::of_batches(object.batches.clone()));
        }
        let mut merged = Merge::new(sources).await?;
        let mut current: Option<(SeriesKey, Vec<Point>)> = None;
        while let Some(batch) = merged.next().await? {
            let columns = Columns::of(&batch, "points");
            for (row, point) in rows::points(&batch, "points")?.into_iter().enumerate() {
                if !shard.has(point.series) {
                    continue;
                }
                match &mut current {
                    Some((_, points)) if points[0].series == point.series => points.push(point),
                    _ => {
                        if let Some((key, points)) = current.take() {
                            visit(&key, &points)?;
                        }
                        current = Some((columns.key(row)?, vec![point]));
                    }
                }
            }
        }
        match current {
            Some((key, points)) => visit(&key, &points),
            None => Ok(()),
        }
    }
}

/// The rows of the pages of a row group that can have a series; all rows, if it has no index.
fn pages_with(
    metadata: &ParquetMetaData,
    group: usize,
    column: usize,
    id: &str,
) -> Vec<RowSelector> {
    let rows = usize::try_from(metadata.row_group(group).num_rows()).unwrap_or(0);
    let bounds = metadata.column_index().map(|index| &index[group][column]);
    let locations = metadata.offset_index().map(|index| index[group][column].page_locations());
    let (Some(ColumnIndexMetaData::BYTE_ARRAY(bounds)), Some(locations)) = (bounds, locations)
    else {
        return vec![RowSelector::select(rows)];
    };
    let id = id.as_bytes();
    let start = |page: usize| {
        let first = locations.get(page).map(|location| location.first_row_index);
        first.and_then(|first| usize::try_from(first).ok()).unwrap_or(rows)
    };
    let selector = |page: usize| {
        let may_have = bounds.min_value(page).is_none_or(|least| least <= id)
            && bounds.max_value(page).is_none_or(|most| id <= most);
        let count = start(page + 1).saturating_sub(start(page));
        if may_have { RowSelector::select(count) } else { RowSelector::skip(count) }
    };
    (0..locations.len()).map(selector).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::tests::run_object;
    use crate::{append, init};

    #[test]
    fn shards_have_each_series_once() {
        for of in 1..6 {
            for byte in 0..=255u8 {
                let id = SeriesId([byte; 16]);
                let shards = (1..=of).filter(|&number| Shard { number, of }.has(id));
                assert_eq!(shards.count(), 1);
            }
        }
    }

    #[test]
    fn a_shard_skips_the_ranges_that_have_none_of_its_series() {
        let id = |byte: u8| SeriesId([byte; 16]);
        for of in 1..6 {
            for shard in (1..=of).map(|number| Shard { number, of }) {
                for (first, last) in (0..=255u8).flat_map(|a| (a..=255).map(move |b| (a, b))) {
                    let has = (first..=last).any(|byte| shard.has(id(byte)));
                    let (first, last) = (id(first).to_string(), id(last).to_string());
                    assert_eq!(shard.may_have(first.as_bytes(), last.as_bytes()), has);
                }
                assert!(shard.may_have(b"no id", "é".as_bytes()));
            }
        }
    }

    #[tokio::test]
    async fn shards_of_several_groups_and_an_inbox_have_all_points() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::folder(folder.path()).unwrap();
        init(&place).await.unwrap();
        for (run, time, series) in [("a", 1, 300), ("b", 2, 20), ("c", 3, 40)] {
            append(&place, &run_object(run, time, series)).await.unwrap();
            if run < "c" {
                let now = crate::compact::Options::at(std::time::SystemTime::UNIX_EPOCH);
                crate::compact::compact(&place, now).await.unwrap();
            }
        }
        let snapshot = Snapshot::load(&place).await.unwrap();
        assert_eq!((snapshot.state.groups.len(), snapshot.inbox.len()), (2, 1));
        let points = async |shard| {
            let mut all = Vec::new();
            let visit = |_: &SeriesKey, points: &[Point]| {
                all.extend_from_slice(points);
                Ok(())
            };
            snapshot.for_each_series(shard, visit).await.unwrap();
            all
        };
        let mut parts = Vec::new();
        for number in 1..=3 {
            parts.extend(points(Shard { number, of: 3 }).await);
        }
        assert_eq!(parts.len(), 360);
        assert_eq!(parts, points(Shard::WHOLE).await);
    }

    #[tokio::test]
    async fn an_inbox_is_read_and_a_run_with_two_contents_counts_once() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::folder(folder.path()).unwrap();
        init(&place).await.unwrap();
        for (run, time, series) in [("b", 2, 3), ("a", 1, 3), ("a", 1, 2)] {
            append(&place, &run_object(run, time, series)).await.unwrap();
        }
        assert!(append(&place, &run_object("a", 1, 2)).await.unwrap().was_there);
        let snapshot = Snapshot::load(&place).await.unwrap();
        assert_eq!((snapshot.inbox.len(), snapshot.superseded.len()), (2, 1));
        let runs = snapshot.runs().await.unwrap();
        assert_eq!(runs.iter().map(|run| run.id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        let series = snapshot.series().await.unwrap();
        assert_eq!(series.len(), 3);
        assert!(series.iter().all(|of| of.last_run == "b" && of.last_time == 2));
        let points = snapshot.points(series[0].id).await.unwrap();
        assert_eq!(points.len() as u64, series[0].points);
        assert_eq!(points.last().unwrap().value, series[0].last_value);
        let mut visited = Vec::new();
        let mut visit = |key: &SeriesKey, points: &[Point]| {
            assert_eq!(key.id()?, points[0].series);
            visited.push((points[0].series, points.len() as u64));
            Ok(())
        };
        snapshot.for_each_series(Shard::WHOLE, &mut visit).await.unwrap();
        let listed: Vec<_> = series.iter().map(|of| (of.id, of.points)).collect();
        assert_eq!(visited, listed);
    }

    #[tokio::test]
    async fn a_series_is_found_in_whichever_page_it_lies() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::folder(folder.path()).unwrap();
        init(&place).await.unwrap();
        // 20,000 rows are three pages.
        for (run, time) in [("a", 1), ("b", 2), ("c", 3), ("d", 4)] {
            append(&place, &run_object(run, time, 5000)).await.unwrap();
        }
        let now = std::time::SystemTime::UNIX_EPOCH;
        let options = crate::compact::Options { all: true, ..crate::compact::Options::at(now) };
        crate::compact::compact(&place, options).await.unwrap();
        let snapshot = Snapshot::load(&place).await.unwrap();
        let series = snapshot.series().await.unwrap();
        for series in series.iter().step_by(97).chain(series.last()) {
            let points = snapshot.points(series.id).await.unwrap();
            let runs: Vec<&str> = points.iter().map(|point| point.run.as_str()).collect();
            assert_eq!(runs, ["a", "b", "c", "d"], "{}", series.key);
            assert!(points.iter().all(|point| point.series == series.id && point.value.is_some()));
        }
        let footers = snapshot.footers();
        let [(_, footer)] = footers.iter().collect::<Vec<_>>()[..] else { panic!("one segment") };
        let column = 0;
        let id = series[2500].id.to_string();
        let pages = pages_with(footer.metadata(), 0, column, &id);
        let read: usize = pages.iter().filter(|page| !page.skip).map(|page| page.row_count).sum();
        assert!(pages.len() >= 3 && read <= 2 * 8192, "{pages:?}");
    }
}
