//! Whether letters stand together as they do in a language, or as if by chance.

/// Pairs of letters that are frequent in most languages with Latin letters.
const PAIRS: &[&[u8; 2]] = &[
    b"th", b"he", b"in", b"er", b"an", b"re", b"nd", b"on", b"en", b"at", b"ou", b"ed", b"ha",
    b"to", b"or", b"it", b"is", b"es", b"ng", b"st", b"te", b"ar", b"al", b"de", b"se", b"le",
    b"ve", b"ra", b"ti", b"el", b"ch", b"ei", b"ie", b"un", b"la", b"ro", b"ta", b"co",
];

/// What a byte is: the number of a letter, or one of these.
const DIGIT: u8 = 26;
const PUNCTUATION: u8 = 27;
const OTHER: u8 = 28;
const CODES: usize = 32;

const CODE: [u8; 256] = codes();
/// The letters that often follow each letter, as bits; the highest tells a letter from all else.
const FOLLOW: [u32; CODES] = follow();
const LETTER: u32 = 1 << 31;

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated when compiled; a wrong index does not build"
)]
const fn codes() -> [u8; 256] {
    let mut codes = [OTHER; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        codes[byte as usize] = match byte {
            b'a'..=b'z' => byte - b'a',
            b'A'..=b'Z' => byte - b'A',
            b'0'..=b'9' => DIGIT,
            _ if byte.is_ascii_punctuation() => PUNCTUATION,
            _ => OTHER,
        };
        byte += 1;
    }
    codes
}

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated when compiled; a wrong index does not build"
)]
const fn follow() -> [u32; CODES] {
    let mut table = [0; CODES];
    let mut at = 0;
    while at < 26 {
        table[at] = LETTER;
        at += 1;
    }
    at = 0;
    while at < PAIRS.len() {
        let [one, two] = *PAIRS[at];
        table[(one - b'a') as usize] |= 1 << (two - b'a');
        at += 1;
    }
    table
}

/// What a text is made of.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Look {
    pub(super) letters: usize,
    pub(super) digits: usize,
    /// Everything printable that is neither.
    pub(super) signs: usize,
    pairs: usize,
    frequent: usize,
}

impl Look {
    /// Looks at every byte once.
    pub(super) fn at(text: &str) -> Self {
        let mut counts = [0_usize; CODES];
        let (mut row, mut pairs, mut frequent) = (0_u32, 0_u32, 0_u32);
        for byte in text.bytes() {
            let code = CODE.get(usize::from(byte)).copied().unwrap_or(OTHER) & 31;
            let next = FOLLOW.get(usize::from(code)).copied().unwrap_or(0);
            if let Some(count) = counts.get_mut(usize::from(code)) {
                *count += 1;
            }
            // No row has a bit at the code of anything but a letter.
            frequent += row >> code & 1;
            pairs += (row & next) >> 31;
            row = next;
        }
        let [letters @ .., digits, signs, _, _, _, _] = counts;
        let size = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
        Self {
            letters: letters.iter().sum(),
            digits,
            signs,
            pairs: size(pairs),
            frequent: size(frequent),
        }
    }

    /// Tells whether a text reads like a language: one pair of letters in six is a frequent one,
    /// which by chance only one in eighteen is.
    pub(super) fn is_natural(self) -> bool {
        self.pairs >= 8 && self.frequent * 6 >= self.pairs
    }
}

/// Tells whether a text reads like a language.
pub(super) fn is_natural(text: &str) -> bool {
    Look::at(text).is_natural()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_told_from_chance() {
        let check = |text: &str, expect: bool| assert_eq!(is_natural(text), expect, "{text}");
        check("The night shift moves to the other town.", true);
        check("Die Nachtschicht zieht in die andere Stadt.", true);
        check("let mut pairs = counts.iter().filter(|one| one > 0);", true);
        check("Txhxex xnxixgxhxtx xsxhxixfxtx xmxoxvxexsx", false);
        check("Wkh qljkw vkliw pryhv wr wkh rwkhu wrzq.", false);
        check("7Hx2mVb8TkwYpR4sNdLc6Gf1qZbXw", false);
    }
}
