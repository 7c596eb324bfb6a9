//! Columns to a Parquet file.

use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;

use crate::{Column, TableError, Values};

/// Rows per row group. Readers handle one row group at a time.
const GROUP_ROWS: usize = 1 << 20;

/// The content of a Parquet file with these columns, compressed with zstd.
///
/// # Errors
///
/// If the columns have different lengths, a code has no word, or a column has an unsupported type.
pub fn write(columns: &[Column]) -> Result<Vec<u8>, TableError> {
    let rows = checked_rows(columns)?;
    let fields = columns.iter().map(|column| field(column).map(Arc::new));
    let schema = Type::group_type_builder("root")
        .with_fields(fields.collect::<Result<_, _>>()?)
        .build()?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .build();
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
    for start in (0..rows).step_by(GROUP_ROWS) {
        let end = rows.min(start + GROUP_ROWS);
        let mut group = writer.next_row_group()?;
        for column in columns {
            let mut target = group
                .next_column()?
                .ok_or_else(|| TableError::new("column not in schema"))?;
            write_chunk(column, start..end, &mut target)?;
            target.close()?;
        }
        group.close()?;
    }
    Ok(writer.into_inner()?)
}

/// The number of rows that all columns have.
fn checked_rows(columns: &[Column]) -> Result<usize, TableError> {
    let mut common = None;
    for Column {
        name,
        values,
        present,
    } in columns
    {
        let unsupported = || TableError::new(format!("column {name}: cannot write {}", values.type_name()));
        let rows = values.rows().ok_or_else(unsupported)?;
        let flags = present.as_ref().map_or(rows, Vec::len);
        if flags != rows || *common.get_or_insert(rows) != rows {
            return Err(TableError::new(format!(
                "column {name}: columns differ in length"
            )));
        }
    }
    Ok(common.unwrap_or(0))
}

fn field(column: &Column) -> Result<Type, TableError> {
    let (physical, logical) = match &column.values {
        Values::Text(..) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Values::Integer(_) => (Physical::INT64, None),
        Values::Unsigned(_) => (Physical::INT64, Some(LogicalType::integer(64, false))),
        Values::Boolean(_) => (Physical::BOOLEAN, None),
        Values::Real(_) | Values::Other(_) => (Physical::DOUBLE, None),
    };
    Ok(Type::primitive_type_builder(&column.name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()?)
}

fn write_chunk(
    column: &Column,
    rows: std::ops::Range<usize>,
    target: &mut SerializedColumnWriter<'_>,
) -> Result<(), TableError> {
    let present = column.present.as_ref().map(|flags| &flags[rows.clone()]);
    match &column.values {
        Values::Text(codes, words) => {
            let words: Vec<ByteArray> = words
                .iter()
                .map(|word| ByteArray::from(Bytes::copy_from_slice(word.as_bytes())))
                .collect();
            let missing = || TableError::new(format!("column {}: a code has no word", column.name));
            let empty = ByteArray::from(Bytes::new());
            let of_row = |(row, &code): (usize, &u32)| match words.get(code as usize) {
                Some(word) => Ok(word.clone()),
                None if present.is_some_and(|flags| !flags[row]) => Ok(empty.clone()),
                None => Err(missing()),
            };
            let values: Vec<ByteArray> = codes[rows]
                .iter()
                .enumerate()
                .map(of_row)
                .collect::<Result<_, _>>()?;
            write_values::<ByteArrayType>(&values, present, target)
        }
        Values::Integer(values) => write_values::<Int64Type>(&values[rows], present, target),
        Values::Unsigned(values) => {
            let values: Vec<i64> = values[rows].iter().map(|value| value.cast_signed()).collect();
            write_values::<Int64Type>(&values, present, target)
        }
        Values::Real(values) => write_values::<DoubleType>(&values[rows], present, target),
        Values::Boolean(values) => write_values::<BoolType>(&values[rows], present, target),
        Values::Other(_) => unreachable!("refused by checked_rows"),
    }
}

/// Write the values of the rows that have one, and for every row whether it has one.
fn write_values<T: DataType>(
    values: &[T::T],
    present: Option<&[bool]>,
    target: &mut SerializedColumnWriter<'_>,
) -> Result<(), TableError> {
    let levels: Vec<i16> = match present {
        Some(flags) => flags.iter().map(|&flag| i16::from(flag)).collect(),
        None => vec![1; values.len()],
    };
    let writer = target.typed::<T>();
    if levels.contains(&0) {
        let known = values.iter().zip(&levels).filter(|(_, level)| **level == 1);
        let known: Vec<T::T> = known.map(|(value, _)| value.clone()).collect();
        writer.write_batch(&known, Some(&levels), None)?;
    } else {
        writer.write_batch(values, Some(&levels), None)?;
    }
    Ok(())
}
