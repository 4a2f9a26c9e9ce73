//! Sorted sources as one sorted stream of batches.

use crate::{HistoryError, rows};
use arrow_array::{Array, RecordBatch};
use arrow_row::{OwnedRow, RowConverter, Rows, SortField};
use arrow_select::interleave::interleave_record_batch;
use futures::StreamExt;
use futures::stream::BoxStream;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Batches of one source, sorted by series, time of the commit and run.
pub(crate) type Batches = BoxStream<'static, Result<RecordBatch, HistoryError>>;

/// Rows of a batch that a merge gives out.
const BATCH_ROWS: usize = 32_768;

/// One source: its next rows.
struct Source {
    rest: Batches,
    keys: Option<Rows>,
    /// Where its current batch is among those that are held.
    held: usize,
    at: usize,
}

/// A merge of sources. Memory is one batch of each source and one that is given out.
pub(crate) struct Merge {
    sources: Vec<Source>,
    converter: RowConverter,
    next: BinaryHeap<Reverse<(OwnedRow, usize)>>,
    held: Vec<RecordBatch>,
    picked: Vec<(usize, usize)>,
}

impl Merge {
    /// Begins a merge.
    pub(crate) async fn new(sources: Vec<Batches>) -> Result<Merge, HistoryError> {
        let schema = rows::schema();
        let fields = schema.fields().iter().take(rows::SORT_COLUMNS);
        let fields = fields.map(|field| SortField::new(field.data_type().clone())).collect();
        let source = |rest| Source { rest, keys: None, held: 0, at: 0 };
        let mut merge = Merge {
            sources: sources.into_iter().map(source).collect(),
            converter: RowConverter::new(fields)?,
            next: BinaryHeap::new(),
            held: Vec::new(),
            picked: Vec::new(),
        };
        for index in 0..merge.sources.len() {
            merge.refill(index).await?;
        }
        Ok(merge)
    }

    /// Takes the next batch of a source, and puts its first row among the next ones.
    async fn refill(&mut self, index: usize) -> Result<(), HistoryError> {
        let source = &mut self.sources[index];
        source.keys = None;
        while let Some(batch) = source.rest.next().await {
            let batch = batch?;
            if batch.num_rows() == 0 {
                continue;
            }
            let keys = self.converter.convert_columns(&batch.columns()[..rows::SORT_COLUMNS])?;
            self.next.push(Reverse((keys.row(0).owned(), index)));
            *source = Source {
                rest: std::mem::replace(&mut source.rest, futures::stream::empty().boxed()),
                keys: Some(keys),
                held: self.held.len(),
                at: 0,
            };
            self.held.push(batch);
            return Ok(());
        }
        Ok(())
    }

    /// The next rows in order; nothing at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<RecordBatch>, HistoryError> {
        while let Some(Reverse((_, index))) = self.next.pop() {
            let source = &mut self.sources[index];
            let keys = source.keys.as_ref().expect("a source among the next has rows");
            // All rows that come before those of other sources are taken at once.
            let limit = self.next.peek().map(|Reverse((key, _))| key.row());
            loop {
                self.picked.push((source.held, source.at));
                source.at += 1;
                let is_next = source.at < keys.num_rows()
                    && limit.is_none_or(|limit| keys.row(source.at) <= limit);
                if !is_next || self.picked.len() == BATCH_ROWS {
                    break;
                }
            }
            if source.at < keys.num_rows() {
                self.next.push(Reverse((keys.row(source.at).owned(), index)));
            } else {
                self.refill(index).await?;
            }
            if self.picked.len() >= BATCH_ROWS {
                return self.give().map(Some);
            }
        }
        if self.picked.is_empty() { Ok(None) } else { self.give().map(Some) }
    }

    /// The picked rows as a batch; batches of which no row is left are let go.
    fn give(&mut self) -> Result<RecordBatch, HistoryError> {
        let held: Vec<&RecordBatch> = self.held.iter().collect();
        let batch = interleave_record_batch(&held, &self.picked)?;
        self.picked.clear();
        let mut kept = Vec::new();
        for source in self.sources.iter_mut().filter(|source| source.keys.is_some()) {
            kept.push(self.held[source.held].clone());
            source.held = kept.len() - 1;
        }
        self.held = kept;
        Ok(batch)
    }
}

/// Batches in memory as a source.
pub(crate) fn of_batches(batches: Vec<RecordBatch>) -> Batches {
    futures::stream::iter(batches.into_iter().map(Ok)).boxed()
}

/// Whether rows of a batch are in order, and come after the last row of the batch before.
pub(crate) fn is_sorted(
    batch: &RecordBatch,
    before: &mut Option<(String, i64, String)>,
    name: &str,
) -> Result<bool, HistoryError> {
    let of = rows::Columns::of(batch, name);
    let (series, times, runs) = (of.text("series")?, of.time("commit_time")?, of.text("run")?);
    for row in 0..series.len() {
        let now = (series.value(row), times.value(row), runs.value(row));
        if let Some((series, time, run)) = before
            && (series.as_str(), *time, run.as_str()) >= now
        {
            return Ok(false);
        }
        let is_last = row + 1 == series.len();
        let is_new = before.as_ref().is_none_or(|(known, ..)| known != now.0);
        if is_new || is_last {
            *before = Some((now.0.to_owned(), now.1, now.2.to_owned()));
        } else if let Some((_, time, run)) = before {
            *time = now.1;
            now.2.clone_into(run);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::Row;
    use crate::rows::tests::row;
    use proptest::prelude::*;

    fn source(rows: &[Row], batch: usize) -> Batches {
        of_batches(rows.chunks(batch).map(|rows| rows::columns(rows).unwrap()).collect())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn a_merge_is_the_sort_of_all(
            parts in proptest::collection::vec(
                proptest::collection::btree_set((0u64..5, 0i64..9), 0..30), 1..5),
            batch in 1usize..9,
        ) {
            let mut all = Vec::new();
            let mut sources = Vec::new();
            for (index, part) in parts.iter().enumerate() {
                let name = format!("run{index}");
                let mut rows: Vec<Row> = part
                    .iter()
                    .map(|&(series, time)| row(series, &name, time, Some(1.0)))
                    .collect();
                rows.sort_by(|a, b| a.order().cmp(&b.order()));
                sources.push(source(&rows, batch));
                all.extend(rows);
            }
            all.sort_by(|a, b| a.order().cmp(&b.order()));
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let merged = runtime.block_on(async {
                let mut merge = Merge::new(sources).await.unwrap();
                let mut points = Vec::new();
                let mut before = None;
                while let Some(batch) = merge.next().await.unwrap() {
                    assert!(is_sorted(&batch, &mut before, "x").unwrap());
                    points.extend(rows::points(&batch, "x").unwrap());
                }
                points
            });
            let all: Vec<_> = all.into_iter().map(|row| row.point).collect();
            prop_assert_eq!(merged, all);
        }
    }

    #[test]
    fn rows_that_are_not_in_order_are_seen() {
        let rows = [row(1, "a", 5, None), row(1, "b", 5, None), row(1, "a", 6, None)];
        let is_sorted = |rows: &[Row]| is_sorted(&rows::columns(rows).unwrap(), &mut None, "x");
        assert!(is_sorted(&rows).unwrap());
        assert!(!is_sorted(&[rows[0].clone(), rows[0].clone()]).unwrap());
        assert!(!is_sorted(&[rows[2].clone(), rows[1].clone()]).unwrap());
    }
}
