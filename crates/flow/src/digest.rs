//! The specification's hashes: SHA-256 cut to 128 bits, of the whole content and of every field,
//! as it stands and without case and outer space.

mod beside;

use std::borrow::Cow;

use mcpproxy_core::{Id128, Likeness};
use sha2::{Digest as _, Sha256};

use self::beside::{LANES, halves};
use crate::content::{Part, WHOLE};

/// Bytes that are looked at together.
const BLOCK: usize = 64;

/// Hashes a text as the specification does.
pub fn digest(text: &str) -> Id128 {
    let hash: [u8; 32] = Sha256::digest(text.as_bytes()).into();
    let mut half = [0; 16];
    for (to, from) in half.iter_mut().zip(hash) {
        *to = from;
    }
    Id128::from_bytes(half)
}

/// Brings a text into its normalized form.
pub fn normalized(text: &str) -> String {
    text.trim().to_lowercase()
}

/// One hash of a content, and what it would show if it were found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Digest {
    pub(crate) hash: Id128,
    pub(crate) how: Likeness,
    /// The leaf it was taken of, and the number of its part: JSON in a string has several.
    pub(crate) leaf: u32,
    pub(crate) part: usize,
    /// Characters that are shared if it is found.
    pub(crate) length: u32,
}

/// Returns the hashes of a content and of its fields.
///
/// The hash of the whole covers its first `bytes`; a field that is longer is cut there, too. A
/// field that is in its normalized form already has one hash for both.
pub(crate) fn digests(whole: &str, parts: &[Part<'_>], least: usize, bytes: usize) -> Vec<Digest> {
    let mut found = Vec::new();
    // Texts wait until there are some that can be hashed beside each other.
    let mut waiting: Waiting<'_> = Vec::with_capacity(LANES);
    let mut add = |text, how, place| {
        waiting.push((text, how, place));
        if waiting.len() >= LANES {
            hash(&mut waiting, &mut found);
        }
    };
    let cut = |text: &'_ str| text.floor_char_boundary(bytes);
    let long = |text: &str| {
        let start = text.as_bytes().get(..least);
        // Of ASCII, each byte is a character.
        start.is_some_and(|start| start.is_ascii() || text.chars().take(least).count() >= least)
    };
    let single = matches!(parts, [part] if part.text == whole);
    if long(whole) && !single {
        let start = whole.get(..cut(whole)).unwrap_or(whole);
        add(Cow::Borrowed(start), Likeness::Exact, (WHOLE, usize::MAX));
    }
    let how = if single {
        Likeness::Exact
    } else {
        Likeness::Field
    };
    let fields = parts.iter().enumerate();
    for (number, part) in fields.filter(|(_, part)| long(&part.text)) {
        let place = (part.leaf, number);
        let text = part.text.get(..cut(&part.text)).unwrap_or(&part.text);
        add(Cow::Borrowed(text), how, place);
        if !is_normalized(text) {
            let plain = normalized(text);
            if long(&plain) {
                add(Cow::Owned(plain), Likeness::Normalized, place);
            }
        }
    }
    hash(&mut waiting, &mut found);
    found
}

/// Texts that are about to be hashed, each with its leaf and the number of its part.
type Waiting<'a> = Vec<(Cow<'a, str>, Likeness, (u32, usize))>;

/// Hashes the texts that wait, in their order.
fn hash(waiting: &mut Waiting<'_>, found: &mut Vec<Digest>) {
    let hashes = halves(waiting.iter().map(|(text, ..)| &**text));
    let digests = waiting
        .iter()
        .zip(hashes)
        .map(|((text, how, (leaf, part)), hash)| Digest {
            hash: Id128::from_bytes(hash),
            how: *how,
            leaf: *leaf,
            part: *part,
            length: u32::try_from(characters(text)).unwrap_or(u32::MAX),
        });
    found.extend(digests);
    waiting.clear();
}

/// Counts characters; those of ASCII are told by the length.
fn characters(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        text.chars().count()
    }
}

/// Tells, for plain text, whether normalizing would change nothing.
fn is_normalized(text: &str) -> bool {
    // A look at all bytes of a block together is faster than to stop at the first.
    let plain = |block: &[u8]| {
        let plain = |byte: &u8| byte.is_ascii() & !byte.is_ascii_uppercase();
        block.iter().fold(true, |all, byte| all & plain(byte))
    };
    text.as_bytes().chunks(BLOCK).all(plain) && text.trim().len() == text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_specification() {
        assert_eq!(
            digest("test").to_string(),
            "9f86d081884c7d659a2feaa0c55ad015"
        );
        assert_eq!(normalized("  TeSt\n"), "test");
    }

    #[test]
    fn fields_from_the_least_length_on_get_hashes() {
        let check = |json: &str, expect: usize| {
            let parts = crate::content::parts(json);
            assert_eq!(digests(json, &parts, 20, 1 << 16).len(), expect, "{json}");
        };
        check("short", 0);
        check(r#"{"a":"nineteen characters"}"#, 1);
        check(r#"{"a":"exactly twenty chars"}"#, 2);
        check(r#"{"a":"Exactly twenty chars"}"#, 3);
        check("a text that is no field of anything", 1);
        check("a text that is no field of anything ", 2);
    }

    #[test]
    fn what_is_too_long_is_cut_before_it_is_hashed() {
        let check = |long: &str, bytes: usize, cut: &str| {
            let hashes = |json: &str, bytes| {
                let found = digests(json, &crate::content::parts(json), 4, bytes);
                found.iter().map(|one| one.hash).collect::<Vec<_>>()
            };
            assert_eq!(hashes(long, bytes), hashes(cut, usize::MAX), "{long}");
        };
        check("twelve bytes and more", 12, "twelve bytes");
        check("twelve bytes", 12, "twelve bytes");
        // A letter is never taken apart.
        check("a gr\u{f6}\u{df}er one", 7, "a gr\u{f6}");
    }
}
