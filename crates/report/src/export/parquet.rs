//! Flat records as Parquet, for query engines: the columns of the CSV with their types.

use super::csv::document;
use super::{ExportFile, ExportOptions, Exported, Exporter, single};
use crate::render::csv::table;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use serde_json::{Map, Value};
use std::sync::Arc;

pub(super) const EXPORTER: Exporter = Exporter {
    name: "parquet",
    summary: "flat records with typed columns for query engines",
    is_folder: false,
    is_text: false,
    has_failures: true,
    export,
};

/// What all values of a column are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Flag,
    Whole,
    Real,
    Text,
}

fn export(run: &Exported<'_>, _options: &ExportOptions) -> Vec<ExportFile> {
    // Writing does not fail: the columns are our own words and a vector takes every byte.
    single(write(run).expect("flat records fit a Parquet file"))
}

fn write(run: &Exported<'_>) -> Result<Vec<u8>, ParquetError> {
    let (columns, rows) = table(&document(run));
    let columns: Vec<(String, Kind)> =
        columns.into_iter().map(|name| (name.clone(), kind(&rows, &name))).collect();
    let fields: String = columns.iter().map(|(name, kind)| field(name, *kind)).collect();
    let schema = Arc::new(parse_message_type(&format!("message record {{ {fields} }}"))?);
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, properties)?;
    let mut group = writer.next_row_group()?;
    for (name, kind) in &columns {
        let Some(mut column) = group.next_column()? else { break };
        let cells: Vec<&Value> =
            rows.iter().map(|row| row.get(name).unwrap_or(&Value::Null)).collect();
        match kind {
            Kind::Flag => put::<BoolType>(&mut column, &cells, Value::as_bool)?,
            Kind::Whole => put::<Int64Type>(&mut column, &cells, Value::as_i64)?,
            Kind::Real => put::<DoubleType>(&mut column, &cells, Value::as_f64)?,
            Kind::Text => put::<ByteArrayType>(&mut column, &cells, words)?,
        }
        column.close()?;
    }
    group.close()?;
    writer.into_inner()
}

fn kind(rows: &[Map<String, Value>], name: &str) -> Kind {
    let mut values = rows.iter().filter_map(|row| row.get(name)).filter(|value| !value.is_null());
    let all = |is: fn(&Value) -> bool| values.clone().all(is);
    if values.clone().next().is_none() {
        return Kind::Text;
    }
    match () {
        () if all(Value::is_boolean) => Kind::Flag,
        () if all(Value::is_i64) => Kind::Whole,
        () if values.all(Value::is_number) => Kind::Real,
        () => Kind::Text,
    }
}

fn field(name: &str, kind: Kind) -> String {
    let form = match kind {
        Kind::Flag => format!("boolean {name}"),
        Kind::Whole => format!("int64 {name}"),
        Kind::Real => format!("double {name}"),
        Kind::Text => format!("byte_array {name} (UTF8)"),
    };
    format!("optional {form}; ")
}

fn words(value: &Value) -> Option<ByteArray> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(ByteArray::from(text.as_str())),
        other => Some(ByteArray::from(other.to_string().into_bytes())),
    }
}

fn put<T: DataType>(
    column: &mut SerializedColumnWriter<'_>,
    cells: &[&Value],
    of: fn(&Value) -> Option<T::T>,
) -> Result<(), ParquetError> {
    let values: Vec<Option<T::T>> = cells.iter().map(|cell| of(cell)).collect();
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let there: Vec<T::T> = values.into_iter().flatten().collect();
    column.typed::<T>().write_batch(&there, Some(&levels), None)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::tests::{options, records, with};
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    #[test]
    fn columns_have_types_and_what_was_not_measured_is_null() {
        let files = with(&records(), |run| export(run, &options()));
        let path = std::env::temp_dir().join(format!("proofmark-{}.parquet", std::process::id()));
        std::fs::write(&path, &files[0].bytes).unwrap();
        let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
        std::fs::remove_file(&path).unwrap();
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert_eq!(rows.len(), 3);
        let place = |name: &str| {
            let of = |(known, _): (&String, &parquet::record::Field)| known == name;
            rows[0].get_column_iter().position(of).unwrap()
        };
        assert_eq!(rows[1].get_double(place("time_ms")).unwrap(), 0.01);
        assert_eq!(rows[1].get_string(place("contender")).unwrap(), "native/simd@avx2");
        assert_eq!(rows[1].get_long(place("threads")).unwrap(), 1);
        assert!(rows[2].get_double(place("time_ms")).is_err(), "a refused kernel has no time");
    }
}
