//! The fold under which two names count as one: compatibility form, then lower case.
//!
//! Confusable letters of different scripts are not folded here, but in `confusable`.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

/// Folds a name so that spellings a sloppy reader would confuse become equal.
pub fn fold(name: &str) -> Cow<'_, str> {
    if name.is_ascii() {
        if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Cow::Owned(name.to_ascii_lowercase());
        }
        return Cow::Borrowed(name);
    }
    let seen = name.nfkc().filter(|char| !is_ignorable(*char));
    let lower: String = seen.flat_map(char::to_lowercase).collect();
    Cow::Owned(lower.nfkc().collect())
}

/// Folds a name as [`fold`] does, and letters whose cases differ in number too: `ß` and `SS` are one.
/// For what must not be passed by another spelling; two hosts may differ by just that.
pub(crate) fn fold_fully(name: &str) -> String {
    let upper: String = fold(name).chars().flat_map(char::to_uppercase).collect();
    let lower = upper.chars().flat_map(char::to_lowercase);
    lower.filter(|char| *char != BLANK).collect()
}

/// A blank that is drawn like one and is none to anybody who trims (Braille without dots).
const BLANK: char = '\u{2800}';

/// Characters that are not seen and that a reader who folds case drops (Unicode,
/// `Default_Ignorable_Code_Point`).
fn is_ignorable(char: char) -> bool {
    matches!(char,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fff8}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Finds two different names among `names` that fold to the same.
pub fn fold_twins<'a>(names: &[Cow<'a, str>]) -> Option<(Cow<'a, str>, Cow<'a, str>)> {
    let mut folded: Vec<_> = names.iter().map(|name| (fold(name), name)).collect();
    folded.sort_unstable();
    folded.windows(2).find_map(|pair| match pair {
        [(one, first), (other, second)] if one == other && first != second => {
            Some(((*first).clone(), (*second).clone()))
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_that_a_reader_confuses_are_twins() {
        let check = |names: &[&str], expect: Option<(&str, &str)>| {
            let names: Vec<_> = names.iter().map(|&name| Cow::Borrowed(name)).collect();
            let found = fold_twins(&names);
            assert_eq!(
                found.as_ref().map(|(a, b)| (a.as_ref(), b.as_ref())),
                expect
            );
        };
        check(&["name", "arguments"], None);
        check(&["name", "Name"], Some(("Name", "name")));
        check(&["name", "ｎａｍｅ"], Some(("name", "ｎａｍｅ")));
        check(&["name", "na\u{200d}me"], Some(("name", "na\u{200d}me")));
        check(&["straße", "strasse"], None);
        check(&["K", "\u{212A}"], Some(("K", "\u{212A}")));
    }
}
