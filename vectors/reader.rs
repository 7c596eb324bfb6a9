//! The reader of the files in this folder; `SOURCES.md` says whose they are.

use serde::Deserialize;

#[derive(Deserialize)]
struct File<V> {
    vectors: Vec<V>,
}

/// An octet string, hexadecimal in the file.
#[derive(Clone, Default, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Octets(pub(crate) Vec<u8>);

impl TryFrom<String> for Octets {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let digits = |at| u8::from_str_radix(text.get(at..at + 2).unwrap_or("odd length"), 16);
        let octets: Result<_, _> = (0..text.len()).step_by(2).map(digits).collect();
        octets.map(Octets).map_err(|error| format!("{text}: {error}"))
    }
}

/// The vectors of one file under `vectors/`, at least one.
pub(crate) fn load<V: for<'de> Deserialize<'de>>(name: &str) -> Vec<V> {
    let path = format!("{}/../../vectors/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let file: File<V> = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
    assert!(!file.vectors.is_empty(), "{path}: no vectors");
    file.vectors
}
