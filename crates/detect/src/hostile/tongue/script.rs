//! In which scripts a sentence is written.

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
