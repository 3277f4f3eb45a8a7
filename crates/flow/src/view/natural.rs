//! Whether letters stand together as they do in a language, or as if by chance.

/// Pairs of letters that are frequent in most languages with Latin letters.
const PAIRS: &[&[u8; 2]] = &[
    b"th", b"he", b"in", b"er", b"an", b"re", b"nd", b"on", b"en", b"at", b"ou", b"ed", b"ha",
    b"to", b"or", b"it", b"is", b"es", b"ng", b"st", b"te", b"ar", b"al", b"de", b"se", b"le",
    b"ve", b"ra", b"ti", b"el", b"ch", b"ei", b"ie", b"un", b"la", b"ro", b"ta", b"co",
];

/// The letters that often follow each letter, as bits; the highest tells a letter from all else.
const FOLLOW: [u32; 256] = follow();
const LETTER: u32 = 1 << 31;

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated when compiled; a wrong index does not build"
)]
const fn follow() -> [u32; 256] {
    let mut letters = [LETTER; 26];
    let mut at = 0;
    while at < PAIRS.len() {
        let [one, two] = *PAIRS[at];
        letters[(one - b'a') as usize] |= 1 << (two - b'a');
        at += 1;
    }
    let mut table = [0; 256];
    at = 0;
    while at < 26 {
        table[at + b'a' as usize] = letters[at];
        table[at + b'A' as usize] = letters[at];
        at += 1;
    }
    table
}

/// Bytes that are counted at once: a count of them fits a byte.
const BLOCK: usize = 128;

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
    /// Looks at every byte. What is only counted is counted in blocks, which compilers turn into
    /// a few steps for many bytes.
    pub(super) fn at(text: &str) -> Self {
        let (mut letters, mut digits, mut signs) = (0, 0, 0);
        for block in text.as_bytes().chunks(BLOCK) {
            letters += count(block, u8::is_ascii_alphabetic);
            digits += count(block, u8::is_ascii_digit);
            signs += count(block, u8::is_ascii_punctuation);
        }
        let (mut row, mut pairs, mut frequent) = (0_u32, 0_u32, 0_u32);
        for byte in text.bytes() {
            let next = FOLLOW.get(usize::from(byte)).copied().unwrap_or(0);
            // Small and capital letters have the number of the letter in their lowest bits, which
            // means nothing where the highest bit of its row is not set.
            let both = (row & next) >> 31;
            frequent += both & row >> (byte.wrapping_sub(1) & 31);
            pairs += both;
            row = next;
        }
        let size = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
        Self {
            letters,
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

/// Counts the bytes of a block that are of a kind.
fn count(block: &[u8], is: impl Fn(&u8) -> bool) -> usize {
    // INVARIANT: a block is shorter than 256, so nothing wraps; checked sums are slow here.
    let add = |sum: u8, byte: &u8| sum.wrapping_add(u8::from(is(byte)));
    usize::from(block.iter().fold(0, add))
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
