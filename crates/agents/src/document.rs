//! Any configuration file as a value whose every part has a place, for those who only look.
//!
//! Whose file it is does not matter here. What is read is not judged and never changed.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use serde_json::Value as Json;

use crate::format::Format;
use crate::problem::Problem;
use crate::tree::{Node, Value};

/// A file's contents, and where each part of them stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The contents; of a key that is there twice the last counts.
    pub value: Json,
    places: BTreeMap<String, Range<usize>>,
}

impl Document {
    /// Reads JSON (with comments), TOML or YAML; the name of the file tells which.
    pub fn parse(file: &Path, text: &str) -> Result<Self, Problem> {
        let ending = file.extension().and_then(|ending| ending.to_str());
        let format = match ending {
            Some("toml") => Format::Toml,
            Some("yaml" | "yml") => Format::Yaml,
            _ => Format::Jsonc,
        };
        let root = format.parse(text).map_err(|fault| Problem::Syntax {
            line: fault.line,
            column: fault.column,
            message: fault.message,
        })?;
        let mut places = BTreeMap::new();
        let value = convert(&root, String::new(), &mut places);
        Ok(Self { value, places })
    }

    /// Returns the bytes of the part at a path such as `mcpServers.github.args[0]`.
    pub fn place(&self, path: &str) -> Option<Range<usize>> {
        self.places.get(path).cloned()
    }
}

fn convert(node: &Node, path: String, places: &mut BTreeMap<String, Range<usize>>) -> Json {
    let json = match &node.value {
        Value::Null => Json::Null,
        Value::Bool(flag) => Json::Bool(*flag),
        Value::Number(spelled) => {
            let number = serde_json::from_str(spelled).ok();
            number.map_or_else(|| Json::from(spelled.as_str()), Json::Number)
        }
        Value::Text(text) => Json::from(text.as_str()),
        Value::List(items) => {
            let items = items.iter().enumerate();
            let item = |(at, item)| convert(item, format!("{path}[{at}]"), places);
            Json::Array(items.map(item).collect())
        }
        Value::Map(members) => {
            let mut map = serde_json::Map::new();
            for member in members {
                let dot = if path.is_empty() { "" } else { "." };
                let inner = format!("{path}{dot}{}", member.key);
                let value = convert(&member.value, inner, places);
                map.insert(member.key.clone(), value);
            }
            Json::Object(map)
        }
    };
    places.insert(path, node.span.clone());
    json
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parts_are_found_where_they_stand_in_every_format() {
        let check = |file: &str, text: &str| {
            let document = Document::parse(Path::new(file), text).unwrap();
            assert_eq!(document.value, json!({ "a": { "b": ["x", 2] } }), "{text}");
            let place = document.place("a.b[0]").unwrap();
            assert!(text.get(place).unwrap().contains('x'), "{text}");
            assert_eq!(document.place("a.c"), None);
        };
        check("f.json", "{ // c\n \"a\": {\"b\": [\"x\", 2,]} }");
        check("f.toml", "[a]\nb = [\"x\", 2]\n");
        check("f.yaml", "a:\n  b: [x, 2]\n");
    }

    #[test]
    fn what_is_no_configuration_has_a_place_too() {
        let fault = Document::parse(Path::new("f.json"), "{\n  \"a\": }").unwrap_err();
        assert!(fault.to_string().starts_with("line 2, column"), "{fault}");
    }
}
