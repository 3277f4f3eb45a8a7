//! Keeps secrets off the screen: in diffs and in `Debug`.
//!
//! Values of environment variables and headers are always hidden; elsewhere a value is hidden when
//! its key or its look says so. The files themselves are written unmasked, of course.

use std::ops::Range;

use crate::tree::{Node, Value};

const MASK: &str = "***";

/// Maps whose values are hidden, whatever they look like.
const HIDDEN_MAPS: [&str; 7] = [
    "env",
    "envs",
    "headers",
    "http_headers",
    "oauth",
    "auth",
    "oauthAccount",
];

/// Parts of names that announce a secret.
const TELLING: [&str; 9] = [
    "token",
    "secret",
    "password",
    "passwd",
    "apikey",
    "api-key",
    "api_key",
    "credential",
    "auth",
];

/// How well-known tokens begin.
const PREFIXES: [&str; 13] = [
    "sk-",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xox",
    "AKIA",
    "AIza",
    "ya29",
    "eyJ",
    "hf_",
    "npm_",
];

/// Returns a text in which secrets are masked, for showing only.
pub(crate) fn mask_text(text: &str, root: &Node) -> String {
    let mut found = Vec::new();
    collect(text, root, "", false, &mut found);
    found.sort_by_key(|(span, _)| span.start);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (span, shown) in &found {
        // Keys and comments between values are shown, but for words that look like tokens.
        out.push_str(&mask_words(text.get(at..span.start).unwrap_or_default()));
        out.push_str(shown);
        at = at.max(span.end);
    }
    out.push_str(&mask_words(text.get(at..).unwrap_or_default()));
    out
}

/// Returns arguments in which secrets are masked.
pub fn mask_args(args: &[String]) -> Vec<String> {
    let previous = std::iter::once(None).chain(args.iter().map(|arg| Some(arg.as_str())));
    args.iter()
        .zip(previous)
        .map(|(arg, previous)| mask_arg(previous, arg))
        .collect()
}

/// Returns an address without credentials, without the values of its query, and without path
/// segments that look like tokens.
pub fn mask_url(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return mask_words(url);
    };
    let (path, query) = rest
        .split_once('?')
        .map_or((rest, None), |(path, query)| (path, Some(query)));
    let (authority, path) = path
        .split_once('/')
        .map_or((path, None), |(a, p)| (a, Some(p)));
    let authority = authority.rsplit_once('@').map_or_else(
        || authority.to_owned(),
        |(_, host)| format!("{MASK}@{host}"),
    );
    let path = path
        .map(|path| format!("/{}", mask_words(path)))
        .unwrap_or_default();
    let query = query.map(|query| {
        let pairs = query.split('&').map(|pair| match pair.split_once('=') {
            Some((name, _)) => format!("{name}={MASK}"),
            None => MASK.to_owned(),
        });
        format!("?{}", pairs.collect::<Vec<_>>().join("&"))
    });
    format!("{scheme}://{authority}{path}{}", query.unwrap_or_default())
}

fn collect(
    text: &str,
    node: &Node,
    key: &str,
    hidden: bool,
    found: &mut Vec<(Range<usize>, String)>,
) {
    match &node.value {
        Value::Map(members) => {
            for member in members {
                let hidden = hidden || HIDDEN_MAPS.contains(&key) || telling(&member.key);
                collect(text, &member.value, &member.key, hidden, found);
            }
        }
        Value::List(items) => {
            let mut previous = None;
            for item in items {
                match item.as_text() {
                    Some(arg) if !hidden && !item.span.is_empty() => {
                        show(text, item, &mask_arg(previous, arg), arg, found);
                    }
                    _ => collect(text, item, key, hidden, found),
                }
                previous = item.as_text();
            }
        }
        Value::Null | Value::Bool(_) => {}
        Value::Number(value) | Value::Text(value) => {
            let shown = if hidden && !is_reference(value) {
                MASK.to_owned()
            } else {
                mask_url(value)
            };
            show(text, node, &shown, value, found);
        }
    }
}

/// Notes a value that is shown differently, between the quotes it was written in.
fn show(
    text: &str,
    node: &Node,
    shown: &str,
    value: &str,
    found: &mut Vec<(Range<usize>, String)>,
) {
    if shown == value {
        return;
    }
    let written = text.get(node.span.clone()).unwrap_or_default();
    let body = written.trim_matches(['"', '\'']);
    let start = node.span.start + written.find(body).unwrap_or_default();
    let shown = shown.replace(char::is_control, " ");
    found.push((start..start + body.len(), shown));
}

fn mask_arg(previous: Option<&str>, arg: &str) -> String {
    let flag = previous.filter(|previous| previous.starts_with('-'));
    let pair = |separator: char| {
        let (name, value) = arg.split_once(separator)?;
        let short = flag.is_some_and(|flag| matches!(flag, "-e" | "--env" | "-H" | "--header"));
        let hide = (short || telling(name)) && !name.contains("://") && !is_reference(value);
        hide.then(|| format!("{name}{separator}{MASK}"))
    };
    if let Some(masked) = pair('=').or_else(|| pair(':')) {
        return masked;
    }
    if flag.is_some_and(telling) && !arg.starts_with('-') && !is_reference(arg) {
        return MASK.to_owned();
    }
    mask_url(arg)
}

fn telling(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let telling = TELLING.iter().any(|part| name.contains(part));
    // The name of a variable is no secret.
    (telling || name == "key" || name.ends_with("_key")) && !name.ends_with("_env_var")
}

/// Says whether a value only refers to a variable, which is no secret in itself.
pub fn is_reference(value: &str) -> bool {
    let value = value.trim();
    let bare = ["Bearer ", "Basic ", "token "]
        .iter()
        .find_map(|scheme| value.strip_prefix(scheme));
    let value = bare.unwrap_or(value);
    let braced = value
        .strip_prefix("${")
        .and_then(|rest| rest.strip_suffix('}'));
    let name = braced
        .or_else(|| value.strip_prefix('$'))
        .unwrap_or_default();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b'-');
    // A default may be the secret itself.
    !name.is_empty() && name.bytes().all(plain) && !name.contains(":-")
}

/// Masks the words of a text that look like tokens.
fn mask_words(text: &str) -> String {
    let word =
        |found: char| found.is_ascii_alphanumeric() || matches!(found, '_' | '-' | '+' | '=');
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let gap = rest.find(word).unwrap_or(rest.len());
        let (before, after) = rest.split_at(gap);
        let end = after.find(|found| !word(found)).unwrap_or(after.len());
        let (found, after) = after.split_at(end);
        out.push_str(before);
        out.push_str(if looks_secret(found) { MASK } else { found });
        rest = after;
    }
    out
}

/// Says whether a word looks like a token: it begins like one, or one of its parts is long and
/// mixes letters with digits, which words made by people do not.
fn looks_secret(word: &str) -> bool {
    let known = word.len() >= 12 && PREFIXES.iter().any(|prefix| word.starts_with(prefix));
    let mixed = |part: &str| {
        part.len() >= 16
            && part.bytes().any(|byte| byte.is_ascii_digit())
            && part.bytes().any(|byte| byte.is_ascii_alphabetic())
    };
    let parts: Vec<&str> = word.split('-').collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    let uuid = lengths == [8, 4, 4, 4, 12];
    known || uuid || word.split(['-', '_']).any(mixed)
}

#[cfg(test)]
mod tests;
