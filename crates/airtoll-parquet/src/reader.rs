//! A Parquet file to columns.

use std::collections::HashMap;

use bytes::Bytes;
use parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use crate::guard::without_panic;
use crate::{Column, TableError, Values};

/// The largest number of rows that [`read`] accepts. A small crafted file can declare any number.
pub const ROWS_MAX: usize = 1 << 26;

/// Rows per step, which bounds the memory that a crafted page can request.
const STEP_ROWS: usize = 1 << 14;

/// The columns of a Parquet file, in the order of its schema.
///
/// # Errors
///
/// If the content is not a valid Parquet file, its compression is unsupported, or it has more than [`ROWS_MAX`] rows.
pub fn read(content: Bytes) -> Result<Vec<Column>, TableError> {
    without_panic(|| read_file(content)).unwrap_or_else(|| Err(TableError::new("invalid Parquet data")))
}

fn read_file(content: Bytes) -> Result<Vec<Column>, TableError> {
    let reader = SerializedFileReader::new(content)?;
    let mut groups = Vec::new();
    let mut rows: usize = 0;
    for index in 0..reader.num_row_groups() {
        let group = reader.get_row_group(index)?;
        let of_group = usize::try_from(group.metadata().num_rows()).ok();
        let sum = of_group.and_then(|of_group| rows.checked_add(of_group));
        match (of_group, sum) {
            (Some(of_group), Some(sum)) if sum <= ROWS_MAX => {
                rows = sum;
                groups.push((group, of_group));
            }
            _ => {
                return Err(TableError::new(format!(
                    "number of rows out of range (at most {ROWS_MAX})"
                )));
            }
        }
    }
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    (0..schema.num_columns())
        .map(|index| read_column(&schema.column(index), &groups, index, rows))
        .collect()
}

type Group<'a> = (Box<dyn RowGroupReader + 'a>, usize);

fn read_column(
    description: &ColumnDescriptor,
    groups: &[Group<'_>],
    index: usize,
    rows: usize,
) -> Result<Column, TableError> {
    let name = description.path().string();
    let mut values = empty_values(description);
    let mut present = Vec::new();
    match &mut values {
        Values::Text(codes, words) => {
            let mut known = HashMap::new();
            let mut last: Option<(ByteArray, u32)> = None;
            for_each::<ByteArrayType>(groups, index, &mut present, |word| {
                let code = match (word, &last) {
                    (None, _) => 0,
                    (Some(word), Some((same, code))) if same == word => *code,
                    (Some(word), _) => {
                        let text = word.as_utf8()?;
                        let next =
                            u32::try_from(words.len()).map_err(|_| TableError::new("too many words"))?;
                        let code = *known.entry(text.to_owned()).or_insert_with(|| {
                            words.push(text.to_owned());
                            next
                        });
                        last = Some((word.clone(), code));
                        code
                    }
                };
                codes.push(code);
                Ok(())
            })
        }
        Values::Integer(all) => for_each::<Int64Type>(groups, index, &mut present, |value| {
            all.push(value.copied().unwrap_or(0));
            Ok(())
        }),
        Values::Unsigned(all) => for_each::<Int64Type>(groups, index, &mut present, |value| {
            all.push(value.map_or(0, |value| value.cast_unsigned()));
            Ok(())
        }),
        Values::Real(all) => for_each::<DoubleType>(groups, index, &mut present, |value| {
            all.push(value.copied().unwrap_or(0.0));
            Ok(())
        }),
        Values::Boolean(all) => for_each::<BoolType>(groups, index, &mut present, |value| {
            all.push(value.copied().unwrap_or(false));
            Ok(())
        }),
        Values::Other(_) => {
            return Ok(Column {
                name,
                values,
                present: None,
            });
        }
    }?;
    if present.len() != rows {
        return Err(TableError::new(format!(
            "column {name} has {} of {rows} rows",
            present.len()
        )));
    }
    let present = present.contains(&false).then_some(present);
    Ok(Column {
        name,
        values,
        present,
    })
}

/// The empty values of the column's type.
fn empty_values(description: &ColumnDescriptor) -> Values {
    let physical = description.physical_type();
    let logical = description.logical_type_ref();
    let flat = description.max_rep_level() == 0 && description.max_def_level() <= 1;
    if !flat || description.path().parts().len() != 1 {
        return Values::Other("nested".to_owned());
    }
    match (physical, logical, description.converted_type()) {
        (Physical::BYTE_ARRAY, Some(LogicalType::String), _)
        | (Physical::BYTE_ARRAY, None, ConvertedType::UTF8) => Values::Text(Vec::new(), Vec::new()),
        (Physical::INT64, None, ConvertedType::NONE | ConvertedType::INT_64) => Values::Integer(Vec::new()),
        (Physical::INT64, None, ConvertedType::UINT_64) => Values::Unsigned(Vec::new()),
        (Physical::INT64, Some(logical), _) if *logical == LogicalType::integer(64, true) => {
            Values::Integer(Vec::new())
        }
        (Physical::INT64, Some(logical), _) if *logical == LogicalType::integer(64, false) => {
            Values::Unsigned(Vec::new())
        }
        (Physical::DOUBLE, None, ConvertedType::NONE) => Values::Real(Vec::new()),
        (Physical::BOOLEAN, None, ConvertedType::NONE) => Values::Boolean(Vec::new()),
        (Physical::FLOAT, None, ConvertedType::NONE) => Values::Other("Float32".to_owned()),
        (Physical::INT32, None, ConvertedType::NONE) => Values::Other("Int32".to_owned()),
        (Physical::BYTE_ARRAY, None, ConvertedType::NONE) => Values::Other("Binary".to_owned()),
        _ => Values::Other(format!("{physical} {}", description.converted_type())),
    }
}

/// Passes the value of each row to `visit`, or `None` for a row without a value, and appends to `present` whether the
/// row has a value.
fn for_each<T: DataType>(
    groups: &[Group<'_>],
    index: usize,
    present: &mut Vec<bool>,
    mut visit: impl FnMut(Option<&T::T>) -> Result<(), TableError>,
) -> Result<(), TableError> {
    let mut values: Vec<T::T> = Vec::new();
    let mut levels: Vec<i16> = Vec::new();
    for (group, rows) in groups {
        let mut reader = get_typed_column_reader::<T>(group.get_column_reader(index)?);
        let optional = group.metadata().column(index).column_descr().max_def_level() > 0;
        let mut left = *rows;
        while left > 0 {
            values.clear();
            levels.clear();
            let (read, _, _) =
                reader.read_records(left.min(STEP_ROWS), Some(&mut levels), None, &mut values)?;
            if read == 0 {
                break;
            }
            left -= read;
            if !optional {
                levels.resize(read, 1);
            }
            let mut known = values.iter();
            for level in &levels {
                let value = if *level > 0 { known.next() } else { None };
                present.push(value.is_some());
                visit(value)?;
            }
        }
    }
    Ok(())
}
