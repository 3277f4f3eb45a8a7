//! Characters that are called by their numbers, one by one, wherever a program writes them:
//! `chr(113)+chr(56)`, `Chr(&H71) & Chr(56)`. Numbers in one list are for `spaced`.

use super::spaced::NUMBERS;
use super::{Coding, Run};

/// Words in the names of what makes a character of a number.
const NAMES: [&[u8]; 4] = [b"chr", b"char", b"codepoint", b"codeunit"];
/// Longest name, number, and text between two calls.
const NAME: usize = 16;
const NUMBER: usize = 8;
const BETWEEN: usize = 24;

/// A call: where it stands, and the character that it makes.
struct Call {
    start: usize,
    end: usize,
    char: char,
}

/// Adds the runs of `text` in which characters are called.
pub(super) fn find(text: &[u8], runs: &mut Vec<Run>) {
    let mut run: Option<(Run, usize)> = None;
    let mut end = |run: Option<(Run, usize)>| {
        runs.extend(
            run.filter(|(_, count)| *count >= NUMBERS)
                .map(|(run, _)| run),
        );
    };
    for call in calls(text) {
        match &mut run {
            Some((last, count)) if call.start <= last.span.end.saturating_add(BETWEEN) => {
                last.span.end = call.end;
                *count += 1;
            }
            open => {
                let first = Run {
                    span: call.start..call.end,
                    coding: Coding::CharCodes,
                };
                end(open.replace((first, 1)));
            }
        }
    }
    end(run);
}

/// Reads the characters that are called, if there are any.
pub(super) fn decode(bytes: &[u8]) -> Option<Vec<u8>> {
    let text: String = calls(bytes).map(|call| call.char).collect();
    (!text.is_empty()).then(|| text.into_bytes())
}

fn calls(text: &[u8]) -> impl Iterator<Item = Call> {
    memchr::memchr_iter(b'(', text).filter_map(|open| call(text, open))
}

/// Reads the call whose bracket opens here.
fn call(text: &[u8], open: usize) -> Option<Call> {
    let rest = text.get(open + 1..)?;
    let blanks = |bytes: &[u8]| {
        bytes
            .iter()
            .take(2)
            .take_while(|byte| **byte == b' ')
            .count()
    };
    let before = blanks(rest);
    let rest = rest.get(before..)?;
    // Most brackets have no number in them.
    if !matches!(rest.first(), Some(b'0'..=b'9' | b'&')) {
        return None;
    }
    let is_digit = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'&';
    let length = rest.iter().take(NUMBER).take_while(is_digit).count();
    let (number, rest) = rest.split_at_checked(length)?;
    let behind = blanks(rest);
    if rest.get(behind) != Some(&b')') {
        return None;
    }
    let name = text.get(open.saturating_sub(NAME)..open)?;
    let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(**byte, b'_' | b'$');
    let length = name.iter().rev().take_while(is_name).count();
    let name = name.get(name.len() - length..)?.to_ascii_lowercase();
    let has = |word: &&[u8]| name.windows(word.len()).any(|part| part == *word);
    NAMES.iter().any(has).then_some(())?;
    let char = char::from_u32(value(number)?)?;
    let fair = !char.is_control() || matches!(char, '\n' | '\r' | '\t');
    fair.then(|| Call {
        start: open - length,
        end: open + 1 + before + number.len() + behind + 1,
        char,
    })
}

/// Reads `113`, `0x71`, `&H71`.
fn value(number: &[u8]) -> Option<u32> {
    let number = std::str::from_utf8(number).ok()?;
    let hex = ["0x", "0X", "&H", "&h"];
    match hex.iter().find_map(|prefix| number.strip_prefix(prefix)) {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => number.parse().ok(),
    }
}
