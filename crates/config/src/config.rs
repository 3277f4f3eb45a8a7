//! The whole configuration, and the JSON Schema of a file.

use std::collections::BTreeMap;
use std::fmt;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Map, Value, json};

use mcpproxy_gateway::settings::Settings;
use mcpproxy_policy::settings::ToolPolicy;
use mcpproxy_upstream::settings::UpstreamSettings;

use crate::security::SecuritySettings;

/// The checked configuration.
#[derive(Clone, Default, PartialEq, Serialize)]
pub struct Config {
    /// What stands at the top level and belongs to the gateway.
    #[serde(flatten)]
    pub gateway: Settings,
    /// The upstreams by name.
    #[serde(rename = "mcpServers")]
    pub upstreams: BTreeMap<String, UpstreamSettings>,
    /// The names of the upstreams in the order of the files, the user's before the project's.
    #[serde(skip)]
    pub order: Vec<String>,
    /// The `security` section.
    pub security: SecuritySettings,
}

/// Prints what identifies a configuration: any other value may have been read from the environment.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("listen", &self.gateway.listen)
            .field("data_dir", &self.gateway.data_dir)
            .field("upstreams", &self.upstreams.keys())
            .finish_non_exhaustive()
    }
}

/// Returns the JSON Schema of a configuration file, with the spellings that are understood beside
/// our own.
pub fn schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let upstream = reference::<UpstreamSettings>(&mut generator);
    let sections = [
        ("mcpServers", upstreams(&upstream)),
        ("security", reference::<SecuritySettings>(&mut generator)),
        ("tool_policy", reference::<ToolPolicy>(&mut generator)),
    ];
    let mut root = generator.root_schema_for::<Settings>().to_value();
    if let Some(properties) = object(&mut root, "/properties") {
        properties.extend(sections.map(|(key, value)| (key.to_owned(), value)));
    }
    spell_upstream(&mut root);
    spell_receipts(&mut root);
    if let Some(root) = root.as_object_mut() {
        root.insert("title".to_owned(), json!("mcpproxy configuration"));
    }
    root
}

fn reference<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    generator.subschema_for::<T>().to_value()
}

fn object<'a>(root: &'a mut Value, pointer: &str) -> Option<&'a mut Map<String, Value>> {
    root.pointer_mut(pointer).and_then(Value::as_object_mut)
}

/// A map as agents write it, or a list whose items say their name.
fn upstreams(upstream: &Value) -> Value {
    json!({
        "description": "The upstreams, by name.",
        "anyOf": [
            { "type": "object", "additionalProperties": upstream },
            { "type": "array", "items": { "$ref": "#/$defs/NamedUpstream" } },
            { "type": "null" },
        ],
    })
}

/// Adds the other names of an upstream's keys, which the types know as aliases and the generator
/// does not.
fn spell_upstream(root: &mut Value) {
    if let Some(properties) = object(root, "/$defs/UpstreamSettings/properties") {
        let mut also = Vec::new();
        for (other, key) in crate::shape::SAME {
            also.extend(
                properties
                    .get(key)
                    .map(|value| (other.to_owned(), value.clone())),
            );
        }
        properties.extend(also);
        let disabled = json!({ "description": "The opposite of `enabled`.", "type": "boolean" });
        properties.insert("disabled".to_owned(), disabled);
    }
    let mut named = root
        .pointer("/$defs/UpstreamSettings")
        .cloned()
        .unwrap_or_default();
    if let Some(properties) = object(&mut named, "/properties") {
        let name = json!({ "description": "Name of the upstream.", "type": "string" });
        properties.insert("name".to_owned(), name);
    }
    if let (Some(named), Some(definitions)) = (named.as_object_mut(), object(root, "/$defs")) {
        named.insert("required".to_owned(), json!(["name"]));
        definitions.insert("NamedUpstream".to_owned(), Value::Object(named.clone()));
    }
    let also = ["streamable-http", "streamable_http", "streamableHttp"];
    spell_words(root, "/$defs/Transport", "http", &also);
    spell_words(root, "/$defs/ActionLevel", "ask", &["approve"]);
}

/// Adds the short forms of a section that only says whether.
fn spell_receipts(root: &mut Value) {
    let Some(section) = root.pointer_mut("/properties/receipts") else {
        return;
    };
    let full = section.take();
    *section = json!({
        "anyOf": [full, { "enum": ["enabled", "disabled"] }, { "type": "boolean" }],
    });
}

/// Adds other spellings of a word to a definition that lists words.
fn spell_words(root: &mut Value, definition: &str, word: &str, also: &[&str]) {
    let Some(variants) = root.pointer_mut(&format!("{definition}/oneOf")) else {
        if let Some(words) = root.pointer_mut(&format!("{definition}/enum")) {
            words
                .as_array_mut()
                .into_iter()
                .for_each(|w| w.extend(also.iter().map(|a| json!(a))));
        }
        return;
    };
    let described = |variant: &&mut Value| variant.get("const").is_some_and(|c| c == word);
    for variant in variants
        .as_array_mut()
        .into_iter()
        .flatten()
        .filter(described)
    {
        if let Some(variant) = variant.as_object_mut() {
            variant.remove("const");
            let words: Vec<_> = std::iter::once(&word).chain(also).collect();
            variant.insert("enum".to_owned(), json!(words));
        }
    }
}

#[cfg(test)]
mod tests;
