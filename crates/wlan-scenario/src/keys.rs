//! Splits a flat JSON object: several structs take their own keys from it. Every error names its key.
//!
//! serde's `flatten` splits an object in the same way, but serde does not support it together with
//! `deny_unknown_fields`, and its errors do not name the key.

use std::collections::BTreeMap;
use std::{fmt, slice};

use serde::de::{
    Deserialize, DeserializeOwned, DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::value::RawValue;

/// An object's keys that no struct has taken yet.
#[derive(Debug)]
pub(crate) struct Keys {
    left: BTreeMap<String, Box<RawValue>>,
    known: Vec<&'static str>,
}

/// An invalid, missing or unknown key.
#[derive(Debug)]
pub struct KeyError {
    /// The key, after the keys of the objects that contain it. `None` if the error concerns the complete object.
    key: Option<String>,
    reason: String,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {}",
            self.key.as_deref().unwrap_or("scenario"),
            self.reason
        )
    }
}

impl std::error::Error for KeyError {}

impl Error for KeyError {
    fn custom<T: fmt::Display>(reason: T) -> Self {
        KeyError {
            key: None,
            reason: reason.to_string(),
        }
    }
}

impl KeyError {
    /// The error of a value, without its position in the text.
    fn of_value(error: &serde_json::Error) -> KeyError {
        let position = format!(" at line {} column {}", error.line(), error.column());
        let reason = error.to_string();
        KeyError::custom(reason.strip_suffix(&position).unwrap_or(&reason))
    }

    fn inside(self, key: &str) -> KeyError {
        let key = match self.key {
            None => key.into(),
            Some(inner) => format!("{key}.{inner}"),
        };
        KeyError {
            key: Some(key),
            ..self
        }
    }
}

impl Keys {
    /// Takes the fields of `T`.
    pub fn take<T: DeserializeOwned>(&mut self) -> Result<T, KeyError> {
        T::deserialize(self)
    }

    /// Checks that every key has been taken.
    pub fn finish(self) -> Result<(), KeyError> {
        self.check(&self.known)
    }

    /// Checks that all keys left are among `known`.
    fn check(&self, known: &[&str]) -> Result<(), KeyError> {
        let Some(unknown) = self.left.keys().find(|key| !known.contains(&key.as_str())) else {
            return Ok(());
        };
        let known: Vec<String> = known.iter().map(|key| format!("`{key}`")).collect();
        Err(KeyError::custom(format_args!(
            "unknown field `{unknown}`, expected one of {}",
            known.join(", ")
        )))
    }
}

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Keys;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Keys, A::Error> {
                let mut left = BTreeMap::new();
                while let Some((key, value)) = entries.next_entry::<String, _>()? {
                    if left.contains_key(&key) {
                        return Err(Error::custom(format_args!("duplicate field `{key}`")));
                    }
                    left.insert(key, value);
                }
                let known = Vec::new();
                Ok(Keys { left, known })
            }
        }

        deserializer.deserialize_map(Object)
    }
}

/// Deserialises one struct: a visitor sees the keys of its fields only.
impl<'de> Deserializer<'de> for &mut Keys {
    type Error = KeyError;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, KeyError> {
        self.known.extend(fields);
        visitor.visit_map(Fields {
            left: &mut self.left,
            fields: fields.iter(),
            next: None,
        })
    }

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, KeyError> {
        Err(KeyError::custom("only a struct can take keys"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// The keys of one struct, with their values.
struct Fields<'k> {
    left: &'k mut BTreeMap<String, Box<RawValue>>,
    fields: slice::Iter<'static, &'static str>,
    next: Option<(&'static str, Entry)>,
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = KeyError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, KeyError> {
        let left = &mut self.left;
        self.next = self.fields.find_map(|&key| Some((key, Entry(left.remove(key)?))));
        self.next
            .as_ref()
            .map(|(key, _)| seed.deserialize(key.into_deserializer()))
            .transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, KeyError> {
        let (key, value) = self
            .next
            .take()
            .ok_or_else(|| KeyError::custom("a value without a key"))?;
        seed.deserialize(value).map_err(|error| error.inside(key))
    }
}

/// The value of a key.
struct Entry(Box<RawValue>);

impl<'de> Deserializer<'de> for Entry {
    type Error = KeyError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, KeyError> {
        // The visitor may borrow only from text that outlives the entry; a reader lends nothing.
        let mut value = serde_json::Deserializer::from_reader(self.0.get().as_bytes());
        value
            .deserialize_any(visitor)
            .map_err(|error| KeyError::of_value(&error))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, KeyError> {
        match self.0.get() {
            "null" => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, KeyError> {
        let mut keys: Keys =
            serde_json::from_str(self.0.get()).map_err(|error| KeyError::of_value(&error))?;
        // A misspelt key is better named than the missing key that it was meant to be.
        keys.check(fields)?;
        keys.deserialize_struct(name, fields, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
