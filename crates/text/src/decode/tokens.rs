//! Long runs of letters and digits: base64, base32 and hexadecimal, and what only looks so.
//!
//! The pass looks at sixty-four bytes in one go, and closer only where twelve in a row belong to an
//! alphabet. A first opinion on two dozen bytes of output decides whether a run is worth decoding.

use std::ops::Range;

use super::alphabets;
use super::inflate::{inflate, may_be_deflate};
use super::mirror;
use super::plausible::{PEEK, Promise, media, promise};
use super::{Coding, Found, Opaque, Run};
use crate::bits::{self, BLOCK};

/// Shortest run with padding behind it.
const SHORTEST: usize = 12;
/// Shortest run without padding.
const SHORTEST_BARE: usize = 16;
/// Shortest line that a longer run may be wrapped in.
const SHORTEST_LINE: usize = 40;
/// Digits that are enough for a first opinion on what they spell.
const HEAD: usize = PEEK * 2;
/// Shortest run that is called opaque, in decoded bytes.
const SHORTEST_OPAQUE: usize = 32;

const LOWER: u8 = 1;
const UPPER: u8 = 2;
const DIGIT: u8 = 4;
const STANDARD: u8 = 8;
const URL: u8 = 16;
/// Set for what is no hexadecimal digit, and for what is no base32 digit in either case.
const NOT_HEX: u8 = 32;
const NOT_32: u8 = 64;

const CLASS: [u8; 256] = classes();

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated when compiled; a wrong index does not build"
)]
const fn classes() -> [u8; 256] {
    let mut table = [0; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        let kind = match byte {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0' | b'1' | b'8' | b'9' => DIGIT | NOT_32,
            b'2'..=b'7' => DIGIT,
            b'+' | b'/' => STANDARD | NOT_32,
            b'-' | b'_' => URL | NOT_32,
            _ => 0,
        };
        let other = if kind == 0 || byte.is_ascii_hexdigit() {
            0
        } else {
            NOT_HEX
        };
        table[byte as usize] = kind | other;
        byte += 1;
    }
    table
}

fn class(byte: u8) -> u8 {
    CLASS.get(usize::from(byte)).copied().unwrap_or(0)
}

/// One for what belongs to a token and zero for any other byte, as `class` has it.
fn flag(byte: u8) -> u8 {
    let joint = byte == b'+' || byte == b'/' || byte == b'-' || byte == b'_';
    bits::alphanumeric(byte) | u8::from(joint)
}

/// Adds the runs of `text` that spell bytes.
pub(super) fn find(text: &[u8], found: &mut Found) {
    let mut tokens = Tokens::new(text);
    let mut at = 0;
    while let Some(span) = tokens.next(at) {
        at = token(text, span, found) + 1;
    }
}

/// Goes from token to token, sixty-four bytes at a time.
struct Tokens<'a> {
    text: &'a [u8],
    /// The block that was looked at last: where it begins, and one bit for each byte of a token.
    base: usize,
    bits: u64,
}

impl<'a> Tokens<'a> {
    fn new(text: &'a [u8]) -> Self {
        let bits = bits::mask(&bits::block(text, 0), flag);
        Self {
            text,
            base: 0,
            bits,
        }
    }

    /// Looks at the block that begins at `base`.
    fn look(&mut self, base: usize) -> u64 {
        if base != self.base {
            self.base = base;
            self.bits = bits::mask(&bits::block(self.text, base), flag);
        }
        self.bits
    }

    /// Returns the next token that is long enough, at or after `from`.
    fn next(&mut self, from: usize) -> Option<Range<usize>> {
        let mut base = from - from % BLOCK;
        let mut before = 0;
        while base < self.text.len() {
            let mut tokens = self.look(base);
            if base < from {
                tokens &= u64::MAX << (from - base);
            }
            // The last bits of the block before come first, since a token may begin there.
            let window = u128::from(tokens) << (SHORTEST - 1) | before;
            let pairs = window & window >> 1;
            let fours = pairs & pairs >> 2;
            let starts = fours & fours >> 4 & fours >> 8;
            if starts != 0 {
                let last = base + starts.trailing_zeros() as usize;
                return Some(last + 1 - SHORTEST..self.end(last));
            }
            before = u128::from(tokens >> (BLOCK + 1 - SHORTEST));
            base += BLOCK;
        }
        None
    }

    /// Returns where the token ends that has the byte at `from`.
    fn end(&mut self, from: usize) -> usize {
        let mut base = from - from % BLOCK;
        let mut gaps = !self.look(base) & u64::MAX << (from % BLOCK);
        while gaps == 0 {
            base += BLOCK;
            gaps = !self.look(base);
        }
        base + gaps.trailing_zeros() as usize
    }
}

/// Returns where the token ends that goes on at `from`, at `most` at the latest.
fn token_end(text: &[u8], from: usize, most: usize) -> usize {
    let mut at = from;
    while at < most {
        let gaps = !bits::mask(&bits::block(text, at), flag);
        if gaps != 0 {
            return most.min(at + gaps.trailing_zeros() as usize);
        }
        at += BLOCK;
    }
    most
}

/// Judges one token and returns where the pass goes on, which is behind the lines it is wrapped in.
fn token(text: &[u8], span: Range<usize>, found: &mut Found) -> usize {
    let padding = |at: usize| {
        let rest = text.get(at..).unwrap_or_default();
        rest.iter()
            .take(6)
            .take_while(|&&byte| byte == b'=')
            .count()
    };
    let mut end = span.end;
    let width = span.len();
    if width >= SHORTEST_LINE {
        while let Some(line) = next_line(text, end, width) {
            end = line.end;
            if line.len() < width {
                break;
            }
        }
    }
    let padded = padding(end);
    if padded > 0 || span.len() >= SHORTEST_BARE {
        judge(text, span.start..end, padded, found);
    }
    end + padded
}

/// Returns the token that makes up the whole next line, if it can continue a wrapped one.
fn next_line(text: &[u8], end: usize, width: usize) -> Option<Range<usize>> {
    let rest = text.get(end..)?;
    let first = match *rest {
        [b'\n', ..] => 1,
        [b'\r', b'\n', ..] => 2,
        _ => return None,
    };
    let indent = rest.get(first..)?.iter().take(16);
    let indent = indent
        .take_while(|&&byte| matches!(byte, b' ' | b'\t'))
        .count();
    let start = end + first + indent;
    // INVARIANT: no line is looked at beyond the width, so that wrapping stays linear.
    let stop = token_end(text, start, (start + width + 1).min(text.len()));
    let closes = !matches!(text.get(stop), Some(b' ' | b'.' | b':' | b','));
    (stop > start && stop - start <= width && closes).then_some(start..stop)
}

/// The kinds of all the characters of a run. Of data the first few have most of them, and what may
/// be new in the rest is told in fewer steps.
fn kinds(bytes: &[u8]) -> u8 {
    const USUAL: u8 = LOWER | UPPER | DIGIT | NOT_HEX | NOT_32;
    let (head, rest) = bytes.split_at_checked(BLOCK).unwrap_or((bytes, &[]));
    let kinds = every_kind(head);
    let more = if kinds & USUAL == USUAL {
        joints(rest)
    } else {
        every_kind(rest)
    };
    kinds | more
}

/// The kinds of some characters, without a jump, so that many are done in one go.
fn every_kind(bytes: &[u8]) -> u8 {
    let (blocks, rest) = bytes.as_chunks::<16>();
    let mut all = [0; 16];
    for block in blocks {
        for (all, byte) in all.iter_mut().zip(block) {
            *all |= kind(*byte);
        }
    }
    let rest = rest.iter().fold(0, |kinds, &byte| kinds | class(byte));
    all.iter().fold(rest, |kinds, kind| kinds | kind)
}

/// Which kinds there are among characters that are neither letters nor digits.
fn joints(bytes: &[u8]) -> u8 {
    let (mut standard, mut url) = (0, 0);
    for &byte in bytes {
        standard |= u8::from(byte == b'+') | u8::from(byte == b'/');
        url |= u8::from(byte == b'-') | u8::from(byte == b'_');
    }
    (standard * STANDARD) | (url * URL)
}

/// What `class` says of a character, by comparing alone.
fn kind(byte: u8) -> u8 {
    let is = |so: bool, class: u8| if so { class } else { 0 };
    let lower = byte.wrapping_sub(b'a') < 26;
    let upper = byte.wrapping_sub(b'A') < 26;
    let digit = byte.wrapping_sub(b'0') < 10;
    let standard = byte == b'+' || byte == b'/';
    let url = byte == b'-' || byte == b'_';
    let letter = lower || upper;
    let hex = digit || (byte | 0x20).wrapping_sub(b'a') < 6;
    let base32 = letter || byte.wrapping_sub(b'2') < 6;
    let token = letter || digit || standard || url;
    is(lower, LOWER)
        | is(upper, UPPER)
        | is(digit, DIGIT)
        | is(standard, STANDARD)
        | is(url, URL)
        | is(token && !hex, NOT_HEX)
        | is(token && !base32, NOT_32)
}

/// What kinds of characters a run has.
struct Shape<'a> {
    bytes: &'a [u8],
    kinds: u8,
    length: usize,
}

impl<'a> Shape<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            kinds: kinds(bytes),
            length: bytes.len(),
        }
    }

    /// Tells whether a run looks random, by how often the kind changes at its beginning.
    fn is_random(&self) -> bool {
        if !self.has(LOWER | UPPER | DIGIT) || self.length < 24 {
            return false;
        }
        let head = self.bytes.get(..self.length.min(64)).unwrap_or_default();
        let kind = |byte: u8| class(byte) & (LOWER | UPPER | DIGIT | STANDARD | URL);
        let changes = head.windows(2);
        let changes = changes
            .filter(|pair| matches!(pair, [a, b] if kind(*a) != kind(*b)))
            .count();
        // Names in code change kind at every third character or less, random digits at two of three.
        changes * 12 >= head.len() * 5
    }

    fn has(&self, kinds: u8) -> bool {
        self.kinds & kinds == kinds
    }

    fn lacks(&self, kinds: u8) -> bool {
        self.kinds & kinds == 0
    }
}

/// Judges a run with `padding` characters of padding behind it.
fn judge(text: &[u8], bare: Range<usize>, padding: usize, found: &mut Found) {
    let bytes = text.get(bare.clone()).unwrap_or_default();
    let span = bare.start..bare.end + padding;
    let padded = padding > 0;
    let shape = Shape::of(bytes);
    let prefixed = bytes
        .strip_prefix(b"0x")
        .or_else(|| bytes.strip_prefix(b"0X"));
    let plain = match prefixed {
        Some(digits) => Shape::of(digits).lacks(NOT_HEX | STANDARD | URL),
        None => shape.lacks(NOT_HEX | STANDARD | URL),
    };
    if plain {
        let digits = prefixed.unwrap_or(bytes);
        return known(span, digits, Coding::Hex, true, found);
    }
    let one_case = !shape.has(LOWER | UPPER);
    if one_case
        && shape.lacks(NOT_32)
        && (padded || shape.has(DIGIT) || shape.has(UPPER) || shape.length >= 24)
    {
        let random = shape.has(DIGIT) && shape.length >= SHORTEST_OPAQUE * 2;
        return known(span, bytes, Coding::Base32, random, found);
    }
    if one_case || attempt(span.clone(), bytes, &shape, true, found) {
        return;
    }
    if !shape.lacks(STANDARD | URL) && pieces(text, &bare, found) {
        return;
    }
    let leading = span
        .start
        .checked_sub(1)
        .and_then(|before| text.get(before))
        == Some(&b'=');
    if (shape.is_random() || padded || leading) && mirrored(span.clone(), bytes, found) {
        return;
    }
    if shape.is_random() && shape.length / 4 * 3 >= SHORTEST_OPAQUE {
        opaque(span, shape.length / 4 * 3, found);
    }
}

/// Judges a run whose alphabet leaves no doubt about its coding.
fn known(span: Range<usize>, bytes: &[u8], coding: Coding, random: bool, found: &mut Found) {
    let (decode, length): (Decode, _) = match coding {
        Coding::Hex => (alphabets::hex, bytes.len() / 2),
        _ => (alphabets::base32, bytes.len() / 8 * 5),
    };
    let start = Start::of(coding, bytes);
    let start = start.bytes();
    match promise(start) {
        Promise::Readable => found.runs.push(Run { span, coding }),
        Promise::Media(_) | Promise::Noise if deflated(decode, bytes, start) => {
            found.runs.push(Run { span, coding });
        }
        Promise::Media(kind) => found.opaque.push(Opaque {
            span,
            via: vec![coding],
            bytes: length,
            media: Some(kind),
        }),
        Promise::Noise if turned(coding, bytes) => found.runs.push(Run {
            span,
            coding: Coding::Reversed,
        }),
        Promise::Noise if random && length >= SHORTEST_OPAQUE => opaque(span, length, found),
        Promise::Noise => {}
    }
}

/// Tells whether a run is readable backwards, by its end.
fn turned(coding: Coding, bytes: &[u8]) -> bool {
    let mut backwards = [0; HEAD];
    for (slot, byte) in backwards.iter_mut().zip(bytes.iter().rev()) {
        *slot = *byte;
    }
    let backwards = backwards.get(..bytes.len().min(HEAD));
    let start = Start::of(coding, backwards.unwrap_or_default());
    let start = start.bytes();
    start.len() >= SHORTEST_BARE / 2 && promise(start) == Promise::Readable
}

/// The first bytes that a run spells. Logs have an identifier in every line, so that no memory is
/// taken for hexadecimal digits.
struct Start {
    bytes: [u8; HEAD],
    length: usize,
}

impl Start {
    fn of(coding: Coding, digits: &[u8]) -> Self {
        let digits = digits.get(..digits.len().min(HEAD)).unwrap_or_default();
        let mut bytes = [0; HEAD];
        let length = if coding == Coding::Hex {
            alphabets::hex_into(digits, &mut bytes)
        } else {
            let spelled = alphabets::base32(digits).unwrap_or_default();
            alphabets::copied(&spelled, &mut bytes)
        };
        Self { bytes, length }
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

/// Tries a run as base64, also of a bare stream if it is whole; tells whether it was settled.
fn attempt(
    span: Range<usize>,
    bytes: &[u8],
    shape: &Shape<'_>,
    whole: bool,
    found: &mut Found,
) -> bool {
    if shape.has(STANDARD | URL) || shape.length % 4 == 1 && shape.length < 64 {
        return false;
    }
    let start = alphabets::base64(
        bytes
            .get(..bytes.len().min(PEEK / 3 * 4))
            .unwrap_or_default(),
    );
    let start = start.unwrap_or_default();
    match promise(&start) {
        Promise::Readable => found.runs.push(Run {
            span,
            coding: Coding::Base64,
        }),
        Promise::Media(kind) => found.opaque.push(Opaque {
            span,
            via: vec![Coding::Base64],
            bytes: shape.length / 4 * 3,
            media: media_end(kind, bytes).then_some(kind),
        }),
        Promise::Noise
            if whole && shape.is_random() && deflated(alphabets::base64, bytes, &start) =>
        {
            found.runs.push(Run {
                span,
                coding: Coding::Base64,
            });
        }
        Promise::Noise => return false,
    }
    true
}

/// Tells whether media also ends as its kind ends, where its kind has an end.
fn media_end(kind: &str, bytes: &[u8]) -> bool {
    let tail = bytes.len().saturating_sub(24);
    let tail = bytes.get(tail - tail % 4..).unwrap_or_default();
    let tail = alphabets::base64(tail).unwrap_or_default();
    match kind {
        "png" => memchr::memmem::find(&tail, b"IEND").is_some(),
        "jpeg" => memchr::memmem::find(&tail, b"\xFF\xD9").is_some(),
        "gif" => tail.contains(&0x3B),
        "pdf" => memchr::memmem::find(&tail, b"%EOF").is_some(),
        _ => true,
    }
}

/// Tells whether the output is a bare DEFLATE stream of text, by inflating its beginning; `start` is
/// what the first digits spell, which is enough to tell most that is no stream.
fn deflated(decode: Decode, bytes: &[u8], start: &[u8]) -> bool {
    if !may_be_deflate(start) {
        return false;
    }
    let head = bytes.get(..bytes.len().min(256)).unwrap_or_default();
    let Some(start) = decode(head).filter(|start| media(start).is_none()) else {
        return false;
    };
    let made = inflate(Coding::Deflate, &start, 256).bytes;
    made.len() >= PEEK && promise(&made) == Promise::Readable
}

/// Tries the parts of a path or of a compound name; tells whether any was settled.
fn pieces(text: &[u8], span: &Range<usize>, found: &mut Found) -> bool {
    let before = found.runs.len() + found.opaque.len();
    split(text, span, *b"+/", &mut |outer, settled| {
        let shape = Shape::of(text.get(outer.clone()).unwrap_or_default());
        if settled(&outer, &shape, found) || shape.lacks(URL) {
            return;
        }
        split(text, &outer, *b"-_", &mut |inner, settled| {
            let shape = Shape::of(text.get(inner.clone()).unwrap_or_default());
            settled(&inner, &shape, found);
        });
    });
    found.runs.len() + found.opaque.len() > before
}

type Decode = fn(&[u8]) -> Option<Vec<u8>>;
type Settled<'a> = &'a dyn Fn(&Range<usize>, &Shape<'_>, &mut Found) -> bool;

/// Hands on each part between two characters.
fn split(
    text: &[u8],
    span: &Range<usize>,
    [one, other]: [u8; 2],
    each: &mut dyn FnMut(Range<usize>, Settled<'_>),
) {
    let settled = |part: &Range<usize>, shape: &Shape<'_>, found: &mut Found| {
        let bytes = text.get(part.clone()).unwrap_or_default();
        if shape.lacks(NOT_HEX) {
            let before = found.runs.len();
            known(part.clone(), bytes, Coding::Hex, false, found);
            return found.runs.len() > before;
        }
        shape.has(LOWER | UPPER) && attempt(part.clone(), bytes, shape, false, found)
    };
    let mut start = span.start;
    let whole = text.get(span.clone()).unwrap_or_default();
    let joints = memchr::memchr2_iter(one, other, whole).map(|at| span.start + at);
    for end in joints.chain([span.end]) {
        if end - start >= SHORTEST_BARE {
            each(start..end, &settled);
        }
        start = end + 1;
    }
}

/// Tries a run backwards and moved by thirteen; what comes out is looked at again.
fn mirrored(span: Range<usize>, bytes: &[u8], found: &mut Found) -> bool {
    let head = PEEK / 3 * 4;
    let tail = bytes
        .get(bytes.len().saturating_sub(head)..)
        .unwrap_or_default();
    let backwards: Vec<u8> = tail.iter().rev().copied().collect();
    let moved = mirror::rot13(bytes.get(..bytes.len().min(head)).unwrap_or_default());
    for (start, coding) in [(backwards, Coding::Reversed), (moved, Coding::Rot13)] {
        let start = alphabets::base64(&start).unwrap_or_default();
        if start.len() >= SHORTEST_BARE / 4 * 3 && promise(&start) == Promise::Readable {
            found.runs.push(Run { span, coding });
            return true;
        }
    }
    false
}

fn opaque(span: Range<usize>, bytes: usize, found: &mut Found) {
    found.opaque.push(Opaque {
        span,
        via: Vec::new(),
        bytes,
        media: None,
    });
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn comparing_says_what_the_table_says() {
        for byte in 0..=u8::MAX {
            assert_eq!(kind(byte), class(byte), "{byte}");
            assert_eq!(flag(byte) != 0, class(byte) != 0, "{byte}");
        }
    }

    fn slow(text: &[u8], from: usize) -> Option<Range<usize>> {
        let mut start = from;
        for at in from..=text.len() {
            if text.get(at).is_some_and(|&byte| class(byte) != 0) {
                continue;
            }
            if at - start >= SHORTEST {
                return Some(start..at);
            }
            start = at + 1;
        }
        None
    }

    proptest! {
        #[test]
        fn tokens_are_those_that_a_look_at_each_byte_finds(
            text in "([a-zA-Z0-9+/_-]{0,40}[ .=\n]{0,2}){0,12}", from in 0_usize..200,
        ) {
            let bytes = text.as_bytes();
            let mut from = from.min(bytes.len());
            let mut tokens = Tokens::new(bytes);
            loop {
                let token = tokens.next(from);
                prop_assert_eq!(&token, &slow(bytes, from));
                let Some(token) = token else { break };
                from = token.end + 1;
            }
            let all = bytes.iter().fold(0, |kinds, &byte| kinds | class(byte));
            prop_assert_eq!(kinds(bytes), all);
        }
    }
}
