//! Letters spelled as words, dots and dashes, bits or numbers.

use super::Made;
use super::natural::Look;
use crate::words::{Words, alphanumeric, runs_of_words, split};

/// Letters and digits in Morse's code.
const MORSE: [(&str, char); 36] = [
    (".-", 'a'),
    ("-...", 'b'),
    ("-.-.", 'c'),
    ("-..", 'd'),
    (".", 'e'),
    ("..-.", 'f'),
    ("--.", 'g'),
    ("....", 'h'),
    ("..", 'i'),
    (".---", 'j'),
    ("-.-", 'k'),
    (".-..", 'l'),
    ("--", 'm'),
    ("-.", 'n'),
    ("---", 'o'),
    (".--.", 'p'),
    ("--.-", 'q'),
    (".-.", 'r'),
    ("...", 's'),
    ("-", 't'),
    ("..-", 'u'),
    ("...-", 'v'),
    (".--", 'w'),
    ("-..-", 'x'),
    ("-.--", 'y'),
    ("--..", 'z'),
    ("-----", '0'),
    (".----", '1'),
    ("..---", '2'),
    ("...--", '3'),
    ("....-", '4'),
    (".....", '5'),
    ("-....", '6'),
    ("--...", '7'),
    ("---..", '8'),
    ("----.", '9'),
];

/// Words of the radio alphabet, by the letter they begin with.
const RADIO: [&str; 26] = [
    "alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "juliet",
    "kilo", "lima", "mike", "november", "oscar", "papa", "quebec", "romeo", "sierra", "tango",
    "uniform", "victor", "whiskey", "xray", "yankee", "zulu",
];
/// Other spellings of the same.
const SPELLINGS: [(&str, char); 7] = [
    ("alfa", 'a'),
    ("juliett", 'j'),
    ("whisky", 'w'),
    ("x-ray", 'x'),
    ("niner", '9'),
    ("fife", '5'),
    ("tree", '3'),
];
const DIGITS: [&str; 10] = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine",
];
/// All of these, so that other words are passed over at once.
static SPOKEN: Words = Words::new(SPOKEN_WORDS);
const SPOKEN_WORDS: &[&str] = &[
    "alfa", "alpha", "bravo", "charlie", "delta", "echo", "eight", "fife", "five", "four",
    "foxtrot", "golf", "hotel", "india", "juliet", "juliett", "kilo", "lima", "mike", "nine",
    "niner", "november", "one", "oscar", "papa", "quebec", "romeo", "seven", "sierra", "six",
    "tango", "three", "tree", "two", "uniform", "victor", "whiskey", "whisky", "x-ray", "xray",
    "yankee", "zero", "zulu",
];
/// The lengths of them by their first byte, as bits; a digit or a letter stands for itself.
const LENGTHS: [u32; 256] = lengths();

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated when compiled; a wrong index does not build"
)]
const fn lengths() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 128_u8 {
        if byte.is_ascii_alphanumeric() {
            table[byte as usize] = 1 << 1;
        }
        byte += 1;
    }
    let mut at = 0;
    while at < SPOKEN_WORDS.len() {
        let word = SPOKEN_WORDS[at].as_bytes();
        table[word[0] as usize] |= 1 << word.len();
        table[word[0].to_ascii_uppercase() as usize] |= 1 << word.len();
        at += 1;
    }
    table
}

/// Letters spelled in a row that are no accident.
const LEAST: usize = 6;
/// Bits in a row that are no accident.
const BITS: usize = 48;
/// Longest text that is first asked whether it may be of the radio alphabet.
const GLANCE: usize = 4096;
/// Other words in a row that may stand between those of the radio alphabet.
const BETWEEN: usize = 2;

/// Adds what `text` may spell.
pub(super) fn find(text: &str, look: Look, made: &mut Vec<Made>) {
    if look.signs >= LEAST * 2 {
        made.extend(morse(text));
    }
    if look.letters >= 24 {
        made.extend(radio(text));
    }
    if look.digits >= BITS {
        made.extend(bits(text));
    }
    if look.digits >= 12 && look.letters <= look.digits * 4 {
        numbers(text, made);
    }
    made.extend(unseen(text));
}

/// Reads dots and dashes, wherever the signs of six or more letters stand together.
fn morse(text: &str) -> Option<Made> {
    if !may_be_morse(text.as_bytes()) {
        return None;
    }
    let mut plain = String::new();
    let mut run = String::new();
    let splits = |char: char| char.is_whitespace() || matches!(char, '/' | '|' | '+' | ',');
    for word in text.split(splits).chain(["end"]) {
        match letter(word.as_bytes()) {
            Some(char) => run.push(char),
            None if word.is_empty() => {}
            None => {
                if run.len() >= LEAST {
                    plain.push_str(&run);
                }
                run.clear();
            }
        }
    }
    (!plain.is_empty()).then(|| Made::new("morse", plain))
}

/// Signs of the longest letter.
const SIGNS: usize = 5;

fn is_sign(byte: u8) -> bool {
    matches!(byte, b'.' | b'-' | b'_' | b'*')
}

/// Tells whether a text can have as many letters in dots and dashes as it takes: signs in a row, with
/// no other letter or digit beside them.
fn may_be_morse(text: &[u8]) -> bool {
    let (mut count, mut before) = (0, b' ');
    let mut rest = text;
    while let Some(at) = rest.iter().position(|&byte| is_sign(byte)) {
        before = at
            .checked_sub(1)
            .and_then(|at| rest.get(at))
            .map_or(before, |byte| *byte);
        rest = rest.get(at..).unwrap_or_default();
        let length = rest.iter().take_while(|byte| is_sign(**byte)).count();
        let last = rest.get(length - 1).copied();
        rest = rest.get(length..).unwrap_or_default();
        let apart = |byte: u8| !byte.is_ascii_alphanumeric();
        let stands = apart(before) && rest.first().copied().is_none_or(apart);
        count += usize::from(stands && length <= SIGNS);
        if count >= LEAST {
            return true;
        }
        before = last.unwrap_or(before);
    }
    false
}

/// Returns the letter that a word is in dots and dashes.
fn letter(word: &[u8]) -> Option<char> {
    if word.len() > SIGNS || !word.iter().all(|&byte| is_sign(byte)) {
        return None;
    }
    let sign = |byte: &u8| match byte {
        b'_' => b'-',
        b'*' => b'.',
        other => *other,
    };
    let mut known = MORSE.iter();
    let known = known.find(|(code, _)| code.bytes().eq(word.iter().map(sign)));
    known.map(|&(_, char)| char)
}

/// Reads the words of the radio alphabet, wherever six or more stand together.
fn radio(text: &str) -> Option<Made> {
    // A long text has some that look like it, and is read at once.
    if text.len() <= GLANCE && !may_be_radio(text.as_bytes()) {
        return None;
    }
    let mut plain = String::new();
    let mut run = String::new();
    let mut between = 0;
    let mut end = |run: &mut String| {
        if run.len() >= LEAST {
            plain.push_str(run);
            plain.push(' ');
        }
        run.clear();
    };
    alphanumeric(text, |word| match spelled(word.as_bytes()) {
        Some(letter) => {
            run.push(letter);
            between = 0;
        }
        // What is said for signs and capitals stands between the letters.
        None if between < BETWEEN => between += 1,
        None => end(&mut run),
    });
    end(&mut run);
    (!plain.is_empty()).then(|| Made::new("radio_alphabet", plain))
}

/// Tells whether as many words as it takes stand together that begin like one of the radio alphabet, and
/// are as long. Which do is as good as chance, so that they are counted without a jump.
fn may_be_radio(text: &[u8]) -> bool {
    let (mut run, mut between, mut most) = (0_usize, 0_usize, 0);
    runs_of_words(text, |span| {
        let first = text.get(span.start).copied().unwrap_or(0);
        let lengths = LENGTHS.get(usize::from(first)).copied().unwrap_or(0);
        let fits = usize::from(span.len() < 32 && lengths >> (span.len() & 31) & 1 == 1);
        // INVARIANT: there are fewer words than would wrap; checked sums are slow here.
        between = between.wrapping_add(1).wrapping_mul(1 - fits);
        run = run
            .wrapping_mul(usize::from(between <= BETWEEN))
            .wrapping_add(fits);
        most = most.max(run);
    });
    most >= LEAST
}

fn spelled(word: &[u8]) -> Option<char> {
    if let [single] = word {
        return Some(char::from(single.to_ascii_lowercase()));
    }
    if !SPOKEN.has_bytes(word) {
        return None;
    }
    let same = |known: &str| known.as_bytes().eq_ignore_ascii_case(word);
    let first = word.first()?.to_ascii_lowercase();
    let letter = RADIO.get(usize::from(first.wrapping_sub(b'a')))?;
    if same(letter) {
        return Some(char::from(first));
    }
    let digit = DIGITS.iter().zip('0'..='9').find(|(known, _)| same(known));
    let other = || SPELLINGS.iter().find(|(known, _)| same(known));
    digit
        .map(|(_, digit)| digit)
        .or_else(|| other().map(|&(_, char)| char))
}

/// Reads bits in groups of eight, or seven, wherever many stand together.
fn bits(text: &str) -> Option<Made> {
    let mut longest: Vec<u8> = Vec::new();
    let mut run = Vec::new();
    let stands = |byte: u8| byte.is_ascii_whitespace() || matches!(byte, b',' | b'-' | b'_');
    for byte in text.bytes().chain([b'x']) {
        if matches!(byte, b'0' | b'1') {
            run.push(byte);
        } else if !stands(byte) {
            if run.len() > longest.len() {
                longest.clone_from(&run);
            }
            run.clear();
        }
    }
    if longest.len() < BITS {
        return None;
    }
    [8, 7].iter().find_map(|&width| {
        let value = |chunk: &[u8]| chunk.iter().fold(0, |sum, bit| sum << 1 | (bit & 1));
        let bytes: Vec<u8> = longest.chunks_exact(width).map(value).collect();
        let plain = String::from_utf8(bytes).ok()?;
        let fair = plain
            .bytes()
            .all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
        fair.then(|| Made::new("bits", plain))
    })
}

/// Reads numbers that stand for characters, or for letters of the alphabet.
fn numbers(text: &str, made: &mut Vec<Made>) {
    let mut list: Vec<&str> = Vec::new();
    let mut end = |list: &mut Vec<&str>| {
        if list.len() >= LEAST * 2 {
            made.extend(list_of(list, 10, "char_codes"));
            made.extend(list_of(list, 8, "octal"));
            made.extend(alphabet(list));
        }
        list.clear();
    };
    let splits = |byte: u8| {
        byte.is_ascii_whitespace()
            || matches!(
                byte,
                b',' | b';' | b'-' | b'.' | b'|' | b'/' | b'_' | b':' | b'\\' | b'\'' | b'"'
            )
    };
    for (_, word) in split(text, splits) {
        if word.is_empty() {
            continue;
        }
        let begins = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'\\' | b'o' | b'#' | b'&');
        if !word.bytes().next().is_some_and(begins) {
            end(&mut list);
            continue;
        }
        let digits = word.trim_start_matches(['\\', '0', 'o', '#', '&']);
        if digits.is_empty() {
            end(&mut list);
        } else if digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.len() <= 3 {
            list.push(digits);
        } else {
            end(&mut list);
        }
    }
    end(&mut list);
}

fn list_of(list: &[&str], radix: u32, via: &'static str) -> Option<Made> {
    let char = |digits: &&str| {
        let code = u8::from_str_radix(digits, radix).ok()?;
        let fair = matches!(code, b' '..=b'~' | b'\t' | b'\n' | b'\r');
        fair.then(|| char::from(code))
    };
    let plain: Option<String> = list.iter().map(char).collect();
    plain.map(|plain| Made::new(via, plain))
}

/// Reads 1 as `a` and 26 as `z`.
fn alphabet(list: &[&str]) -> Option<Made> {
    let char = |digits: &&str| {
        let number: u8 = digits.parse().ok()?;
        (1..=26)
            .contains(&number)
            .then(|| char::from(b'a' + number - 1))
    };
    let plain: Option<String> = list.iter().map(char).collect();
    plain.map(|plain| Made::new("alphabet", plain))
}

/// Reads bits that are written with two characters nobody sees.
fn unseen(text: &str) -> Option<Made> {
    if text.is_ascii() {
        return None;
    }
    let unseen = |char: &char| matches!(char, '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2063}' | '\u{feff}');
    let marks: Vec<char> = text.chars().filter(unseen).collect();
    let zero = *marks.first()?;
    let kinds = marks.iter().filter(|mark| **mark != zero);
    let one = *kinds.clone().next()?;
    if marks.len() < 48 || kinds.clone().any(|mark| *mark != one) {
        return None;
    }
    [(zero, 0_u8), (one, 0)].iter().find_map(|&(zero, _)| {
        let bit = |mark: &char| u8::from(*mark != zero);
        let bits: Vec<u8> = marks.iter().map(bit).collect();
        let value = |chunk: &[u8]| chunk.iter().fold(0, |sum, bit| sum << 1 | bit);
        let bytes: Vec<u8> = bits.chunks_exact(8).map(value).collect();
        let plain = String::from_utf8(bytes).ok()?;
        let fair = plain
            .bytes()
            .all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
        fair.then(|| Made::new("unseen_bits", plain))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spelled_among_other_text_is_read() {
        let check = |text: &str, via: &str, expect: &str| {
            let mut made = Vec::new();
            find(text, Look::at(text), &mut made);
            let found: Vec<_> = made.iter().map(|one| (one.via, one.text.trim())).collect();
            assert!(found.contains(&(via, expect)), "{text} {found:?}");
        };
        check("see: -- --- .-. ... . ... okay?", "morse", "morses");
        check(
            "note Mike stop Oscar Romeo stop stop Sierra Echo Nine, bye for now then",
            "radio_alphabet",
            "morse9",
        );
        check(
            "capital k seven q D two v capital n nine, bye for now then",
            "radio_alphabet",
            "k7qd2vn9",
        );
        check(
            "It is 01101110 01101001 01100111 01101000 01110100 01110011, as I said",
            "bits",
            "nights",
        );
        check(
            "## New\n\n110 105 103 104 116 10 115 104 105 102 116 115\n\n## Old",
            "char_codes",
            "night\nshifts",
        );
        check(
            "\\156\\151\\147\\150\\164\\040\\163\\150\\151\\146\\164\\163",
            "octal",
            "night shifts",
        );
    }
}
