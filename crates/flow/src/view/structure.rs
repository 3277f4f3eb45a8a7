//! What holds markup, style sheets and code together: signs between words that can be read, numbers
//! with a unit, the classes of a regular expression, the lines of a drawing.
//!
//! Only signs are passed over, where the words around them speak for them. What stands between, be
//! it a text, a value or a name, is judged as ever; a text of signs, or one that signs cut into
//! pieces, is none that anybody speaks for.

use super::strange::is_chance;

/// Longest run of signs, and of letters that are looked at as a word.
const SIGNS: usize = 8;
const WORD: usize = 24;
/// Usual operators that a run of signs may be made of.
const OPERATORS: usize = 4;
/// How far around signs the words are that speak for them.
const AROUND: usize = 24;
/// Letters of a word that speaks for signs, and how many of them speak for how many signs. Minified
/// code has few words, but has them everywhere.
const SPEAKS: usize = 3;
const LETTERS: usize = 2;
const FOR: usize = 5;
/// Letters that a class or an escape of a regular expression counts as.
const SPOKEN: usize = 6;
/// Digits of a number that has no other meaning than its size.
const DIGITS: usize = 4;
/// Longest class of a regular expression.
const CLASS: usize = 24;
/// Longest line of a drawing.
const DRAWN: usize = 1 << 10;

/// Signs that belong together, longer ones first.
const TOGETHER: [&[u8]; 47] = [
    b"===", b"!==", b"...", b"<!--", b"-->", b"\"/>", b"});", b"\",\"", b"\":\"", b"://", b"/></",
    b"></", b"\">", b"'>", b"/>", b"</", b"<?", b"?>", b"=\"", b"='", b"=>", b"->", b"::", b":=",
    b"==", b"!=", b"<=", b">=", b"+=", b"-=", b"&&", b"||", b"++", b"--", b"**", b"()", b"){",
    b");", b"({", b"((", b"))", b"[]", b"{}", b"},", b"(?", b"\\\\", b"^{",
];

/// Short names that only those know who write markup and code.
const NAMES: [&[u8]; 30] = [
    b"html", b"img", b"src", b"svg", b"xml", b"xmlns", b"css", b"div", b"http", b"https", b"href",
    b"url", b"png", b"jpg", b"utf", b"str", b"cfg", b"cmd", b"ctx", b"fmt", b"btn", b"www", b"cdn",
    b"rgb", b"rgba", b"fn", b"pub", b"impl", b"sql", b"json",
];

/// Units of numbers in style sheets.
const UNITS: [&[u8]; 14] = [
    b"px", b"em", b"rem", b"pt", b"vh", b"vw", b"ms", b"s", b"deg", b"fr", b"x", b"dpi", b"ch",
    b"cm",
];

/// Goes along a text and tells its structure.
#[derive(Debug)]
pub(super) struct Structure<'a> {
    text: &'a [u8],
    /// Where the last structure ends.
    until: usize,
}

impl<'a> Structure<'a> {
    /// Begins with a text.
    pub(super) fn of(text: &'a str) -> Self {
        let text = text.as_bytes();
        Self { text, until: 0 }
    }

    /// Tells whether what stands here is structure; places are asked for in order.
    pub(super) fn has(&mut self, at: usize) -> bool {
        if at >= self.until {
            let length = self.length(at);
            if length > 0 {
                self.until = at + length;
                // What follows signs is no news for its first letter.
                self.until += usize::from(self.is_sign(at) && self.is_word(self.until));
            }
        }
        at < self.until
    }

    /// Tells whether the words around speak for the signs here.
    fn is_spoken_for(&self, at: usize) -> bool {
        let before = self.text.get(..at.saturating_sub(AROUND));
        let after = self.text.get(at.saturating_add(AROUND)..);
        // A word that begins or ends outside belongs to what is around.
        let from = before.map_or(0, |text| text.len() - letters(text.iter().rev()));
        let until = after.map_or(self.text.len(), |text| at + AROUND + letters(text.iter()));
        let around = self.text.get(from..until).unwrap_or_default();
        let signs = around.iter().filter(|byte| byte.is_ascii_punctuation());
        spoken(around) * FOR >= signs.count() * LETTERS
    }

    fn byte(&self, at: usize) -> u8 {
        self.text.get(at).copied().unwrap_or(b' ')
    }

    fn is_sign(&self, at: usize) -> bool {
        self.byte(at).is_ascii_punctuation()
    }

    fn is_word(&self, at: usize) -> bool {
        self.byte(at).is_ascii_alphanumeric()
    }

    /// Returns the length of the structure that begins here, or zero.
    fn length(&self, at: usize) -> usize {
        let rest = self.text.get(at..).unwrap_or_default();
        let begins = at == 0 || at == self.until || !self.is_word(at - 1);
        if self.is_word(at) {
            return if begins {
                measure(rest).max(name(rest))
            } else {
                0
            };
        }
        if !self.is_sign(at) {
            return 0;
        }
        let known = class(rest).max(drawn(self.text, at));
        if known > 0 {
            return known;
        }
        let fresh = at == self.until || at == 0 || !self.is_sign(at - 1);
        let signs = signs(rest);
        let after = rest.get(signs.len()..).unwrap_or_default();
        let fits = fresh
            && is_usual(signs)
            && self.is_read_before(at)
            && is_read(after)
            && self.is_spoken_for(at);
        if fits { signs.len() } else { 0 }
    }

    /// Tells whether the word that ends here can be read.
    fn is_read_before(&self, at: usize) -> bool {
        if at == 0 || at == self.until {
            return true;
        }
        let before = self.text.get(..at).unwrap_or_default();
        let length = before.iter().rev().take(WORD + 1);
        let length = length
            .take_while(|byte| byte.is_ascii_alphanumeric())
            .count();
        let word = before.get(at - length..).unwrap_or_default();
        is_readable(word) && (length > 0 || before.last().is_some_and(u8::is_ascii_whitespace))
    }
}

/// Counts the letters at the beginning, as far as one word may have them.
fn letters<'a>(bytes: impl Iterator<Item = &'a u8>) -> usize {
    let letters = bytes.take_while(|byte| byte.is_ascii_alphabetic());
    letters.take(WORD).count()
}

/// Counts the letters of the words that speak for signs: those that touch some as names in code do.
/// The words of a sentence touch none but at its end, and speak for nothing that stands beside it.
fn spoken(text: &[u8]) -> usize {
    let (mut at, mut sum) = (0, 0);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let letters = rest
            .iter()
            .take_while(|byte| byte.is_ascii_alphabetic())
            .count();
        let (word, after) = rest.split_at_checked(letters).unwrap_or((rest, &[]));
        let before = at.checked_sub(1).and_then(|at| text.get(at));
        let touches = before.is_some_and(u8::is_ascii_punctuation) || is_tied(after);
        if letters >= SPEAKS && touches && is_readable(word) {
            sum += letters;
        } else if letters == 0 && class(rest) > 0 {
            sum += SPOKEN;
        }
        at += letters.max(1);
    }
    sum
}

/// Tells whether a sign stands here that ties a word to the next.
fn is_tied(after: &[u8]) -> bool {
    match after {
        [sign, next, ..] => sign.is_ascii_punctuation() && !next.is_ascii_whitespace(),
        _ => false,
    }
}

/// Returns the run of signs at the beginning, up to a class of a regular expression.
fn signs(text: &[u8]) -> &[u8] {
    let mut length = 0;
    while let Some(byte) = text.get(length)
        && length <= SIGNS
        && byte.is_ascii_punctuation()
        && (length == 0 || class(text.get(length..).unwrap_or_default()) == 0)
    {
        length += 1;
    }
    text.get(..length).unwrap_or_default()
}

/// Tells whether a run of signs falls into few that are used together.
fn is_usual(signs: &[u8]) -> bool {
    let mut rest = signs;
    let mut count = 0;
    while !rest.is_empty() && count < OPERATORS {
        let known = TOGETHER.iter().find(|known| rest.starts_with(known));
        let length = known.map_or(1, |known| known.len());
        rest = rest.get(length..).unwrap_or_default();
        count += 1;
    }
    rest.is_empty() && signs.len() <= SIGNS
}

/// Tells whether a text begins with a word that can be read, or none.
fn is_read(text: &[u8]) -> bool {
    let length = text.iter().take(WORD + 1);
    let length = length
        .take_while(|byte| byte.is_ascii_alphanumeric())
        .count();
    let ends = text.first().is_none_or(u8::is_ascii_whitespace);
    let class = class(text) > 0;
    ends || class || length > 0 && is_readable(text.get(..length).unwrap_or_default())
}

/// Tells whether a word can be read: a name, one letter, or a number that says little.
fn is_readable(word: &[u8]) -> bool {
    let digits = word.iter().filter(|byte| byte.is_ascii_digit()).count();
    let letters = word.len() - digits;
    if word.len() > WORD || digits > DIGITS {
        return false;
    }
    if letters <= 1 || measure(word) == word.len() {
        return digits == 0 || digits + letters <= DIGITS;
    }
    let numbered = word
        .iter()
        .rev()
        .take(2)
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let name = word.get(..word.len() - numbered).unwrap_or_default();
    let plain = std::str::from_utf8(name).is_ok_and(|name| !is_chance(name));
    digits == numbered
        && has_usual_case(name)
        && (plain || name.len() < SPEAKS || NAMES.contains(&name))
}

/// Tells whether a name is in small letters, in capitals, or of words that begin with one.
fn has_usual_case(name: &[u8]) -> bool {
    let capitals = name.iter().filter(|byte| byte.is_ascii_uppercase()).count();
    let alone =
        |pair: &&[u8]| matches!(pair, [a, b] if a.is_ascii_uppercase() && b.is_ascii_uppercase());
    let humps = name.windows(2).filter(alone).count();
    capitals == name.len() || humps == 0 && capitals * 3 <= name.len() + 2
}

/// Returns the length of a short name that is known, or zero.
fn name(text: &[u8]) -> usize {
    let length = text
        .iter()
        .take(WORD)
        .take_while(|byte| byte.is_ascii_alphanumeric())
        .count();
    let known = text.get(..length).is_some_and(|word| NAMES.contains(&word));
    if known { length } else { 0 }
}

/// Returns the length of a short number with a unit, or zero.
fn measure(text: &[u8]) -> usize {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let rest = text.get(digits..).unwrap_or_default();
    let letters = rest
        .iter()
        .take(WORD)
        .take_while(|byte| byte.is_ascii_alphanumeric())
        .count();
    let unit = rest.get(..letters).unwrap_or_default();
    let fits = (1..=DIGITS).contains(&digits) && UNITS.contains(&unit);
    if fits { digits + letters } else { 0 }
}

/// Returns the length of a class or an escape of a regular expression with how often it may come,
/// or zero.
fn class(text: &[u8]) -> usize {
    let length = match text {
        [b'\\', b'd' | b'w' | b's' | b'D' | b'W' | b'S' | b'b', ..] => 2,
        [b'[', ..] => bracket(text),
        _ => 0,
    };
    let rest = text.get(length..).unwrap_or_default();
    match rest {
        _ if length == 0 => 0,
        [b'+' | b'*' | b'?', ..] => length + 1,
        [b'{', ..] => length + times(rest),
        // An escape alone may be the beginning of a word.
        [byte, ..] if byte.is_ascii_alphanumeric() && !text.starts_with(b"[") => 0,
        _ => length,
    }
}

/// Returns the length of what says how often something may come, or zero.
fn times(text: &[u8]) -> usize {
    let inner = text.iter().skip(1).take(2 * DIGITS);
    let inner = inner
        .take_while(|byte| byte.is_ascii_digit() || **byte == b',')
        .count();
    if text.get(1 + inner) == Some(&b'}') {
        inner + 2
    } else {
        0
    }
}

/// Returns the length of a class in brackets: ranges and escapes, and signs that are none.
fn bracket(text: &[u8]) -> usize {
    let (mut at, mut ranges) = (1, 0);
    while at < CLASS {
        match text.get(at..).unwrap_or_default() {
            [b']', ..] if ranges > 0 => return at + 1,
            [b'a', b'-', b'z', ..] | [b'A', b'-', b'Z', ..] | [b'0', b'-', b'9', ..] => {
                (at, ranges) = (at + 3, ranges + 1);
            }
            [b'\\', b'd' | b'w' | b's', ..] => (at, ranges) = (at + 2, ranges + 1),
            [byte, ..] if byte.is_ascii_punctuation() && *byte != b']' => at += 1,
            _ => return 0,
        }
    }
    0
}

/// Returns the length of the line of a drawing with what stands in front of it, as the last part of
/// `d="M12 2l10 5z"`: commands of one letter, and numbers. The numbers are told by `figures`.
fn drawn(text: &[u8], at: usize) -> usize {
    let named = text.get(..at).is_some_and(|before| before.ends_with(b" d"));
    let rest = text.get(at..).and_then(|rest| rest.strip_prefix(b"=\""));
    let Some(rest) = rest.filter(|_| named) else {
        return 0;
    };
    let mut is_letter = false;
    for (length, &byte) in rest.iter().take(DRAWN).enumerate() {
        match byte {
            b'"' => return length + 2,
            b'0'..=b'9' | b' ' | b'.' | b',' | b'-' | b'z' | b'Z' => is_letter = false,
            _ if is_letter || !b"mlhvcsqta".contains(&byte.to_ascii_lowercase()) => return 0,
            _ => is_letter = true,
        }
    }
    0
}
