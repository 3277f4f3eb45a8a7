//! Short values that mean something: codes, identifiers, numbers, names, links.
//!
//! They are too short for windows of text and are compared whole, folded. What one of them weighs
//! is said here; a number needs a word beside it at its source that says what it is.

use crate::content::Part;
use crate::fold::fold;
use crate::roll::whole;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    /// An address or a path: shared all the time.
    Link,
    /// A word with a capital letter inside a sentence.
    Name,
    /// A number of some length.
    Number,
    /// A code or identifier: letters and digits mixed, or a number that is called one.
    Code,
}

impl Kind {
    pub(crate) fn note(self) -> u8 {
        match self {
            Self::Link => 0,
            Self::Name => 1,
            Self::Number => 2,
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

    /// Returns how much it adds to "several rare tokens of one origin".
    pub(crate) fn points(self) -> u32 {
        match self {
            Self::Link => 0,
            Self::Name => 1,
            Self::Number => 3,
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
}

/// Words that say what the number or code beside them is.
const CONTEXT: &[&str] = &[
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
];

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
        Kind::Name | Kind::Number => false,
    }
}

/// Hands the tokens of the parts to `each`, with the part they stand in.
pub(crate) fn tokens(parts: &[Part<'_>], mut each: impl FnMut(Token, &[u8], &Part<'_>)) {
    let mut key = "";
    for part in parts {
        if part.is_key() {
            key = &part.text;
        }
        let named = !part.is_key() && is_context(key);
        of_text(&part.text, named, |token, symbols| {
            each(token, symbols, part);
        });
    }
}

/// Hands the tokens of one text to `each`; `named` if the field is called after a code.
pub(crate) fn of_text(text: &str, named: bool, mut each: impl FnMut(Token, &[u8])) {
    let mut symbols = Vec::new();
    let mut near = 0_u8;
    let mut starts = true;
    for word in text
        .split(char::is_whitespace)
        .filter(|word| !word.is_empty())
    {
        let bare = word.trim_matches(|char: char| !char.is_alphanumeric());
        if bare.is_empty() || bare.len() > LONGEST * 4 {
            continue;
        }
        let context = named || near > 0 || inner_context(bare);
        for piece in pieces(bare) {
            symbols.clear();
            fold(piece, &mut symbols);
            if let Some(kind) = kind(piece, &symbols, context, starts) {
                let token = Token {
                    hash: whole(&symbols),
                    kind,
                    length: u32::try_from(symbols.len()).unwrap_or(u32::MAX),
                };
                each(token, &symbols);
            }
        }
        near = if is_context(bare) {
            4
        } else {
            near.saturating_sub(1)
        };
        starts = word.ends_with(['.', '!', '?', ':']);
    }
}

/// Returns the word itself, and what stands between its signs of assignment and lists.
fn pieces(word: &str) -> impl Iterator<Item = &str> {
    let split = word.split(['=', ':', ',', ';', '&', '|', '"', '\'', '(', ')', '<', '>']);
    let whole = std::iter::once(word).filter(|word| word.contains("://") || word.contains('@'));
    whole
        .chain(split)
        .map(|piece| piece.trim_matches(|char: char| !char.is_alphanumeric()))
}

/// Tells whether a word with an assignment in it names what it assigns.
fn inner_context(word: &str) -> bool {
    word.split(['=', ':', '#'])
        .next()
        .is_some_and(|name| name.len() < word.len() && is_context(name))
}

/// Tells whether a name or word says that a code or number follows.
fn is_context(name: &str) -> bool {
    let mut words = name.split(|char: char| !char.is_ascii_alphabetic());
    words.any(|word| {
        let lower = word.to_ascii_lowercase();
        CONTEXT.binary_search(&lower.as_str()).is_ok()
            || CONTEXT
                .iter()
                .any(|known| known.len() >= 4 && lower.len() > 5 && lower.ends_with(known))
    })
}

fn kind(word: &str, symbols: &[u8], context: bool, starts: bool) -> Option<Kind> {
    let digits = symbols
        .iter()
        .filter(|symbol| symbol.is_ascii_digit())
        .count();
    let letters = symbols.len() - digits;
    if symbols.len() > LONGEST {
        return None;
    }
    if word.contains("://") || word.contains('@') || word.matches('/').count() >= 2 {
        return (symbols.len() >= 8).then_some(Kind::Link);
    }
    if digits > 0 && letters > 0 {
        let enough = symbols.len() >= 7 || context && symbols.len() >= 5;
        return (enough && digits >= 2).then_some(Kind::Code);
    }
    if letters == 0 {
        if is_date(word) {
            return Some(Kind::Name);
        }
        return match digits {
            6.. if context => Some(Kind::Code),
            5.. => Some(Kind::Number),
            _ => None,
        };
    }
    if symbols.len() >= NAME && word.contains(['.', '_', '-', ':']) {
        return Some(Kind::Link);
    }
    let capital = word.chars().next().is_some_and(char::is_uppercase);
    (capital && !starts && symbols.len() >= 4).then_some(Kind::Name)
}

/// Tells whether a word is a date: everybody shares those.
fn is_date(word: &str) -> bool {
    let mut groups = word.split(['-', '/', '.']);
    let lengths: Vec<usize> = groups.by_ref().map(str::len).collect();
    let first: u32 = word.get(..2).and_then(|two| two.parse().ok()).unwrap_or(0);
    match lengths.as_slice() {
        [4, 1..=2, 1..=2] | [1..=2, 1..=2, 2 | 4] => true,
        [8] => first == 19 || first == 20,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_context_are_sorted() {
        assert!(CONTEXT.is_sorted());
    }

    #[test]
    fn values_are_told_by_their_shape_and_their_neighbours() {
        let check = |text: &str, expect: &[Kind]| {
            let mut found = Vec::new();
            of_text(text, false, |token, _| found.push(token.kind));
            assert_eq!(found, expect, "{text}");
        };
        check("the meeting is at 3 pm", &[]);
        check("your code is 482913", &[Kind::Code]);
        check("we sold 482913 of them", &[Kind::Number]);
        check("on 2026-03-04 again", &[Kind::Name]);
        check("booking X7K9Q2", &[Kind::Code]);
        check("take X7K9Q2", &[]);
        check("take sk-proj-abc123def456", &[Kind::Code]);
        check("see https://example.com/a/b", &[Kind::Link, Kind::Link]);
        check("ask Katarina about it", &[Kind::Name]);
        check("API_TOKEN=ab12cd", &[Kind::Code]);
    }
}
