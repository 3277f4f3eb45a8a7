//! Entries without their secrets, to be shown. Values of variables and headers are always hidden;
//! elsewhere what is named like a secret or looks like one is.

use serde_json::{Map, Value};

use super::additions::Entry;

const MASK: &str = "***";
/// Parts of names that announce a secret.
const TELLING: [&str; 7] = [
    "token",
    "secret",
    "passw",
    "key",
    "auth",
    "credential",
    "bearer",
];
/// Options that are followed by a name and its value.
const PAIRED: [&str; 4] = ["-e", "--env", "-H", "--header"];
/// The shortest word that is hidden for mixing letters with digits.
const RANDOM: usize = 16;

/// Returns an entry in which secrets are hidden.
pub(super) fn entry(entry: &Entry) -> Entry {
    let hide = |(key, value): (&String, &Value)| {
        let shown = match (key.as_str(), value) {
            ("env" | "headers", Value::Object(pairs)) => Value::Object(values(pairs)),
            ("args", Value::Array(args)) => {
                let args: Vec<_> = args.iter().filter_map(Value::as_str).collect();
                arguments(&args).into()
            }
            ("url", Value::String(url)) => address(url).into(),
            (_, other) => other.clone(),
        };
        (key.clone(), shown)
    };
    entry.iter().map(hide).collect()
}

/// Returns arguments in which secrets are hidden.
pub(super) fn arguments(args: &[&str]) -> Vec<String> {
    let before = std::iter::once("").chain(args.iter().copied());
    args.iter()
        .zip(before)
        .map(|(argument, before)| self::argument(before, argument))
        .collect()
}

/// Returns an address without credentials, query, and words that look like tokens.
pub(super) fn address(url: &str) -> String {
    let (rest, query) = match url.split_once('?') {
        Some((rest, _)) => (rest, "?***"),
        None => (url, ""),
    };
    let rest = match rest.split_once("://") {
        Some((scheme, rest)) => match rest.split_once('@') {
            Some((user, host)) if !user.contains('/') => format!("{scheme}://{MASK}@{host}"),
            _ => format!("{scheme}://{rest}"),
        },
        None => rest.to_owned(),
    };
    let words: Vec<_> = rest
        .split('/')
        .map(|word| if random(word) { MASK } else { word })
        .collect();
    format!("{}{query}", words.join("/"))
}

fn values(pairs: &Map<String, Value>) -> Map<String, Value> {
    let hide = |(name, value): (&String, &Value)| {
        let shown = value
            .as_str()
            .filter(|value| is_reference(value))
            .unwrap_or(MASK);
        (name.clone(), shown.into())
    };
    pairs.iter().map(hide).collect()
}

fn argument(before: &str, argument: &str) -> String {
    let option = before.starts_with('-') && !before.contains('=');
    let pair = argument
        .split_once('=')
        .or_else(|| argument.split_once(':'));
    match pair {
        Some((name, value))
            if (telling(name) || PAIRED.contains(&before))
                && !value.starts_with("//")
                && !is_reference(value) =>
        {
            let separator = if argument.starts_with(&format!("{name}=")) {
                '='
            } else {
                ':'
            };
            format!("{name}{separator}{MASK}")
        }
        _ if option && telling(before) && !is_reference(argument) => MASK.to_owned(),
        _ if argument.contains("://") => address(argument),
        _ if random(argument) => MASK.to_owned(),
        _ => argument.to_owned(),
    }
}

fn telling(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    TELLING.iter().any(|part| name.contains(part))
}

/// Tells whether a value is nothing but a reference to a variable. A default may be the secret.
fn is_reference(value: &str) -> bool {
    let inner = value.strip_prefix("Bearer ").unwrap_or(value);
    let inner = inner
        .strip_prefix("${")
        .and_then(|inner| inner.strip_suffix('}'));
    inner.is_some_and(|name| {
        name.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

/// Tells whether a text has a long run that mixes letters with digits, as people's words do not.
fn random(text: &str) -> bool {
    text.split(|char: char| !char.is_ascii_alphanumeric())
        .any(|run| {
            run.len() >= RANDOM
                && run.bytes().any(|byte| byte.is_ascii_digit())
                && run.bytes().any(|byte| byte.is_ascii_alphabetic())
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_lose_their_secrets() {
        let check = |args: &[&str], expect: &[&str]| assert_eq!(arguments(args), expect);
        check(
            &["-y", "@scope/server-github@2.3.0"],
            &["-y", "@scope/server-github@2.3.0"],
        );
        check(
            &["--token", "hunter2", "--verbose"],
            &["--token", "***", "--verbose"],
        );
        check(&["--token=hunter2"], &["--token=***"]);
        check(&["--token", "${TOKEN}"], &["--token", "${TOKEN}"]);
        check(
            &["-e", "X=y", "-H", "X: y"],
            &["-e", "X=***", "-H", "X:***"],
        );
        check(&["--port=80", "a:b"], &["--port=80", "a:b"]);
        check(&["ghp_0123456789abcdefABCDEF"], &["***"]);
        check(&["postgres://me:pw@db/x?y=z"], &["postgres://***@db/x?***"]);
        check(&["/home/ada/projects"], &["/home/ada/projects"]);
    }

    #[test]
    fn addresses_lose_their_secrets() {
        let check = |url: &str, expect: &str| assert_eq!(address(url), expect);
        check("https://mcp.example/mcp", "https://mcp.example/mcp");
        check(
            "https://me:pw@mcp.example/mcp",
            "https://***@mcp.example/mcp",
        );
        check(
            "https://mcp.example/s/a1b2c3d4e5f6a7b8/mcp",
            "https://mcp.example/s/***/mcp",
        );
        check(
            "https://mcp.example/mcp?key=1",
            "https://mcp.example/mcp?***",
        );
    }

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
