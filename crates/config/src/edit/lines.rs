//! Lines of a text, by offset.

/// Returns the offset at which the line of `at` starts.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    text.get(..at)
        .and_then(|before| before.rfind('\n'))
        .map_or(0, |newline| newline + 1)
}

/// Returns the offset at which the line of `at` ends, before its newline.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    let line = text.get(at..).unwrap_or_default();
    let line = line.split('\n').next().unwrap_or_default();
    at + line.strip_suffix('\r').unwrap_or(line).len()
}

/// Returns what stands before `at` on its line.
pub(super) fn before(text: &str, at: usize) -> &str {
    text.get(line_start(text, at)..at).unwrap_or_default()
}

/// Returns how many characters stand before `at` on its line.
pub(super) fn column(text: &str, at: usize) -> usize {
    before(text, at).chars().count()
}

/// Returns the blanks with which a piece of text begins.
pub(super) fn blanks(text: &str) -> &str {
    text.get(..text.len() - text.trim_start().len())
        .unwrap_or_default()
}

/// Returns the offset behind the line of `end` and behind the comments below it that are indented
/// deeper than `depth`.
pub(super) fn after_comments(text: &str, end: usize, depth: usize) -> usize {
    let mut at = next_line(text, end);
    while let Some(line) = text.get(at..line_end(text, at)) {
        if !line.trim_start().starts_with('#') || blanks(line).len() <= depth {
            break;
        }
        at = next_line(text, at);
    }
    at
}

fn next_line(text: &str, at: usize) -> usize {
    let newline = text.get(at..).and_then(|after| after.find('\n'));
    newline.map_or(text.len(), |newline| at + newline + 1)
}

/// Returns the offset behind the colon that follows a key.
pub(super) fn behind_colon(text: &str, key_end: usize) -> Option<usize> {
    let after = text.get(key_end..)?;
    let colon = after.trim_start().starts_with(':');
    colon.then_some(key_end + blanks(after).len() + 1)
}
