//! Text that somebody else wrote, on a page: escaped by the template, and with every character
//! made visible that would move, turn or hide the others.

use maud::Render;
use mcpproxy_text::decode::is_hidden;

/// Characters that a cell of a table shows.
const SHORT: usize = 80;

/// Characters of a first line that stand for the whole text.
const LINE: usize = 160;

/// Text that is not to be trusted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown<'a> {
    text: &'a str,
    most: usize,
}

/// Shows a text whole.
pub(crate) fn whole(text: &str) -> Shown<'_> {
    Shown {
        text,
        most: usize::MAX,
    }
}

/// Shows the beginning of a text.
pub(crate) fn short(text: &str) -> Shown<'_> {
    Shown { text, most: SHORT }
}

/// Shows the first line of a text, as far as it is not long.
pub(crate) fn line(text: &str) -> Shown<'_> {
    let first = text.lines().next().unwrap_or_default();
    Shown {
        text: text.trim_end(),
        most: first.chars().count().min(LINE),
    }
}

/// Shows the first characters of an id; the rest tells nobody anything.
pub(crate) fn id(text: &str) -> Shown<'_> {
    let short = text.get(..10).filter(|_| text.len() > 14);
    whole(short.unwrap_or(text))
}

impl Render for Shown<'_> {
    fn render_to(&self, buffer: &mut String) {
        let mut chars = self.text.chars();
        for char in chars.by_ref().take(self.most) {
            if is_safe(char) {
                char.encode_utf8(&mut [0; 4]).render_to(buffer);
            } else {
                let code = u32::from(char);
                let chip = format!(r#"<span class="hidden-char">U+{code:04X}</span>"#);
                buffer.push_str(&chip);
            }
        }
        if chars.next().is_some() {
            buffer.push('…');
        }
    }
}

impl Shown<'_> {
    /// Tells whether there is more than what is shown.
    pub(crate) fn is_cut(self) -> bool {
        self.text.chars().nth(self.most).is_some()
    }
}

/// Tells whether a character shows what it is.
fn is_safe(char: char) -> bool {
    match char {
        '\n' | '\t' => true,
        '\u{2028}' | '\u{2029}' | '\u{115F}' | '\u{1160}' | '\u{3164}' => false,
        other => !other.is_control() && !is_hidden(other),
    }
}

/// The same for a place that can hold no markup, as a title.
pub(crate) fn plain(text: &str) -> String {
    let written = |char| {
        if is_safe(char) {
            char.to_string()
        } else {
            format!("[U+{:04X}]", u32::from(char))
        }
    };
    text.chars().map(written).collect()
}

#[cfg(test)]
mod tests {
    use maud::html;

    use super::*;

    #[test]
    fn what_others_wrote_is_text_and_nothing_else() {
        let check = |text: &str, expect: &str| {
            assert_eq!(html!((whole(text))).into_string(), expect, "{text:?}");
        };
        check("plain, größer, 日本語\n", "plain, größer, 日本語\n");
        check(
            "<script>alert(\"1\")</script>",
            "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;",
        );
        check("a&b", "a&amp;b");
        let chip = |code: &str| format!("<span class=\"hidden-char\">U+{code}</span>");
        check("x\u{202E}y", &format!("x{}y", chip("202E")));
        check(
            "x\u{200B}y\0",
            &format!("x{}y{}", chip("200B"), chip("0000")),
        );
        check("\u{1b}[31m", &format!("{}[31m", chip("001B")));
        check("\u{E0041}", &chip("E0041"));
        check("\u{2028}", &chip("2028"));
    }

    #[test]
    fn cells_are_short_and_titles_hold_no_markup() {
        let long = "é".repeat(SHORT + 1);
        let cut = html!((short(&long))).into_string();
        assert_eq!(cut, format!("{}…", "é".repeat(SHORT)));
        assert_eq!(html!((short("abc"))).into_string(), "abc");
        for (text, expect) in [
            ("Echoes.\nIMPORTANT: more", "Echoes.…"),
            ("Echoes.\n", "Echoes."),
            ("", ""),
        ] {
            assert_eq!(html!((line(text))).into_string(), expect);
            assert_eq!(line(text).is_cut(), expect.ends_with('…'));
        }
        let long = "é".repeat(LINE + 1);
        assert!(line(&long).is_cut() && !line("é").is_cut());
        assert_eq!(
            html!((id("01JABCDEFGHJKMNPQRSTVWXYZ0"))).into_string(),
            "01JABCDEFG"
        );
        assert_eq!(html!((id("short"))).into_string(), "short");
        assert_eq!(plain("a\u{202E}b"), "a[U+202E]b");
    }
}
