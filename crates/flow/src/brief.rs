//! Short values that are encoded by themselves: a code of six characters has eight in base64, and
//! whoever reads encodings leaves runs of that length alone. Here they are read, since what comes out
//! is only ever compared with values that are known.

use mcpproxy_text::decode::{Coding, Run, decode};

/// Characters of a run; longer ones are read by whoever reads encodings.
const SHORTEST: usize = 6;
const LONGEST: usize = 15;
/// Symbols of the longest value that has so short a run in any of the codings.
pub(crate) const MOST: usize = 12;

/// Hands what the short runs of a text decode to, letters and digits, to `each`.
pub(crate) fn brief(text: &str, mut each: impl FnMut(&str, Coding)) {
    let bytes = text.as_bytes();
    let mut start = 0;
    while start < bytes.len() {
        let rest = bytes.get(start..).unwrap_or_default();
        let length = rest.iter().take_while(|byte| is_digit(**byte)).count();
        if (SHORTEST..=LONGEST).contains(&length) {
            let run = rest.get(..length).unwrap_or_default();
            for coding in codings(run).into_iter().flatten() {
                let span = start..start + length;
                let decoded = decode(text, &Run { coding, span });
                let decoded = decoded.and_then(|decoded| String::from_utf8(decoded).ok());
                if let Some(decoded) = decoded.filter(|decoded| decoded.bytes().all(is_value)) {
                    each(&decoded, coding);
                }
            }
        }
        start += length + 1;
    }
}

/// Returns the codings in which a run may be letters and digits, by its first character and those that
/// begin a byte as that one does: few words may be.
fn codings(run: &[u8]) -> [Option<Coding>; 3] {
    let all = |fits: fn(u8) -> bool, step: usize| run.iter().step_by(step).all(|byte| fits(*byte));
    let base64 = run.len() % 4 != 1 && all(begins_base64, 4);
    let hex = run.len().is_multiple_of(2)
        && all(|byte| matches!(byte, b'3'..=b'7'), 2)
        && all(|byte| byte.is_ascii_hexdigit(), 1);
    let base32 = all(|byte| matches!(byte, b'A'..=b'Z' | b'2'..=b'7'), 1)
        && all(|byte| matches!(byte, b'F'..=b'P'), 8);
    [
        base64.then_some(Coding::Base64),
        hex.then_some(Coding::Hex),
        base32.then_some(Coding::Base32),
    ]
}

/// Tells whether the upper bits of a letter, a digit or a sign between them are those of this digit of
/// base64.
fn begins_base64(byte: u8) -> bool {
    matches!(byte, b'L'..=b'Z' | b'a'..=b'e')
}

/// Tells whether a byte is a digit of any of the codings.
fn is_digit(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

fn is_value(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'/' | b'.' | b' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_runs_are_read_in_each_coding() {
        let check = |text: &str, expect: &[&str]| {
            let mut found = Vec::new();
            brief(text, |value, _| found.push(value.to_owned()));
            assert_eq!(found, expect, "{text}");
        };
        check("see WDdLOVEy now", &["X7K9Q2"]);
        check("see WDdLOVEy.", &["X7K9Q2"]);
        check("ref=NDgyOTEz", &["482913"]);
        check("QzAxWDAwVDQ3", &["C01X00T47"]);
        check("58374b395132", &["X7K9Q2"]);
        check("LA3UWOKRGI======", &["X7K9Q2"]);
        check("QUItMTI=", &["AB-12"]);
        check("hundreds of little words without codes", &[]);
        check("WDdLOVEyWDdLOVEyWDdLOVEy", &[]);
        check("", &[]);
    }
}
