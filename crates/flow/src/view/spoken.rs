//! Letters spelled as words, dots and dashes, bits or numbers.

use super::Made;
use super::natural::Look;

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
/// Letters spelled in a row that are no accident.
const LEAST: usize = 6;

/// Adds what `text` may spell.
pub(super) fn find(text: &str, look: Look, made: &mut Vec<Made>) {
    if look.signs * 2 >= text.len() {
        made.extend(morse(text));
    }
    if look.letters >= 24 {
        made.extend(radio(text));
    }
    if look.digits >= 48 && look.letters * 8 <= look.digits {
        made.extend(bits(text));
    }
    if look.digits >= 12 && look.letters <= look.digits * 4 {
        numbers(text, made);
    }
    made.extend(unseen(text));
}

/// Reads dots and dashes.
fn morse(text: &str) -> Option<Made> {
    let mut plain = String::new();
    for letter in text.split([' ', '/', '|', '\n', '\t']) {
        let letter = letter.replace('_', "-").replace('*', ".");
        let known = MORSE.iter().find(|(code, _)| *code == letter);
        plain.extend(known.map(|&(_, char)| char));
    }
    (plain.len() >= LEAST).then(|| Made::new("morse", plain))
}

/// Reads the words of the radio alphabet, wherever six or more stand together.
fn radio(text: &str) -> Option<Made> {
    let mut plain = String::new();
    let mut run = String::new();
    let mut end = |run: &mut String| {
        if run.len() >= LEAST {
            plain.push_str(run);
            plain.push(' ');
        }
        run.clear();
    };
    for word in text.split(|char: char| !char.is_ascii_alphanumeric()) {
        if word.is_empty() {
            continue;
        }
        match spelled(word) {
            Some(letter) => run.push(letter),
            // Marks of case stand between the letters.
            None if word.len() > 1 && ["capital", "upper", "lower", "dash"].contains(&word) => {}
            None => end(&mut run),
        }
    }
    end(&mut run);
    (!plain.is_empty()).then(|| Made::new("radio_alphabet", plain))
}

fn spelled(word: &str) -> Option<char> {
    if let [single @ b'0'..=b'9'] = word.as_bytes() {
        return Some(char::from(*single));
    }
    if !(3..=8).contains(&word.len()) {
        return None;
    }
    let first = word.bytes().next()?.to_ascii_lowercase();
    let letter = RADIO.get(usize::from(first.wrapping_sub(b'a')))?;
    if letter.eq_ignore_ascii_case(word) {
        return Some(char::from(first));
    }
    let same = |known: &str| known.eq_ignore_ascii_case(word);
    let digit = DIGITS.iter().zip('0'..='9').find(|(known, _)| same(known));
    let other = || SPELLINGS.iter().find(|(known, _)| same(known));
    digit
        .map(|(_, digit)| digit)
        .or_else(|| other().map(|&(_, char)| char))
}

/// Reads groups of eight bits, or seven.
fn bits(text: &str) -> Option<Made> {
    let bit = |byte: &u8| matches!(byte, b'0' | b'1');
    let count = text.bytes().filter(bit).count();
    let others = text.bytes().filter(u8::is_ascii_alphanumeric).count() - count;
    if count < 48 || others * 8 > count {
        return None;
    }
    let bits: Vec<u8> = text.bytes().filter(bit).collect();
    [8, 7].iter().find_map(|&width| {
        let value = |chunk: &[u8]| chunk.iter().fold(0, |sum, bit| sum << 1 | (bit & 1));
        let bytes: Vec<u8> = bits.chunks_exact(width).map(value).collect();
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
            made.extend(list_of(list, 10, "char_codes", |code| {
                (32..127).contains(&code)
            }));
            made.extend(list_of(list, 8, "octal", |code| (32..127).contains(&code)));
            made.extend(alphabet(list));
        }
        list.clear();
    };
    let splits = |char: char| {
        char.is_ascii_whitespace() || matches!(char, ',' | ';' | '-' | '.' | '|' | '/' | '_' | ':')
    };
    for word in text.split(splits) {
        if word.is_empty() {
            continue;
        }
        let begins = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'\\' | b'o' | b'#' | b'&');
        if !word.bytes().next().is_some_and(begins) {
            end(&mut list);
            continue;
        }
        let digits = word.trim_start_matches(['\\', '0', 'o', '#', '&']);
        if digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.len() <= 3 {
            list.push(digits);
        } else {
            end(&mut list);
        }
    }
    end(&mut list);
}

fn list_of(
    list: &[&str],
    radix: u32,
    via: &'static str,
    fits: impl Fn(u32) -> bool,
) -> Option<Made> {
    let char = |digits: &&str| {
        let code = u32::from_str_radix(digits, radix).ok()?;
        char::from_u32(code).filter(|_| fits(code))
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
