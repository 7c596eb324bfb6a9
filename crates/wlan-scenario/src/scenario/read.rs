//! From a scenario's JSON to [`Words`]. The JSON is one flat object, whose keys are columns in the tables of sweeps and
//! facts in stored results; [`KEYS`] says to which group each key belongs.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::Words;
use super::contract::KEYS;
use super::error::KeyError;

/// The JSON of [`Words`].
pub(super) struct Grouped(String);

impl Grouped {
    pub fn words(&self) -> Result<Words, KeyError> {
        let mut text = serde_json::Deserializer::from_str(&self.0);
        serde_path_to_error::deserialize(&mut text).map_err(|error| {
            let mut path = error.path().to_string();
            let error = error.into_inner();
            let position = format!(" at line {} column {}", error.line(), error.column());
            let reason = error.to_string();
            // The path of an unknown field ends with the field, which the reason names.
            if reason.starts_with("unknown field") {
                path.truncate(path.rfind('.').unwrap_or(0));
            }
            KeyError {
                key: path.split_once('.').map(|(_, inner)| name_of(inner)),
                reason: reason.strip_suffix(&position).unwrap_or(&reason).into(),
            }
        })
    }
}

/// The name in study files of a value in JSON, given by its path below the group.
fn name_of(path: &str) -> String {
    let found = KEYS
        .iter()
        .find_map(|key| Some((key.name, path.strip_prefix(key.json)?)));
    match found {
        Some((name, inner)) if inner.is_empty() || inner.starts_with('.') => format!("{name}{inner}"),
        _ => path.into(),
    }
}

impl<'de> Deserialize<'de> for Grouped {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Flat;

        impl<'de> Visitor<'de> for Flat {
            type Value = Grouped;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Grouped, A::Error> {
                let mut groups: BTreeMap<&str, Vec<String>> =
                    fields().map(|(_, group)| (group, vec![])).collect();
                while let Some((key, value)) = entries.next_entry::<String, Box<RawValue>>()? {
                    let group = group_of(&key).ok_or_else(|| Error::custom(unknown(&key)))?;
                    groups
                        .entry(group)
                        .or_default()
                        .push(format!("\"{key}\":{value}"));
                }
                let groups = groups
                    .iter()
                    .map(|(name, keys)| format!("\"{name}\":{{{}}}", keys.join(",")));
                Ok(Grouped(format!("{{{}}}", groups.collect::<Vec<_>>().join(","))))
            }
        }

        deserializer.deserialize_map(Flat)
    }
}

/// The names of the values and objects in a scenario's JSON, with their groups.
fn fields() -> impl Iterator<Item = (&'static str, &'static str)> {
    let of_medium = KEYS.iter().filter(|key| !key.group.is_empty());
    of_medium.filter_map(|key| Some((key.json.split('.').next()?, key.group)))
}

fn group_of(field: &str) -> Option<&'static str> {
    fields().find_map(|(name, group)| (name == field).then_some(group))
}

fn unknown(field: &str) -> String {
    let mut known: Vec<String> = fields().map(|(name, _)| format!("`{name}`")).collect();
    known.dedup();
    format!("unknown field `{field}`, expected one of {}", known.join(", "))
}
