//! Whether letters stand together as they do in a language, or as if by chance.

/// Pairs of letters that are frequent in most languages with Latin letters.
const PAIRS: &[&[u8; 2]] = &[
    b"th", b"he", b"in", b"er", b"an", b"re", b"nd", b"on", b"en", b"at", b"ou", b"ed", b"ha",
    b"to", b"or", b"it", b"is", b"es", b"ng", b"st", b"te", b"ar", b"al", b"de", b"se", b"le",
    b"ve", b"ra", b"ti", b"el", b"ch", b"ei", b"ie", b"un", b"la", b"ro", b"ta", b"co",
];

const TABLE: [u32; 26] = table();

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated when compiled; a wrong index does not build"
)]
const fn table() -> [u32; 26] {
    let mut table = [0; 26];
    let mut at = 0;
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
        let mut look = Self::default();
        let mut row = 0;
        for byte in text.bytes() {
            let letter = byte.to_ascii_lowercase().wrapping_sub(b'a');
            if letter < 26 {
                look.letters += 1;
                look.pairs += usize::from(row != 0);
                look.frequent += usize::from(row >> letter & 1 == 1);
                // The highest bit tells a letter that begins no pair from no letter.
                row = TABLE.get(usize::from(letter)).copied().unwrap_or(0) | 1 << 31;
            } else {
                look.digits += usize::from(byte.is_ascii_digit());
                look.signs += usize::from(byte.is_ascii_punctuation());
                row = 0;
            }
        }
        look
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
