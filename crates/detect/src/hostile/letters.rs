//! Letters as lists of words know them: lower case, no accents, one spelling of letters that people
//! and keyboards write in several ways.
//!
//! Not for showing, and not for places: a folded word may be longer or shorter than the given one.

use unicode_normalization::UnicodeNormalization;

/// The article of Arabic, with the small words that it is written together with, folded.
const ARTICLES: &[&str] = &["وال", "بال", "فال", "كال", "ولل", "ال", "لل"];

/// Small words of Arabic and of Hebrew that are written together with the next one.
const PROCLITICS: &[&str] = &["و", "ف", "ب", "ل"];
const HEBREW_PROCLITICS: &[&str] = &["וה", "שה", "מה", "ו", "ה", "ל", "ב", "מ", "ש", "כ"];

/// The fewest bytes that are left of a word from which something is taken off.
const STEM: usize = 6;

/// Folds the letters of a word, or of several with single blanks between.
pub(crate) fn folded(words: &str) -> String {
    let mut plain = String::with_capacity(words.len());
    for (at, letter) in words.char_indices() {
        if letter.is_ascii() {
            plain.push(letter.to_ascii_lowercase());
        } else if matches!(letter, 'é' | 'É') && is_participle(words.get(at..).unwrap_or_default())
        {
            plain.push('é');
        } else {
            put(letter, &mut plain);
        }
    }
    if plain.starts_with(is_arabic) {
        let bare: Vec<&str> = plain
            .split(' ')
            .map(|word| without(word, ARTICLES))
            .collect();
        return bare.join(" ");
    }
    plain
}

/// Whether a word ends so that French says what was done: without its accent it would be an order.
fn is_participle(rest: &str) -> bool {
    let end = rest.split(|letter| !is_letter(letter)).next();
    let end = end.unwrap_or_default().to_lowercase();
    matches!(end.as_str(), "é" | "és" | "ée" | "ées")
}

/// A folded word without a small word that is written together with it.
pub(crate) fn without_proclitic(word: &str) -> &str {
    if word.starts_with(is_arabic) {
        without(word, PROCLITICS)
    } else if word.starts_with(is_hebrew) {
        without(word, HEBREW_PROCLITICS)
    } else {
        word
    }
}

/// A word as it may be written together with what stands before it.
pub(crate) fn with_heads(word: &str) -> impl Iterator<Item = String> {
    let arabic = ARTICLES.iter().chain(PROCLITICS);
    let arabic = arabic.filter(|_| word.starts_with(is_arabic));
    let hebrew = HEBREW_PROCLITICS.iter();
    let heads = arabic.chain(hebrew.filter(|_| word.starts_with(is_hebrew)));
    let joined = heads.map(move |head| format!("{head}{word}"));
    joined.chain([word.to_owned()])
}

fn without<'a>(word: &'a str, heads: &[&str]) -> &'a str {
    let rests = heads.iter().filter_map(|head| word.strip_prefix(head));
    rests
        .into_iter()
        .find(|rest| rest.len() >= STEM)
        .unwrap_or(word)
}

fn is_hebrew(letter: char) -> bool {
    matches!(letter, '\u{5d0}'..='\u{5ea}')
}

fn is_arabic(letter: char) -> bool {
    matches!(letter, '\u{620}'..='\u{6ff}')
}

/// Adds the folded form of a letter beyond ASCII.
fn put(letter: char, plain: &mut String) {
    match letter {
        'ß' | 'ẞ' => plain.push_str("ss"),
        'ı' => plain.push('i'),
        'ł' | 'Ł' => plain.push('l'),
        'ø' | 'Ø' => plain.push('o'),
        'æ' | 'Æ' => plain.push_str("ae"),
        'œ' | 'Œ' => plain.push_str("oe"),
        'ς' => plain.push('σ'),
        'أ' | 'إ' | 'آ' | 'ٱ' => plain.push('ا'),
        'ى' | 'ی' => plain.push('ي'),
        'ة' => plain.push('ه'),
        'ک' => plain.push('ك'),
        '\u{901}' => plain.push('\u{902}'),
        _ if is_dropped(letter) => {}
        // Latin, Greek, Cyrillic and Devanagari take marks that many leave out.
        '\u{c0}'..='\u{24f}'
        | '\u{370}'..='\u{52f}'
        | '\u{900}'..='\u{97f}'
        | '\u{1e00}'..='\u{1fff}' => {
            let parts = letter.to_lowercase().flat_map(UnicodeNormalization::nfd);
            plain.extend(parts.filter(|&part| !is_dropped(part)));
        }
        _ => plain.extend(letter.to_lowercase()),
    }
}

/// Whether a mark is not written by everybody: accents, vowel points, the dot of Devanagari.
fn is_dropped(mark: char) -> bool {
    matches!(mark,
        '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5c7}' | '\u{610}'..='\u{61a}' | '\u{640}'
        | '\u{64b}'..='\u{65f}' | '\u{670}' | '\u{93c}')
}

/// Whether any byte begins a letter of some scripts beyond ASCII; block by block, which is quicker than
/// byte by byte, and not at all where there is only ASCII, which is quicker still.
pub(crate) fn any_begins(text: &str, begins: impl Fn(u8) -> bool) -> bool {
    let mut blocks = text.as_bytes().chunks(256);
    !text.is_ascii()
        && blocks.any(|block| block.iter().fold(false, |any, byte| any | begins(*byte)))
}

/// Whether a character is part of a word; in some scripts words hold marks that are no letters.
pub(crate) fn is_letter(letter: char) -> bool {
    letter.is_alphanumeric()
        || is_dropped(letter)
        || (matches!(letter, '\u{900}'..='\u{e7f}') && !matches!(letter, '\u{964}' | '\u{965}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_word_are_one() {
        let check = |one: &str, other: &str| assert_eq!(folded(one), folded(other));
        check("Précédentes", "precedentes");
        check("STRASSE", "Straße");
        check("KULLANICI", "kullanici");
        check("kullanıcı", "kullanici");
        check("İPTAL", "iptal");
        check("ещё", "еще");
        check("التَّعليمات", "التعليمات");
        check("أرسل", "ارسل");
        check("والتعليمات", "تعليمات");
        check("للمستخدم", "مستخدم");
        check("फ़ाइल", "फाइल");
        check("지시", "지시");
    }

    #[test]
    fn what_was_done_is_no_order() {
        assert_ne!(folded("informé"), folded("informe"));
        assert_ne!(folded("cachées"), folded("caches"));
    }

    #[test]
    fn words_hold_their_marks() {
        let check = |word: &str| assert!(word.chars().all(is_letter), "{word}");
        check("निर्देश");
        check("फ़ाइल");
        check("straße");
        assert!(!is_letter('।') && !is_letter('。') && !is_letter('-'));
    }
}
