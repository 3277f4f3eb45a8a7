//! What is passed over: what was read otherwise, and what looks like chance and is sent by
//! everybody: hashes, unique numbers, times.

use std::ops::Range;

use super::strange::is_chance;

/// Goes along the spans of what was read otherwise.
#[derive(Debug)]
pub(super) struct Read<'a> {
    /// INVARIANT: sorted by where they begin.
    rest: &'a [Range<usize>],
    until: usize,
}

impl<'a> Read<'a> {
    /// Takes the spans, sorted by where they begin.
    pub(super) fn new(sorted: &'a [Range<usize>]) -> Self {
        Self {
            rest: sorted,
            until: 0,
        }
    }

    /// Returns where the spans end that begin here or before; places are asked for in order.
    pub(super) fn until(&mut self, at: usize) -> usize {
        while let [first, rest @ ..] = self.rest
            && first.start <= at
        {
            self.until = self.until.max(first.end);
            self.rest = rest;
        }
        self.until
    }
}

/// Names that lock files and lists of keys put in front of hashes in base64, and the bytes of those.
const HASHES: [(&[u8], usize); 6] = [
    (b"sha512-", 64),
    (b"sha384-", 48),
    (b"sha256-", 32),
    (b"sha1-", 20),
    (b"h1:", 32),
    (b"SHA256:", 32),
];

/// Longest hash with its name.
const HASH: usize = 96;
/// Signs that fill up the end of base64.
const PADDING: usize = 2;

/// Returns the length of a hash in base64 with its name in front, or zero.
fn named(rest: &[u8]) -> usize {
    let hash = HASHES.iter().find_map(|(name, bytes)| {
        let digits = rest.strip_prefix(*name)?;
        let is_digit = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
        let count = digits.iter().take_while(is_digit).count();
        (count == (bytes * 8).div_ceil(6)).then_some(name.len() + count)
    });
    hash.unwrap_or(0)
}

/// Where programs put what they need for a moment, under names that they make up.
const TEMPORARY: [&str; 4] = ["tmp/", "var/folders/", "var/tmp/", "private/"];
/// Longest path that is passed over, and the letters in it that may stand there by chance: few, but
/// for what is temporary.
const PATH: usize = 128;
const MADE_UP: usize = 10;
const MADE_UP_TEMPORARY: usize = 40;
/// Letters of a word from which on it can be told that they stand there by chance.
const TOLD: usize = 4;

/// Returns where a path ends that begins just before `at`, if programs make up such paths.
pub(super) fn path(text: &str, at: usize) -> Option<usize> {
    let before = text.get(..at)?.strip_suffix('/')?;
    if before.ends_with(|char: char| char.is_alphanumeric() || char == '/') {
        return None;
    }
    let rest = text.get(at..)?;
    let is_path = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+@".contains(byte);
    let length = rest.bytes().take(PATH + 1).take_while(is_path).count();
    let path = rest
        .get(..length)
        .filter(|path| path.len() <= PATH && path.contains('/'))?;
    let most = if TEMPORARY.iter().any(|root| path.starts_with(root)) {
        MADE_UP_TEMPORARY
    } else {
        MADE_UP
    };
    let words = path.split(|char: char| !char.is_ascii_alphanumeric());
    let strange = words.filter(|word| word.len() >= TOLD && is_chance(word) && usual(word, 0) == 0);
    let letters: usize = strange.map(str::len).sum();
    (letters <= most).then_some(at + length)
}

/// Tells whether a run of base64 is a hash that is called one, or a public certificate or key.
pub(super) fn is_public(text: &str, run: Range<usize>) -> bool {
    // The run may be a part of the hash, or have its name in it.
    let from = text.floor_char_boundary(run.start.saturating_sub(HASH));
    let near = text.get(from..).unwrap_or_default();
    let is_hash = |(name, _): &(&[u8], usize)| {
        let reach = near.as_bytes().get(..run.start - from + name.len());
        let mut places = reach.unwrap_or_default().windows(name.len());
        let place = places.rposition(|place| place == *name);
        let hash = place.and_then(|at| near.as_bytes().get(at..));
        let end = from + place.unwrap_or(0) + hash.map_or(0, named) + PADDING;
        hash.is_some_and(|hash| named(hash) > 0) && end >= run.end
    };
    HASHES.iter().any(is_hash) || is_certificate(text, run)
}

/// Bytes of a certificate, and of the borders that may have been taken for a part of it: their dashes
/// are digits in one kind of base64.
const CERTIFICATE: usize = 1 << 13;
const BORDER: usize = 32;

/// Tells whether a run lies in a public certificate or key: the whole of one, by what its header
/// says of its length.
fn is_certificate(text: &str, run: Range<usize>) -> bool {
    let from = text.floor_char_boundary(run.start.saturating_sub(CERTIFICATE));
    let until = text.floor_char_boundary(run.start.saturating_add(BORDER));
    let near = text.get(from..until).unwrap_or_default();
    ["CERTIFICATE", "PUBLIC KEY"].iter().any(|label| {
        let begin = format!("-----BEGIN {label}-----");
        let Some(start) = near.rfind(&begin).map(|at| from + at + begin.len()) else {
            return false;
        };
        let end = text.floor_char_boundary(start.saturating_add(CERTIFICATE));
        let body = text
            .get(start..end)
            .and_then(|body| body.split_once("-----END"));
        let body = body.map_or("", |(body, _)| body);
        let digits = body
            .bytes()
            .filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=');
        let bytes = digits.count() * 6 / 8;
        run.end <= start + body.len() + BORDER && sequence(body.trim_start()) == Some(bytes)
    })
}

/// Returns the length of a sequence in DER of which this is the base64, as its header says it.
fn sequence(base64: &str) -> Option<usize> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => Some(usize::from(byte - b'A')),
        b'a'..=b'z' => Some(usize::from(byte - b'a') + 26),
        b'0'..=b'9' => Some(usize::from(byte - b'0') + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let mut digits = base64.bytes().take(6).map(value);
    let head = digits.try_fold(0, |sum: usize, digit| Some(sum << 6 | digit?))? >> 4;
    (head >> 16 == 0x3082).then_some((head & 0xFFFF) + 4)
}

/// Returns where a hash, a unique number or a time ends that begins here, or `at` if none does.
pub(super) fn usual(text: &str, at: usize) -> usize {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    let named = named(rest);
    if named > 0 {
        return at + named;
    }
    let digits = rest.iter().take_while(|byte| byte.is_ascii_hexdigit());
    let count = digits.count();
    if rest.get(count).is_some_and(u8::is_ascii_alphanumeric) {
        return at;
    }
    let word = rest.get(..count).unwrap_or_default();
    match count {
        4 => at + time(rest),
        8 => unique(rest).map_or(at + count, |length| at + length),
        // A commit is named by its first digits, a build or a span by sixteen.
        7..=12 | 16 => at + count,
        32 | 40 | 56 | 64 | 96 | 128 if is_even(word) => at + count,
        _ => at,
    }
}

/// Returns the length of a time such as `2026-03-04T09:15:22.5Z`, or zero.
pub(super) fn time(bytes: &[u8]) -> usize {
    const FORM: &[u8] = b"0000-00-00T00:00";
    let fits = |(form, byte): (&u8, &u8)| match form {
        b'0' => byte.is_ascii_digit(),
        _ => byte == form,
    };
    if bytes.len() < FORM.len() || !FORM.iter().zip(bytes).all(fits) {
        return 0;
    }
    let rest = bytes.iter().skip(FORM.len()).take(FORM.len());
    let more = rest.take_while(|byte| byte.is_ascii_digit() || b":.,+-Z".contains(byte));
    FORM.len() + more.count()
}

/// Returns the length of a number such as `8-4-4-4-12` digits.
pub(super) fn unique(bytes: &[u8]) -> Option<usize> {
    const LENGTH: usize = 36;
    let fits = |(at, byte): (usize, &u8)| match at {
        8 | 13 | 18 | 23 => matches!(byte, b'-' | b'_'),
        _ => byte.is_ascii_hexdigit(),
    };
    let whole = bytes.get(..LENGTH)?;
    let over = bytes.get(LENGTH).is_some_and(u8::is_ascii_alphanumeric);
    (!over && whole.iter().enumerate().all(fits)).then_some(LENGTH)
}

/// Tells whether digits can be those of a hash: every bit is set in some bytes and not in others.
fn is_even(digits: &[u8]) -> bool {
    let (mut all, mut any) = (u32::MAX, 0);
    for pair in digits.chunks(2) {
        let value = |sum: u32, digit: &u8| sum << 4 | char::from(*digit).to_digit(16).unwrap_or(0);
        let byte = pair.iter().fold(0, value);
        all &= byte;
        any |= byte;
    }
    all == 0 && any == 0xFF
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_everybody_sends_is_known() {
        let check = |text: &str, expect: usize| assert_eq!(usual(text, 0), expect, "{text}");
        check("9fceb02 is the one", 7);
        check("0b7c9a52-41d3-4e0a-9c7e-3f5a1c2d8e90.", 36);
        check("0b7c9a52-41d3-4e0a-9c7e-3f5a1c2d8e901", 8);
        check("9fceb02d0ae598e95dc970b74767f19372d61af8", 40);
        check("a09b8c9a8dfe8c9a91d09e93939a8ddf", 0);
        check("2026-03-04T09:15:22.5Z INFO", 22);
        check("2026-03-04", 0);
        check("word", 0);
        let hash = "q7Jd0pVxT2mZc4Rb8LkHs1WfYgNu6EaXo3Ci5BtQ9vM=";
        check(&format!("h1:{hash}"), 46);
        check(&format!("sha256-{hash}"), 50);
        check(&format!("sha512-{hash}"), 0);
        check(&format!("key {hash}"), 0);
    }

    #[test]
    fn paths_that_programs_make_up_are_known() {
        let check = |text: &str, expect: Option<usize>| {
            assert_eq!(path(text, 1), expect, "{text}");
        };
        check("/tmp/tmpx7k2qv9d/out.json: gone", Some(25));
        check("/var/folders/q3/zx81kq0000gn/T/.tmpA7fKq2", Some(41));
        check("/srv/ci1/work/xQ7fKz/target/debug/app", Some(37));
        check("/srv/ci1/xQ7fKz/app-0d9eb0f91697335e.rlib", Some(41));
        check("/srv1/xQ7fKz/qW8dLx/zV3kRt/app", None);
        check(&format!("/tmp/{}", "x7".repeat(21)), None);
        check(&format!("/tmp/{}", "x7/".repeat(60)), None);
        check("/word", None);
        assert_eq!(path("a/tmp/b", 2), None);
    }

    #[test]
    fn certificates_are_told_from_other_blocks() {
        use base64::Engine as _;
        let check = |label: &str, header: &[u8], expect: bool| {
            let mut bytes: Vec<u8> = (0..300_u16).map(|n| (n * 37 % 251) as u8).collect();
            bytes.splice(..header.len(), header.iter().copied());
            let body = base64::engine::general_purpose::STANDARD.encode(&bytes);
            let text = format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----");
            let start = text.find(&body).unwrap();
            let found = is_public(&text, start..start + body.len());
            assert_eq!(found, expect, "{label}");
        };
        check("CERTIFICATE", &[0x30, 0x82, 0x01, 0x28], true);
        check("CERTIFICATE", &[0x30, 0x82, 0x01, 0x29], false);
        check("CERTIFICATE", b"text", false);
        check("PRIVATE KEY", &[0x30, 0x82, 0x01, 0x28], false);
    }
}
