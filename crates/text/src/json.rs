//! One strict pass over a JSON text: grammar, UTF-8, nesting, duplicate keys.
//!
//! The pass is linear but for objects with many keys, whose keys are sorted once. Everything that
//! reads a JSON text after this pass (`members`, `leaves`) may rely on it being well-formed.

use std::borrow::Cow;
use std::fmt;

use crate::bits::BLOCK;

/// The bounds under which a text is read.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How deep arrays and objects may nest.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { depth: 128 }
    }
}

/// Why a text was refused, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong.
    pub kind: FaultKind,
    /// The byte at which it was seen.
    pub at: usize,
}

/// What can be wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The bytes are not UTF-8.
    NotUtf8,
    /// The grammar was broken; says what was expected.
    Syntax(&'static str),
    /// The nesting is deeper than the limit.
    TooDeep(usize),
    /// One object has the same key twice, compared unescaped.
    DuplicateKey(String),
    /// Two keys of one object are the same under case or Unicode folding.
    TwinKeys(String, String),
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            FaultKind::NotUtf8 => write!(formatter, "invalid UTF-8"),
            FaultKind::Syntax(expected) => write!(formatter, "invalid JSON: expected {expected}"),
            FaultKind::TooDeep(limit) => {
                write!(formatter, "JSON is nested deeper than {limit} levels")
            }
            FaultKind::DuplicateKey(key) => write!(formatter, "duplicate key `{key}`"),
            FaultKind::TwinKeys(one, other) => {
                write!(
                    formatter,
                    "keys `{one}` and `{other}` differ only in case or Unicode form"
                )
            }
        }?;
        write!(formatter, " at byte {}", self.at)
    }
}

impl std::error::Error for Fault {}

/// Open keys, arrays and objects for which there is room from the start: few messages have more.
const USUAL: usize = 16;

/// Checks that `text` is one strict JSON value.
pub fn check(text: &[u8], limits: Limits) -> Result<&str, Fault> {
    let valid = std::str::from_utf8(text).map_err(|fault| Fault {
        kind: FaultKind::NotUtf8,
        at: fault.valid_up_to(),
    })?;
    let mut scan = Scan {
        text,
        at: 0,
        limits,
        keys: Vec::with_capacity(USUAL),
        open: Vec::with_capacity(USUAL),
    };
    scan.run()?;
    Ok(valid)
}

/// Undoes the escapes of a string's inner bytes; the text must have passed [`check`].
pub fn unescape(inner: &str) -> Cow<'_, str> {
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Cow::Borrowed(inner);
    }
    let mut plain = String::with_capacity(inner.len());
    let mut rest = inner.chars();
    while let Some(char) = rest.next() {
        if char != '\\' {
            plain.push(char);
            continue;
        }
        match rest.next() {
            Some('n') => plain.push('\n'),
            Some('t') => plain.push('\t'),
            Some('r') => plain.push('\r'),
            Some('b') => plain.push('\u{8}'),
            Some('f') => plain.push('\u{c}'),
            Some('u') => plain.push(unicode_escape(&mut rest)),
            Some(other) => plain.push(other),
            None => {}
        }
    }
    Cow::Owned(plain)
}

fn unicode_escape(rest: &mut std::str::Chars<'_>) -> char {
    let high = hex4(rest);
    if !(0xD800..0xDC00).contains(&high) {
        return char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER);
    }
    // `check` makes sure that a low surrogate follows; what was not checked may have half a pair,
    // and what stands behind that is another character.
    let mut ahead = rest.clone();
    let escaped = ahead.next() == Some('\\') && ahead.next() == Some('u');
    let low = if escaped { hex4(&mut ahead) } else { 0 };
    if !(0xDC00..0xE000).contains(&low) {
        return char::REPLACEMENT_CHARACTER;
    }
    *rest = ahead;
    let code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
    char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn hex4(rest: &mut std::str::Chars<'_>) -> u32 {
    (0..4).fold(0, |code, _| {
        code << 4
            | rest
                .next()
                .and_then(|digit| digit.to_digit(16))
                .unwrap_or(0)
    })
}

/// An open array or object.
enum Open {
    Array,
    /// The object's first key in `Scan::keys`.
    Object(usize),
}

struct Scan<'a> {
    text: &'a [u8],
    at: usize,
    limits: Limits,
    /// The keys of all open objects, innermost last.
    keys: Vec<Inner>,
    open: Vec<Open>,
}

/// The inside of a string.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Inner {
    from: usize,
    to: usize,
    escaped: bool,
}

/// What the scan looks for next.
enum Next {
    Value,
    AfterValue,
}

impl Scan<'_> {
    fn run(&mut self) -> Result<(), Fault> {
        let mut next = Next::Value;
        loop {
            self.space();
            next = match next {
                Next::Value => self.value()?,
                Next::AfterValue => match self.after_value()? {
                    Some(next) => next,
                    None => return Ok(()),
                },
            };
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    fn fault<T>(&self, expected: &'static str) -> Result<T, Fault> {
        Err(Fault {
            kind: FaultKind::Syntax(expected),
            at: self.at,
        })
    }

    fn value(&mut self) -> Result<Next, Fault> {
        match self.peek() {
            Some(b'{') => return self.open_object(),
            Some(b'[') => return self.open_array(),
            Some(b'"') => {
                self.string()?;
            }
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b't') => self.word(b"true")?,
            Some(b'f') => self.word(b"false")?,
            Some(b'n') => self.word(b"null")?,
            _ => return self.fault("a value"),
        }
        Ok(Next::AfterValue)
    }

    fn deeper(&mut self, open: Open) -> Result<(), Fault> {
        if self.open.len() >= self.limits.depth {
            return Err(Fault {
                kind: FaultKind::TooDeep(self.limits.depth),
                at: self.at,
            });
        }
        self.open.push(open);
        self.at += 1;
        self.space();
        Ok(())
    }

    fn open_array(&mut self) -> Result<Next, Fault> {
        self.deeper(Open::Array)?;
        if self.peek() == Some(b']') {
            self.at += 1;
            self.open.pop();
            return Ok(Next::AfterValue);
        }
        Ok(Next::Value)
    }

    fn open_object(&mut self) -> Result<Next, Fault> {
        self.deeper(Open::Object(self.keys.len()))?;
        if self.peek() == Some(b'}') {
            self.at += 1;
            self.open.pop();
            return Ok(Next::AfterValue);
        }
        self.key()?;
        Ok(Next::Value)
    }

    fn key(&mut self) -> Result<(), Fault> {
        if self.peek() != Some(b'"') {
            return self.fault("a key in quotes");
        }
        let key = self.string()?;
        self.keys.push(key);
        self.space();
        if self.peek() != Some(b':') {
            return self.fault("`:`");
        }
        self.at += 1;
        Ok(())
    }

    /// Handles what may follow a value; nothing is left once the outermost value is closed.
    fn after_value(&mut self) -> Result<Option<Next>, Fault> {
        let byte = self.peek();
        match (self.open.last(), byte) {
            (None, None) => Ok(None),
            (None, Some(_)) => self.fault("the end of the text"),
            (Some(Open::Array), Some(b',')) => {
                self.at += 1;
                Ok(Some(Next::Value))
            }
            (Some(Open::Object(_)), Some(b',')) => {
                self.at += 1;
                self.space();
                self.key()?;
                Ok(Some(Next::Value))
            }
            (Some(Open::Array), Some(b']')) => {
                self.at += 1;
                self.open.pop();
                Ok(Some(Next::AfterValue))
            }
            (Some(&Open::Object(first)), Some(b'}')) => {
                self.distinct(first)?;
                self.keys.truncate(first);
                self.at += 1;
                self.open.pop();
                Ok(Some(Next::AfterValue))
            }
            (Some(Open::Array), _) => self.fault("`,` or `]`"),
            (Some(Open::Object(_)), _) => self.fault("`,` or `}`"),
        }
    }

    /// Checks that the keys from `first` on are distinct: pairwise while few, sorted when many.
    fn distinct(&self, first: usize) -> Result<(), Fault> {
        let keys = self.keys.get(first..).unwrap_or_default();
        if keys.len() < 2 {
            return Ok(());
        }
        if keys.len() <= 8 {
            for (index, &key) in keys.iter().enumerate() {
                let earlier = keys.get(..index).unwrap_or_default();
                if earlier.iter().any(|&other| self.same(key, other)) {
                    return self.duplicate(key);
                }
            }
            return Ok(());
        }
        let mut sorted: Vec<_> = keys.iter().map(|&key| (self.plain(key), key)).collect();
        sorted.sort_unstable();
        let pair = sorted
            .windows(2)
            .find(|pair| matches!(pair, [(a, _), (b, _)] if a == b));
        match pair {
            Some([_, (_, key)]) => self.duplicate(*key),
            _ => Ok(()),
        }
    }

    fn raw(&self, key: Inner) -> &[u8] {
        self.text.get(key.from..key.to).unwrap_or_default()
    }

    fn plain(&self, key: Inner) -> Cow<'_, str> {
        unescape(std::str::from_utf8(self.raw(key)).unwrap_or_default())
    }

    fn same(&self, one: Inner, other: Inner) -> bool {
        self.raw(one) == self.raw(other)
            || ((one.escaped || other.escaped) && self.plain(one) == self.plain(other))
    }

    fn duplicate(&self, key: Inner) -> Result<(), Fault> {
        Err(Fault {
            kind: FaultKind::DuplicateKey(self.plain(key).chars().take(64).collect()),
            at: key.from,
        })
    }

    /// Passes over a string and returns its inside.
    fn string(&mut self) -> Result<Inner, Fault> {
        self.at += 1;
        let from = self.at;
        let mut escaped = false;
        loop {
            let rest = self.text.get(self.at..).unwrap_or_default();
            let Some(plain) = plain_run(rest) else {
                self.at = self.text.len();
                return self.fault("the end of a string");
            };
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    let to = self.at;
                    self.at += 1;
                    return Ok(Inner { from, to, escaped });
                }
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                _ => return self.fault("an escape instead of a control character"),
            }
        }
    }

    fn escape(&mut self) -> Result<(), Fault> {
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 1;
                Ok(())
            }
            Some(b'u') => {
                self.at += 1;
                let code = self.hex()?;
                match code {
                    0xD800..=0xDBFF => self.low_surrogate(),
                    0xDC00..=0xDFFF => self.fault("a high surrogate before a low one"),
                    _ => Ok(()),
                }
            }
            _ => self.fault("a known escape"),
        }
    }

    fn low_surrogate(&mut self) -> Result<(), Fault> {
        if self.text.get(self.at..self.at + 2) != Some(b"\\u".as_slice()) {
            return self.fault("a low surrogate");
        }
        self.at += 2;
        match self.hex()? {
            0xDC00..=0xDFFF => Ok(()),
            _ => self.fault("a low surrogate"),
        }
    }

    fn hex(&mut self) -> Result<u32, Fault> {
        let mut code = 0;
        for _ in 0..4 {
            let Some(digit) = self.peek().and_then(|byte| char::from(byte).to_digit(16)) else {
                return self.fault("four hexadecimal digits");
            };
            code = code << 4 | digit;
            self.at += 1;
        }
        Ok(code)
    }

    fn digits(&mut self) -> Result<(), Fault> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == start {
            self.fault("a digit")
        } else {
            Ok(())
        }
    }

    fn number(&mut self) -> Result<(), Fault> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn word(&mut self, word: &'static [u8]) -> Result<(), Fault> {
        if self.text.get(self.at..self.at + word.len()) != Some(word) {
            return self.fault("a value");
        }
        self.at += word.len();
        Ok(())
    }
}

/// Returns how many bytes precede the first quote, backslash or control character.
///
/// Long strings are the bulk of what passes here, and of those many bytes are looked at in one go; most
/// strings are short, and end before that is worth it.
fn plain_run(text: &[u8]) -> Option<usize> {
    let (head, rest) = text.split_at_checked(SHORT).unwrap_or((text, &[]));
    if let Some(found) = first_special(head) {
        return Some(found);
    }
    let (blocks, _) = rest.as_chunks::<BLOCK>();
    let plain = blocks.iter().take_while(|block| is_plain(block)).count();
    let passed = head.len() + plain * BLOCK;
    first_special(text.get(passed..)?).map(|found| passed + found)
}

/// The length up to which a string is short.
const SHORT: usize = 24;

/// Returns where the first quote, backslash or control character stands, eight bytes in one step.
fn first_special(text: &[u8]) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let below = |word: u64, bound: u64| word.wrapping_sub(ONES * bound) & !word & HIGHS;
    let (chunks, tail) = text.as_chunks::<8>();
    for (index, chunk) in chunks.iter().enumerate() {
        let word = u64::from_le_bytes(*chunk);
        let special = below(word, 0x20)
            | below(word ^ (ONES * u64::from(b'"')), 1)
            | below(word ^ (ONES * u64::from(b'\\')), 1);
        if special != 0 {
            // Borrows may mark bytes above the first hit, never below it.
            return Some(index * 8 + usize::try_from(special.trailing_zeros() / 8).unwrap_or(0));
        }
    }
    let done = chunks.len() * 8;
    tail.iter()
        .position(|&byte| byte < 0x20 || byte == b'"' || byte == b'\\')
        .map(|at| done + at)
}

/// Tells whether there is no quote, backslash or control character, without an early exit, so that the
/// compiler does many bytes in one go.
fn is_plain(block: &[u8; BLOCK]) -> bool {
    let special =
        |byte: u8| u8::from(byte < 0x20) | u8::from(byte == b'"') | u8::from(byte == b'\\');
    block.iter().fold(0, |any, &byte| any | special(byte)) == 0
}

#[cfg(test)]
mod tests;
