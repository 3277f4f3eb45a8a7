//! A serde reader over nodes. It is strict: a number is no text, and a text is no number unless the
//! environment gave it, since a reference always is text.

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::fault::{Fault, Kind};
use crate::node::{Entry, Node, Value};
use crate::path::Segment;
use crate::scalar;

/// Reads one node.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    node: &'a Node,
}

impl<'a> Reader<'a> {
    pub(super) fn new(node: &'a Node) -> Self {
        Self { node }
    }

    /// Returns the fault of a value that is not what was wanted.
    fn wrong(self, wanted: &str) -> Fault {
        let (found, hint) = match &self.node.value {
            Value::Null | Value::Removed => ("nothing", None),
            Value::Bool(_) if wanted == TEXT => ("`true` or `false`", QUOTE),
            Value::Integer(_) | Value::Float(_) if wanted == TEXT => ("a number", QUOTE),
            Value::Bool(_) => ("`true` or `false`", None),
            Value::Integer(_) => ("a whole number", None),
            Value::Float(_) => ("a fraction", None),
            Value::Text(text) if wanted == FLAG => ("text", flag_hint(text)),
            Value::Text(_) => ("text", None),
            Value::List(_) => ("a list", None),
            Value::Map(_) => ("a map", None),
        };
        Fault::other(format!("expected {wanted}, found {found}"), hint)
    }

    /// Hides what the environment gave where the type did not like it.
    fn guard<T>(self, read: Result<T, Fault>) -> Result<T, Fault> {
        read.map_err(|fault| match &self.node.value {
            Value::Text(text) if self.node.secret => fault.masked(text.trim()).masked(text),
            _ => fault,
        })
    }

    fn integer<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Fault> {
        let number = match &self.node.value {
            Value::Integer(number) => Some(*number),
            Value::Text(text) if self.node.secret => scalar::integer(text.trim()),
            _ => None,
        };
        let number = number.ok_or_else(|| self.wrong(NUMBER))?;
        self.guard(visit_integer(number, visitor))
    }
}

const TEXT: &str = "text";
const FLAG: &str = "`true` or `false`";
const NUMBER: &str = "a whole number";
const QUOTE: Option<&str> = Some("put the value in quotes");

fn flag_hint(text: &str) -> Option<&'static str> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "y" => Some("write `true`, without quotes"),
        "false" | "no" | "off" | "n" => Some("write `false`, without quotes"),
        _ => None,
    }
}

fn visit_integer<'a, V: Visitor<'a>>(number: i128, visitor: V) -> Result<V::Value, Fault> {
    if let Ok(number) = u64::try_from(number) {
        visitor.visit_u64(number)
    } else if let Ok(number) = i64::try_from(number) {
        visitor.visit_i64(number)
    } else {
        Err(Fault::other(format!("`{number}` is out of range"), None))
    }
}

impl<'de> Deserializer<'de> for Reader<'de> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.node.value {
            Value::Null | Value::Removed => visitor.visit_unit(),
            Value::Bool(flag) => visitor.visit_bool(*flag),
            Value::Integer(number) => visit_integer(*number, visitor),
            Value::Float(number) => visitor.visit_f64(*number),
            Value::Text(text) => self.guard(visitor.visit_borrowed_str(text)),
            Value::List(items) => visitor.visit_seq(Items { items, next: 0 }),
            Value::Map(entries) => visitor.visit_map(Entries {
                entries,
                value: None,
            }),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.node.value {
            Value::Bool(flag) => visitor.visit_bool(*flag),
            Value::Text(text) if self.node.secret && text.trim() == "true" => {
                visitor.visit_bool(true)
            }
            Value::Text(text) if self.node.secret && text.trim() == "false" => {
                visitor.visit_bool(false)
            }
            _ => Err(self.wrong(FLAG)),
        }
    }

    fn deserialize_u8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.integer(visitor)
    }

    fn deserialize_u16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.integer(visitor)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.integer(visitor)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.integer(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.node.value {
            Value::Text(text) => self.guard(visitor.visit_borrowed_str(text)),
            _ => Err(self.wrong(TEXT)),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.node.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    /// A key without a value is an empty list, as in a section whose lines are all commented out.
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.node.value {
            Value::List(items) => visitor.visit_seq(Items { items, next: 0 }),
            Value::Null => visitor.visit_seq(Items {
                items: &[],
                next: 0,
            }),
            _ => Err(self.wrong("a list")),
        }
    }

    /// A key without a value is an empty map, for the same reason.
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.node.value {
            Value::Map(entries) => visitor.visit_map(Entries {
                entries,
                value: None,
            }),
            Value::Null => visitor.visit_map(Entries {
                entries: &[],
                value: None,
            }),
            _ => Err(self.wrong("a map")),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match &self.node.value {
            Value::Text(text) => self.guard(visitor.visit_enum(Word { text })),
            // `on` and `off` are texts in YAML 1.2, but `true` where a word was wanted is worth the
            // list.
            Value::Bool(flag) => Err(Fault::new(Kind::UnknownValue {
                name: Some(flag.to_string()),
                known,
            })),
            _ => Err(self.wrong(&format!("one of {}", super::list(known)))),
        }
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u128 f32 f64 char bytes byte_buf unit unit_struct tuple tuple_struct
        identifier ignored_any
    }
}

/// The items of a list.
struct Items<'a> {
    items: &'a [Node],
    next: usize,
}

impl<'a> SeqAccess<'a> for Items<'a> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'a>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Fault> {
        while let Some(item) = self.items.get(self.next) {
            let index = self.next;
            self.next += 1;
            if !matches!(item.value, Value::Removed) {
                let read = seed.deserialize(Reader::new(item)).map(Some);
                return read.map_err(|fault| fault.within(Segment::Index(index)));
            }
        }
        Ok(None)
    }
}

/// The entries of a map.
struct Entries<'a> {
    entries: &'a [Entry],
    value: Option<&'a Entry>,
}

impl<'a> MapAccess<'a> for Entries<'a> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'a>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Fault> {
        while let Some((entry, rest)) = self.entries.split_first() {
            self.entries = rest;
            if !matches!(entry.node.value, Value::Removed) {
                self.value = Some(entry);
                let key = seed.deserialize(entry.key.as_str().into_deserializer());
                return key
                    .map(Some)
                    .map_err(|fault: Fault| fault.within(step(entry)));
            }
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'a>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        let entry = self
            .value
            .take()
            .ok_or_else(|| Fault::other("a value without a key", None))?;
        let read = seed.deserialize(Reader::new(&entry.node));
        read.map_err(|fault| fault.within(step(entry)))
    }
}

fn step(entry: &Entry) -> Segment {
    Segment::Key(entry.key.clone())
}

/// One word out of several.
struct Word<'a> {
    text: &'a str,
}

impl<'a> EnumAccess<'a> for Word<'a> {
    type Error = Fault;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'a>>(self, seed: V) -> Result<(V::Value, Self), Fault> {
        seed.deserialize(self.text.into_deserializer())
            .map(|value| (value, self))
    }
}

impl<'a> VariantAccess<'a> for Word<'a> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'a>>(self, _: T) -> Result<T::Value, Fault> {
        Err(self.bare())
    }

    fn tuple_variant<V: Visitor<'a>>(self, _: usize, _: V) -> Result<V::Value, Fault> {
        Err(self.bare())
    }

    fn struct_variant<V: Visitor<'a>>(
        self,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Fault> {
        Err(self.bare())
    }
}

impl Word<'_> {
    /// No setting is a word with something behind it.
    fn bare(&self) -> Fault {
        Fault::other(format!("`{}` needs a value", self.text), None)
    }
}
