//! Holds values against what is said of them, more strictly than a reader would: nothing may be there that
//! the schema does not name. What is described and what is sent can only drift apart with a word.

use serde_json::{Value, json};

/// Says what of a value does not fit a schema.
pub fn misfits(schema: &Value, value: &Value) -> Vec<String> {
    let mut schema = schema.clone();
    close(&mut schema);
    let validator = jsonschema::options().offline().build(&schema).unwrap();
    let misfits = validator.iter_errors(value);
    misfits
        .map(|one| format!("{}: {one}", one.instance_path()))
        .collect()
}

/// Lets objects have nothing but what is named.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            members.values_mut().for_each(close);
            let is_named = members.get("properties").is_some_and(Value::is_object);
            if is_named && !members.contains_key("additionalProperties") {
                members.insert("additionalProperties".to_owned(), json!(false));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}
