//! Parquet files: columns as bytes, which numpy and `array` use without copying each value.

use airtoll_parquet::{Column, Values, read, write};
use bytes::Bytes;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::value_error;

/// Name, type, values, distinct words of text, and one byte per row that is 0 if the row has no value (`None`: all
/// rows have one). The values are little-endian: 8 bytes per number, 4 bytes per text (an index into the words), 1 byte per
/// truth value. An unsupported type has no values.
type Given = (String, String, PyBackedBytes, Vec<String>, Option<PyBackedBytes>);
type Returned<'py> = (
    String,
    String,
    Bound<'py, PyBytes>,
    Vec<String>,
    Option<Bound<'py, PyBytes>>,
);

/// The content of a Parquet file with these columns. Raises `ValueError` with one line if they are inconsistent.
#[pyfunction]
pub(crate) fn write_parquet<'py>(py: Python<'py>, columns: Vec<Given>) -> PyResult<Bound<'py, PyBytes>> {
    let columns: Vec<Column> = columns.into_iter().map(taken).collect::<PyResult<_>>()?;
    let content = py.detach(|| write(&columns)).map_err(value_error)?;
    Ok(PyBytes::new(py, &content))
}

/// The columns of a Parquet file. Raises `ValueError` with one line if the content is invalid.
#[pyfunction]
pub(crate) fn read_parquet<'py>(py: Python<'py>, content: PyBackedBytes) -> PyResult<Vec<Returned<'py>>> {
    let columns = py
        .detach(|| read(Bytes::from_owner(content)))
        .map_err(value_error)?;
    Ok(columns.into_iter().map(|column| returned(py, column)).collect())
}

fn taken((name, kind, data, words, present): Given) -> PyResult<Column> {
    let values = match kind.as_str() {
        "String" => Values::Text(numbers(&data, u32::from_le_bytes)?, words),
        "Int64" => Values::Integer(numbers(&data, i64::from_le_bytes)?),
        "UInt64" => Values::Unsigned(numbers(&data, u64::from_le_bytes)?),
        "Float64" => Values::Real(numbers(&data, f64::from_le_bytes)?),
        "Boolean" => Values::Boolean(flags(&data)),
        _ => Values::Other(kind),
    };
    Ok(Column {
        name,
        values,
        present: present.map(|present| flags(&present)),
    })
}

fn returned(py: Python<'_>, column: Column) -> Returned<'_> {
    let kind = column.values.type_name().to_owned();
    let (data, words) = match column.values {
        Values::Text(codes, words) => (packed(&codes, u32::to_le_bytes), words),
        Values::Integer(values) => (packed(&values, i64::to_le_bytes), Vec::new()),
        Values::Unsigned(values) => (packed(&values, u64::to_le_bytes), Vec::new()),
        Values::Real(values) => (packed(&values, f64::to_le_bytes), Vec::new()),
        Values::Boolean(values) => (packed(&values, |value| [u8::from(value)]), Vec::new()),
        Values::Other(_) => (Vec::new(), Vec::new()),
    };
    let present = column
        .present
        .map(|flags| packed(&flags, |flag| [u8::from(flag)]));
    (
        column.name,
        kind,
        PyBytes::new(py, &data),
        words,
        present.map(|present| PyBytes::new(py, &present)),
    )
}

fn numbers<const N: usize, T>(data: &[u8], from: impl Fn([u8; N]) -> T) -> PyResult<Vec<T>> {
    let (chunks, []) = data.as_chunks::<N>() else {
        return Err(value_error(format!("not a multiple of {N} bytes")));
    };
    Ok(chunks.iter().map(|chunk| from(*chunk)).collect())
}

fn flags(data: &[u8]) -> Vec<bool> {
    data.iter().map(|flag| *flag != 0).collect()
}

fn packed<const N: usize, T: Copy>(values: &[T], to: impl Fn(T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(|value| to(*value)).collect()
}
