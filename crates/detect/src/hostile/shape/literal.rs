//! Addresses and accounts that are spelled out, known by their shape.

use crate::hostile::shape::Family;

/// Hosts that documentation uses for nobody's.
const NOBODY: &[&str] = &["example.com", "example.org", "example.net", "example"];

/// What a pipe ends in that runs what comes out of it.
const SHELLS: &[&str] = &[
    "sh", "bash", "zsh", "python", "python3", "node", "bin/sh", "bin/bash",
];

/// Parts of paths where settings, keys or hidden things lie.
const PLACES: &[&str] = &[
    "~/.",
    "$HOME/.",
    "/tmp/.",
    "/etc/",
    concat!("/root", "/"),
    "/opt/.",
    ".bashrc",
    ".zshrc",
    ".ssh",
    ".aws/",
    ".env",
    "%APPDATA%",
    "/var/tmp/.",
];

/// Endings of hosts' names that are not endings of files.
const ENDINGS: &[&str] = &[
    "com", "net", "org", "io", "dev", "xyz", "site", "app", "example", "test", "info", "biz", "cc",
    "ru", "cn", "top", "online", "cloud", "club", "shop", "tk", "co", "ai", "me",
];

/// Brackets and signs that make a text stand apart.
const ASIDES: &[&str] = &["[[", "<!--", "!!!", "{{", "<<"];

/// Words before an address that something goes to.
const TOWARD: &[&str] = &[
    "to",
    "into",
    "via",
    "through",
    "towards",
    "by",
    "with",
    "endpoint",
    "host",
    "server",
    "address",
    "partner",
    "copy",
    "copying",
    "cc",
    "bcc",
    "include",
    "invite",
    "notify",
    "inform",
    "attendee",
    "recipient",
];

/// What a place in an address is filled with that carries the talk away.
const SAID: &[&str] = &[
    "conversation",
    "chat",
    "answer",
    "reply",
    "response",
    "history",
    "context",
    "secret",
    "prompt",
    "message",
    "data",
    "token",
    "password",
    "email",
    "base64",
    "summary",
    "content",
    "env",
];

/// What announces that something is only shown.
const SHOWS: &[&str] = &["e.g", "for example", "for instance", "such as", "like '"];

/// Names each kind of literal in a sentence.
pub(crate) fn find(sentence: &str, mut found: impl FnMut(Family)) {
    let shows = SHOWS.iter().any(|shown| sentence.contains(shown));
    let mut digits = String::new();
    let mut last = "";
    let mut piped = false;
    for chunk in sentence.split_whitespace() {
        let fringe = |letter: char| !letter.is_ascii_alphanumeric() && !matches!(letter, '+' | '#');
        let core = chunk.trim_matches(fringe);
        if is_name(chunk, core) {
            found(Family::Name);
        }
        if PLACES.iter().any(|place| chunk.contains(place)) {
            found(Family::Path);
        }
        if ASIDES.iter().any(|mark| chunk.contains(mark)) {
            found(Family::Aside);
        }
        let toward = TOWARD.contains(&last.to_ascii_lowercase().as_str());
        if is_address(core) && ((toward && !shows) || !is_nobody(core)) {
            found(Family::Address);
            if toward {
                found(Family::Toward);
            }
            if has_slot(chunk) {
                found(Family::Slot);
            }
        }
        if is_variable(core) {
            found(Family::Credential);
        }
        if matches!(
            chunk.trim_end_matches(['.', ',', ';', ')']),
            "`env`" | "`printenv`" | "`set`"
        ) {
            found(Family::Vault);
        }
        if is_number(core) {
            found(Family::Number);
        }
        if matches!(chunk, "&&" | "|" | "||") && !last.is_empty() {
            piped = true;
        }
        if piped && SHELLS.contains(&core) || chunk.contains("&&") {
            found(Family::Pipeline);
        }
        if is_wallet(core) {
            found(Family::Account);
        }
        if core.starts_with('#') && is_channel(core) {
            found(Family::Outside);
        }
        let numeric = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'(' | b')');
        let country = digits.is_empty() && is_iban_head(core);
        if !core.is_empty() && (core.bytes().all(numeric) || country) {
            digits.extend(
                core.chars()
                    .filter(|letter| *letter == '+' || letter.is_ascii_alphanumeric()),
            );
        } else {
            digits.clear();
        }
        let plus = digits.starts_with('+') && digits.len() > 9;
        if plus || digits.len() >= 14 {
            found(Family::Account);
        }
        last = core;
    }
}

/// A host that documentation uses for nobody's.
fn is_nobody(core: &str) -> bool {
    let lower = core.to_ascii_lowercase();
    let rest = lower.rsplit_once("://").map_or(&*lower, |(_, rest)| rest);
    let place = rest.split(['/', '?', '#', ')']).next().unwrap_or_default();
    let named = place.rsplit('@').next().unwrap_or_default();
    let host = named.split(':').next().unwrap_or_default();
    // Only the end counts: anybody may own `example.com.acme.dev`.
    let ends = |nobody: &&str| {
        let head = host.strip_suffix(*nobody);
        head.is_some_and(|head| head.is_empty() || head.ends_with('.'))
    };
    NOBODY.iter().any(ends)
}

/// A URL, a mail address or an IPv4 address that somebody could own.
fn is_address(core: &str) -> bool {
    let lower = core.to_ascii_lowercase();
    if ["localhost", "127.0.0.1"]
        .iter()
        .any(|host| lower.contains(host))
    {
        return false;
    }
    let mail = lower
        .split_once('@')
        .is_some_and(|(name, host)| !name.is_empty() && host.contains('.'));
    mail || is_number(&lower) || lower.contains("://") || is_host(&lower)
}

/// The name of a host with a port, a path, or three parts.
fn is_host(lower: &str) -> bool {
    let (host, more) = lower.split_at(lower.find(['/', ':']).unwrap_or(lower.len()));
    let part = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let parts = host.split('.').count();
    let ending = host.rsplit('.').next().unwrap_or_default();
    let known = ENDINGS.contains(&ending);
    known && (2..6).contains(&parts) && (parts > 2 || more.len() > 1) && host.split('.').all(part)
}

/// The name of an environment variable that holds a credential.
fn is_variable(core: &str) -> bool {
    let upper = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    let ends = ["_KEY", "_TOKEN", "_SECRET", "_PASSWORD"];
    core.bytes().all(upper) && ends.iter().any(|end| core.ends_with(end))
}

/// An identifier, by its marks or by its underscores.
fn is_name(chunk: &str, core: &str) -> bool {
    let part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    let quoted = chunk.contains('`') && core.len() > 1 && core.bytes().all(part);
    let joined = core.contains('_') && core.bytes().all(part);
    quoted || joined
}

/// An IPv4 address in the open, by itself or as the host of a URL.
fn is_number(core: &str) -> bool {
    let host = core.split_once("://").map_or(core, |(_, host)| host);
    let host = host.split(['/', ':']).next().unwrap_or_default();
    let address = host.parse::<std::net::Ipv4Addr>();
    address.is_ok_and(|ip| !ip.is_private() && !ip.is_loopback() && !ip.is_unspecified())
}

/// Whether the query of an address has a place for what was said: a word in capitals or brackets
/// in an image, or one that names the talk anywhere.
fn has_slot(chunk: &str) -> bool {
    let path = chunk.split(['/', '?']).skip(3);
    let mut words =
        path.map(|part| part.trim_matches(|letter: char| !letter.is_ascii_alphanumeric()));
    let said = |word: &str| SAID.contains(&word.to_ascii_lowercase().as_str());
    if words.any(|word| said(word) && word.bytes().all(|byte| byte.is_ascii_uppercase())) {
        return true;
    }
    let Some((_, query)) = chunk.split_once(['?', '#']) else {
        return false;
    };
    query.split('&').any(|pair| {
        let value = pair.split_once('=').map_or("", |(_, value)| value);
        let word = value.trim_matches(|letter: char| !letter.is_ascii_alphanumeric());
        let open = value.starts_with(['{', '<', '[', '$', '%'])
            || (word.len() > 2
                && word.bytes().all(|byte| {
                    byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_'
                }));
        let lower = value.to_ascii_lowercase();
        let talk = SAID.iter().any(|said| lower.contains(said));
        open && (talk || chunk.contains("]("))
    })
}

/// A wallet: base58 or bech32 of the usual lengths, or a hexadecimal address.
fn is_wallet(core: &str) -> bool {
    let bytes = core.as_bytes();
    let plain = bytes.iter().all(u8::is_ascii_alphanumeric);
    let digits = bytes.iter().filter(|byte| byte.is_ascii_digit()).count();
    let head =
        core.starts_with("bc1") || core.starts_with("0x") || core.starts_with(['1', '3', 'T']);
    plain && head && digits > 3 && (26..=62).contains(&bytes.len())
}

/// A name of a chat's channel, as opposed to a heading or a number of an issue.
fn is_channel(core: &str) -> bool {
    let name = core.get(1..).unwrap_or_default();
    let part = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'_'
    };
    name.len() > 3
        && name.bytes().all(part)
        && name.contains('-')
        && name.bytes().any(|byte| byte.is_ascii_lowercase())
}

fn is_iban_head(core: &str) -> bool {
    let bytes = core.as_bytes();
    matches!(bytes, [a, b, c, d, ..] if a.is_ascii_uppercase() && b.is_ascii_uppercase()
        && c.is_ascii_digit() && d.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_known_by_their_shape() {
        let check = |sentence: &str, expect: &[Family]| {
            let mut seen = Vec::new();
            find(sentence, |family| seen.push(family));
            seen.dedup();
            assert_eq!(seen, expect, "{sentence}");
        };
        check("For example https://a.example/x.", &[]);
        check(
            "Sends it to https://a.example/x.",
            &[Family::Address, Family::Toward],
        );
        check("See bob@example.com or www.example.org:80/x?y=z.", &[]);
        for host in ["example.com.acme.dev", "tr.example.xyz", "anexample.com"] {
            check(&format!("See https://{host}/x."), &[Family::Address]);
        }
        check("See https://example.com@acme.dev/x.", &[Family::Address]);
        check("at in.acme.dev:80", &[Family::Address]);
        check("in main.rs or a.b.c", &[]);
        check("the `memo` field of ~/.x", &[Family::Name, Family::Path]);
        check("See (https://docs.acme.dev) first.", &[Family::Address]);
        check(
            "goes to https://acme.dev",
            &[Family::Address, Family::Toward],
        );
        check("call +49 151 0203 0405 now", &[Family::Account]);
        check("on #ops-mirror and #12", &[Family::Outside]);
        check(
            "uses ACME_API_KEY here",
            &[Family::Name, Family::Credential],
        );
        check("listens on 10.0.0.1", &[]);
        check("curl x | sh", &[Family::Pipeline]);
        check(
            "![x](https://p.acme.dev/t.gif?d=CONVERSATION)",
            &[Family::Address, Family::Slot],
        );
    }
}
