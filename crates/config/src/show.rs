//! The configuration as rows for people, without what must not be seen.

use serde_json::Value;

use crate::load::Loaded;
use crate::origin::{Origin, Origins};
use crate::path::Path;

/// What stands for a value that is not shown.
const MASK: &str = "***";

/// One value of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Which value.
    pub path: String,
    /// The value as text, masked where it is or may be secret.
    pub value: String,
    /// Where it came from, where that was asked for.
    pub origin: Option<Origin>,
}

/// Returns every value of the configuration, defaults included, in the order of their paths.
pub fn show(loaded: &Loaded, origin: bool) -> Vec<Row> {
    // A configuration is a map of plain values, which always can be written as JSON.
    let mut value = serde_json::to_value(&loaded.config).unwrap_or_default();
    // A map keeps the order of its making if any crate of the build asks for that.
    value.sort_all_objects();
    let mut shower = Shower {
        origins: &loaded.origins,
        origin,
        rows: Vec::new(),
    };
    shower.value(&Path::default(), &value);
    shower.rows
}

struct Shower<'a> {
    origins: &'a Origins,
    origin: bool,
    rows: Vec<Row>,
}

impl Shower<'_> {
    fn value(&mut self, path: &Path, value: &Value) {
        match value {
            Value::Object(map) => {
                for (key, value) in map {
                    self.value(&path.key(key), value);
                }
            }
            Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
                for (index, item) in items.iter().enumerate() {
                    self.value(&path.index(index), item);
                }
            }
            // A value that nobody gave and that has no default is no value.
            Value::Null => {}
            Value::Array(items) => {
                let items = items.iter().enumerate();
                let items = items.map(|(index, item)| self.text(&path.index(index), item));
                let text = format!("[{}]", items.collect::<Vec<_>>().join(", "));
                self.row(path, text);
            }
            Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                self.row(path, self.text(path, value));
            }
        }
    }

    fn text(&self, path: &Path, value: &Value) -> String {
        match value {
            _ if self.origins.is_secret(&path.to_string()) => MASK.to_owned(),
            Value::String(_) if is_key_of_hook(&path.to_string()) => MASK.to_owned(),
            Value::String(text) => without_query(text),
            other => other.to_string(),
        }
    }

    fn row(&mut self, path: &Path, value: String) {
        let path = path.to_string();
        let origin = self.origin.then(|| self.origins.of(&path));
        self.rows.push(Row {
            path,
            value,
            origin,
        });
    }
}

/// Tells whether a value is, by its name, a secret that a hook is told. What hooks are told is for each
/// of them to know, so that nothing else says what is secret there.
fn is_key_of_hook(path: &str) -> bool {
    let told = path.strip_prefix("security.hooks[");
    let told = told.and_then(|rest| rest.split_once("].config."));
    told.is_some_and(|(_, names)| {
        let names = names.to_ascii_lowercase();
        let words = ["key", "token", "secret", "password", "credential"];
        words.iter().any(|word| names.contains(word))
    })
}

/// The query of an address often carries a key, and a user name before the host a password.
fn without_query(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.to_owned();
    };
    let (rest, query) = match rest.split_once('?') {
        Some((rest, _)) => (rest, "?***"),
        None => (rest, ""),
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let authority = match authority.rsplit_once('@') {
        Some((_, host)) => format!("{MASK}@{host}"),
        None => authority.to_owned(),
    };
    format!("{scheme}://{authority}{path}{query}")
}
