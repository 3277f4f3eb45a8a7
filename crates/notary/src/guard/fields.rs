//! What the name of an argument says about its value.

use std::fmt;

/// The longest name that is told.
const LONGEST: usize = 80;
/// Last words of names whose values lead to a host.
const HOSTS: [&str; 22] = [
    "url", "urls", "uri", "uris", "link", "links", "href", "host", "hosts", "hostname", "server",
    "address", "addr", "ip", "domain", "endpoint", "site", "website", "target", "origin",
    "webhook", "callback",
];
/// Last words of names whose values are places of files.
const PATHS: [&str; 25] = [
    "path",
    "paths",
    "file",
    "files",
    "filename",
    "filenames",
    "filepath",
    "dir",
    "dirs",
    "directory",
    "directories",
    "folder",
    "folders",
    "cwd",
    "root",
    "roots",
    "uri",
    "source",
    "destination",
    "src",
    "dst",
    "dest",
    "location",
    "target",
    "workdir",
];
/// Last words of names whose values are content, however they look.
const CONTENT: [&str; 9] = [
    "content",
    "contents",
    "text",
    "body",
    "data",
    "message",
    "description",
    "string",
    "query",
];

/// Tells whether values under `name` lead to a host.
pub(super) fn is_host(name: &str) -> bool {
    last_word(name).is_some_and(|word| HOSTS.contains(&word.as_str()))
}

/// Tells whether values under `name` are places of files.
pub(super) fn is_path(name: &str) -> bool {
    let words = words(name);
    match words.as_slice() {
        [.., before, last] if last == "name" => PATHS.contains(&before.as_str()),
        [.., last] => PATHS.contains(&last.as_str()),
        [] => false,
    }
}

/// Tells whether values under `name` are content.
pub(super) fn is_content(name: &str) -> bool {
    last_word(name).is_some_and(|word| CONTENT.contains(&word.as_str()))
}

fn last_word(name: &str) -> Option<String> {
    words(name).pop()
}

/// Splits `file_path`, `filePath` and `File-Path` into lower-case words.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut lower = false;
    for char in name.chars().take(128) {
        let starts = !char.is_alphanumeric() || (lower && char.is_uppercase());
        lower = char.is_lowercase();
        if starts {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| char.is_alphanumeric()) {
            word.extend(char.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Names an argument to people. Reasons stand in receipts, and what a caller made the name of a field
/// may be anything: only what looks like the name of one is said.
pub(super) fn told(path: &impl fmt::Display) -> String {
    let path = path.to_string();
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "._-[]".contains(letter);
    if path.len() <= LONGEST && path.chars().all(plain) {
        format!("argument `{path}`")
    } else {
        "an argument".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_their_values_are() {
        let check = |name: &str, expect: (bool, bool, bool)| {
            assert_eq!(
                (is_host(name), is_path(name), is_content(name)),
                expect,
                "{name}"
            );
        };
        check("url", (true, false, false));
        check("baseURL", (true, false, false));
        check("webhook_url", (true, false, false));
        check("uri", (true, true, false));
        check("filePath", (false, true, false));
        check("file-name", (false, true, false));
        check("source_file", (false, true, false));
        check("profile", (false, false, false));
        check("fileContent", (false, false, true));
        check("", (false, false, false));
        check("größe", (false, false, false));
    }
}
