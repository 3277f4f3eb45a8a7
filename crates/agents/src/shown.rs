//! Makes text from files fit for a terminal.
//!
//! A project's file may come from strangers, and what it says is shown before anything is decided.

/// Returns a text in which characters that move the cursor or turn the writing are replaced.
pub(crate) fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(found) = chars.next() {
        let line_end = found == '\r' && chars.peek() == Some(&'\n');
        let harmless = line_end || matches!(found, '\n' | '\t');
        let hidden = (found.is_control() && !harmless) || turns(found);
        out.push(if hidden { '\u{fffd}' } else { found });
    }
    out
}

fn turns(found: char) -> bool {
    matches!(found, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}')
        || matches!(found, '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_moves_the_cursor() {
        let check = |text: &str, expect: &str| assert_eq!(printable(text), expect);
        check("a\tb\r\nc\n", "a\tb\r\nc\n");
        check("a\u{1b}[2Jb", "a\u{fffd}[2Jb");
        check("over\rwritten", "over\u{fffd}written");
        check("a\u{202e}b\u{2066}", "a\u{fffd}b\u{fffd}");
        check("\u{9b}1m é 日", "\u{fffd}1m é 日");
    }
}
