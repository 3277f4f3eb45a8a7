//! Short values that open something or stand for somebody: a booking, a badge, a door. Their source
//! calls them by such a name; then one of them alone is worth a question, however it is dressed.
//!
//! What is passed around all day, as a ticket or an order, is a token of `typed` and no more.

mod credential;

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
    "codes",
    "confirmation",
    "contract",
    "coupon",
    "coupons",
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
    "otps",
    "passcode",
    "passcodes",
    "passport",
    "passports",
    "patient",
    "pension",
    "permit",
    "pin",
    "pins",
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
    "vouchers",
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
        let is_word = || part.text.split_ascii_whitespace().count() == 1;
        if short && credential::is_name(key) && is_word() {
            add_credential(key, &part.text, &mut found);
        } else if short && is_name(key) && part.text.split_ascii_whitespace().count() <= WORDS {
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
    // From where on names count, where the word begins of which the one before it tells, and how long the
    // value was that ends there.
    let (mut since, mut told, mut listed) = (0, None, 0);
    marked::<0>(text, telling, |span| {
        if span.start < since {
            return;
        }
        let word = text.get(span.clone()).unwrap_or_default();
        let behind = text.get(span.end..).unwrap_or_default();
        if has_digit(word) {
            let before = text.get(since..span.start).unwrap_or_default();
            let is_told = told == Some(span.start) || is_said(before);
            let bare = trimmed(word);
            if let Some(more) = coded(word, (before, behind), is_told, found) {
                (since, listed) = (span.end + more, bare.len());
                return;
            }
            if listed == bare.len() && is_listed(before) && is_coded(bare) {
                add(bare, false, found);
                since = span.end;
                return;
            }
        }
        if !has_digit(word) {
            assigned(word, found);
        }
        if matches!(word.as_bytes().last(), Some(b':' | b'=')) {
            let next = text.len() - behind.trim_ascii_start().len();
            told = Some(next);
            let word = behind.split_ascii_whitespace().next();
            // What has a digit is looked at in its turn.
            if let Some(word) = word.filter(|word| !has_digit(word)) {
                let before = text.get(since..next).unwrap_or_default();
                if !told_credential(word, before, found) {
                    capital(word, before, found);
                }
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
    if assigned(word, found) || told && told_credential(word, before, found) {
        return Some(0);
    }
    let named = is_coded(bare) && is_named(before);
    named.then(|| {
        let (value, more) = with_more(word, behind);
        add(&value, told, found);
        more
    })
}

/// Adds what is assigned to a name within one word; tells whether there is such a name.
fn assigned(word: &str, found: &mut Vec<Marked<'_>>) -> bool {
    let start = word.trim_start_matches(|char: char| !char.is_ascii_alphanumeric());
    let Some((name, value)) = start.split_once(['=', ':', '#']) else {
        return false;
    };
    if credential::is_name(name) && !value.is_empty() {
        add_credential(name, value, found);
        return true;
    }
    let named = has_digit(value) && is_name(name);
    if named {
        add(trimmed(value), true, found);
    }
    named
}

/// Adds a word that the name of a credential tells of; tells whether there is such a name.
fn told_credential(word: &str, before: &str, found: &mut Vec<Marked<'_>>) -> bool {
    let name = credential::told(before);
    if let Some(name) = &name {
        add_credential(name, word, found);
    }
    name.is_some()
}

/// Tells whether nothing stands between two values but what stands between those of a list.
fn is_listed(between: &str) -> bool {
    let mut words = between.split_ascii_whitespace();
    words.all(|word| word == "and" || !word.bytes().any(|byte| byte.is_ascii_alphanumeric()))
}

/// Tells whether a text says that something is what comes next.
fn is_said(before: &str) -> bool {
    let before = before.trim_ascii_end().as_bytes();
    matches!(before, [.., b' ' | b'\n', b'i', b's'])
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

/// Returns a value in capitals with the words in capitals behind it up to a comma, and how far they
/// reach.
fn with_more(word: &str, rest: &str) -> (String, usize) {
    let mut value = trimmed(word).to_owned();
    let mut end = 0;
    let parts = |word: &str| word.ends_with([',', ';']);
    if is_capital(&value) && !parts(word) {
        let words = split(rest, |byte| blank(byte) == 1).filter(|(_, word)| !word.is_empty());
        let more = words.take_while(|(_, word)| is_capital(trimmed(word)));
        for (at, word) in more.take(WORDS - 1) {
            value.push(' ');
            value.push_str(trimmed(word));
            end = at + word.len();
            if parts(word) {
                break;
            }
        }
    }
    (value, end)
}

/// Tells whether one of the last words in front of a value, in its sentence, is a name, and none of
/// what all share.
fn is_named(before: &str) -> bool {
    let words = last(before).take(REACH);
    let words = words.take_while(|word| !ends_sentence(word));
    let mut words = words.map(trimmed).peekable();
    while let Some(word) = words.next() {
        if is_name(word) && !words.peek().is_some_and(|last| SHARED.has(last)) {
            return true;
        }
    }
    false
}

fn ends_sentence(word: &str) -> bool {
    let stops = matches!(word.as_bytes().last(), Some(b'.' | b'!' | b'?'));
    stops && !has_digit(word)
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
    let (mut guards, mut shared) = (false, false);
    words_of(name, |word| {
        guards |= NAMES.has_bytes(word);
        shared |= SHARED.has_bytes(word);
    });
    guards && !shared
}

/// Hands the words that a name is made of to `each`.
fn words_of(name: &str, mut each: impl FnMut(&[u8])) {
    let words = name.as_bytes().split(|byte| !byte.is_ascii_alphabetic());
    for word in words.filter(|word| word.len() >= SHORTEST_NAME) {
        let hump = |pair: &[u8]| matches!(pair, [a, b] if a.is_ascii_lowercase() && b.is_ascii_uppercase());
        let mut rest = word;
        while let Some(at) = rest.windows(2).position(hump)
            && let Some((first, last)) = rest.split_at_checked(at + 1)
        {
            each(first);
            rest = last;
        }
        each(rest);
    }
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
    if fits && rare {
        push(value, found);
    }
}

/// Adds a value that its source calls a credential, if it may be one.
fn add_credential(name: &str, value: &str, found: &mut Vec<Marked<'_>>) {
    let quotes = |char| matches!(char, '"' | '\'' | '`');
    let stops = |char| quotes(char) || matches!(char, ',' | ';' | '.' | '}' | ']');
    let value = value.trim_start_matches(quotes).trim_end_matches(stops);
    if credential::is_value(name, value) {
        push(value, found);
    }
}

fn push(value: &str, found: &mut Vec<Marked<'_>>) {
    if found.len() < MOST {
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
        check("the door code is 9KTUMAFGrM", &["9KTUMAFGrM"]);
        check("the error code is 9KTUMAFGrM", &[]);
        check("the code of it is in src2", &[]);
        check("members: 12", &[]);
        check("Booking reference: KXWQZJ\n", &["KXWQZJ"]);
        check("Membership: PREMIUM", &[]);
        check("Your access was DENIED", &[]);
        check("recovery code: xkt4w-qzvbn", &["xkt4w-qzvbn"]);
        check(
            "2FA backup codes: 8392-0174, 1928-3746 and\n - 5512-0093, valid 12345-6789 days",
            &["8392-0174", "1928-3746", "5512-0093"],
        );
        check(
            r#"{"backup_codes":["8392-0174","1928-3746"]}"#,
            &["8392-0174", "1928-3746"],
        );
        check(r#"{"account":"checking","voucher":"QXVKTZ"}"#, &["QXVKTZ"]);
    }

    #[test]
    fn values_that_their_source_calls_a_credential_are_guarded() {
        let check = |text: &str, expect: &[&str]| {
            let parts = parts(text);
            let marks = guarded(&parts);
            let found: Vec<_> = marks.iter().map(|one| &*one.value).collect();
            assert_eq!(found, expect, "{text}");
        };
        check("API_KEY=GX-20443-B", &["GX-20443-B"]);
        check("password: hunter2", &["hunter2"]);
        check("export DB_PASSWORD=letmein99\n", &["letmein99"]);
        check("API_KEY=tiger77x", &["tiger77x"]);
        check("API key: tiger77x", &["tiger77x"]);
        check("pwd = 'letmein99'", &["letmein99"]);
        check(r#"{"dbPassword":"letmein99"}"#, &["letmein99"]);
        check(r#"{"aws":{"secret":"GX-20443-B"}}"#, &["GX-20443-B"]);
        check("the password for the server is hunter2.", &["hunter2"]);
        check("the API key of staging is GX-20443-B now", &["GX-20443-B"]);
        check("token=xkqzwvbj", &["xkqzwvbj"]);
        // What stands for a value, says how it is written, or is code.
        for other in [
            "password: true",
            "password: null",
            "secret: changeme",
            "PASSWORD=changeme123",
            "API_KEY=${API_KEY_2}",
            "api_key: your-token-123",
            "password: string",
            "token: sha256",
            "password: varchar(255)",
            "password VARCHAR255",
            "let token = tokens[12];",
            "password = get_password1()",
            "secret: xxxxxx11",
            "token_count: 482913",
            "next_page_token: CAESB12345",
            r#"{"nextPageToken":"CAESB12345","token_type":"bearer12"}"#,
            "the token has 12 symbols",
            "password_file=/run/secrets/db22",
            "key: item42",
            "primary_key=ab1234",
            "token: https://example.com/a12",
            "password: step2",
        ] {
            check(other, &[]);
        }
    }
}
