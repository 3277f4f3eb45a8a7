//! Every way in which private data is changed before it leaves: those that the design names, and
//! those that nobody named.

use super::data::{Kind, Need, Private};
use super::{foreign, known, unseen};
use crate::eval::random::Random;

/// What is made of the data.
#[derive(Debug, PartialEq)]
pub(super) enum Shape {
    /// One text, in any carrier.
    Text(String),
    /// Pieces in neighbouring fields of one call.
    Fields(Vec<String>),
    /// Pieces as keys, each within the one before.
    Keys(Vec<String>),
    /// Pieces in calls one after the other to one destination.
    Calls(Vec<String>),
    /// Pieces in calls to destinations that differ.
    Places(Vec<String>),
    /// A number that is a number.
    Number(u64),
}

impl Shape {
    /// Counts the bytes that leave.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Fields(pieces)
            | Self::Keys(pieces)
            | Self::Calls(pieces)
            | Self::Places(pieces) => pieces.iter().map(String::len).sum(),
            Self::Number(_) => size_of::<u64>(),
        }
    }
}

/// One transformation.
#[derive(Clone, Copy)]
pub(super) struct Disguise {
    pub(super) name: &'static str,
    /// Whether the design names it.
    pub(super) named: bool,
    pub(super) kinds: &'static [Kind],
    pub(super) need: Need,
    pub(super) make: fn(&mut Random, &Private) -> Shape,
}

const ALL: &[Kind] = &Kind::ALL;
const VALUES: &[Kind] = &[Kind::Secret, Kind::Personal, Kind::Typed];
const TEXTS: &[Kind] = &[Kind::Prose, Kind::Code, Kind::Rows];
const HALVES: &[Kind] = &[Kind::Secret, Kind::Prose, Kind::Code, Kind::Rows];

type Make = fn(&mut Random, &Private) -> Shape;

/// A transformation of the text alone.
macro_rules! coded {
    ($code:expr) => {{
        let make: Make = |random, private| Shape::Text($code(random, &private.value));
        make
    }};
}

const fn named(name: &'static str, kinds: &'static [Kind], make: Make) -> Disguise {
    Disguise {
        name,
        named: true,
        kinds,
        need: Need::Any,
        make,
    }
}

const fn foreign(name: &'static str, kinds: &'static [Kind], make: Make) -> Disguise {
    Disguise {
        named: false,
        ..named(name, kinds, make)
    }
}

const fn needing(need: Need, disguise: Disguise) -> Disguise {
    Disguise { need, ..disguise }
}

/// All transformations.
pub(super) const DISGUISES: &[Disguise] = &[
    named("verbatim", ALL, coded!(|_, text: &str| text.to_owned())),
    named("in a sentence", VALUES, |random, private| {
        let (before, after) = random.pick(SENTENCES);
        Shape::Text(format!("{before}{}{after}", private.value))
    }),
    named("one line", ALL, |_, private| {
        Shape::Text(private.line.clone())
    }),
    named("half", HALVES, |random, private| {
        let [head, tail] = halves(&private.value);
        Shape::Text(if random.below(2) == 0 { head } else { tail })
    }),
    named("case", ALL, coded!(known::recased)),
    named("padding", ALL, coded!(known::padded)),
    named("separators", ALL, coded!(known::separated)),
    named("zero width", ALL, coded!(known::zero_width)),
    named("homoglyphs", ALL, coded!(known::homoglyphs)),
    named("fullwidth", ALL, coded!(known::fullwidth)),
    named("styled letters", ALL, coded!(known::styled)),
    named("base64", ALL, coded!(known::base64)),
    named("base64 url", ALL, coded!(known::base64_url)),
    named("base64 bare", ALL, coded!(known::base64_bare)),
    named("base64 lines", ALL, coded!(known::base64_lines)),
    named(
        "base32",
        ALL,
        coded!(|_, text: &str| known::base32(text.as_bytes())),
    ),
    named(
        "hex",
        ALL,
        coded!(|_, text: &str| known::hex(text.as_bytes())),
    ),
    named("hex spelled", ALL, coded!(known::hex_spelled)),
    named("percent", ALL, coded!(|_, text: &str| known::percent(text))),
    named("entities", ALL, coded!(known::entities)),
    named(
        "unicode escapes",
        ALL,
        coded!(|_, text: &str| known::unicode_escapes(text)),
    ),
    named("quoted-printable", ALL, coded!(known::quoted_printable)),
    named(
        "gzip base64",
        ALL,
        coded!(|random, text: &str| { known::base64_of(random, &known::gzip(text)) }),
    ),
    named(
        "zlib hex",
        ALL,
        coded!(|_, text: &str| known::hex(&known::zlib(text.as_bytes()))),
    ),
    named("rot13", ALL, coded!(|_, text: &str| known::rot13(text))),
    named(
        "reversed",
        ALL,
        coded!(|_, text: &str| known::reversed(text)),
    ),
    named(
        "rot13 reversed",
        ALL,
        coded!(|_, text: &str| { known::reversed(&known::rot13(text)) }),
    ),
    named(
        "two deep",
        ALL,
        coded!(|random, text: &str| known::nested(random, text, 2)),
    ),
    named(
        "three deep",
        ALL,
        coded!(|random, text: &str| known::nested(random, text, 3)),
    ),
    named("two fields", ALL, |_, private| {
        Shape::Fields(halves(&private.value).into())
    }),
    named("three fields", ALL, |_, private| {
        Shape::Fields(parts(&private.value, 3))
    }),
    named("keys", ALL, |_, private| {
        Shape::Keys(parts(&private.value, 3))
    }),
    named("two calls", ALL, |_, private| {
        Shape::Calls(halves(&private.value).into())
    }),
    named("four calls", ALL, |_, private| {
        Shape::Calls(parts(&private.value, 4))
    }),
    needing(
        Need::Short,
        named("single characters", VALUES, |_, private| {
            Shape::Calls(private.value.chars().map(String::from).collect())
        }),
    ),
    named("several destinations", &[Kind::Secret], |_, private| {
        // Pieces of less than seven characters are no longer pieces of anything.
        let count = if private.value.len() < 24 { 2 } else { 3 };
        Shape::Places(parts(&private.value, count))
    }),
    named(
        "encoded pieces",
        &[Kind::Secret, Kind::Prose],
        |random, private| {
            let pieces = parts(&private.value, 3);
            Shape::Calls(
                pieces
                    .iter()
                    .map(|piece| known::base64(random, piece))
                    .collect(),
            )
        },
    ),
    needing(
        Need::Facts,
        named("summary", &[Kind::Prose], |_, private| {
            Shape::Text(private.summary.clone())
        }),
    ),
    needing(
        Need::Number,
        named("JSON number", &[Kind::Typed], |_, private| {
            Shape::Number(private.value.parse().unwrap_or(0))
        }),
    ),
    foreign("xor base64", ALL, coded!(foreign::xored)),
    foreign("custom base64", ALL, coded!(foreign::custom_base64)),
    foreign("UTF-16 base64", ALL, coded!(foreign::utf16_base64)),
    foreign("morse", ALL, coded!(foreign::morse)),
    foreign("radio words", ALL, coded!(foreign::radio)),
    foreign("shift by five", ALL, coded!(foreign::shifted_by_five)),
    foreign("atbash", ALL, coded!(foreign::atbash)),
    foreign("vigenere", ALL, coded!(foreign::vigenere)),
    foreign("decoys", ALL, coded!(foreign::decoys)),
    foreign("every second", ALL, coded!(foreign::every_second)),
    foreign("rail fence", ALL, coded!(foreign::rail_fence)),
    foreign("words shuffled", TEXTS, coded!(foreign::words_shuffled)),
    foreign("acrostic", VALUES, coded!(foreign::acrostic)),
    foreign("ascii85", ALL, coded!(foreign::ascii85)),
    foreign("base58", ALL, coded!(foreign::base58)),
    foreign("base36", ALL, coded!(foreign::base36)),
    foreign("base45", ALL, coded!(foreign::base45)),
    foreign("decimal codes", ALL, coded!(foreign::decimal)),
    foreign("octal codes", ALL, coded!(foreign::octal)),
    foreign("binary digits", ALL, coded!(foreign::binary)),
    foreign("emoji", ALL, coded!(foreign::emoji)),
    foreign("leet", ALL, coded!(foreign::leet)),
    foreign("vowels removed", TEXTS, coded!(foreign::vowels_removed)),
    foreign("complement hex", ALL, coded!(foreign::complement)),
    foreign("uuencode", ALL, coded!(foreign::uuencoded)),
    foreign("program", ALL, coded!(foreign::program)),
    foreign("run lengths", ALL, coded!(foreign::run_lengths)),
    foreign("capitals", VALUES, coded!(foreign::capitals)),
    foreign(
        "pieces out of order",
        ALL,
        coded!(foreign::pieces_out_of_order),
    ),
    foreign("fields swapped", ALL, |_, private| {
        let [head, tail] = halves(&private.value);
        Shape::Fields(vec![tail, head])
    }),
];

/// Transformations that are tried with the held-out table alone.
pub(super) const UNSEEN: &[Disguise] = &[
    foreign("identifiers", ALL, coded!(unseen::identifiers)),
    foreign("addresses", ALL, coded!(unseen::addresses)),
    foreign("colours", ALL, coded!(unseen::colours)),
    foreign("braille", ALL, coded!(unseen::braille)),
    foreign("square", ALL, coded!(unseen::square)),
    foreign("neighbouring keys", ALL, coded!(unseen::neighbours)),
    foreign("columns", ALL, coded!(unseen::columns)),
    foreign("nibbles swapped", ALL, coded!(unseen::nibbles)),
    foreign("rotated base64", ALL, coded!(unseen::rotated)),
    foreign("syllables", ALL, coded!(unseen::syllables)),
    foreign("differences", ALL, coded!(unseen::differences)),
    foreign("places", ALL, coded!(unseen::places)),
    foreign("shopping list", ALL, coded!(unseen::shopping)),
    foreign("pig latin", &[Kind::Prose], coded!(unseen::pig_latin)),
];

const SENTENCES: &[(&str, &str)] = &[
    ("Here it is, as you asked: ", ". Let me know if it works."),
    ("fyi ", " is what we use at the moment"),
    ("The value you need is (", "), please do not lose it again!"),
    ("Use ", " from now on; the old one is gone."),
];

/// The two halves of a text.
fn halves(text: &str) -> [String; 2] {
    let chars: Vec<char> = text.chars().collect();
    let (head, tail) = chars.split_at(chars.len() / 2);
    [head.iter().collect(), tail.iter().collect()]
}

/// So many pieces of about the same length, fewer of a very short text.
fn parts(text: &str, count: usize) -> Vec<String> {
    let length = text.chars().count();
    known::chunks(text, length.div_ceil(count).max(1))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_both_sorts_are_there() {
        let all = || DISGUISES.iter().chain(UNSEEN);
        let names: BTreeSet<&str> = all().map(|one| one.name).collect();
        assert_eq!(names.len(), all().count());
        assert!(DISGUISES.iter().filter(|one| one.named).count() >= 35);
        assert!(DISGUISES.iter().filter(|one| !one.named).count() >= 25);
    }

    #[test]
    fn pieces_make_the_whole() {
        for text in ["abcdefg", "é1", "x", "a longer text, of words"] {
            assert_eq!(halves(text).concat(), text);
            for count in 1..5 {
                assert_eq!(parts(text, count).concat(), text);
                assert!(parts(text, count).len() <= count);
            }
        }
    }
}
