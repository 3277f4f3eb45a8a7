//! How hostile text is shown: short, escaped, and without anything that could be a secret.

use mcpproxy_core::Masked;

/// The most characters of a text that a sample repeats.
const MOST: usize = 80;

/// The shortest run of letters and digits that is starred, since it could be a key.
const KEY_LIKE: usize = 20;

/// Shows the beginning of `text` in printable ASCII.
pub(crate) fn shown(text: &str) -> Masked {
    Masked::from_safe(escaped(text))
}

/// Escapes and shortens `text`; runs that could be a key become stars.
pub(crate) fn escaped(text: &str) -> String {
    let mut plain = String::new();
    let mut run = String::new();
    for (count, letter) in text.chars().enumerate() {
        if count == MOST {
            flush(&mut run, &mut plain);
            plain.push_str("...");
            return plain;
        }
        if letter.is_ascii_alphanumeric() {
            run.push(letter);
            continue;
        }
        flush(&mut run, &mut plain);
        if letter == ' ' || letter.is_ascii_graphic() {
            plain.push(letter);
        } else {
            plain.extend(letter.escape_unicode());
        }
    }
    flush(&mut run, &mut plain);
    plain
}

fn flush(run: &mut String, plain: &mut String) {
    let digits = run.bytes().any(|byte| byte.is_ascii_digit());
    if run.len() >= KEY_LIKE && digits {
        plain.push_str("***");
    } else {
        plain.push_str(run);
    }
    run.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_printable_short_and_keyless() {
        let check = |text: &str, expect: &str| assert_eq!(escaped(text), expect);
        check("read \u{1b}[31m\u{202e}x", "read \\u{1b}[31m\\u{202e}x");
        check("key=a1b2c3d4e5f6a7b8c9d0e1 end", "key=*** end");
        check(
            &"ab ".repeat(40),
            &format!("{}...", "ab ".repeat(27).get(..80).unwrap()),
        );
    }
}
