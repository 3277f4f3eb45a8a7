//! What an upstream turns into, one after the other.
//!
//! The order is that of the file: names are for people, and `safe` comes before `evil`.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// What changes in a tool, or lists that take the place of others.
pub type Version = Map<String, Value>;

/// Versions by their names, in the order in which they are played.
#[derive(Clone, Debug, Default)]
pub struct Versions(Vec<(String, Version)>);

impl Versions {
    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Tells whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the one at a place, or the last where there are not so many.
    pub fn at(&self, place: usize) -> Option<&Version> {
        let (_, version) = self.0.get(place).or_else(|| self.0.last())?;
        Some(version)
    }

    /// Goes over them.
    pub fn iter(&self) -> impl Iterator<Item = &Version> {
        self.0.iter().map(|(_, version)| version)
    }
}

impl Serialize for Versions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, version)| (name, version)))
    }
}

impl<'de> Deserialize<'de> for Versions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Versions;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("versions by their names")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Versions, A::Error> {
                let mut versions = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    versions.push(entry);
                }
                Ok(Versions(versions))
            }
        }

        deserializer.deserialize_map(Reader)
    }
}
