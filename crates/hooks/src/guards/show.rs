//! What an upstream wrote, made fit to be shown: cut, and with nothing in it that cannot be seen.

/// Characters of a name that are shown.
const NAME: usize = 80;

/// Shows a name.
pub(super) fn name(name: &str) -> String {
    text(name, NAME)
}

/// Shows a text up to a number of characters.
pub(super) fn text(text: &str, most: usize) -> String {
    let mut shown = String::with_capacity(text.len().min(most));
    for (at, letter) in text.char_indices().take(most) {
        // What only looks like a hidden letter that is spelled out must not be taken for one.
        let is_spelled = text.get(at..).is_some_and(|rest| rest.starts_with("\\u{"));
        if is_hidden(letter) || is_spelled {
            shown.extend(letter.escape_unicode());
        } else {
            shown.push(letter);
        }
    }
    if text.chars().nth(most).is_some() {
        shown.push('…');
    }
    shown
}

/// Characters that a reader does not see, or that change what one sees.
fn is_hidden(letter: char) -> bool {
    let formats = matches!(letter,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{e0000}'..='\u{e0fff}');
    letter.is_control() || formats
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_spelled_out() {
        let check = |given: &str, expect: &str| assert_eq!(text(given, 8), expect);
        check("plain", "plain");
        check("a\u{200b}b", "a\\u{200b}b");
        check("\u{1b}[1m", "\\u{1b}[1m");
        check("\\u{1b}", "\\u{5c}u{1b}");
        check("C:\\users", "C:\\users");
        check("123456789", "12345678…");
    }
}
