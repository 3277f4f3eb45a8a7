//! The schema of the configuration as rows: one key each, with the path that leads to it.

use serde_json::{Map, Value};

/// One key.
pub(super) struct Row {
    pub(super) key: String,
    pub(super) kind: String,
    pub(super) default: Option<String>,
    pub(super) meaning: String,
}

/// Returns the keys in the order of the schema; those inside a key follow it.
pub(super) fn rows(schema: &Value) -> Vec<Row> {
    let mut walk = Walk {
        defined: &schema["$defs"],
        inside: Vec::new(),
        rows: Vec::new(),
    };
    walk.object(schema, "");
    walk.rows
}

struct Walk<'a> {
    defined: &'a Value,
    /// The definitions that a path is inside of: one that holds itself is not followed again.
    inside: Vec<&'a str>,
    rows: Vec<Row>,
}

impl<'a> Walk<'a> {
    fn object(&mut self, schema: &'a Value, path: &str) {
        let dot = if path.is_empty() { "" } else { "." };
        for (name, value) in members(schema, "properties") {
            self.key(value, &format!("{path}{dot}{name}"));
        }
        if let Some(value) = schema
            .get("additionalProperties")
            .filter(|one| one.is_object())
        {
            self.below(value, &format!("{path}{dot}*"));
        }
    }

    fn key(&mut self, schema: &'a Value, key: &str) {
        let text = |schema: &Value| schema["description"].as_str().map(ToOwned::to_owned);
        let meaning = text(schema).or_else(|| text(self.resolved(schema).0));
        self.rows.push(Row {
            kind: self.kind(schema),
            default: schema
                .get("default")
                .filter(|one| is_short(one))
                .map(Value::to_string),
            meaning: meaning.unwrap_or_default(),
            key: key.to_owned(),
        });
        self.below(schema, key);
    }

    /// Goes on with what can stand under a key, however many forms of it there are.
    fn below(&mut self, schema: &'a Value, path: &str) {
        let (schema, name) = self.resolved(schema);
        if name.is_some_and(|name| self.inside.contains(&name)) {
            return;
        }
        self.inside.extend(name);
        self.object(schema, path);
        if let Some(items) = schema.get("items") {
            self.below(items, &format!("{path}[]"));
        }
        for form in forms(schema) {
            self.below(form, path);
        }
        if name.is_some() {
            self.inside.pop();
        }
    }

    fn resolved(&self, schema: &'a Value) -> (&'a Value, Option<&'a str>) {
        let name = schema["$ref"]
            .as_str()
            .and_then(|name| name.strip_prefix("#/$defs/"));
        match name {
            Some(name) => (&self.defined[name], Some(name)),
            None => (schema, None),
        }
    }

    fn kind(&self, schema: &'a Value) -> String {
        let (schema, _) = self.resolved(schema);
        if let Some(choices) = schema["enum"].as_array() {
            return choices.iter().map(shown).collect::<Vec<_>>().join(", ");
        }
        if let Some(only) = schema.get("const") {
            return shown(only);
        }
        let mut kinds: Vec<String> = match &schema["type"] {
            Value::String(kind) => vec![kind.clone()],
            Value::Array(kinds) => kinds
                .iter()
                .filter_map(Value::as_str)
                .map(Into::into)
                .collect(),
            _ => forms(schema).map(|form| self.kind(form)).collect(),
        };
        if kinds.len() > 1 {
            kinds.retain(|kind| kind != "null");
        }
        kinds.dedup();
        if kinds.is_empty() {
            return "any".to_owned();
        }
        kinds.join(", ")
    }
}

fn members<'a>(schema: &'a Value, key: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    schema[key].as_object().into_iter().flat_map(Map::iter)
}

fn forms(schema: &Value) -> impl Iterator<Item = &Value> {
    let lists = ["anyOf", "oneOf", "allOf"];
    lists
        .into_iter()
        .filter_map(|key| schema[key].as_array())
        .flatten()
}

fn shown(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), |text| format!("`{text}`"))
}

/// Says whether a default fits into a table; those of whole objects stand at their keys.
fn is_short(value: &Value) -> bool {
    !value.is_null() && !value.is_object() && value.to_string().len() <= 60
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_key_has_a_row_and_nothing_is_followed_for_ever() {
        let schema = json!({
            "properties": {
                "listen": { "type": "string", "default": "here", "description": "Where." },
                "inner": { "$ref": "#/$defs/Inner" },
                "many": { "additionalProperties": { "$ref": "#/$defs/Inner" } },
            },
            "$defs": { "Inner": {
                "description": "What is inside.",
                "properties": {
                    "mode": { "enum": ["a", "b"] },
                    "again": { "anyOf": [{ "$ref": "#/$defs/Inner" }, { "type": "null" }] },
                },
            } },
        });
        let rows = rows(&schema);
        let keys: Vec<&str> = rows.iter().map(|row| row.key.as_str()).collect();
        let inner = ["inner", "inner.mode", "inner.again"];
        let many = ["many", "many.*.mode", "many.*.again"];
        assert_eq!(keys, [&["listen"], &inner[..], &many[..]].concat());
        assert_eq!(rows[0].default.as_deref(), Some("\"here\""));
        assert_eq!(rows[1].meaning, "What is inside.");
        assert_eq!(rows[2].kind, "`a`, `b`");
        assert_eq!(rows[3].kind, "any");
    }
}
