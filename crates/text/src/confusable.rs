//! Letters of other scripts that a reader takes for Latin ones, and the fold that undoes them.
//!
//! Only look-alikes that a common font draws the same. Whether a mixture is an attack, and which words
//! it spells, is a matter of detection.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

use crate::fold;
use crate::fold::fold_fully;

/// Pairs of a look-alike and the Latin letter it is taken for, sorted by the look-alike.
const TWINS: &[(char, char)] = &[
    ('\u{131}', 'i'),
    ('\u{237}', 'j'),
    ('\u{251}', 'a'),
    ('\u{261}', 'g'),
    ('\u{26A}', 'i'),
    ('\u{391}', 'A'),
    ('\u{392}', 'B'),
    ('\u{395}', 'E'),
    ('\u{396}', 'Z'),
    ('\u{397}', 'H'),
    ('\u{399}', 'I'),
    ('\u{39A}', 'K'),
    ('\u{39C}', 'M'),
    ('\u{39D}', 'N'),
    ('\u{39F}', 'O'),
    ('\u{3A1}', 'P'),
    ('\u{3A4}', 'T'),
    ('\u{3A5}', 'Y'),
    ('\u{3A7}', 'X'),
    ('\u{3B1}', 'a'),
    ('\u{3B9}', 'i'),
    ('\u{3BA}', 'k'),
    ('\u{3BD}', 'v'),
    ('\u{3BF}', 'o'),
    ('\u{3C1}', 'p'),
    ('\u{3C5}', 'u'),
    ('\u{3C7}', 'x'),
    ('\u{3F2}', 'c'),
    ('\u{3F3}', 'j'),
    ('\u{405}', 'S'),
    ('\u{406}', 'I'),
    ('\u{408}', 'J'),
    ('\u{410}', 'A'),
    ('\u{412}', 'B'),
    ('\u{415}', 'E'),
    ('\u{41A}', 'K'),
    ('\u{41C}', 'M'),
    ('\u{41D}', 'H'),
    ('\u{41E}', 'O'),
    ('\u{420}', 'P'),
    ('\u{421}', 'C'),
    ('\u{422}', 'T'),
    ('\u{423}', 'Y'),
    ('\u{425}', 'X'),
    ('\u{430}', 'a'),
    ('\u{435}', 'e'),
    ('\u{43E}', 'o'),
    ('\u{440}', 'p'),
    ('\u{441}', 'c'),
    ('\u{443}', 'y'),
    ('\u{445}', 'x'),
    ('\u{455}', 's'),
    ('\u{456}', 'i'),
    ('\u{458}', 'j'),
    ('\u{475}', 'v'),
    ('\u{49B}', 'k'),
    ('\u{4AF}', 'y'),
    ('\u{4BB}', 'h'),
    ('\u{4C0}', 'I'),
    ('\u{4CF}', 'l'),
    ('\u{501}', 'd'),
    ('\u{51B}', 'q'),
    ('\u{51D}', 'w'),
    ('\u{561}', 'w'),
    ('\u{566}', 'q'),
    ('\u{570}', 'h'),
    ('\u{578}', 'n'),
    ('\u{57D}', 'u'),
    ('\u{581}', 'g'),
    ('\u{585}', 'o'),
    ('\u{1D04}', 'c'),
    ('\u{1D0F}', 'o'),
    ('\u{1D1C}', 'u'),
    ('\u{1D20}', 'v'),
    ('\u{1D21}', 'w'),
    ('\u{1D22}', 'z'),
    ('\u{2C9F}', 'o'),
    ('\u{A731}', 's'),
];

/// Returns the Latin letter that `letter` of another script is taken for.
pub fn latin_twin(letter: char) -> Option<char> {
    if letter < '\u{131}' {
        return None;
    }
    let at = TWINS
        .binary_search_by_key(&letter, |&(twin, _)| twin)
        .ok()?;
    TWINS.get(at).map(|&(_, latin)| latin)
}

/// Folds a name to what a hasty reader sees: one case, Latin letters, no separators.
pub fn skeleton(name: &str) -> Cow<'_, str> {
    let plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    if name.as_bytes().iter().all(plain) && !name.contains(['0', '1']) {
        return Cow::Borrowed(name);
    }
    let letters = name
        .nfkc()
        .map(|letter| latin_twin(letter).unwrap_or(letter));
    let folded = letters
        .flat_map(char::to_lowercase)
        .filter_map(|letter| match letter {
            '0' => Some('o'),
            '1' => Some('l'),
            letter if letter.is_alphanumeric() => Some(letter),
            _ => None,
        });
    Cow::Owned(folded.collect())
}

/// Folds a name as [`fold`] does, and its look-alikes and control characters too; separators and
/// digits stay what they are.
pub fn fold_alike(name: &str) -> Cow<'_, str> {
    if name.is_ascii() && !name.contains(|char: char| char.is_ascii_control()) {
        return fold(name);
    }
    let letters = name.nfkc().filter(|letter| !letter.is_control());
    let latin: String = letters
        .map(|letter| latin_twin(letter).unwrap_or(letter))
        .collect();
    Cow::Owned(fold_fully(&latin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_alikes_and_what_is_not_seen_fold_to_one_name() {
        let check = |one: &str, same: bool| {
            assert_eq!(fold_alike(one) == fold_alike("shell_exec"), same, "{one:?}");
        };
        check("Shell_EXEC", true);
        check("\u{2800}shell_exec", true);
        for (one, other) in [("straße", "STRASSE"), ("ΣΑΣ", "σας"), ("ﬁle", "FILE")] {
            assert_eq!(fold_alike(one), fold_alike(other));
        }
        check("\u{455}hell_\u{435}xec", true);
        check("SHELL_\u{415}XEC", true);
        check("shell_exec\0", true);
        check("sh\u{200b}ell_exec\u{7}", true);
        check("shellexec", false);
        check("she11_exec", false);
    }

    #[test]
    fn the_table_is_sorted() {
        assert!(TWINS.is_sorted_by_key(|&(twin, _)| twin));
    }

    #[test]
    fn names_that_look_alike_have_one_skeleton() {
        let check = |one: &str, other: &str, same: bool| {
            assert_eq!(skeleton(one) == skeleton(other), same, "{one} {other}");
        };
        check("send_email", "sendEmail", true);
        check("send_email", "s\u{435}nd_\u{435}mail", true);
        check("read-file", "\u{ff52}ead_fi1e", true);
        check("read_file", "read_files", false);
    }
}
