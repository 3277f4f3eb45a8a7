//! The texts of a descriptor that a model reads, each with its path.

use serde_json::Value;

/// One text of a descriptor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// The deepest nesting that is followed; what lies deeper is given as one text.
const DEEPEST: usize = 64;

/// Collects every string and every key of a JSON value, in document order.
///
/// Keys are texts too: a model reads the names of parameters. What lies too deep is spelled out
/// as one text, so that nothing goes unread.
pub(crate) fn of(value: &Value) -> Vec<Field> {
    let mut found = Vec::new();
    collect(value, String::new(), DEEPEST, &mut found);
    found
}

fn collect(value: &Value, path: String, depth: usize, found: &mut Vec<Field>) {
    match value {
        Value::String(text) => found.push(Field {
            path,
            text: text.clone(),
        }),
        Value::Array(_) | Value::Object(_) if depth == 0 => {
            let text = value.to_string();
            found.push(Field { path, text });
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                collect(item, format!("{path}[{at}]"), depth - 1, found);
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                let path = join(&path, key);
                if is_wordy(key) {
                    found.push(Field {
                        path: path.clone(),
                        text: key.clone(),
                    });
                }
                collect(member, path, depth - 1, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Whether a key says more than a name does.
fn is_wordy(key: &str) -> bool {
    let parts = key.split(['_', '-', ' ']).count();
    !key.is_ascii() || key.len() > 40 || parts > 4 || key.contains([' ', '\u{1b}', '<'])
}

pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}
