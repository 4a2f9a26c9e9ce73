//! A history as a database of four tables, which are read when a query names them.

use crate::QueryError;
use crate::error::{explained, within};
use crate::points::Points;
use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::{
    CatalogProvider, MemTable, MemoryCatalogProvider, SchemaProvider, TableProvider,
};
use datafusion::common::Result;
use datafusion::datasource::TableType;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::context::SQLOptions;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::prelude::{SessionConfig, SessionContext};
use futures::StreamExt;
use proofmark_history::{Snapshot, cells, tables_of};
use std::sync::Arc;

/// The tables.
pub const TABLES: [&str; 4] = ["points", "runs", "series", "events"];

/// The four tables.
#[derive(Debug)]
struct Tables {
    snapshot: Arc<Snapshot>,
    store: ObjectStoreUrl,
}

#[async_trait::async_trait]
impl SchemaProvider for Tables {
    fn table_names(&self) -> Vec<String> {
        TABLES.map(str::to_owned).into()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let snapshot = &self.snapshot;
        let batch = match name {
            "points" => return Ok(Some(Arc::new(Points::of(snapshot, &self.store).await?))),
            "runs" => tables_of::runs(&snapshot.runs().await.map_err(within)?),
            "series" => tables_of::series(&snapshot.series().await.map_err(within)?),
            "events" => tables_of::events(&snapshot.events().await.map_err(within)?),
            other => return Err(within(QueryError::NoTable { name: other.to_owned() })),
        };
        let batch = batch.map_err(within)?;
        Ok(Some(Arc::new(MemTable::try_new(batch.schema(), vec![vec![batch]])?)))
    }

    async fn table_type(&self, _name: &str) -> Result<Option<TableType>> {
        // The tables need not be read for that.
        Ok(Some(TableType::Base))
    }

    fn table_exist(&self, name: &str) -> bool {
        TABLES.contains(&name)
    }
}

/// A history that answers questions in SQL.
pub struct Session {
    context: SessionContext,
}

impl Session {
    /// A session over one view of a history.
    ///
    /// # Errors
    /// If the engine cannot be set up, which is a bug.
    pub fn new(snapshot: Arc<Snapshot>) -> std::result::Result<Session, QueryError> {
        let start = || -> Result<SessionContext> {
            let config = SessionConfig::new()
                .with_create_default_catalog_and_schema(false)
                .with_default_catalog_and_schema("history", "public")
                .with_information_schema(true);
            let context = SessionContext::new_with_config(config);
            let store = ObjectStoreUrl::parse("history://place")?;
            context.register_object_store(store.as_ref(), snapshot.place().object_store());
            let catalog = MemoryCatalogProvider::new();
            catalog.register_schema("public", Arc::new(Tables { snapshot, store }))?;
            context.register_catalog("history", Arc::new(catalog));
            Ok(context)
        };
        Ok(Session { context: start().map_err(|error| explained(error, ""))? })
    }

    /// The answer to a question.
    ///
    /// # Errors
    /// If it is not SQL, names what is not there, would change something, or cannot be begun.
    pub async fn ask(&self, sql: &str) -> std::result::Result<Answer, QueryError> {
        let only_reads = SQLOptions::new()
            .with_allow_ddl(false)
            .with_allow_dml(false)
            .with_allow_statements(false);
        let begin =
            async { self.context.sql_with_options(sql, only_reads).await?.execute_stream().await };
        let batches = begin.await.map_err(|error| explained(error, sql))?;
        Ok(Answer { schema: readable(&batches.schema()), batches, sql: sql.to_owned() })
    }
}

/// An answer, of which batches are found one after the other.
pub struct Answer {
    schema: SchemaRef,
    batches: SendableRecordBatchStream,
    sql: String,
}

impl Answer {
    /// A batch with its columns and without rows.
    pub fn columns(&self) -> RecordBatch {
        RecordBatch::new_empty(Arc::clone(&self.schema))
    }

    /// The next rows; nothing at the end.
    ///
    /// # Errors
    /// If the history cannot be read, or a value cannot be computed.
    pub async fn next(&mut self) -> std::result::Result<Option<RecordBatch>, QueryError> {
        let Some(batch) = self.batches.next().await else { return Ok(None) };
        let read = || -> Result<RecordBatch> {
            let batch = batch?;
            let columns = batch.columns().iter().zip(self.schema.fields());
            let columns = columns.map(|(column, field)| cast(column, field.data_type()));
            let columns = columns.collect::<std::result::Result<_, _>>()?;
            let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &rows)?)
        };
        read().map(Some).map_err(|error| explained(error, &self.sql))
    }

    /// All rows; at least one batch, which has the columns.
    ///
    /// # Errors
    /// As [`Answer::next`].
    pub async fn all(mut self) -> std::result::Result<Vec<RecordBatch>, QueryError> {
        let mut batches = vec![self.columns()];
        while let Some(batch) = self.next().await? {
            batches.push(batch);
        }
        Ok(batches)
    }
}

/// Columns that can be written. A column of another type becomes text.
fn readable(schema: &SchemaRef) -> SchemaRef {
    let kind = |kind: &DataType| match cells::is_known(kind) {
        true => kind.clone(),
        false => DataType::Utf8,
    };
    let fields = schema.fields().iter();
    let fields = fields.map(|field| Field::new(field.name(), kind(field.data_type()), true));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}
