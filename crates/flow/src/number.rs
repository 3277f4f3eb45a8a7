//! Numbers in the one form in which all that are the same are compared: `41234.0` and `4.1234e4` are
//! 41234. What a number is worth is for `typed`.

use std::borrow::Cow;

/// Digits and powers of ten up to which a number is written out.
const LONGEST: usize = 40;
/// Digits of a number that stands in text, if nothing groups them: shorter ones have versions, too.
const BARE: usize = 5;
/// Zeros that would be a group of digits.
const GROUP: usize = 3;

/// Writes a number of JSON without an exponent and without zeros that say nothing.
pub(crate) fn plain(text: &str) -> Option<String> {
    let is_odd = |byte: u8| matches!(byte, b'e' | b'E');
    let has_point = text.contains('.');
    let odd = text.bytes().any(is_odd) || has_point && text.ends_with(['0', '.']);
    if !odd || text.len() > 2 * LONGEST {
        return None;
    }
    let (sign, rest) = text.split_at(usize::from(text.starts_with('-')));
    let (digits, power) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all = [whole, fraction].concat();
    let power: isize = power.parse().ok()?;
    if whole.is_empty()
        || all.len() > LONGEST
        || power.unsigned_abs() > LONGEST
        || !all.bytes().all(|byte| byte.is_ascii_digit())
    {
        return None;
    }
    let point = whole.len().checked_add_signed(power);
    // Zeros in front, so that the point lies within, and behind.
    let before = point.map_or_else(|| power.unsigned_abs() - whole.len(), |_| 0);
    let point = point.unwrap_or(0);
    let all = ["0".repeat(before), all].concat();
    let behind = point.saturating_sub(all.len());
    let all = [all, "0".repeat(behind)].concat();
    let (whole, fraction) = all.split_at_checked(point)?;
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    Some([sign, whole, point, fraction].concat())
}

/// Takes off the zeros behind the point of a whole number in text.
pub(crate) fn whole(word: &str, is_grouped: impl Fn(&str) -> bool) -> &str {
    if !word.ends_with('0') || !word.starts_with(|first: char| first.is_ascii_digit()) {
        return word;
    }
    let bare = word.trim_end_matches('0');
    let Some(whole) = bare.strip_suffix(['.', ',']) else {
        return word;
    };
    let zeros = word.len() - bare.len();
    let digits = whole.bytes().all(|byte| byte.is_ascii_digit());
    let fits = digits && whole.len() >= BARE || zeros != GROUP && is_grouped(whole);
    if fits { whole } else { word }
}

/// Brings a word of text into that form, if it is a number with a point.
pub(crate) fn normal(word: &str, is_grouped: impl Fn(&str) -> bool) -> Cow<'_, str> {
    let short = whole(word, is_grouped);
    let starts = word.starts_with(|first: char| first.is_ascii_digit());
    // Without a point it may be a code.
    if starts && short.contains('.') && short.contains(['e', 'E']) {
        plain(short).map_or(Cow::Borrowed(short), Cow::Owned)
    } else {
        Cow::Borrowed(short)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_that_are_the_same_are_written_the_same() {
        let check = |text: &str, expect: &str| {
            assert_eq!(plain(text).as_deref().unwrap_or(text), expect, "{text}");
        };
        for same in [
            "41234",
            "41234.0",
            "41234.000",
            "4.1234e4",
            "4.1234E+4",
            "412340e-1",
            "0.41234e5",
            "41234.0e0",
            "0.000041234e9",
        ] {
            check(same, "41234");
        }
        check("-12.50", "-12.5");
        check("1e-3", "0.001");
        check("12e-1", "1.2");
        check("0.0", "0");
        check("100", "100");
        check("1e30", &format!("1{}", "0".repeat(30)));
        for other in [
            "1e400",
            "1e-400",
            "1e99999999999999999999",
            "e5",
            ".e",
            "1.2.0",
            "1ee0",
        ] {
            check(other, other);
        }
    }

    #[test]
    fn words_are_whole_numbers_only_where_that_is_plain() {
        let grouped = |word: &str| word == "1,234" || word == "1.234.567";
        let check = |word: &str, expect: &str| assert_eq!(normal(word, grouped), expect, "{word}");
        check("41234.0", "41234");
        check("41234,00", "41234");
        check("1,234.00", "1,234");
        check("1.234.567,00", "1.234.567");
        check("1,234.000", "1,234.000");
        check("4.1234e4", "41234");
        check("12e10", "12e10");
        check("2.0", "2.0");
        check("10.4.20", "10.4.20");
        check("0", "0");
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "[-+0-9.eE,]{0,60}") {
            prop_assert!(plain(&text).is_none_or(|plain| plain.len() <= 3 * LONGEST));
            prop_assert!(normal(&text, |_| true).len() <= 3 * LONGEST);
        }
    }
}
