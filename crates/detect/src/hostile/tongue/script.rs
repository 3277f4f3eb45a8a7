//! In which scripts a sentence is written.

use crate::hostile::letters::any_begins;

/// A script that tells which languages to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Script {
    /// Shared by many languages, which their words tell apart.
    Latin,
    Greek,
    Cyrillic,
    Hebrew,
    Arabic,
    Devanagari,
    Hangul,
    /// Japanese, whatever Chinese characters stand beside it.
    Kana,
    /// Chinese characters alone.
    Han,
}

/// The scripts of a sentence, one bit each.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scripts(u16);

impl Scripts {
    /// Whether a language that is written so may be spoken here.
    pub(crate) fn has(self, script: Script) -> bool {
        let kana = self.0 & bit(Script::Kana) != 0;
        self.0 & bit(script) != 0 && !(script == Script::Han && kana)
    }
}

/// The scripts of the letters of `words`.
pub(crate) fn of(words: &str) -> Scripts {
    if words.is_ascii() {
        return Scripts::default();
    }
    let scripts = words.chars().filter_map(of_letter);
    Scripts(scripts.fold(0, |all, script| all | bit(script)))
}

/// Whether a text has letters of another script than Latin, by the bytes that they begin with.
pub(crate) fn is_foreign(text: &str) -> bool {
    any_begins(
        text,
        |byte| matches!(byte, 0xcd..=0xdb | 0xe0 | 0xe3..=0xed),
    )
}

fn of_letter(letter: char) -> Option<Script> {
    Some(match letter {
        '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => Script::Greek,
        '\u{400}'..='\u{52f}' => Script::Cyrillic,
        '\u{590}'..='\u{5ff}' => Script::Hebrew,
        '\u{600}'..='\u{6ff}' => Script::Arabic,
        '\u{900}'..='\u{97f}' => Script::Devanagari,
        '\u{3040}'..='\u{30ff}' => Script::Kana,
        '\u{3400}'..='\u{9fff}' => Script::Han,
        '\u{ac00}'..='\u{d7a3}' => Script::Hangul,
        _ => return None,
    })
}

fn bit(script: Script) -> u16 {
    1 << script as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_every_other_script_are_seen() {
        let check = |text: &str, expect: bool| assert_eq!(is_foreign(text), expect, "{text}");
        for letter in [
            "ψ", "Ж", "ѣ", "ש", "ي", "ی", "न", "한", "힣", "ん", "ー", "忽", "㐀", "鿿",
        ] {
            check(letter, true);
            let long = "a".repeat(1000);
            check(&format!("{long}{letter}{long}"), true);
            assert!(
                of_letter(letter.chars().next().unwrap()).is_some(),
                "{letter}"
            );
        }
        check("", false);
        check("plain words", false);
        check("“Größe” — ếńś… £5 • 🎉", false);
    }
}
