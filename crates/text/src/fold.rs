//! The fold under which two names count as one: compatibility form, then lower case.
//!
//! Confusable letters of different scripts are not folded here; that is a matter of detection.

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
    let lower: String = name.nfkc().flat_map(char::to_lowercase).collect();
    Cow::Owned(lower.nfkc().collect())
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
        check(&["straße", "strasse"], None);
        check(&["K", "\u{212A}"], Some(("K", "\u{212A}")));
    }
}
