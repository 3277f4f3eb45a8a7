//! Escapes: single characters written as a sign and a number. Percent, HTML, backslash, `U+`,
//! quoted-printable.
//!
//! A run reaches from the word of the first escape to the word of the last, so that what is only
//! partly escaped is read as a whole.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::{memchr_iter, memchr3_iter, memmem};

use super::alphabets::nibble;
use super::{Coding, Run};

/// Distance up to which two escapes belong to one run.
const GAP: usize = 64;
/// How far a word is followed beyond an escape.
const WORD: usize = 256;
/// Length of a word that an escape glued to it would hide.
const GLUED: usize = 12;

static POINTS: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new("U+"));

/// Adds the runs of `text` that have escapes.
pub(super) fn find(text: &[u8], runs: &mut Vec<Run>) {
    let mut percent = Gather::new(Coding::Percent, 1);
    let mut html = Gather::new(Coding::Html, 1);
    let mut backslash = Gather::new(Coding::Escapes, 1);
    for at in memchr3_iter(b'%', b'&', b'\\', text) {
        let rest = text.get(at..).unwrap_or_default();
        let (gather, length) = match rest.first() {
            Some(b'%') => (&mut percent, percent_at(rest).map(|_| 3)),
            Some(b'&') => (&mut html, html_at(rest).map(|(_, length)| length)),
            _ => (&mut backslash, telling(rest)),
        };
        if let Some(length) = length {
            gather.add(text, at..at + length, runs);
        }
    }
    for gather in [percent, html, backslash] {
        gather.close(text, runs);
    }
    let mut quoted = Gather::new(Coding::QuotedPrintable, 3);
    for at in memchr_iter(b'=', text) {
        if let Some((unit, length)) = quoted_at(text.get(at..).unwrap_or_default())
            && !is_setting(text, at, &unit)
        {
            quoted.add(text, at..at + length, runs);
        }
    }
    quoted.close(text, runs);
    let mut points = Gather::new(Coding::Escapes, 3);
    for at in POINTS.find_iter(text) {
        if let Some((_, length)) = point_at(text.get(at..).unwrap_or_default()) {
            points.add(text, at..at + length, runs);
        }
    }
    points.close(text, runs);
}

/// Joins escapes that stand close together.
struct Gather {
    coding: Coding,
    least: usize,
    open: Option<(Range<usize>, usize)>,
    /// Where the last run ended, so that runs of one coding never overlap.
    done: usize,
}

impl Gather {
    fn new(coding: Coding, least: usize) -> Self {
        Self {
            coding,
            least,
            open: None,
            done: 0,
        }
    }

    fn add(&mut self, text: &[u8], escape: Range<usize>, runs: &mut Vec<Run>) {
        match &mut self.open {
            // An escape inside of another was read with it.
            Some((span, _)) if escape.start < span.end => {}
            Some((span, count)) if escape.start - span.end <= GAP => {
                span.end = escape.end;
                *count += 1;
            }
            _ => {
                self.finish(text, runs);
                self.open = Some((escape, 1));
            }
        }
    }

    fn close(mut self, text: &[u8], runs: &mut Vec<Run>) {
        self.finish(text, runs);
    }

    fn finish(&mut self, text: &[u8], runs: &mut Vec<Run>) {
        let Some((span, _)) = self.open.take().filter(|(_, count)| *count >= self.least) else {
            return;
        };
        let from = span.start.saturating_sub(WORD).max(self.done);
        let before = text.get(from..span.start).unwrap_or_default();
        let start = before
            .iter()
            .rposition(|&byte| ends_word(byte))
            .map_or(from, |step| from + step + 1);
        let behind = text.get(span.end..).unwrap_or_default();
        let behind = behind.get(..behind.len().min(WORD)).unwrap_or_default();
        let length = behind
            .iter()
            .position(|&byte| ends_word(byte))
            .unwrap_or(behind.len());
        let span = whole(
            text,
            start.max(self.done).min(span.start)..span.end + length,
        );
        self.done = span.end;
        runs.push(Run {
            span,
            coding: self.coding,
        });
    }
}

fn ends_word(byte: u8) -> bool {
    matches!(
        byte,
        b' ' | b'\t' | b'\r' | b'\n' | b'"' | b'\'' | b'<' | b'>' | b'`'
    )
}

/// Widens a span so that it cuts no character.
fn whole(text: &[u8], span: Range<usize>) -> Range<usize> {
    let inside = |at: usize| text.get(at).is_some_and(|byte| byte & 0xC0 == 0x80);
    let (mut start, mut end) = (span.start, span.end);
    while start > 0 && inside(start) {
        start -= 1;
    }
    while inside(end) {
        end += 1;
    }
    start..end
}

fn byte_of(digits: &[u8]) -> Option<u8> {
    match *digits {
        [high, low, ..] => Some(nibble(high)? << 4 | nibble(low)?),
        _ => None,
    }
}

fn percent_at(rest: &[u8]) -> Option<u8> {
    byte_of(rest.get(1..)?)
}

/// Undoes percent-encoding.
pub(super) fn percent(bytes: &[u8]) -> Option<Vec<u8>> {
    // A form writes a space as `+`; whoever writes `%20` does not.
    let form = memmem::find(bytes, b"%20").is_none();
    replaced(bytes, |rest| match rest.first() {
        Some(b'%') => percent_at(rest).map(|byte| (Unit::Byte(byte), 3)),
        Some(b'+') if form => Some((Unit::Byte(b' '), 1)),
        _ => None,
    })
}

/// Undoes percent signs and leaves `+` alone.
pub(super) fn percent_signs(bytes: &[u8]) -> Vec<u8> {
    let decoded = replaced(bytes, |rest| match rest.first() {
        Some(b'%') => percent_at(rest).map(|byte| (Unit::Byte(byte), 3)),
        _ => None,
    });
    decoded.unwrap_or_else(|| bytes.to_vec())
}

/// What an escape stands for.
enum Unit {
    Byte(u8),
    Char(char),
    Nothing,
}

/// Replaces what `escape` recognizes; nothing if it recognizes nothing.
fn replaced(bytes: &[u8], escape: impl Fn(&[u8]) -> Option<(Unit, usize)>) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(bytes.len());
    let (mut at, mut changed) = (0, false);
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let (unit, length) = match escape(rest) {
            Some(found) => {
                changed = true;
                found
            }
            None => (
                rest.first().map_or(Unit::Nothing, |&byte| Unit::Byte(byte)),
                1,
            ),
        };
        match unit {
            Unit::Byte(byte) => out.push(byte),
            Unit::Char(char) => out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
            Unit::Nothing => {}
        }
        at += length;
    }
    changed.then_some(out)
}

/// Names of characters that hide words or their ends.
const NAMES: [(&str, char); 20] = [
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
    ("apos", '\''),
    ("nbsp", ' '),
    ("colon", ':'),
    ("sol", '/'),
    ("period", '.'),
    ("comma", ','),
    ("lpar", '('),
    ("rpar", ')'),
    ("lowbar", '_'),
    ("hyphen", '-'),
    ("equals", '='),
    ("Tab", '\t'),
    ("NewLine", '\n'),
    ("shy", '\u{AD}'),
    ("zwnj", '\u{200C}'),
    ("zwj", '\u{200D}'),
];

/// Reads a reference with its length (HTML 13.5: `&#65;`, `&#x41;`, `&amp;`).
fn html_at(rest: &[u8]) -> Option<(char, usize)> {
    let body = rest.get(1..rest.len().min(12))?;
    let Some(number) = body.strip_prefix(b"#") else {
        let end = memchr::memchr(b';', body)?;
        let name = std::str::from_utf8(body.get(..end)?).ok()?;
        let known = NAMES.iter().find(|(known, _)| *known == name);
        return known.map(|&(_, char)| (char, end + 2));
    };
    let (digits, radix, skip) = match number {
        [b'x' | b'X', digits @ ..] => (digits, 16, 3),
        digits => (digits, 10, 2),
    };
    let count = digits
        .iter()
        .take_while(|byte| char::from(**byte).is_digit(radix))
        .count();
    let code = number_of(digits.get(..count)?, radix)?;
    let end = skip + count;
    // Browsers read a reference without its semicolon, too.
    let end = end + usize::from(rest.get(end) == Some(&b';'));
    Some((char::from_u32(code)?, end))
}

fn number_of(digits: &[u8], radix: u32) -> Option<u32> {
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok()
}

/// Undoes character references.
pub(super) fn html(bytes: &[u8]) -> Option<Vec<u8>> {
    replaced(bytes, |rest| match rest.first() {
        Some(b'&') => html_at(rest).map(|(char, length)| (Unit::Char(char), length)),
        _ => None,
    })
}

/// Returns the length of an escape that is worth a view: one with a number, a quote inside a
/// quoted text, or a line break that a long word is glued to.
fn telling(rest: &[u8]) -> Option<usize> {
    let (_, length) = backslash_at(rest)?;
    let glued =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'/' | b'+');
    match rest.get(1)? {
        b'u' | b'U' | b'x' | b'0'..=b'7' | b'"' => Some(length),
        b'n' | b'r' | b't' | b'f' | b'v' | b'b' => {
            let word = rest.get(2..2 + GLUED)?;
            word.iter().all(glued).then_some(length)
        }
        _ => None,
    }
}

/// Reads one escape of JSON, C, JavaScript or Python.
fn backslash_at(rest: &[u8]) -> Option<(Unit, usize)> {
    let found = match *rest.get(1)? {
        b'n' => (Unit::Byte(b'\n'), 2),
        b'r' => (Unit::Byte(b'\r'), 2),
        b't' => (Unit::Byte(b'\t'), 2),
        b'b' | b'f' | b'v' => (Unit::Byte(b' '), 2),
        byte @ (b'"' | b'\'' | b'/' | b'\\') => (Unit::Byte(byte), 2),
        b'x' => (Unit::Byte(byte_of(rest.get(2..)?)?), 4),
        b'u' => return unicode_at(rest),
        b'U' => {
            let code = number_of(rest.get(2..10)?, 16)?;
            (Unit::Char(char::from_u32(code)?), 10)
        }
        b'0'..=b'3' => {
            let digits = rest.get(1..4)?;
            (Unit::Byte(u8::try_from(number_of(digits, 8)?).ok()?), 4)
        }
        _ => return None,
    };
    Some(found)
}

fn unicode_at(rest: &[u8]) -> Option<(Unit, usize)> {
    if rest.get(2) == Some(&b'{') {
        let body = rest.get(3..rest.len().min(11))?;
        let end = memchr::memchr(b'}', body)?;
        let code = number_of(body.get(..end)?, 16)?;
        return Some((Unit::Char(char::from_u32(code)?), end + 4));
    }
    let high = number_of(rest.get(2..6)?, 16)?;
    if let Some(char) = char::from_u32(high) {
        return Some((Unit::Char(char), 6));
    }
    let low = match rest.get(6..12)? {
        [b'\\', b'u', digits @ ..] => number_of(digits, 16)?,
        _ => return None,
    };
    let code = 0x10000 + (high.checked_sub(0xD800)? << 10) + low.checked_sub(0xDC00)?;
    Some((Unit::Char(char::from_u32(code)?), 12))
}

/// Reads `U+0041`, with a space or comma behind it, which stands between two of them.
fn point_at(rest: &[u8]) -> Option<(char, usize)> {
    let digits = rest.get(2..rest.len().min(8))?;
    let count = digits
        .iter()
        .take_while(|byte| byte.is_ascii_hexdigit())
        .count();
    let code = number_of(digits.get(..count).filter(|digits| digits.len() >= 4)?, 16)?;
    let behind = usize::from(matches!(rest.get(2 + count), Some(b' ' | b',')));
    Some((char::from_u32(code)?, 2 + count + behind))
}

/// Undoes backslash escapes and `U+` notation.
pub(super) fn backslash(bytes: &[u8]) -> Option<Vec<u8>> {
    replaced(bytes, |rest| match rest.first() {
        Some(b'\\') => backslash_at(rest),
        Some(b'U') if rest.get(1) == Some(&b'+') => {
            point_at(rest).map(|(char, length)| (Unit::Char(char), length))
        }
        _ => None,
    })
}

/// Reads `=41` or a soft line break (RFC 2045, 6.7).
fn quoted_at(rest: &[u8]) -> Option<(Unit, usize)> {
    match *rest {
        [b'=', b'\n', ..] => Some((Unit::Nothing, 2)),
        [b'=', b'\r', b'\n', ..] => Some((Unit::Nothing, 3)),
        [b'=', high, low, ..] if !high.is_ascii_lowercase() && !low.is_ascii_lowercase() => {
            byte_of(&[high, low]).map(|byte| (Unit::Byte(byte), 3))
        }
        _ => None,
    }
}

/// Tells whether an escape is rather the value of a setting, as in `status=200 took=46ms`: a number
/// behind a name that neither is next to another escape nor stands for what has to be escaped.
fn is_setting(text: &[u8], at: usize, unit: &Unit) -> bool {
    let Unit::Byte(byte) = unit else {
        return false;
    };
    let next = text.get(at + 3);
    let digit = |place: usize| text.get(place).is_some_and(u8::is_ascii_digit);
    let named = at
        .checked_sub(1)
        .and_then(|before| text.get(before))
        .is_some_and(|before| before.is_ascii_alphanumeric() || *before == b'_');
    let behind = |before: usize| text.get(before) == Some(&b'=');
    let alone = next != Some(&b'=') && !at.checked_sub(3).is_some_and(behind);
    let needed = !byte.is_ascii_graphic() && !digit(at + 3) || *byte == b'=';
    named
        && alone
        && !needed
        && digit(at + 1)
        && (digit(at + 2) || next.is_some_and(u8::is_ascii_hexdigit))
}

/// Undoes quoted-printable.
pub(super) fn quoted_printable(bytes: &[u8]) -> Option<Vec<u8>> {
    replaced(bytes, quoted_at)
}
