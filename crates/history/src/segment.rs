//! Ranges of a segment, for the reader of Parquet, and the rows of segments in order.

use crate::log::Segment;
use crate::merge::Batches;
use crate::series::Shard;
use crate::{HistoryError, Place, place};
use bytes::Bytes;
use futures::future::{BoxFuture, FutureExt};
use futures::{StreamExt, TryFutureExt, TryStreamExt};
use object_store::path::Path as ObjectPath;
use object_store::{Error as StoreError, ObjectStore, ObjectStoreExt};
use parquet::arrow::arrow_reader::ArrowReaderOptions;
use parquet::arrow::async_reader::{AsyncFileReader, ParquetRecordBatchStreamBuilder};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::statistics::Statistics;
use std::ops::Range;
use std::sync::Arc;

/// Bytes at the end of a segment that are read first: the footer and, mostly, the page index.
const FOOTER_BYTES: usize = 64 << 10;

/// A segment, of which only the ranges that are needed are read.
pub(crate) struct SegmentReader {
    store: Arc<dyn ObjectStore>,
    path: ObjectPath,
    size: u64,
}

impl SegmentReader {
    /// A reader of a live segment. Its size is known from the log, so that nothing asks for it.
    pub(crate) fn new(place: &Place, segment: &Segment) -> std::result::Result<Self, HistoryError> {
        let path = place::object_path(&segment.path)?;
        Ok(SegmentReader { store: place.object_store(), path, size: segment.size })
    }
}

/// All rows of segments that follow each other, as far as a shard can have them. One segment is
/// open at a time, so that memory does not grow with their number.
pub(crate) fn rows_of(place: &Place, segments: Vec<Segment>, shard: Shard) -> Batches {
    let place = place.clone();
    let opened = futures::stream::iter(segments).then(move |segment| {
        let place = place.clone();
        async move { rows_of_one(&place, &segment, shard).await }
    });
    opened.try_flatten().boxed()
}

async fn rows_of_one(
    place: &Place,
    segment: &Segment,
    shard: Shard,
) -> std::result::Result<Batches, HistoryError> {
    let name = segment.path.clone();
    let reader = SegmentReader::new(place, segment)?;
    let builder = ParquetRecordBatchStreamBuilder::new(reader).await;
    let builder = builder.map_err(|error| unreadable(&name, error))?;
    let columns = builder.parquet_schema().columns().iter();
    let column = columns.map(|column| column.name()).position(|name| name == "series");
    let metadata = builder.metadata();
    let may_have = |group: &usize| {
        let range = column.map(|column| series_of(metadata, *group, column));
        let Some((Some(first), Some(last))) = range else { return true };
        shard.may_have(first, last)
    };
    let groups: Vec<usize> = (0..metadata.num_row_groups()).filter(may_have).collect();
    let batches = builder.with_row_groups(groups).with_batch_size(8192).build();
    let batches = batches.map_err(|error| unreadable(&name, error))?;
    Ok(batches.map_err(move |error| unreadable(&name, error)).boxed())
}

/// The first and the last series of a row group, if its statistics say so.
pub(crate) fn series_of(
    metadata: &ParquetMetaData,
    group: usize,
    column: usize,
) -> (Option<&[u8]>, Option<&[u8]>) {
    match metadata.row_group(group).column(column).statistics() {
        Some(Statistics::ByteArray(of)) => {
            (of.min_opt().map(|first| first.data()), of.max_opt().map(|last| last.data()))
        }
        _ => (None, None),
    }
}

fn failed(error: StoreError) -> ParquetError {
    ParquetError::External(Box::new(error))
}

/// Why a segment cannot be read: what the store said, or else what is wrong with its bytes.
pub(crate) fn unreadable(name: &str, error: ParquetError) -> HistoryError {
    let ParquetError::External(source) = error else {
        return HistoryError::damaged(name, error);
    };
    match source.downcast::<StoreError>().map(|source| *source) {
        Ok(StoreError::NotFound { .. }) => HistoryError::Missing(name.to_owned()),
        Ok(source) => HistoryError::Store { name: name.to_owned(), source },
        Err(other) => HistoryError::damaged(name, other),
    }
}

impl AsyncFileReader for SegmentReader {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, Result<Bytes>> {
        self.store.get_range(&self.path, range).map_err(failed).boxed()
    }

    fn get_byte_ranges(&mut self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, Result<Vec<Bytes>>> {
        // Ranges that are near each other are read by one request.
        async move { self.store.get_ranges(&self.path, &ranges).await.map_err(failed) }.boxed()
    }

    fn get_metadata<'a>(
        &'a mut self,
        _options: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, Result<Arc<ParquetMetaData>>> {
        let size = self.size;
        async move {
            let metadata = ParquetMetaDataReader::new()
                .with_page_index_policy(PageIndexPolicy::Optional)
                .with_prefetch_hint(Some(FOOTER_BYTES))
                .load_and_finish(self, size)
                .await?;
            Ok(Arc::new(metadata))
        }
        .boxed()
    }
}
