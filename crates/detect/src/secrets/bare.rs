//! Random-looking runs with nothing said about them. They are found by leaps: a window of 27
//! bytes that has a gap holds no run of 27, so most text is passed over unread.

use std::ops::Range;

use mcpproxy_text::bits::{self, BLOCK};

use super::value::{Shape, entropy, is_hex, is_placeholder, is_uuid};

/// A shorter run says nothing.
const SHORTEST: usize = 27;
/// A run that is only random has to be longer.
const RANDOM: usize = 32;
/// A longer run is content, not a key.
const LONGEST: usize = 128;

/// What a run looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// Exactly the form of an AWS secret access key.
    AwsSecret,
    /// `SK` and 32 hexadecimal digits.
    TwilioKey,
    /// The last of the three parts of a Discord token.
    DiscordToken,
    /// The last of the two parts of an Airtable token.
    AirtableToken,
    /// Random beyond the threshold.
    Random,
}

/// Calls `found` with each run that looks like something.
pub(super) fn scan(text: &str, threshold: f64, mut found: impl FnMut(Look, Range<usize>)) {
    let bytes = text.as_bytes();
    let mut floor = 0;
    while let Some(window) = bytes.get(floor..floor + SHORTEST) {
        if let Some(gap) = window.iter().rposition(|byte| !in_run(*byte)) {
            floor += gap + 1;
            continue;
        }
        let run = floor..run_end(bytes, floor + SHORTEST);
        floor = run.end + 1;
        if run.len() > LONGEST {
            continue;
        }
        if let Some((look, span)) = issued(bytes, &run) {
            found(look, span);
        } else if let Some(look) = judge(bytes, &run, threshold) {
            found(look, run);
        }
    }
}

/// Returns where the run ends that goes on at `from`; encoded files are one long run, so that many
/// bytes are looked at in one go.
fn run_end(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    loop {
        let gaps = !bits::mask(&bits::block(bytes, at), flag);
        if gaps != 0 {
            return at + gaps.trailing_zeros() as usize;
        }
        at += BLOCK;
    }
}

/// One for a byte of a run and zero for any other, as `in_run` has it.
fn flag(byte: u8) -> u8 {
    let joint = byte == b'+' || byte == b'/' || byte == b'=' || byte == b'_' || byte == b'-';
    bits::alphanumeric(byte) | u8::from(joint)
}

fn in_run(byte: u8) -> bool {
    IN_RUN.get(usize::from(byte)).copied().unwrap_or(false)
}

/// A table, since in random text a jump for each class is guessed wrong at every other byte.
const IN_RUN: [bool; 256] = in_runs();

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated when compiled; a wrong index does not build"
)]
const fn in_runs() -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        table[byte as usize] =
            byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'_' | b'-');
        byte += 1;
    }
    table
}

/// Recognizes the forms that have no word to look for.
fn issued(bytes: &[u8], run: &Range<usize>) -> Option<(Look, Range<usize>)> {
    let value = bytes.get(run.clone())?;
    if value.len() == 34 && value.starts_with(b"SK") {
        let digits = value.get(2..)?;
        let lower = digits
            .iter()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'));
        return (lower && Shape::of(digits).is_mixed(32)).then(|| (Look::TwilioKey, run.clone()));
    }
    let before = bytes.get(..run.start)?.strip_suffix(b".")?;
    let part = |rest: &[u8]| {
        rest.iter()
            .rev()
            .take(32)
            .take_while(|byte| in_run(**byte))
            .count()
    };
    if value.len() == 64 && is_hex(value) && part(before) == 17 {
        let start = before.len() - 17;
        let named = before.get(start..)?.starts_with(b"pat");
        return named.then_some((Look::AirtableToken, start..run.end));
    }
    let middle = part(before);
    let first = before
        .get(..before.len().checked_sub(middle)?)?
        .strip_suffix(b".")?;
    let length = part(first);
    let start = first.len().checked_sub(length)?;
    let named = matches!(first.get(start), Some(b'M' | b'N' | b'O'));
    let sized = middle == 6 && (24..=28).contains(&length) && (27..=38).contains(&value.len());
    (named && sized && Shape::of(value).is_mixed(value.len()))
        .then_some((Look::DiscordToken, start..run.end))
}

fn judge(bytes: &[u8], run: &Range<usize>, threshold: f64) -> Option<Look> {
    let value = bytes
        .get(run.clone())
        .filter(|value| value.len() >= RANDOM)?;
    if is_block(bytes, run) {
        return None;
    }
    let shape = Shape::of(value);
    let varied = shape.lower > 3 && shape.upper > 3 && shape.digits > 1;
    let restless = shape.changes * 5 >= value.len() * 2;
    if !varied || !restless || entropy(value) < threshold {
        return None;
    }
    let text = std::str::from_utf8(value).ok()?;
    let is_known = is_hex(value) || is_uuid(value) || is_labelled(bytes, run.start);
    if is_known || is_placeholder(text) {
        return None;
    }
    let aws = value.len() == 40
        && value
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
        && stands_alone(bytes, run);
    Some(if aws { Look::AwsSecret } else { Look::Random })
}

/// Tells whether white space or quotes stand on both sides.
fn stands_alone(bytes: &[u8], run: &Range<usize>) -> bool {
    let open = |byte: Option<&u8>| {
        byte.is_none_or(|byte| byte.is_ascii_whitespace() || b"\"'`".contains(byte))
    };
    open(run.start.checked_sub(1).and_then(|at| bytes.get(at))) && open(bytes.get(run.end))
}

/// Tells whether the text before the run says that it is a hash or embedded content.
fn is_labelled(bytes: &[u8], start: usize) -> bool {
    let before = bytes
        .get(start.saturating_sub(12)..start)
        .unwrap_or_default()
        .to_ascii_lowercase();
    [
        &b"base64,"[..],
        b"sha",
        b"md5",
        b"hash",
        b"integrity",
        b"digest",
    ]
    .iter()
    .any(|label| memchr::memmem::find(&before, label).is_some())
}

/// Tells whether the run is one line of many.
fn is_block(bytes: &[u8], run: &Range<usize>) -> bool {
    let before = bytes.get(..run.start).unwrap_or_default();
    let after = bytes.get(run.end..).unwrap_or_default();
    let skip =
        |byte: &&u8| byte.is_ascii_whitespace() || b"\"'`+,\\".contains(byte) || **byte == b'n';
    let beyond = |rest: &mut dyn Iterator<Item = &u8>| {
        rest.take(24)
            .skip_while(|byte| skip(byte))
            .take(12)
            .filter(|byte| in_run(**byte))
            .count()
            == 12
    };
    let breaks = |near: &[u8]| memchr::memchr2(b'\n', b'\\', near).is_some();
    let head = before
        .get(before.len().saturating_sub(12)..)
        .unwrap_or_default();
    let tail = after.get(..after.len().min(12)).unwrap_or_default();
    breaks(head) && beyond(&mut before.iter().rev()) || breaks(tail) && beyond(&mut after.iter())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparing_says_what_the_table_says() {
        for byte in 0..=u8::MAX {
            assert_eq!(in_run(byte), flag(byte) != 0, "{byte:#x}");
        }
    }

    #[test]
    fn a_run_ends_at_its_first_gap() {
        for length in [27, 63, 64, 65, 200] {
            let run = "a".repeat(length);
            assert_eq!(run_end(run.as_bytes(), 5), length);
            let gap = format!("{run} {run}");
            assert_eq!(run_end(gap.as_bytes(), 5), length);
        }
    }
}
