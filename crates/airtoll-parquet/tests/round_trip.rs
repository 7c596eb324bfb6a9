//! Tables survive a file unchanged, and damaged files are errors.

use airtoll_parquet::{Column, Values, read, write};
use bytes::Bytes;

const WRITTEN_BY_POLARS: &[u8] = include_bytes!("files/samples-polars.parquet");

fn column(name: &str, values: Values, present: Option<Vec<bool>>) -> Column {
    Column {
        name: name.to_owned(),
        values,
        present,
    }
}

fn table(rows: usize) -> Vec<Column> {
    let odd = |row: &usize| row % 2 == 1;
    let words = vec!["a".to_owned(), "ü, \"b\"".to_owned()];
    vec![
        column(
            "text",
            Values::Text((0..rows).map(|row| u32::from(odd(&row))).collect(), words),
            None,
        ),
        column(
            "count",
            Values::Integer((0..rows).map(|row| 3 - i64::try_from(row).unwrap()).collect()),
            None,
        ),
        column(
            "seed",
            Values::Unsigned((0..rows).map(|row| u64::MAX - row as u64).collect()),
            None,
        ),
        column(
            "whether",
            Values::Boolean((0..rows).map(|row| odd(&row)).collect()),
            None,
        ),
        column(
            "value",
            Values::Real((0..rows).map(|row| 0.1 * row as f64).collect()),
            Some((0..rows).map(|row| row % 3 != 1).collect()),
        ),
    ]
}

#[test]
fn every_value_survives() {
    for rows in [2, 3, 100, 40_000] {
        let written = table(rows);
        let read = read(Bytes::from(write(&written).unwrap())).unwrap();
        for (was, is) in written.iter().zip(&read) {
            assert_eq!((&was.name, &was.present), (&is.name, &is.present));
            match (&was.values, &is.values) {
                (Values::Real(was), Values::Real(is)) => {
                    let known = |row: &usize| row % 3 != 1;
                    let bits = |of: &[f64]| {
                        (0..rows)
                            .filter(known)
                            .map(|row| of[row].to_bits())
                            .collect::<Vec<_>>()
                    };
                    assert_eq!(bits(was), bits(is));
                }
                (was, is) => assert_eq!(was, is),
            }
        }
    }
}

#[test]
fn tables_without_rows_and_without_columns_are_valid() {
    let read_again = read(Bytes::from(write(&table(0)).unwrap())).unwrap();
    assert_eq!(read_again.len(), 5);
    assert!(read_again.iter().all(|column| column.values.rows() == Some(0)));
    assert_eq!(read(Bytes::from(write(&[]).unwrap())).unwrap(), []);
}

#[test]
fn inconsistent_columns_are_refused() {
    let one = column("one", Values::Integer(vec![1]), None);
    let two = column("two", Values::Integer(vec![1, 2]), None);
    assert!(write(&[one.clone(), two]).is_err());
    assert!(write(&[column("flags", Values::Integer(vec![1]), Some(vec![]))]).is_err());
    assert!(write(&[column("code", Values::Text(vec![1], vec!["a".to_owned()]), None)]).is_err());
    assert!(write(&[column("other", Values::Other("Int32".to_owned()), None)]).is_err());
}

#[test]
fn a_file_of_polars_is_read() {
    let columns = read(Bytes::from_static(WRITTEN_BY_POLARS)).unwrap();
    let types: Vec<_> = columns
        .iter()
        .map(|column| (column.name.as_str(), column.values.type_name()))
        .collect();
    let text = ["run", "probe", "metric", "unit", "endpoint", "direction"].map(|name| (name, "String"));
    assert_eq!(types[..6], text);
    assert_eq!(
        types[6..],
        [
            ("t_ns", "Int64"),
            ("dur_ns", "Int64"),
            ("value", "Float64"),
            ("phase", "String")
        ]
    );
    assert!(
        columns
            .iter()
            .all(|column| column.present.is_some() == (column.name == "value"))
    );
}

/// A cut or a changed byte of a file gives a table or an error of one line. With `AIRTOLL_LONG`, at every place.
#[test]
fn damaged_files_are_errors() {
    let step = if std::env::var_os("AIRTOLL_LONG").is_some() {
        1
    } else {
        5
    };
    let own = write(&table(8)).unwrap();
    for content in [own.as_slice(), WRITTEN_BY_POLARS] {
        for length in (0..content.len()).step_by(step) {
            assert!(
                read(Bytes::copy_from_slice(&content[..length])).is_err(),
                "cut at {length}"
            );
        }
        for place in (0..content.len()).step_by(step) {
            for value in [0xff, content[place] ^ 1] {
                let mut damaged = content.to_vec();
                damaged[place] = value;
                if let Err(error) = read(Bytes::from(damaged)) {
                    assert!(!error.to_string().contains('\n'));
                }
            }
        }
    }
}
