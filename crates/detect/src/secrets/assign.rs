//! Finds `name = value` in any of its spellings: configuration files, JSON (escaped too), source
//! code, flags, markup, headers, and plain sentences. What the name and the value amount to is
//! judged elsewhere, and which words lead from one to the other stands in `tell`.

use std::ops::Range;

use super::tell;

/// A longer name is not one.
const NAME: usize = 80;
/// A longer quoted value is a document.
const QUOTED: usize = 4096;
/// A longer value without quotes is not one.
const UNQUOTED: usize = 512;
/// How much white space may stand around an operator.
const GAP: usize = 16;

/// The colon of Chinese and Japanese, which no space follows.
const WIDE_COLON: &[u8] = "：".as_bytes();

/// How surely a value belongs to the name before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bond {
    /// An operator stands between them.
    Firm,
    /// Words of a sentence lead from one to the other.
    Told,
    /// Nothing but a space stands between them.
    Loose,
}

/// Where name and value of an assignment stand.
#[derive(Clone, Debug)]
pub(super) struct Assignment {
    pub(super) name: Range<usize>,
    pub(super) value: Range<usize>,
    pub(super) bond: Bond,
}

/// Words that make one name with their neighbours: `vultr api key`, `personal access token`.
const PARTS: &[&str] = &[
    "api",
    "access",
    "secret",
    "private",
    "auth",
    "client",
    "app",
    "service",
    "server",
    "account",
    "key",
    "token",
    "password",
    "admin",
    "master",
    "signing",
    "encryption",
    "integration",
    "deploy",
    "project",
    "personal",
    "refresh",
    "license",
    "subscription",
    "webhook",
    "session",
    "bot",
    "user",
    "http",
    "specific",
    "application",
    "root",
    "database",
    "db",
    "mot",
    "de",
    "palavra",
    "kata",
];

/// Returns the whole name around a keyword, with the words beside it that belong to it.
pub(super) fn name_around(bytes: &[u8], hit: &Range<usize>) -> Range<usize> {
    let mut name = word_around(bytes, hit);
    for _ in 0..4 {
        match word_after(bytes, name.end) {
            Some(end) => name.end = end,
            None => break,
        }
    }
    for _ in 0..3 {
        match word_before(bytes, name.start) {
            Some(start) => name.start = start,
            None => break,
        }
    }
    name
}

/// Returns where the word ends that continues a name after a space.
fn word_after(bytes: &[u8], end: usize) -> Option<usize> {
    let rest = bytes.get(end..)?.strip_prefix(b" ")?;
    let length = rest
        .iter()
        .take(16)
        .take_while(|byte| byte.is_ascii_alphabetic())
        .count();
    is_part(rest.get(..length)?).then_some(end + 1 + length)
}

/// Returns where the word starts that a name continues after a space.
fn word_before(bytes: &[u8], start: usize) -> Option<usize> {
    let rest = bytes.get(..start)?.strip_suffix(b" ")?;
    let length = rest
        .iter()
        .rev()
        .take(16)
        .take_while(|byte| byte.is_ascii_alphabetic())
        .count();
    let word = rest.len() - length;
    is_part(rest.get(word..)?).then_some(word)
}

fn is_part(word: &[u8]) -> bool {
    PARTS
        .iter()
        .any(|part| part.as_bytes().eq_ignore_ascii_case(word))
}

fn word_around(bytes: &[u8], hit: &Range<usize>) -> Range<usize> {
    let before = bytes.get(..hit.start).unwrap_or_default();
    let back = before
        .iter()
        .rev()
        .take(NAME)
        .take_while(|byte| in_name(**byte))
        .count();
    let after = bytes.get(hit.end..).unwrap_or_default();
    let ahead = after.iter().take_while(|byte| in_name(**byte)).count();
    let tail = after.get(..ahead).unwrap_or_default();
    let ahead = memchr::memmem::find(tail, WIDE_COLON).unwrap_or(ahead);
    let tail = tail.get(..ahead).unwrap_or_default();
    let stops = tail
        .iter()
        .rev()
        .take_while(|byte| matches!(byte, b'.' | b'-'))
        .count();
    hit.start - back..hit.end + ahead - stops
}

fn in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.') || byte >= 0x80
}

/// Reads on behind a name and returns the assignment, if it is one.
pub(super) fn read(bytes: &[u8], name: &Range<usize>) -> Option<Assignment> {
    if name.len() > NAME {
        return None;
    }
    let before = |distance| {
        name.start
            .checked_sub(distance)
            .and_then(|at| bytes.get(at))
            .copied()
    };
    let flagged = before(1) == Some(b'-') || bytes.get(name.start) == Some(&b'-');
    let tagged = before(1) == Some(b'<');
    let mut cursor = Cursor {
        bytes,
        at: name.end,
    };
    let closed = cursor.skip(4, |byte| matches!(byte, b'"' | b'\'' | b'`' | b']' | b'\\')) > 0;
    let operator = cursor.operator(Around {
        closed,
        flagged,
        tagged,
    })?;
    cursor.skip(GAP, |byte| matches!(byte, b' ' | b'\t'));
    let value = cursor.value(operator)?;
    Some(Assignment {
        name: name.clone(),
        value,
        bond: match operator {
            Operator::Plain | Operator::Call | Operator::Tag => Bond::Firm,
            Operator::Told => Bond::Told,
            Operator::Loose => Bond::Loose,
        },
    })
}

/// What stands around a name.
#[derive(Clone, Copy)]
struct Around {
    /// A quote or bracket behind it.
    closed: bool,
    /// A dash before it.
    flagged: bool,
    /// An angle bracket before it.
    tagged: bool,
}

/// What stands between name and value, as far as the value's form depends on it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operator {
    /// The value may stand with or without quotes.
    Plain,
    /// Only a quoted value counts: an argument, or what follows a type.
    Call,
    /// The end of a tag: the value goes up to the next one.
    Tag,
    /// Words such as `was changed to`: the value must be no further word.
    Told,
    /// A space: the value has to speak for itself.
    Loose,
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn rest(&self) -> &[u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    fn skip(&mut self, most: usize, wanted: impl Fn(u8) -> bool) -> usize {
        let count = self
            .rest()
            .iter()
            .take(most)
            .take_while(|byte| wanted(**byte))
            .count();
        self.at += count;
        count
    }

    fn operator(&mut self, around: Around) -> Option<Operator> {
        let spaces = self.skip(GAP, |byte| matches!(byte, b' ' | b'\t'));
        match self.rest() {
            [b':', b':', ..] => None,
            [b'=', b'=', b'=', ..] => self.advance(3, Operator::Plain),
            [b'-' | b'=', b'>', ..] | [b':' | b'!' | b'?' | b'+' | b'=', b'=', ..] => {
                self.advance(2, Operator::Plain)
            }
            [b'=', ..] => self.advance(1, Operator::Plain),
            [b':', ..] => {
                self.at += 1;
                Some(self.annotation())
            }
            [b'>', ..] if around.tagged => self.advance(1, Operator::Tag),
            [b',', ..] if around.closed => match self.paired() {
                Some(by) => self.advance(by, Operator::Plain),
                None => self.advance(1, Operator::Call),
            },
            [b'(', ..] => self.advance(1, Operator::Call),
            [0xEF, 0xBC, 0x9A, ..] => self.advance(WIDE_COLON.len(), Operator::Plain),
            rest if spaces > 0
                && let Some((length, words)) = tell::lead(rest) =>
            {
                // One word is all that some write for a colon.
                let plain = words == 1 && matches!(rest, [b'i', b's', ..] | [b'w', b'a', b's', ..]);
                let operator = if plain {
                    Operator::Plain
                } else {
                    Operator::Told
                };
                self.advance(length, operator)
            }
            _ if around.flagged && spaces > 0 => Some(Operator::Plain),
            [first, ..] => {
                let loose = spaces > 0 && !around.closed && first.is_ascii_alphanumeric();
                match self.paired() {
                    Some(by) => self.advance(by, Operator::Plain),
                    None => loose.then_some(Operator::Loose),
                }
            }
            [] => None,
        }
    }

    #[expect(
        clippy::unnecessary_wraps,
        reason = "keeps the arms of the operator table one line each"
    )]
    fn advance(&mut self, by: usize, operator: Operator) -> Option<Operator> {
        self.at += by;
        Some(operator)
    }

    /// Returns the length of `value:` or `value=`, which in lists of pairs stands between the name,
    /// itself a value, and what it is assigned.
    fn paired(&self) -> Option<usize> {
        let glue =
            |byte: &&u8| byte.is_ascii_whitespace() || matches!(byte, b',' | b'"' | b'\'' | b'\\');
        let rest = self.rest();
        let skipped = rest.iter().take(40).take_while(glue).count();
        let (word, tail) = rest.get(skipped..)?.split_at_checked(5)?;
        let gap = tail.iter().take(8).take_while(glue).count();
        let assigned = matches!(tail.get(gap), Some(b':' | b'='));
        (assigned && word.eq_ignore_ascii_case(b"value")).then_some(skipped + 5 + gap + 1)
    }

    /// Passes over a type between a colon and an equals sign: `password: &str = "..."`.
    fn annotation(&mut self) -> Operator {
        let typed = |byte: &&u8| byte.is_ascii_alphanumeric() || b" &'_<>[]?.:|".contains(byte);
        let count = self.rest().iter().take(40).take_while(typed).count();
        match self.rest().get(count..) {
            Some([b'=', next, ..]) if count > 0 && *next != b'=' => {
                self.at += count + 1;
                Operator::Call
            }
            _ => Operator::Plain,
        }
    }

    fn value(&mut self, operator: Operator) -> Option<Range<usize>> {
        // Prefixes of string literals: b"", r"", @"", $"".
        if let [prefix, b'"' | b'\'', ..] = self.rest()
            && b"brfuLBR@$".contains(prefix)
        {
            self.at += 1;
        }
        match self.rest() {
            [b'"' | b'\'' | b'`', ..] => self.quoted(1),
            [b'\\', b'"' | b'\'', ..] => self.quoted(2),
            _ if operator == Operator::Call => None,
            _ => self.unquoted().filter(|value| {
                operator != Operator::Tag || self.bytes.get(value.end) == Some(&b'<')
            }),
        }
    }

    /// Reads up to the closing quote, which is escaped if the opening one was.
    fn quoted(&mut self, opening: usize) -> Option<Range<usize>> {
        self.at += opening;
        let quote = *self.bytes.get(self.at.checked_sub(1)?)?;
        let rest = self.rest();
        let window = rest.get(..QUOTED.min(rest.len()))?;
        let end = memchr::memchr2(quote, b'\n', window)?;
        let end = if opening == 2 && window.get(end.wrapping_sub(1)) == Some(&b'\\') {
            end - 1
        } else {
            end
        };
        (end > 0 && window.get(end) != Some(&b'\n')).then_some(self.at..self.at + end)
    }

    fn unquoted(&self) -> Option<Range<usize>> {
        let rest = self.rest();
        let stops = |byte: &u8| *byte == b'=' || ends_value(*byte);
        let mut end = rest
            .iter()
            .take(UNQUOTED)
            .position(stops)
            .unwrap_or(rest.len());
        if end > UNQUOTED {
            return None;
        }
        // An equals sign belongs to a value only as padding; else a new assignment begins there.
        let padding = rest
            .get(end..)?
            .iter()
            .take(3)
            .take_while(|byte| **byte == b'=')
            .count();
        if rest.get(end + padding).is_none_or(|byte| ends_value(*byte)) {
            end += padding;
        }
        let run = rest.get(..end)?;
        end -= run
            .iter()
            .rev()
            .take_while(|byte| matches!(byte, b'.' | b':'))
            .count();
        (end > 0).then_some(self.at..self.at + end)
    }
}

/// Whether a value without quotes ends before a byte. One look at a table for each byte: values are
/// read wherever a name promises a secret, which words of prose do too.
fn ends_value(byte: u8) -> bool {
    ENDS.get(usize::from(byte)).copied().unwrap_or(false)
}

const ENDS: [bool; 256] = ends();

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated when compiled; a wrong index does not build"
)]
const fn ends() -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        table[byte as usize] = byte.is_ascii_whitespace()
            || matches!(
                byte,
                b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\' | b',' | b';' | b')' | b']' | b'}' | b'&'
            );
        byte += 1;
    }
    table
}
