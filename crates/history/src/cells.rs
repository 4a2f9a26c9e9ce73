//! Cells of columns as JSON.

use crate::HistoryError;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampNanosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use serde_json::Value;

/// Whether [`value`] knows the type.
pub fn is_known(kind: &DataType) -> bool {
    match kind {
        DataType::List(field) => is_known(field.data_type()),
        DataType::Null
        | DataType::Boolean
        | DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::UInt8
        | DataType::UInt16
        | DataType::UInt32
        | DataType::UInt64
        | DataType::Float32
        | DataType::Float64
        | DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View
        | DataType::Timestamp(TimeUnit::Microsecond | TimeUnit::Nanosecond, _) => true,
        _ => false,
    }
}

/// A cell as JSON. Times are texts in UTC; a number that JSON does not have is null.
///
/// # Errors
/// If the type is not known.
pub fn value(array: &ArrayRef, row: usize) -> Result<Value, HistoryError> {
    if array.is_null(row) {
        return Ok(Value::Null);
    }
    Ok(match array.data_type() {
        DataType::Null => Value::Null,
        DataType::Boolean => array.as_boolean().value(row).into(),
        DataType::Int8 => array.as_primitive::<Int8Type>().value(row).into(),
        DataType::Int16 => array.as_primitive::<Int16Type>().value(row).into(),
        DataType::Int32 => array.as_primitive::<Int32Type>().value(row).into(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).into(),
        DataType::UInt8 => array.as_primitive::<UInt8Type>().value(row).into(),
        DataType::UInt16 => array.as_primitive::<UInt16Type>().value(row).into(),
        DataType::UInt32 => array.as_primitive::<UInt32Type>().value(row).into(),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(row).into(),
        // The shortest digits of the narrow type, not those of the wide one that holds it.
        DataType::Float32 => {
            let text = array.as_primitive::<Float32Type>().value(row).to_string();
            text.parse::<f64>().map_or(Value::Null, Value::from)
        }
        DataType::Float64 => array.as_primitive::<Float64Type>().value(row).into(),
        DataType::Utf8 => array.as_string::<i32>().value(row).into(),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row).into(),
        DataType::Utf8View => array.as_string_view().value(row).into(),
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            time(i128::from(array.as_primitive::<TimestampMicrosecondType>().value(row)) * 1000)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            time(i128::from(array.as_primitive::<TimestampNanosecondType>().value(row)))
        }
        DataType::List(_) => {
            let list = array.as_list::<i32>().value(row);
            let cells = (0..list.len()).map(|row| value(&list, row));
            Value::Array(cells.collect::<Result<_, _>>()?)
        }
        other => return Err(HistoryError::Usage(format!("a column of type {other} has no JSON"))),
    })
}

fn time(nanoseconds: i128) -> Value {
    jiff::Timestamp::from_nanosecond(nanoseconds)
        .map_or(Value::Null, |time| time.to_string().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Float32Array, Float64Array, Int64Array, StringArray};
    use std::sync::Arc;

    #[test]
    fn cells_are_what_people_expect() {
        let cell = |array: ArrayRef| value(&array, 0).unwrap();
        assert_eq!(cell(Arc::new(Float32Array::from(vec![0.1]))), 0.1);
        assert_eq!(cell(Arc::new(Float64Array::from(vec![f64::NAN]))), Value::Null);
        assert_eq!(cell(Arc::new(Int64Array::from(vec![None]))), Value::Null);
        assert_eq!(cell(Arc::new(StringArray::from(vec!["ä"]))), "ä");
        assert_eq!(cell(crate::rows::times([0].into_iter())), "1970-01-01T00:00:00Z");
    }
}
