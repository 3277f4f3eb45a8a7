//! Postal addresses by their street: a house number beside the words that streets end or begin with.

use std::ops::Range;

use super::view::{Heads, View};

/// What a street's last word is in English.
const ENDINGS: &[&str] = &[
    "street",
    "st",
    "avenue",
    "ave",
    "road",
    "rd",
    "lane",
    "ln",
    "drive",
    "dr",
    "boulevard",
    "blvd",
    "court",
    "ct",
    "place",
    "pl",
    "way",
    "square",
    "sq",
    "terrace",
    "parkway",
    "pkwy",
    "highway",
    "hwy",
    "crescent",
    "close",
    "circle",
    "cir",
    "trail",
    "alley",
    "grove",
    "mews",
    "hill",
    "ridge",
    "loop",
    "plaza",
];

/// What a street's name ends in, written as one word, before its number.
const COMPOUNDS: &[&str] = &[
    "straße", "strasse", "str.", "gasse", "allee", "platz", "damm", "weg", "straat", "laan",
    "plein", "gracht", "gatan", "vägen", "gade", "katu", "veien", "gata",
];

/// What a street's name begins with where the number follows it.
const OPENINGS: &[&str] = &[
    "via",
    "viale",
    "piazza",
    "corso",
    "calle",
    "avenida",
    "plaza",
    "paseo",
    "rua",
    "praça",
    "ul.",
    "ulica",
    "rue",
    "улица",
    "ул.",
    "strada",
    "carrer",
];

/// What a street's name begins with where the number stands before it.
const FRENCH: &[&str] = &[
    "rue",
    "avenue",
    "boulevard",
    "place",
    "chemin",
    "allée",
    "impasse",
    "quai",
];

/// How those words begin.
const HEADS: Heads = Heads::of(FRENCH);

/// The address whose house number is the word `number`.
pub(super) fn find(view: View<'_>, number: Range<usize>) -> Option<Range<usize>> {
    let plain = view.slice(number.clone()).iter().all(u8::is_ascii_digit);
    if !plain || number.len() > 5 {
        return None;
    }
    after(view, number.clone()).or_else(|| before(view, number))
}

/// Whether the words before an address say that it is a firm's.
pub(super) fn is_of_a_firm(view: View<'_>, start: usize) -> bool {
    let tail = view.tail(start, 48);
    let firms: [&[u8]; 8] = [
        b"Inc",
        b"Foundation",
        b"Ltd",
        b"LLC",
        b"GmbH",
        b"Corp",
        b"Company",
        b"University",
    ];
    firms
        .iter()
        .any(|firm| memchr::memmem::find(tail, firm).is_some())
}

/// Whether a street's name may begin with these three letters in lower case.
pub(super) fn may_begin(letters: &[u8]) -> bool {
    HEADS.may_begin(letters)
        && FRENCH
            .iter()
            .any(|word| word.as_bytes().starts_with(letters))
}

/// Whether the word before `number` could be a street's: it begins with a capital.
pub(super) fn may_follow(view: View<'_>, number: usize) -> bool {
    let end = number.saturating_sub(1);
    let word = view.run_back(end, 24, |byte| !byte.is_ascii_whitespace());
    let first = view.at(end - word);
    word > 2 && (first.is_ascii_uppercase() || first > 127)
}

/// `417 Linden Street`, `26 rue des Tilleuls`.
fn after(view: View<'_>, number: Range<usize>) -> Option<Range<usize>> {
    if view.at(number.end) != b' ' || !view.opens(number.start) {
        return None;
    }
    // The year of a copyright, and then a name.
    if view
        .tail(number.start, 10)
        .eq_ignore_ascii_case(b"copyright ")
    {
        return None;
    }
    let next = view.at(number.end + 1);
    if !next.is_ascii_alphabetic() {
        return None;
    }
    let line = line_after(view, number.end);
    let mut at = number.end + 1;
    for (index, word) in line.trim_start().split(' ').take(5).enumerate() {
        let bare = word.trim_end_matches([',', '.', ';', ')', '"', '?', '!']);
        let capital = word.chars().next().is_some_and(char::is_uppercase);
        let end = at + bare.len();
        if index == 0 && FRENCH.contains(&bare) {
            let rest = line.split(' ').skip(2).take(4);
            let named = rest
                .clone()
                .any(|word| word.chars().next().is_some_and(char::is_uppercase));
            return named.then_some(number.start..number.end + 1 + street_length(line));
        }
        if !capital && !bare.ends_with("th") && !bare.ends_with("nd") && !bare.ends_with("st") {
            return None;
        }
        if index > 0
            && ENDINGS
                .iter()
                .any(|ending| bare.eq_ignore_ascii_case(ending))
        {
            return Some(number.start..end);
        }
        if bare.len() != word.len() && !word.ends_with('.') {
            return None;
        }
        at += word.len() + 1;
    }
    None
}

/// `Lindenstraße 31`, `Via Manzoni 48`, `P.O. Box 56`.
fn before(view: View<'_>, number: Range<usize>) -> Option<Range<usize>> {
    let fraction = view.at(number.end) == b'.' && view.at(number.end + 1).is_ascii_digit();
    if view.before(number.start, 1) != b' ' || fraction || !may_follow(view, number.start) {
        return None;
    }
    let line = line_before(view, number.start - 1);
    let base = number.start - 1 - line.len();
    let mut words = word_starts(line);
    let last = words.next()?;
    let word = line.get(last..).unwrap_or_default();
    let capital = word.chars().next().is_some_and(char::is_uppercase);
    let lower = word.to_lowercase();
    let compound = COMPOUNDS
        .iter()
        .any(|ending| lower.len() > ending.len() + 2 && lower.ends_with(ending));
    if capital && compound {
        return Some(base + last..number.end);
    }
    let letters = line.bytes().filter(u8::is_ascii_alphabetic);
    let letters: Vec<u8> = letters.map(|byte| byte.to_ascii_lowercase()).collect();
    if lower == "box" && letters.ends_with(b"pobox") {
        return Some(base + last..number.end);
    }
    let spelled = word.chars().any(char::is_lowercase);
    let named = capital && spelled && !word.ends_with([',', ':', ';']);
    let opening = words.take(3).find(|start| {
        let word = line.get(*start..).unwrap_or_default();
        let word = word.split(' ').next().unwrap_or_default();
        // `via` is an English word unless it begins a name.
        word != "via" && OPENINGS.contains(&word.to_lowercase().as_str())
    })?;
    named.then_some(base + opening..number.end)
}

/// The text from `at` on to the end of the line, at most a street's length.
fn line_after(view: View<'_>, at: usize) -> &str {
    let mut end = at + view.run(at, 64, |byte| byte != b'\n' && byte != b'\\');
    while view.str(at..end).is_empty() && end > at {
        end -= 1;
    }
    view.str(at..end)
}

/// The text before `at` on the same line, at most a street's length.
fn line_before(view: View<'_>, at: usize) -> &str {
    let mut start = at - view.run_back(at, 40, |byte| byte != b'\n' && byte != b'"');
    while view.str(start..at).is_empty() && start < at {
        start += 1;
    }
    view.str(start..at)
}

/// Where the words of a line begin, the last one first.
fn word_starts(line: &str) -> impl Iterator<Item = usize> {
    let mut end = Some(line.len());
    std::iter::from_fn(move || {
        let upto = line.get(..end?).unwrap_or_default();
        let start = upto.rfind(' ').map_or(0, |at| at + 1);
        end = start.checked_sub(1);
        Some(start)
    })
}

/// The length of a French street up to the next comma.
fn street_length(line: &str) -> usize {
    let line = line.trim_start();
    line.find([',', ';', '"', ')']).unwrap_or(line.len())
}
