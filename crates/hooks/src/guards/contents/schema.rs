//! What is left of a schema once what cannot be used is left out: patterns that are not linear, and
//! references to elsewhere or to nowhere.
//!
//! INVARIANT: what is left refuses nothing that the whole schema would take. A rule inside a denial
//! refuses more when it is left out, so that denials go with it.

use serde_json::{Map, Value};

/// Members of a schema that hold data and no schemas.
const DATA: [&str; 4] = ["const", "enum", "default", "examples"];
/// Members that hold schemas by names that anybody may choose.
const NAMED: [&str; 5] = [
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
];
/// Members that refer to a schema.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];
/// Members that can refuse more where other rules say less.
const DENIALS: [&str; 6] = [
    "not",
    "if",
    "then",
    "else",
    "unevaluatedProperties",
    "unevaluatedItems",
];

/// Returns a schema without what cannot be used; `is_linear` tells whether a pattern can be.
pub(super) fn usable(mut schema: Value, is_linear: impl Fn(&str) -> bool) -> Value {
    let whole = schema.clone();
    prune(&mut schema, &|rule: &str, value: &Value| match value {
        Value::String(pattern) if rule == "pattern" => is_linear(pattern),
        Value::String(place) if REFERENCES.contains(&rule) => leads_somewhere(&whole, place),
        _ => true,
    });
    schema
}

/// Tells whether a reference leads to a place of the same schema.
fn leads_somewhere(whole: &Value, place: &str) -> bool {
    let inner = place.strip_prefix('#');
    inner.is_some_and(|inner| whole.pointer(inner).is_some())
}

fn prune(schema: &mut Value, is_usable: &dyn Fn(&str, &Value) -> bool) {
    match schema {
        Value::Object(rules) => prune_rules(rules, is_usable),
        Value::Array(schemas) => schemas.iter_mut().for_each(|one| prune(one, is_usable)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn prune_rules(rules: &mut Map<String, Value>, is_usable: &dyn Fn(&str, &Value) -> bool) {
    rules.retain(|rule, value| is_usable(rule, value) && !DENIALS.contains(&rule.as_str()));
    // Of one of these exactly one holds; with less said in each, several may.
    if let Some(choices) = rules.remove("oneOf") {
        rules.entry("anyOf").or_insert(choices);
    }
    // How many items are of a kind cannot be counted any more.
    rules.remove("maxContains");
    if let Some(Value::Object(named)) = rules.get_mut("patternProperties") {
        let before = named.len();
        named.retain(|pattern, _| is_usable("pattern", &Value::from(pattern.as_str())));
        if named.len() < before {
            // What the pattern would have taken is additional without it.
            rules.remove("additionalProperties");
        }
    }
    for (rule, value) in rules.iter_mut() {
        match value {
            _ if DATA.contains(&rule.as_str()) => {}
            Value::Object(named) if NAMED.contains(&rule.as_str()) => {
                named.values_mut().for_each(|one| prune(one, is_usable));
            }
            other => prune(other, is_usable),
        }
    }
}
