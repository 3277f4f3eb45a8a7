//! JSON as protocol buffers have it (`google.protobuf.Struct`), there and back.

use std::collections::BTreeMap;

use prost_types::value::Kind;
use prost_types::{ListValue, Struct, Value};
use serde_json::Value as Json;

/// How deep a structure may be. Below it a value stands as its text, since readers of protocol
/// buffers give up at a hundred levels and each level of JSON makes three.
const DEEPEST: usize = 24;

/// Turns a JSON object into a structure; anything else becomes an empty one.
pub(super) fn structure(json: Json) -> Struct {
    match json {
        Json::Object(members) => object(members, DEEPEST),
        _ => Struct::default(),
    }
}

fn object(members: serde_json::Map<String, Json>, room: usize) -> Struct {
    let fields = members
        .into_iter()
        .map(|(name, json)| (name, value(json, room.saturating_sub(1))));
    Struct {
        fields: fields.collect::<BTreeMap<_, _>>(),
    }
}

fn value(json: Json, room: usize) -> Value {
    let kind = match json {
        Json::Null => Kind::NullValue(0),
        Json::Bool(truth) => Kind::BoolValue(truth),
        Json::Number(number) => number
            .as_f64()
            .map_or_else(|| Kind::StringValue(number.to_string()), Kind::NumberValue),
        Json::String(text) => Kind::StringValue(text),
        deep @ (Json::Array(_) | Json::Object(_)) if room == 0 => {
            Kind::StringValue(deep.to_string())
        }
        Json::Array(items) => Kind::ListValue(ListValue {
            values: items
                .into_iter()
                .map(|item| value(item, room - 1))
                .collect(),
        }),
        Json::Object(members) => Kind::StructValue(object(members, room)),
    };
    Value { kind: Some(kind) }
}

/// Turns a structure into JSON. Its depth is bounded by the decoder.
pub(super) fn text(structure: Struct) -> Json {
    let fields = structure.fields.into_iter();
    Json::Object(fields.map(|(name, value)| (name, back(value))).collect())
}

fn back(value: Value) -> Json {
    match value.kind {
        None | Some(Kind::NullValue(_)) => Json::Null,
        Some(Kind::BoolValue(truth)) => Json::Bool(truth),
        Some(Kind::NumberValue(number)) => Json::from(number),
        Some(Kind::StringValue(text)) => Json::String(text),
        Some(Kind::ListValue(list)) => list.values.into_iter().map(back).collect(),
        Some(Kind::StructValue(inner)) => text(inner),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(json: Json, expect: &Json) {
        assert_eq!(&text(structure(json)), expect);
    }

    #[test]
    fn json_comes_back_and_what_is_too_deep_comes_as_text() {
        let plain = json!({"a": [1.0, null, true, "x", {"b": []}], "": {}});
        check(plain.clone(), &plain);
        check(json!([1]), &json!({}));
        let mut deep = json!("core");
        for _ in 0..100 {
            deep = json!({ "a": deep });
        }
        let mut seen = text(structure(deep));
        let mut levels = 0;
        while let Some(inner) = seen.get_mut("a") {
            seen = inner.take();
            levels += 1;
        }
        assert_eq!(levels, DEEPEST);
        assert!(seen.as_str().unwrap().starts_with(r#"{"a":{"a":"#));
    }
}
