//! Blanks that push what follows them out of view.

use std::ops::Range;

use memchr::memchr_iter;

/// The shortest run of blanks within a line that counts.
const WIDE: usize = 160;

/// The smallest number of line breaks in a run of blanks that counts.
const TALL: usize = 24;

/// A run that counts is at least this long, so looking at every such byte misses none.
pub(super) const STRIDE: usize = 24;

/// Finds the runs of blanks with text behind them.
pub(crate) fn gaps(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = STRIDE - 1;
    while let Some(byte) = bytes.get(at) {
        if !byte.is_ascii_whitespace() {
            at += STRIDE;
            continue;
        }
        let head = bytes.get(..at).unwrap_or_default();
        let tail = bytes.get(at..).unwrap_or_default();
        let start = at
            - head
                .iter()
                .rev()
                .take_while(|byte| byte.is_ascii_whitespace())
                .count();
        let end = at
            + tail
                .iter()
                .take_while(|byte| byte.is_ascii_whitespace())
                .count();
        let run = bytes.get(start..end).unwrap_or_default();
        if end < bytes.len() && start > 0 && run.len() >= STRIDE && is_gap(run) {
            found.push(start..end);
        }
        at = end + STRIDE - 1;
    }
    found
}

fn is_gap(run: &[u8]) -> bool {
    let tall = memchr_iter(b'\n', run).count() >= TALL;
    tall || run
        .split(|byte| *byte == b'\n')
        .any(|line| line.len() >= WIDE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_gaps_with_text_behind_count() {
        let check = |text: &str, expect: Option<Range<usize>>| {
            assert_eq!(gaps(text).first(), expect.as_ref());
        };
        check("a b  c\n\n\nd", None);
        check(&format!("a{}b", " ".repeat(200)), Some(1..201));
        check(&format!("a{}b", "\n".repeat(40)), Some(1..41));
        check(&format!("a{}", " ".repeat(200)), None);
        check(&format!("a{}b", " ".repeat(100)), None);
    }
}
