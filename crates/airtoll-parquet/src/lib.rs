//! Parquet files of flat tables: columns of text, integers, reals and booleans, in which a row may lack a value.
//!
//! - [`Column`]: a column in memory; text is dictionary-coded
//! - [`write()`]: columns to the content of a file, compressed with zstd
//! - [`read`]: the content of a file to columns. Files of other programs are readable if they are flat and uncompressed
//!   or compressed with zstd or Snappy. A column of an unsupported type is reported by the name of its type.
//!
//! The content of a file is untrusted: [`read`] returns an error for every damaged or crafted file and never panics.
//!
//! No I/O.

#![forbid(unsafe_code)]

mod guard;
mod reader;
mod writer;

use thiserror::Error;

pub use reader::{ROWS_MAX, read};
pub use writer::write;

/// One column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name of the column.
    pub name: String,
    /// One value per row. A row without a value has zero, the first word or `false` here.
    pub values: Values,
    /// Whether each row has a value; `None` if all rows have one.
    pub present: Option<Vec<bool>>,
}

/// The values of a column, by their type.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Text: per row an index into the distinct words.
    Text(Vec<u32>, Vec<String>),
    /// Signed integers of 64 bits.
    Integer(Vec<i64>),
    /// Unsigned integers of 64 bits.
    Unsigned(Vec<u64>),
    /// Floating-point numbers of 64 bits.
    Real(Vec<f64>),
    /// Truth values.
    Boolean(Vec<bool>),
    /// Values of an unsupported type, which are not read. Contains the name of the type.
    Other(String),
}

impl Values {
    /// The name of the type: `String`, `Int64`, `UInt64`, `Float64`, `Boolean` or that of an unsupported type.
    #[must_use]
    pub fn type_name(&self) -> &str {
        match self {
            Values::Text(..) => "String",
            Values::Integer(_) => "Int64",
            Values::Unsigned(_) => "UInt64",
            Values::Real(_) => "Float64",
            Values::Boolean(_) => "Boolean",
            Values::Other(name) => name,
        }
    }

    /// Number of rows; `None` for an unsupported type.
    #[must_use]
    pub fn rows(&self) -> Option<usize> {
        match self {
            Values::Text(codes, _) => Some(codes.len()),
            Values::Integer(values) => Some(values.len()),
            Values::Unsigned(values) => Some(values.len()),
            Values::Real(values) => Some(values.len()),
            Values::Boolean(values) => Some(values.len()),
            Values::Other(_) => None,
        }
    }
}

/// Why a table cannot be read or written, in one line.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct TableError(String);

impl TableError {
    fn new(text: impl Into<String>) -> TableError {
        let text: String = text.into();
        TableError(text.lines().next().unwrap_or("unknown error").to_owned())
    }
}

impl From<parquet::errors::ParquetError> for TableError {
    fn from(error: parquet::errors::ParquetError) -> TableError {
        TableError::new(error.to_string())
    }
}
