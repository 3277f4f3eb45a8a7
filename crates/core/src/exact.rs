//! Reading JSON as its schema tells of it.
//!
//! What serde derives takes more: the members of an object in a row without their names, and
//! `{"read": null}` for the name `read`. Whoever reads a request by its schema, as a proxy before
//! us may, would see another request than we do.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{
    self, Deserialize, DeserializeSeed, Deserializer, IntoDeserializer as _, MapAccess, SeqAccess,
    Visitor,
};

/// Reads a value in which objects are objects and each enum is one of its names, at any depth. A
/// type whose variants carry data, or that is made of what stands in a row, cannot be read so.
pub fn exact<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    T::deserialize(Exact(from))
}

/// A deserializer, or what it hands its parts through.
struct Exact<T>(T);

/// What a struct or a map is read with.
struct Members<V>(V);

/// What an enum is read with.
struct Name<V> {
    visitor: V,
    known: &'static [&'static str],
}

/// Hands a request for a kind of value on.
macro_rules! ask {
    ($($ask:ident($($given:ident: $kind:ty),*))*) => {$(
        fn $ask<V: Visitor<'de>>(self, $($given: $kind,)* visitor: V) -> Result<V::Value, D::Error> {
            self.0.$ask($($given,)* Exact(visitor))
        }
    )*};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Exact<D> {
    type Error = D::Error;

    ask! {
        deserialize_any() deserialize_bool()
        deserialize_i8() deserialize_i16() deserialize_i32() deserialize_i64() deserialize_i128()
        deserialize_u8() deserialize_u16() deserialize_u32() deserialize_u64() deserialize_u128()
        deserialize_f32() deserialize_f64()
        deserialize_char() deserialize_str() deserialize_string()
        deserialize_bytes() deserialize_byte_buf()
        deserialize_option() deserialize_unit() deserialize_unit_struct(name: &'static str)
        deserialize_newtype_struct(name: &'static str)
        deserialize_seq() deserialize_tuple(len: usize)
        deserialize_tuple_struct(name: &'static str, len: usize)
        deserialize_identifier() deserialize_ignored_any()
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_struct(name, fields, Members(visitor))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(Members(visitor))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_str(Name { visitor, known })
    }

    fn is_human_readable(&self) -> bool {
        self.0.is_human_readable()
    }
}

/// Hands a plain value on.
macro_rules! plain {
    ($($visit:ident($kind:ty))*) => {$(
        fn $visit<E: de::Error>(self, value: $kind) -> Result<V::Value, E> {
            self.0.$visit(value)
        }
    )*};
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Exact<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    plain! {
        visit_bool(bool) visit_i64(i64) visit_i128(i128) visit_u64(u64) visit_u128(u128)
        visit_f64(f64) visit_char(char)
        visit_str(&str) visit_borrowed_str(&'de str) visit_string(String)
        visit_bytes(&[u8]) visit_borrowed_bytes(&'de [u8]) visit_byte_buf(Vec<u8>)
    }

    fn visit_none<E: de::Error>(self) -> Result<V::Value, E> {
        self.0.visit_none()
    }

    fn visit_unit<E: de::Error>(self) -> Result<V::Value, E> {
        self.0.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<V::Value, D::Error> {
        self.0.visit_some(Exact(from))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, from: D) -> Result<V::Value, D::Error> {
        self.0.visit_newtype_struct(Exact(from))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, elements: A) -> Result<V::Value, A::Error> {
        self.0.visit_seq(Exact(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(Exact(members))
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Members<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(Exact(members))
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Name<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one of")?;
        let mut between = " ";
        for name in self.known {
            write!(f, "{between}`{name}`")?;
            between = ", ";
        }
        Ok(())
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<V::Value, E> {
        let name: StrDeserializer<'_, E> = name.into_deserializer();
        self.visitor.visit_enum(name)
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Exact<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(Exact(from))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Exact<A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.0.next_element_seed(Exact(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Exact<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.0.next_key_seed(Exact(seed))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.0.next_value_seed(Exact(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_json::Deserializer;
    use serde_json::value::RawValue;

    use crate::{Operation, Span};

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "what is read is looked at as a whole")]
    struct Order {
        name: String,
        #[serde(default)]
        operations: Option<Vec<Operation>>,
        #[serde(default)]
        after: Option<Box<Order>>,
        #[serde(default, deserialize_with = "crate::whole")]
        ends: Option<u64>,
        #[serde(default)]
        within: Option<Span>,
        #[serde(default)]
        raw: Option<Box<RawValue>>,
        #[serde(default)]
        by: BTreeMap<Operation, Vec<Order>>,
        #[serde(default)]
        done: bool,
    }

    fn read(text: &str) -> Result<String, String> {
        let mut from = Deserializer::from_str(text);
        let read: Result<Order, _> = super::exact(&mut from);
        read.map(|order| format!("{order:?}"))
            .map_err(|fault| fault.to_string())
    }

    #[test]
    fn what_the_schema_tells_of_is_read_as_ever() {
        for text in [
            r#"{"name":"a"}"#,
            r#"{"name":"\u0061\n","operations":["read","write"],"ends":10.0,"within":"5m"}"#,
            r#"{"name":"a","operations":null,"after":{"name":"b","after":null},"done":true}"#,
            r#"{"name":"a","raw":{"a":[1,{"b":null}]},"within":3}"#,
            r#"{"name":"a","by":{"read":[{"name":"b"}],"destructive":[]}}"#,
        ] {
            let plain: Order = serde_json::from_str(text).unwrap();
            assert_eq!(read(text), Ok(format!("{plain:?}")), "{text}");
        }
    }

    #[test]
    fn a_row_is_no_object_and_an_object_no_name() {
        let row = r#"["a",null,null,null,null,null,{},false]"#;
        let nested = format!(r#"{{"name":"a","after":{row}}}"#);
        let listed = format!(r#"{{"name":"a","by":{{"read":[{row}]}}}}"#);
        let named = r#"{"name":"a","operations":[{"read":null}]}"#;
        let expect = "expected one of `read`, `write`, `destructive`";
        for (text, said) in [
            (row, "invalid type: sequence, expected an object"),
            (&nested, "invalid type: sequence, expected an object"),
            (&listed, "invalid type: sequence, expected an object"),
            (named, expect),
            (
                r#"{"name":"a","operations":["reed"]}"#,
                "unknown variant `reed`",
            ),
            (r#"{"name":"a","nam":"b"}"#, "unknown field `nam`"),
            (r#"{"name":"a","name":"b"}"#, "duplicate field `name`"),
        ] {
            let fault = read(text).unwrap_err();
            assert!(fault.contains(said), "{text}: {fault}");
        }
        for text in [row, &nested, &listed, named] {
            assert!(
                serde_json::from_str::<Order>(text).is_ok(),
                "{text}: the wrapper is for naught"
            );
        }
    }
}
