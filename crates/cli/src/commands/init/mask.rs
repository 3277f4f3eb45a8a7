//! Entries without their secrets, to be shown. Values of variables and headers are always hidden;
//! elsewhere what is named like a secret or looks like one is.

use mcpproxy_agents::{is_reference, mask_args, mask_url};
use serde_json::{Map, Value};

use super::additions::Entry;

/// Returns an entry in which secrets are hidden.
pub(super) fn entry(entry: &Entry) -> Entry {
    let hide = |(key, value): (&String, &Value)| {
        let shown = match (key.as_str(), value) {
            ("env" | "headers", Value::Object(pairs)) => Value::Object(values(pairs)),
            ("args", Value::Array(args)) => {
                let args = args.iter().filter_map(Value::as_str);
                let args: Vec<_> = args.map(str::to_owned).collect();
                mask_args(&args).into()
            }
            ("url", Value::String(url)) => mask_url(url).into(),
            (_, other) => other.clone(),
        };
        (key.clone(), shown)
    };
    entry.iter().map(hide).collect()
}

fn values(pairs: &Map<String, Value>) -> Map<String, Value> {
    let hide = |(name, value): (&String, &Value)| {
        let shown = value
            .as_str()
            .filter(|value| is_reference(value))
            .unwrap_or("***");
        (name.clone(), shown.into())
    };
    pairs.iter().map(hide).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn entries_lose_their_secrets() {
        let given = json!({
            "command": "npx", "args": ["--api-key", "x"],
            "env": { "A": "1", "B": "${B}", "C": "${C:-1}" },
            "headers": { "Authorization": "Bearer ${T}", "X": "y" },
        });
        let expect = json!({
            "command": "npx", "args": ["--api-key", "***"],
            "env": { "A": "***", "B": "${B}", "C": "***" },
            "headers": { "Authorization": "Bearer ${T}", "X": "***" },
        });
        assert_eq!(
            entry(given.as_object().unwrap()),
            *expect.as_object().unwrap()
        );
    }
}
