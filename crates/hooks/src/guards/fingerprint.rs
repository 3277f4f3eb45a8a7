//! The fingerprint of what an upstream offers: SHA-256 over canonical JSON (RFC 8785) of the whole
//! descriptor, so that no field can change unseen.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// The largest descriptor that is judged, in bytes; a larger one waits.
pub const LARGEST: usize = 1024 * 1024;

/// The hashes of a descriptor and of its parts, in hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Fingerprint {
    /// Of what it says it does: title and description.
    pub description_hash: String,
    /// Of what it takes and gives: the schemas.
    pub schema_hash: String,
    /// Of what it promises: the annotations.
    pub annotations_hash: String,
    /// Of everything.
    pub combined_hash: String,
}

/// Returns the canonical form of a value.
pub fn canonical(value: &Value) -> String {
    // A value that was read from JSON has no number that JSON cannot write.
    serde_json_canonicalizer::to_string(value).unwrap_or_else(|_| value.to_string())
}

/// Returns the fingerprint of a descriptor.
pub fn of(descriptor: &Value) -> Fingerprint {
    let part = |keys: &[&str]| {
        let found = keys.iter().map(|key| descriptor.get(key).cloned());
        digest(&canonical(&found.map(Option::unwrap_or_default).collect()))
    };
    Fingerprint {
        description_hash: part(&["title", "description"]),
        schema_hash: part(&["inputSchema", "outputSchema"]),
        annotations_hash: part(&["annotations"]),
        combined_hash: digest(&canonical(descriptor)),
    }
}

/// Returns the fingerprint of a descriptor whatever its name.
pub fn nameless(descriptor: &Value) -> String {
    let mut body = descriptor.clone();
    if let Some(body) = body.as_object_mut() {
        body.remove("name");
    }
    digest(&canonical(&body))
}

/// Returns the SHA-256 of a text in hexadecimal digits.
pub fn digest(text: &str) -> String {
    let mut digits = String::with_capacity(64);
    for byte in Sha256::digest(text.as_bytes()) {
        let nibbles = [byte >> 4, byte & 15].map(u32::from);
        digits.extend(
            nibbles
                .into_iter()
                .filter_map(|one| char::from_digit(one, 16)),
        );
    }
    digits
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool() -> Value {
        json!({
            "name": "send", "title": "Send", "description": "Sends a letter.",
            "inputSchema": { "type": "object", "properties": { "to": { "type": "string" } } },
            "outputSchema": { "type": "object" },
            "annotations": { "readOnlyHint": false },
            "icons": [{ "src": "data:image/png;base64,AA==" }],
            "_meta": { "vendor/note": 1 },
        })
    }

    #[test]
    fn spelling_does_not_count_and_every_field_does() {
        let spelled = r#"{ "b": 1.0, "a": "\u0041" }"#;
        let other = r#"{"a":"A","b":1}"#;
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(canonical(&read(spelled)), canonical(&read(other)));
        let before = of(&tool()).combined_hash;
        for field in tool().as_object().unwrap().keys() {
            let mut changed = tool();
            changed[field] = json!("another");
            assert_ne!(of(&changed).combined_hash, before, "{field}");
            changed.as_object_mut().unwrap().remove(field);
            assert_ne!(of(&changed).combined_hash, before, "{field}");
        }
    }

    #[test]
    fn each_part_has_a_hash_of_its_own() {
        let check = |field: &str, changes: [bool; 3]| {
            let (before, mut changed) = (of(&tool()), tool());
            changed[field] = json!({ "new": true });
            let after = of(&changed);
            let differs = [
                before.description_hash != after.description_hash,
                before.schema_hash != after.schema_hash,
                before.annotations_hash != after.annotations_hash,
            ];
            assert_eq!(differs, changes, "{field}");
        };
        check("description", [true, false, false]);
        check("outputSchema", [false, true, false]);
        check("annotations", [false, false, true]);
        check("_meta", [false, false, false]);
    }

    #[test]
    fn a_new_name_leaves_the_rest_recognizable() {
        let mut renamed = tool();
        renamed["name"] = json!("post");
        assert_eq!(nameless(&renamed), nameless(&tool()));
    }
}
