//! Ranges of a segment, for the reader of Parquet.

use crate::log::Segment;
use crate::{HistoryError, Place, place};
use bytes::Bytes;
use futures::TryFutureExt;
use futures::future::{BoxFuture, FutureExt};
use object_store::path::Path as ObjectPath;
use object_store::{Error as StoreError, ObjectStore, ObjectStoreExt};
use parquet::arrow::arrow_reader::ArrowReaderOptions;
use parquet::arrow::async_reader::AsyncFileReader;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};
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
