//! Short values that open something or stand for somebody: a booking, a badge, a door. Their source
//! calls them by such a name; then one of them alone is worth a question, however it is dressed.
//!
//! What is passed around all day, as a ticket or an order, is a token of `typed` and no more.

use std::borrow::Cow;

use mcpproxy_core::{Label, Nature, Severity};
use mcpproxy_text::bits;

use crate::content::{Marked, Part};
use crate::fold::folded;
use crate::view::is_chance;
use crate::words::{Words, blank, last, marked, split, trimmed};

/// Values of one content that are guarded.
const MOST: usize = 256;
/// Folded symbols that a value has.
const SHORTEST: usize = 5;
const LONGEST: usize = 40;
/// Folded symbols of a value that has one digit, or none.
const CODED: usize = 6;
/// Letters of the shortest name, and of the shortest word that is shared.
const SHORTEST_NAME: usize = 3;
/// Words between a name and its value, as in `the code for the gate is`.
const REACH: usize = 5;
/// Words that one value may fall into, as plates and numbers do.
const WORDS: usize = 5;

/// Names of what is guarded.
static NAMES: Words = Words::new(&[
    "access",
    "account",
    "activation",
    "alarm",
    "badge",
    "booking",
    "chassis",
    "claim",
    "code",
    "confirmation",
    "contract",
    "coupon",
    "customer",
    "employee",
    "enrollment",
    "enrolment",
    "iccid",
    "identity",
    "imei",
    "imsi",
    "insurance",
    "licence",
    "license",
    "loan",
    "locator",
    "locker",
    "mandate",
    "member",
    "membership",
    "meter",
    "mortgage",
    "mrn",
    "otp",
    "passcode",
    "passport",
    "patient",
    "pension",
    "permit",
    "pin",
    "plate",
    "pnr",
    "policy",
    "prescription",
    "recovery",
    "registration",
    "reservation",
    "routing",
    "staff",
    "student",
    "subscriber",
    "taxpayer",
    "unlock",
    "verification",
    "vin",
    "visa",
    "voucher",
]);

/// Words that make a name mean something that everybody shares.
static SHARED: Words = Words::new(&[
    "area", "build", "commit", "country", "currency", "error", "exit", "http", "language", "line",
    "order", "postal", "product", "region", "response", "return", "sku", "source", "state",
    "status", "ticket", "version", "zip",
]);

/// Returns the guarded values of a content.
pub(crate) fn guarded<'a>(parts: &[Part<'a>]) -> Vec<Marked<'a>> {
    let mut found = Vec::new();
    let mut key = "";
    for part in parts {
        if part.is_key() {
            key = &part.text;
            continue;
        }
        if found.len() >= MOST {
            break;
        }
        let short = part.text.len() <= 4 * LONGEST;
        if short && is_name(key) && part.text.split_ascii_whitespace().count() <= WORDS {
            add(&part.text, true, &mut found);
        } else if part.text.len() >= SHORTEST {
            in_text(&part.text, &mut found);
        }
    }
    found.truncate(MOST);
    found
}

/// Finds values in a text, and looks for a name in front of each: few words have a digit or stand
/// behind a sign that tells of a value, and only those can be one.
fn in_text(text: &str, found: &mut Vec<Marked<'_>>) {
    // From where on names count, and where the word begins of which the one before it tells.
    let (mut since, mut told) = (0, None);
    marked::<0>(text, telling, |span| {
        if span.start < since {
            return;
        }
        let word = text.get(span.clone()).unwrap_or_default();
        let behind = text.get(span.end..).unwrap_or_default();
        if has_digit(word) {
            let before = text.get(since..span.start).unwrap_or_default();
            let is_told = told == Some(span.start);
            if let Some(more) = coded(word, (before, behind), is_told, found) {
                since = span.end + more;
                return;
            }
        }
        if matches!(word.as_bytes().last(), Some(b':' | b'=')) {
            let next = text.len() - behind.trim_ascii_start().len();
            told = Some(next);
            let word = behind.split_ascii_whitespace().next();
            // What has a digit is looked at in its turn.
            if let Some(word) = word.filter(|word| !has_digit(word)) {
                capital(word, text.get(since..next).unwrap_or_default(), found);
            }
        }
    });
}

/// Adds the value that a word with a digit is; returns how far it reaches into what stands behind.
fn coded(
    word: &str,
    (before, behind): (&str, &str),
    told: bool,
    found: &mut Vec<Marked<'_>>,
) -> Option<usize> {
    let bare = trimmed(word);
    let assigned = bare.split_once(['=', ':', '#']);
    if let Some((_, value)) = assigned.filter(|(name, _)| is_name(name)) {
        add(value, true, found);
        return Some(0);
    }
    let named = is_coded(bare) && is_named(before);
    named.then(|| {
        let (value, more) = with_more(bare, behind);
        add(&value, told, found);
        more
    })
}

/// Adds the value that a word in capitals is if a name stands before it.
fn capital(word: &str, before: &str, found: &mut Vec<Marked<'_>>) {
    let bare = trimmed(word);
    if is_capital(bare) && is_named(before) {
        add(bare, true, found);
    }
}

fn has_digit(word: &str) -> bool {
    word.bytes().any(|byte| byte.is_ascii_digit())
}

/// One for what a word has that is a value or tells of one, and zero for any other byte.
fn telling(byte: u8) -> u8 {
    bits::digit(byte) | u8::from(byte == b':') | u8::from(byte == b'=')
}

/// Returns a value in capitals with the words in capitals behind it, and how far they reach.
fn with_more(bare: &str, rest: &str) -> (String, usize) {
    let mut value = bare.to_owned();
    let mut end = 0;
    if is_capital(bare) {
        let words = split(rest, |byte| blank(byte) == 1).filter(|(_, word)| !word.is_empty());
        let more = words.take_while(|(_, word)| is_capital(trimmed(word)));
        for (at, word) in more.take(WORDS - 1) {
            value.push(' ');
            value.push_str(trimmed(word));
            end = at + word.len();
        }
    }
    (value, end)
}

/// Tells whether one of the last words in front of a value, in its sentence, is a name, and none of
/// what all share.
fn is_named(before: &str) -> bool {
    let ends = |word: &&str| {
        let stops = matches!(word.as_bytes().last(), Some(b'.' | b'!' | b'?'));
        stops && !has_digit(word)
    };
    let words = last(before).take(REACH).take_while(|word| !ends(word));
    let mut words = words.map(trimmed).peekable();
    while let Some(word) = words.next() {
        if is_name(word) && !words.peek().is_some_and(|last| SHARED.has(last)) {
            return true;
        }
    }
    false
}

/// Tells whether a name, by one of the words it is made of, is that of something guarded.
fn is_name(name: &str) -> bool {
    if name.len() < SHORTEST_NAME || name.len() > 48 {
        return false;
    }
    // Most names are small letters alone.
    if name.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return NAMES.has(name) && !SHARED.has(name);
    }
    let mut guards = false;
    let words = name.as_bytes().split(|byte| !byte.is_ascii_alphabetic());
    for word in words.filter(|word| word.len() >= SHORTEST_NAME) {
        let hump = |pair: &[u8]| matches!(pair, [a, b] if a.is_ascii_lowercase() && b.is_ascii_uppercase());
        let cut = word.windows(2).rposition(hump).map(|at| at + 1);
        let halves = word.split_at_checked(cut.unwrap_or(word.len()));
        let (first, last) = halves.unwrap_or((word, &[]));
        for part in [first, last] {
            if SHARED.has_bytes(part) {
                return false;
            }
            guards |= NAMES.has_bytes(part);
        }
    }
    guards
}

/// Tells whether a word can be a code: digits, or letters and digits mixed.
fn is_coded(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let plain = word
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'/' | b'.'));
    plain && digits >= 1 && word.len() >= 2
}

fn is_capital(word: &str) -> bool {
    !word.is_empty()
        && word
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'-')
}

/// Adds a value that could be one; where its source has just `told` its name, it may have less of
/// a code, if it is no word.
fn add(value: &str, told: bool, found: &mut Vec<Marked<'_>>) {
    let symbols = folded(value);
    let digits = symbols.iter().filter(|one| one.is_ascii_digit()).count();
    let fits = (SHORTEST..=LONGEST).contains(&symbols.len());
    // Five digits are a year and a bit; six can be a code.
    let rare = digits >= 2 && digits < symbols.len() || digits >= 6;
    let rare = rare || told && digits < 2 && symbols.len() >= CODED && is_chance(value);
    if fits && rare && found.len() < MOST {
        found.push(Marked {
            value: Cow::Owned(value.to_owned()),
            label: Label {
                kind: "typed_value".into(),
                word: "identifier",
                severity: Severity::Medium,
                validated: false,
                nature: Nature::Typed,
            },
            place: Cow::Borrowed(""),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::parts;

    #[test]
    fn values_that_their_source_calls_by_a_name_are_guarded() {
        let check = |text: &str, expect: &[&str]| {
            let parts = parts(text);
            let marks = guarded(&parts);
            let found: Vec<_> = marks.iter().map(|one| &*one.value).collect();
            assert_eq!(found, expect, "{text}");
        };
        check("Your booking reference is X7K9Q2, see you", &["X7K9Q2"]);
        check("the gate code for the garage is 482913#", &["482913"]);
        check("the code for gate 4 is 482913", &["482913"]);
        check("We sold 482913 of them", &[]);
        check("error code 482913 was returned", &[]);
        check("ticket ABC-12345 is open, order 99812345 too", &[]);
        check("plate KX21 ZPT parked", &["KX21 ZPT"]);
        check(r#"{"employeeId":"E-20417","name":"x"}"#, &["E-20417"]);
        check(r#"{"status_code":"200417","zip_code":"904170"}"#, &[]);
        check("voucher=SPRING2026X", &["SPRING2026X"]);
        check("members: 12", &[]);
        check("Booking reference: KXWQZJ\n", &["KXWQZJ"]);
        check("Membership: PREMIUM", &[]);
        check("Your access was DENIED", &[]);
        check("recovery code: xkt4w-qzvbn", &["xkt4w-qzvbn"]);
        check(r#"{"account":"checking","voucher":"QXVKTZ"}"#, &["QXVKTZ"]);
    }
}
