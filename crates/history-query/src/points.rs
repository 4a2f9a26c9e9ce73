//! The table `points`: the live segments of the log, and the rows of the inbox.

use datafusion::arrow::array::{ArrayRef, RecordBatch, new_null_array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, Result, ScalarValue, Statistics};
use datafusion::datasource::TableType;
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder, ParquetSource};
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::union::UnionExec;
use proofmark_history::log::Segment;
use proofmark_history::{Snapshot, tables_of};
use std::sync::Arc;

/// The columns of the table as the engine reads them: its views of texts are faster to compare.
fn schema() -> SchemaRef {
    let viewed = |field: &Arc<Field>| match field.data_type() {
        DataType::Utf8 => field.as_ref().clone().with_data_type(DataType::Utf8View),
        _ => field.as_ref().clone(),
    };
    Arc::new(Schema::new(
        tables_of::points_schema().fields().iter().map(viewed).collect::<Vec<_>>(),
    ))
}

/// A batch of the inbox with the columns of the table. One that a later version wrote may have
/// more columns, and one of an earlier version fewer.
fn fitted(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let column = |field: &Arc<Field>| -> Result<ArrayRef> {
        match batch.column_by_name(field.name()) {
            Some(column) => Ok(cast(column, field.data_type())?),
            None => Ok(new_null_array(field.data_type(), batch.num_rows())),
        }
    };
    let columns: Result<Vec<ArrayRef>> = schema.fields().iter().map(column).collect();
    Ok(RecordBatch::try_new(Arc::clone(schema), columns?)?)
}

/// The table `points` of a snapshot.
#[derive(Debug)]
pub(crate) struct Points {
    store: ObjectStoreUrl,
    schema: SchemaRef,
    segments: Vec<Segment>,
    inbox: Vec<RecordBatch>,
}

impl Points {
    /// The table of a snapshot, whose objects lie in a store that the engine knows by this name.
    pub(crate) async fn of(snapshot: &Snapshot, store: &ObjectStoreUrl) -> Result<Points> {
        let schema = schema();
        let inbox = snapshot.inbox_rows().await.map_err(crate::error::within)?;
        let inbox: Result<Vec<_>> = inbox.iter().map(|batch| fitted(batch, &schema)).collect();
        let segments = snapshot.segments().cloned().collect();
        Ok(Points { store: store.clone(), schema, segments, inbox: inbox? })
    }

    /// What the log says about a segment, so that a query can skip it without opening it.
    fn statistics(&self, segment: &Segment) -> Statistics {
        let stats = &segment.stats;
        let mut statistics = Statistics::new_unknown(&self.schema);
        statistics.num_rows =
            usize::try_from(stats.num_records).map_or(Precision::Absent, Precision::Exact);
        let text = |text: &String| Precision::Exact(ScalarValue::Utf8View(Some(text.clone())));
        statistics.column_statistics[0] = ColumnStatistics {
            null_count: Precision::Exact(0),
            min_value: text(&stats.min_values.series),
            max_value: text(&stats.max_values.series),
            ..ColumnStatistics::new_unknown()
        };
        statistics
    }

    async fn scan_segments(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let mut rows = Precision::Exact(0);
        let file = |segment: &Segment| {
            let statistics = self.statistics(segment);
            rows = rows.add(&statistics.num_rows);
            PartitionedFile::new(&segment.path, segment.size).with_statistics(Arc::new(statistics))
        };
        let files: Vec<PartitionedFile> = self.segments.iter().map(file).collect();
        let groups = FileGroup::new(files).split_files(state.config().target_partitions());
        let statistics = Statistics { num_rows: rows, ..Statistics::new_unknown(&self.schema) };
        let source = Arc::new(ParquetSource::new(Arc::clone(&self.schema)));
        let config = FileScanConfigBuilder::new(self.store.clone(), source)
            .with_file_groups(groups)
            .with_statistics(statistics)
            .with_projection_indices(projection.cloned())?
            .with_limit(limit)
            .build();
        let options = state.table_options().parquet.clone();
        ParquetFormat::new().with_options(options).create_physical_plan(state, config).await
    }
}

#[async_trait::async_trait]
impl TableProvider for Points {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let mut parts: Vec<Arc<dyn ExecutionPlan>> = Vec::new();
        if !self.segments.is_empty() {
            parts.push(self.scan_segments(state, projection, limit).await?);
        }
        if !self.inbox.is_empty() {
            let each = self.inbox.len().div_ceil(state.config().target_partitions());
            let chunks: Vec<Vec<RecordBatch>> =
                self.inbox.chunks(each).map(<[RecordBatch]>::to_vec).collect();
            let schema = Arc::clone(&self.schema);
            parts.push(MemorySourceConfig::try_new_exec(&chunks, schema, projection.cloned())?);
        }
        match parts.len() {
            0 => {
                let schema = match projection {
                    Some(columns) => Arc::new(self.schema.project(columns)?),
                    None => Arc::clone(&self.schema),
                };
                Ok(Arc::new(EmptyExec::new(schema)))
            }
            1 => Ok(parts.remove(0)),
            _ => UnionExec::try_new(parts),
        }
    }

    /// The engine hands filters to the reader of Parquet, which passes over files, groups of rows
    /// and pages; it still looks at each row that is left.
    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }
}
