//! URLs as they are read by whoever follows them: where they lead, and what they carry there.
//!
//! Parsing follows the WHATWG rules where they differ from RFC 3986 (backslashes, `@`, numbers for
//! addresses), since that is what fetches. Deliberately absent: resolving a name, and judging it.

mod carried;
mod host;
mod punycode;

use std::ops::Range;

use memchr::memchr_iter;

pub use self::carried::{Carried, Part, carried};
pub use self::host::{Host, Reach};

/// Longest URL that is read; the rest of a longer one is left out.
const LONGEST: usize = 16 << 10;
/// Longest scheme.
const SCHEME: usize = 24;
/// URLs inside one URL that are looked at.
const NESTED: usize = 4;

/// One URL in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url<'a> {
    /// Where it stands in the text.
    pub span: Range<usize>,
    /// The scheme, as it is spelled.
    pub scheme: &'a str,
    /// What stands before the last `@` of the authority.
    pub userinfo: Option<&'a str>,
    /// The host, as it is spelled.
    pub host_text: &'a str,
    /// The host, in whatever spelling it was.
    pub host: Host,
    /// The port, if one is given.
    pub port: Option<u16>,
    /// The path with its first slash.
    pub path: &'a str,
    /// What stands behind `?`.
    pub query: Option<&'a str>,
    /// What stands behind `#`.
    pub fragment: Option<&'a str>,
}

/// A spelling that makes a reader believe in another host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trick {
    /// Something that looks like a host stands before `@`.
    HostBeforeAt,
    /// An address is not spelled with four decimal numbers, or is wrapped in IPv6.
    OddAddress,
    /// The name has letters beyond ASCII, spelled out or as `xn--`.
    International,
    /// A backslash stands where a slash should.
    Backslash,
    /// Characters of the host are percent-encoded, or are look-alikes of dots and digits.
    EncodedHost,
    /// The name stands for the address that it spells.
    WildcardDns,
}

impl Url<'_> {
    /// Returns the tricks that the spelling plays.
    pub fn tricks(&self) -> Vec<Trick> {
        let mut tricks = Vec::new();
        let mut add = |trick, is: bool| {
            if is {
                tricks.push(trick);
            }
        };
        let before = self.userinfo.unwrap_or_default();
        add(
            Trick::HostBeforeAt,
            before.contains('.') || before.contains("%2e"),
        );
        let bare = self.host_text.trim_matches(['[', ']']);
        match &self.host {
            Host::Ip(address) => {
                let shown = address.to_string();
                let wrapped = host::embedded(*address).is_some();
                add(
                    Trick::OddAddress,
                    wrapped || !shown.eq_ignore_ascii_case(bare),
                );
            }
            Host::Name(name) => {
                let coded = name.split('.').any(|label| label.starts_with("xn--"));
                add(Trick::International, coded);
                add(Trick::WildcardDns, host::wildcard(name).is_some());
            }
        }
        add(Trick::Backslash, self.path.starts_with('\\'));
        let alike = |char: char| {
            matches!(char, '。' | '．' | '｡' | '％') || matches!(char, '０'..='９' | '①'..='⑳')
        };
        add(
            Trick::EncodedHost,
            self.host_text.contains(|char| char == '%' || alike(char)),
        );
        tricks
    }
}

/// Finds the URLs of a text, outer ones before those inside them.
pub fn urls(text: &str) -> Vec<Url<'_>> {
    let mut found = Vec::new();
    let (mut done, mut inside) = (0, 0);
    for colon in memchr_iter(b':', text.as_bytes()) {
        let Some(start) = scheme(text, colon) else {
            continue;
        };
        // INVARIANT: each byte belongs to at most `NESTED` + 1 URLs, so that finding stays linear.
        if colon < done {
            inside += 1;
        } else {
            (done, inside) = (end(text, colon), 0);
        }
        if inside <= NESTED {
            found.extend(at(text, start, colon, done));
        }
    }
    found
}

/// Reads a text that is one URL and nothing else.
pub fn parse(text: &str) -> Option<Url<'_>> {
    let colon = memchr::memchr(b':', text.as_bytes())?;
    let whole = scheme(text, colon)? == 0 && end(text, colon) == text.len();
    whole.then(|| at(text, 0, colon, text.len())).flatten()
}

/// Writes a text so that it can stand in a path, a query or a form.
pub fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => {
                out.push(char::from(byte));
            }
            other => {
                let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or('0');
                out.push('%');
                out.push(digit(other >> 4).to_ascii_uppercase());
                out.push(digit(other & 15).to_ascii_uppercase());
            }
        }
    }
    out
}

/// Tells whether a scheme is one that browsers fetch.
fn is_web(scheme: &str) -> bool {
    let known = ["http", "https", "ws", "wss", "ftp"];
    known.iter().any(|known| scheme.eq_ignore_ascii_case(known))
}

/// Returns where the scheme before a colon starts, if a host can follow the colon.
fn scheme(text: &str, colon: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let slash = |at: usize| matches!(bytes.get(at), Some(b'/' | b'\\'));
    if !slash(colon + 1) {
        return None;
    }
    let before = bytes.get(colon.saturating_sub(SCHEME)..colon)?;
    let part = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let length = before.iter().rev().take_while(part).count();
    let spelled = bytes.get(colon - length..colon)?;
    let start = colon - length + spelled.iter().position(u8::is_ascii_alphabetic)?;
    let double = bytes.get(colon + 1..colon + 3) == Some(b"//");
    (double || is_web(text.get(start..colon)?)).then_some(start)
}

fn at(text: &str, start: usize, colon: usize, end: usize) -> Option<Url<'_>> {
    let scheme = text.get(start..colon)?;
    let rest = text.get(colon + 1..end)?;
    let slashes = rest.bytes().take_while(|byte| matches!(byte, b'/' | b'\\'));
    // Fetchers of the web take any number of slashes; other schemes have exactly two.
    let skip = if is_web(scheme) { slashes.count() } else { 2 };
    let rest = rest.get(skip..)?;
    let authority_end = rest.find(['/', '\\', '?', '#']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at_checked(authority_end)?;
    let (userinfo, host_port) = match authority.rsplit_once('@') {
        Some((userinfo, host)) => (Some(userinfo), host),
        None => (None, authority),
    };
    let (host_text, port) = split_port(host_port);
    let (rest, fragment) = cut(rest, '#');
    let (path, query) = cut(rest, '?');
    Some(Url {
        span: start..end,
        scheme,
        userinfo,
        host_text,
        host: Host::read(host_text)?,
        port,
        path,
        query,
        fragment,
    })
}

fn cut(text: &str, at: char) -> (&str, Option<&str>) {
    text.split_once(at)
        .map_or((text, None), |(before, behind)| (before, Some(behind)))
}

fn split_port(text: &str) -> (&str, Option<u16>) {
    match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => match port.parse() {
            Ok(port) => (host, Some(port)),
            Err(_) if port.is_empty() => (host, None),
            Err(_) => (text, None),
        },
        _ => (text, None),
    }
}

/// Returns where the URL with its colon at `colon` ends: at a blank or a quote, less the
/// punctuation of the sentence around it.
fn end(text: &str, colon: usize) -> usize {
    let limit = text.floor_char_boundary((colon + LONGEST).min(text.len()));
    let rest = text.get(colon..limit).unwrap_or_default();
    let stops = |char: char| {
        char.is_whitespace()
            || char.is_control()
            || matches!(char, '"' | '\'' | '<' | '>' | '`' | '|' | '^' | '{' | '}')
    };
    let rest = rest
        .find(stops)
        .and_then(|length| rest.get(..length))
        .unwrap_or(rest);
    let mut trimmed = rest.trim_end_matches(['.', ',', ';', ':', '!', '?', '*']);
    for (open, close) in [('(', ')'), ('[', ']')] {
        if trimmed.ends_with(close) && !trimmed.contains(open) {
            trimmed = trimmed.trim_end_matches([close, '.', ',']);
        }
    }
    colon + trimmed.len()
}

#[cfg(test)]
mod tests;
