//! Short values that mean something: codes, identifiers, numbers, names, links.
//!
//! They are too short for windows of text and are compared whole, folded. What one of them weighs
//! is said here; a number needs a word beside it at its source that says what it is.

use std::cell::LazyCell;
use std::ops::Range;

use mcpproxy_text::bits;

use crate::content::Part;
use crate::fold::fold;
use crate::number;
use crate::roll::whole;
use crate::words::{Words, marked, split, trimmed};

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    /// An address or a path: shared all the time.
    Link,
    /// A word with a capital letter inside a sentence.
    Name,
    /// A number of some length.
    Number,
    /// A number in groups of three digits, as sums are written; remembered as a number.
    Figure,
    /// A code or identifier: letters and digits mixed, or a number that is called one.
    Code,
}

impl Kind {
    pub(crate) fn note(self) -> u8 {
        match self {
            Self::Link => 0,
            Self::Name => 1,
            Self::Number | Self::Figure => 2,
            Self::Code => 3,
        }
    }

    pub(crate) fn of_note(note: u8) -> Self {
        match note {
            0 => Self::Link,
            1 => Self::Name,
            2 => Self::Number,
            _ => Self::Code,
        }
    }

    /// Tells whether it is recognized beyond its session.
    pub(crate) fn is_wide(self) -> bool {
        self == Self::Code
    }

    /// Returns how much a token of this kind adds to "several rare tokens"; what it was read as is
    /// one thing, how it is written now may say more.
    pub(crate) fn points(self, token: Token) -> u32 {
        match self {
            Self::Link => 0,
            Self::Name => 1,
            Self::Number | Self::Figure if token.kind == Self::Figure => 4,
            // Five digits are a house in a town.
            Self::Number | Self::Figure if token.length <= 5 => 2,
            Self::Number | Self::Figure => 3,
            Self::Code => 4,
        }
    }
}

/// One token of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) hash: u64,
    pub(crate) kind: Kind,
    pub(crate) length: u32,
    /// Whether it is a name only if it is known as one: a sentence begins with any word.
    pub(crate) first: bool,
}

/// Words that say what the number or code beside them is.
static CONTEXT: Words = Words::new(&[
    "account",
    "acct",
    "auth",
    "badge",
    "bic",
    "booking",
    "card",
    "case",
    "claim",
    "code",
    "confirmation",
    "contract",
    "customer",
    "employee",
    "iban",
    "id",
    "identifier",
    "insurance",
    "invoice",
    "key",
    "licence",
    "license",
    "member",
    "mrn",
    "no",
    "nr",
    "number",
    "order",
    "otp",
    "passcode",
    "passport",
    "password",
    "patient",
    "pin",
    "policy",
    "record",
    "ref",
    "reference",
    "reservation",
    "routing",
    "serial",
    "sku",
    "ssn",
    "swift",
    "tan",
    "tax",
    "ticket",
    "token",
    "tracking",
    "transaction",
    "vat",
    "verification",
    "voucher",
]);

/// Words behind one of context that it still reaches.
const REACH: usize = 4;
/// Longest token that is a value of its own.
const LONGEST: usize = 200;

/// Shortest name of something in code that is shared as a whole, like a link.
const NAME: usize = 20;

/// Tells whether a token is shared as a whole by people who share nothing else: a link, a name in
/// code, a hash. Its text weighs no more than itself.
pub(crate) fn is_pointer(token: Token, symbols: &[u8]) -> bool {
    match token.kind {
        Kind::Link => true,
        Kind::Code => symbols.len() >= NAME && symbols.iter().all(u8::is_ascii_hexdigit),
        Kind::Name | Kind::Number | Kind::Figure => false,
    }
}

/// Hands the tokens of the parts to `each`, with the part they stand in.
pub(crate) fn tokens(parts: &[Part<'_>], mut each: impl FnMut(Token, &[u8], &Part<'_>)) {
    let mut key = "";
    let mut symbols = Vec::with_capacity(LONGEST);
    for part in parts {
        if part.is_key() {
            key = &part.text;
        }
        let named = !part.is_key() && is_context(key.as_bytes());
        within(&part.text, named, &mut symbols, |token, symbols| {
            each(token, symbols, part);
        });
    }
}

/// Hands the tokens of one text to `each`, with their symbols; `named` if the field is called after
/// a code.
pub(crate) fn of_text(text: &str, named: bool, each: impl FnMut(Token, &[u8])) {
    within(text, named, &mut Vec::new(), each);
}

/// Does the same, with room for the symbols of a token.
///
/// Most words are small letters and no token; they are passed over.
fn within(text: &str, named: bool, symbols: &mut Vec<u8>, mut each: impl FnMut(Token, &[u8])) {
    marked::<NAME>(text, odd, |span| {
        word(text, span, named, symbols, &mut each);
    });
}

/// Hands on the tokens of one word.
fn word(
    text: &str,
    span: Range<usize>,
    named: bool,
    symbols: &mut Vec<u8>,
    each: &mut impl FnMut(Token, &[u8]),
) {
    let word = text.get(span.clone()).unwrap_or_default();
    let before = text.get(..span.start).unwrap_or_default();
    let bare = number::whole(trimmed(word), is_grouped);
    // One word may fall into many pieces: it is asked once for all of them.
    let context = LazyCell::new(|| {
        let mut last = before.as_bytes().rsplit(u8::is_ascii_whitespace);
        named || last.by_ref().take(REACH + 1).any(is_context) || inner_context(bare)
    });
    let starts = || before.trim_ascii_end().ends_with(['.', '!', '?', ':']) || span.start == 0;
    let mut add = |piece: &str, signs: Signs| {
        if piece.len() > LONGEST * 4 {
            return;
        }
        let number = number::normal(piece, is_grouped);
        let (piece, signs) = if *number == *piece {
            (piece, signs)
        } else {
            (&*number, Signs::of(&number))
        };
        symbols.clear();
        fold(piece, symbols);
        if let Some(kind) = kind(piece, signs, symbols, || *context) {
            let token = Token {
                hash: whole(symbols),
                kind,
                length: u32::try_from(symbols.len()).unwrap_or(u32::MAX),
                first: kind == Kind::Name && piece.starts_with(char::is_alphabetic) && starts(),
            };
            each(token, symbols);
        }
    };
    // Most words are one piece.
    let signs = Signs::of(bare);
    if signs.has(Signs::AT | Signs::SPLITS) {
        pieces(bare).for_each(|piece| add(piece, Signs::of(piece)));
    } else {
        add(bare, signs);
    }
}

/// The signs that a word has, as bits: most words have none, and are asked for each of them together.
#[derive(Clone, Copy, Debug)]
struct Signs(u8);

impl Signs {
    const AT: u8 = 1;
    const COLON: u8 = 2;
    const SLASH: u8 = 4;
    /// What stands between the parts of a name.
    const JOINS: u8 = 8;
    /// Signs of assignment and lists.
    const SPLITS: u8 = 16;

    fn of(word: &str) -> Self {
        let signs = word.bytes().map(|byte| SIGNS.get(usize::from(byte)));
        Self(signs.fold(0, |all, signs| all | signs.copied().unwrap_or(0)))
    }

    fn has(self, any: u8) -> bool {
        self.0 & any != 0
    }
}

const SIGNS: [u8; 256] = signs();

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated when compiled; a wrong index does not build"
)]
const fn signs() -> [u8; 256] {
    let mut table = [0; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        table[byte as usize] = match byte {
            b'@' => Signs::AT,
            b'/' => Signs::SLASH,
            b'.' | b'_' | b'-' => Signs::JOINS,
            b':' => Signs::COLON | Signs::JOINS | Signs::SPLITS,
            b'=' | b',' | b';' | b'&' | b'|' | b'"' | b'\'' | b'(' | b')' | b'<' | b'>' => {
                Signs::SPLITS
            }
            _ => 0,
        };
        byte += 1;
    }
    table
}

/// One for what makes a word worth a look and zero for any other byte.
fn odd(byte: u8) -> u8 {
    let capital = byte.wrapping_sub(b'A') < 26;
    let sign = byte == b'/' || byte == b'@';
    bits::digit(byte) | u8::from(capital) | u8::from(sign) | byte >> 7
}

/// Returns the word itself, and what stands between its signs of assignment and lists.
fn pieces(word: &str) -> impl Iterator<Item = &str> {
    let splits = |byte: u8| {
        SIGNS
            .get(usize::from(byte))
            .is_some_and(|signs| Signs(*signs).has(Signs::SPLITS))
    };
    let one = is_grouped(word);
    let whole = std::iter::once(word).filter(move |word| one || is_address(word, Signs::of(word)));
    whole
        .chain(
            split(word, splits)
                .map(|(_, piece)| piece)
                .filter(move |_| !one),
        )
        .map(trimmed)
}

/// Tells whether a word with these signs is a link or the address of somebody.
fn is_address(word: &str, signs: Signs) -> bool {
    signs.has(Signs::AT) || signs.has(Signs::COLON) && word.contains("://")
}

/// Tells whether a word is one number in groups of three digits, as in `1,973,600`.
fn is_grouped(word: &str) -> bool {
    // Most words are told by their first letter.
    if !word.as_bytes().first().is_some_and(u8::is_ascii_digit) {
        return false;
    }
    let mut groups = word.split([',', '.', '\'']);
    let digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    let first = groups.next().unwrap_or_default();
    let mut rest = groups.peekable();
    (1..=3).contains(&first.len())
        && digits(first)
        && rest.peek().is_some()
        && rest.all(|group| group.len() == 3 && digits(group))
}

/// Tells whether a word with an assignment in it names what it assigns.
fn inner_context(word: &str) -> bool {
    let name = word.split_once(['=', ':', '#']);
    name.is_some_and(|(name, _)| is_context(name.as_bytes()))
}

/// Tells whether a name says that a code or number follows, by one of the words it is made of.
fn is_context(name: &[u8]) -> bool {
    // Most names are small letters alone.
    if name.iter().all(u8::is_ascii_lowercase) {
        return CONTEXT.has_bytes(name);
    }
    name.split(|byte| !byte.is_ascii_alphabetic()).any(|word| {
        let hump = |pair: &[u8]| matches!(pair, [a, b] if a.is_ascii_lowercase() && b.is_ascii_uppercase());
        let last = word.windows(2).rposition(hump);
        let tail = last.and_then(|at| word.get(at + 1..));
        CONTEXT.has_bytes(word) || tail.is_some_and(|tail| CONTEXT.has_bytes(tail))
    })
}

fn kind(word: &str, signs: Signs, symbols: &[u8], context: impl Fn() -> bool) -> Option<Kind> {
    let digits = symbols
        .iter()
        .filter(|symbol| symbol.is_ascii_digit())
        .count();
    let letters = symbols.len() - digits;
    if symbols.len() > LONGEST {
        return None;
    }
    let is_path =
        || signs.has(Signs::SLASH) && word.bytes().filter(|&byte| byte == b'/').count() >= 2;
    if is_address(word, signs) || is_path() {
        return (symbols.len() >= 8).then_some(Kind::Link);
    }
    if digits > 0 && letters > 0 {
        let enough = digits >= 2 && (symbols.len() >= 7 || symbols.len() >= 5 && context());
        return enough.then_some(Kind::Code);
    }
    if letters == 0 {
        if is_date(word) {
            return Some(Kind::Name);
        }
        return match digits {
            5.. if is_grouped(word) => Some(Kind::Figure),
            6.. if context() => Some(Kind::Code),
            5.. => Some(Kind::Number),
            _ => None,
        };
    }
    if symbols.len() >= NAME && signs.has(Signs::JOINS) {
        return Some(Kind::Link);
    }
    let capital = word.chars().next().is_some_and(char::is_uppercase);
    (capital && symbols.len() >= 4).then_some(Kind::Name)
}

/// Tells whether a word is a date: everybody shares those.
fn is_date(word: &str) -> bool {
    let mut groups = word.split(['-', '/', '.']).map(str::len);
    let mut length = || groups.next().unwrap_or(0);
    let first = || word.get(..2).and_then(|two| two.parse().ok()).unwrap_or(0);
    let lengths = [length(), length(), length()];
    // A fourth group may be empty, and still is one.
    match (lengths, groups.next()) {
        ([4, 1..=2, 1..=2] | [1..=2, 1..=2, 2 | 4], None) => true,
        ([8, 0, 0], None) => !word.contains(['-', '/', '.']) && matches!(first(), 19_u32 | 20),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_told_by_their_shape_and_their_neighbours() {
        let check = |text: &str, expect: &[Kind]| {
            let mut found = Vec::new();
            of_text(text, false, |token, _| {
                if !token.first {
                    found.push(token.kind);
                }
            });
            assert_eq!(found, expect, "{text}");
        };
        check("the meeting is at 3 pm", &[]);
        check("your code is 482913", &[Kind::Code]);
        check("we sold 482913 of them", &[Kind::Number]);
        check("we sold 482,913 of them", &[Kind::Figure]);
        check("we sold 482,91 of them", &[]);
        check("on 2026-03-04 again", &[Kind::Name]);
        check("booking X7K9Q2", &[Kind::Code]);
        check("take X7K9Q2", &[]);
        check("take sk-proj-abc123def456", &[Kind::Code]);
        check("see https://example.com/a/b", &[Kind::Link, Kind::Link]);
        check("ask Katarina about it", &[Kind::Name]);
        check("Katarina knows. Everybody else asks", &[]);
        check("API_TOKEN=ab12cd", &[Kind::Code]);
    }
}
