//! Why a query has no answer, and what to write instead.

use crate::TABLES;
use datafusion::common::{Column, DataFusionError, SchemaError};
use proofmark_history::{HistoryError, exit};
use std::collections::BTreeSet;

/// Why a query has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// The history cannot be read.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// There is no table of that name.
    #[error("there is no table `{name}`{}; there are {}", near(.name, &TABLES), list(&TABLES))]
    NoTable {
        /// What was written.
        name: String,
    },
    /// There is no column of that name.
    #[error(
        "there is no column `{name}`{}; there are {}{hint}",
        near(.name, &texts(.known)),
        list(&texts(.known))
    )]
    NoColumn {
        /// What was written.
        name: String,
        /// The columns of the tables that the query reads.
        known: Vec<String>,
        /// What else may be meant.
        hint: String,
    },
    /// The text is not a question that can be answered.
    #[error("{0}")]
    Sql(String),
    /// An object of the history cannot be read.
    #[error("cannot read the history: {0}; `proofmark history fsck` examines it")]
    Read(String),
    /// The machine does not have enough of something.
    #[error("the query needs more than this machine has: {0}")]
    Resources(String),
}

impl QueryError {
    /// The exit code of the program.
    pub fn exit_code(&self) -> u8 {
        match self {
            QueryError::History(error) => error.exit_code(),
            QueryError::NoTable { .. } | QueryError::NoColumn { .. } | QueryError::Sql(_) => {
                exit::USAGE
            }
            QueryError::Read(_) => exit::INTEGRITY,
            QueryError::Resources(_) => exit::ENVIRONMENT,
        }
    }
}

fn texts(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

fn list(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// `: did you mean …?`, if a name is near.
fn near(typed: &str, known: &[&str]) -> String {
    let typed = typed.to_lowercase();
    let best = known.iter().map(|name| (strsim::damerau_levenshtein(&typed, name), *name)).min();
    match best {
        Some((distance, name)) if distance <= 1 + name.len() / 4 => {
            format!(": did you mean `{name}`?")
        }
        _ => String::new(),
    }
}

/// An error of ours on its way through the engine.
pub(crate) fn within(error: impl Into<QueryError>) -> DataFusionError {
    DataFusionError::External(Box::new(error.into()))
}

/// What an error of the engine means for the author of the query.
pub(crate) fn explained(error: DataFusionError, sql: &str) -> QueryError {
    match error {
        DataFusionError::External(inner) => match inner.downcast::<QueryError>() {
            Ok(ours) => *ours,
            Err(other) => QueryError::Read(other.to_string()),
        },
        DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => {
            explained(*inner, sql)
        }
        DataFusionError::Collection(mut errors) if !errors.is_empty() => {
            explained(errors.swap_remove(0), sql)
        }
        DataFusionError::SchemaError(inner, _) => match *inner {
            SchemaError::FieldNotFound { field, valid_fields } => {
                no_column(&field, &valid_fields, sql)
            }
            other => QueryError::Sql(other.to_string()),
        },
        DataFusionError::SQL(inner, _) => QueryError::Sql(format!("this is not SQL: {inner}")),
        DataFusionError::ResourcesExhausted(text) => QueryError::Resources(text),
        DataFusionError::ObjectStore(inner) => QueryError::Read(inner.to_string()),
        DataFusionError::ParquetError(inner) => QueryError::Read(inner.to_string()),
        DataFusionError::IoError(inner) => QueryError::Read(inner.to_string()),
        DataFusionError::Plan(text) if text.contains("not supported: ") => {
            QueryError::Sql(format!("a query only reads: {text}"))
        }
        DataFusionError::Plan(text) => QueryError::Sql(text),
        other => QueryError::Sql(other.strip_backtrace()),
    }
}

fn no_column(field: &Column, valid: &[Column], sql: &str) -> QueryError {
    let known: BTreeSet<String> = valid.iter().map(|column| column.name().to_owned()).collect();
    let name = field.name().to_owned();
    let hint = match sql.contains(&format!("\"{name}\"")) {
        true => format!(". If it is a text, write it in single quotes: '{name}'"),
        false => String::new(),
    };
    QueryError::NoColumn { name, known: known.into_iter().collect(), hint }
}
