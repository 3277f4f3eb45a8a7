//! Passwords in URLs: `scheme://user:password@host`.

use std::ops::Range;

use super::value::is_placeholder;

/// A longer authority is not one.
const AUTHORITY: usize = 512;

/// Passwords of every tutorial.
const COMMON: &[&str] = &[
    "pass",
    "passwd",
    "password",
    "pwd",
    "pw",
    "secret",
    "root",
    "admin",
    "user",
    "guest",
    "test",
    "postgres",
    "mysql",
    "redis",
    "mongo",
    "rabbitmq",
    "docker",
    "db",
    "dbpass",
    "foo",
    "bar",
    "baz",
    "hunter2",
    "changeit",
    "toor",
    "default",
    "token",
    "key",
    "p",
    "pass1",
    "pass123",
    "test123",
    "mypass",
    "userpass",
    "x-oauth-basic",
    "x-access-token",
    "port",
    "localhost",
];

/// Tells whether a password is one of every tutorial.
pub(super) fn is_common(password: &str) -> bool {
    COMMON
        .iter()
        .any(|common| common.eq_ignore_ascii_case(password))
}

/// Returns where the password stands in the URL whose authority begins at `start`.
pub(super) fn password(text: &str, start: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let rest = bytes.get(start..)?;
    let stops = |byte: &u8| {
        byte.is_ascii_whitespace()
            || matches!(
                byte,
                b'/' | b'?' | b'"' | b'\'' | b'<' | b'>' | b'`' | b'\\'
            )
    };
    let end = rest
        .iter()
        .take(AUTHORITY)
        .position(stops)
        .unwrap_or(rest.len().min(AUTHORITY));
    let authority = rest.get(..end)?;
    let at = memchr::memrchr(b'@', authority)?;
    let colon = memchr::memchr(b':', authority.get(..at)?)?;
    let host = authority.get(at + 1..)?;
    let span = start + colon + 1..start + at;
    let user = text.get(start..start + colon)?;
    let password = text.get(span.clone())?;
    let placed = host
        .first()
        .is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'[');
    (placed && is_secret(user, password)).then_some(span)
}

fn is_secret(user: &str, password: &str) -> bool {
    let lower = password.to_ascii_lowercase();
    // A password of digits and a user of none is a port or a line number in disguise.
    let named = password.bytes().any(|byte| byte.is_ascii_alphabetic()) || password.len() > 5;
    password.len() >= 4
        && named
        && lower != user.to_ascii_lowercase()
        && !is_common(password)
        && !password.contains(['{', '}', '(', ')', ','])
        && !password.starts_with(['$', '<', '%', '*', ':'])
        && !is_placeholder(password)
}
