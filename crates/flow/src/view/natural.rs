//! Whether letters stand together as they do in a language, or as if by chance.

/// Pairs of letters that are frequent in most languages with Latin letters.
const PAIRS: &[&[u8; 2]] = &[
    b"th", b"he", b"in", b"er", b"an", b"re", b"nd", b"on", b"en", b"at", b"ou", b"ed", b"ha",
    b"to", b"or", b"it", b"is", b"es", b"ng", b"st", b"te", b"ar", b"al", b"de", b"se", b"le",
    b"ve", b"ra", b"ti", b"el", b"ch", b"ei", b"ie", b"un", b"la", b"ro", b"ta", b"co",
];

/// The number of each letter, in either case, from one on; zero for all else.
const NUMBER: [u8; 256] = numbers();
/// Numbers of letters, rounded up to a power of two.
const LETTERS: usize = 32;

/// What a pair of letters counts, by their numbers: one pair below, one frequent pair above.
const COUNTS: [u64; LETTERS * LETTERS] = counts();
const FREQUENT: u32 = 32;

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated when compiled; a wrong index does not build"
)]
const fn numbers() -> [u8; 256] {
    let mut table = [0; 256];
    let mut letter = 0_u8;
    while letter < 26 {
        table[(b'a' + letter) as usize] = letter + 1;
        table[(b'A' + letter) as usize] = letter + 1;
        letter += 1;
    }
    table
}

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated when compiled; a wrong index does not build"
)]
const fn counts() -> [u64; LETTERS * LETTERS] {
    let mut table = [0; LETTERS * LETTERS];
    let mut place = 0;
    while place < table.len() {
        let (one, two) = (place / LETTERS, place % LETTERS);
        if one >= 1 && one <= 26 && two >= 1 && two <= 26 {
            table[place] = 1;
        }
        place += 1;
    }
    let mut at = 0;
    while at < PAIRS.len() {
        let [one, two] = *PAIRS[at];
        let row = (one - b'a') as usize + 1;
        table[row * LETTERS + (two - b'a') as usize + 1] |= 1 << FREQUENT;
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
    /// Blanks of ASCII.
    pub(super) blanks: usize,
    pairs: usize,
    frequent: usize,
}

impl Look {
    /// Looks at every byte. What is only counted is counted in blocks, which compilers turn into
    /// a few steps for many bytes.
    pub(super) fn at(text: &str) -> Self {
        let (mut letters, mut digits, mut signs, mut blanks) = (0, 0, 0, 0);
        for block in text.as_bytes().chunks(BLOCK) {
            letters += count(block, u8::is_ascii_alphabetic);
            digits += count(block, u8::is_ascii_digit);
            signs += count(block, u8::is_ascii_punctuation);
            blanks += count(block, u8::is_ascii_whitespace);
        }
        let counts = pairs(text.as_bytes());
        let size = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        Self {
            letters,
            digits,
            signs,
            blanks,
            pairs: size(counts & ((1 << FREQUENT) - 1)),
            frequent: size(counts >> FREQUENT),
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

/// Counts the pairs of letters below, and the frequent ones among them above.
fn pairs(text: &[u8]) -> u64 {
    let (mut last, mut sum) = (0, 0_u64);
    for &byte in text {
        let number = NUMBER
            .get(usize::from(byte))
            .copied()
            .map_or(0, usize::from);
        let counts = COUNTS.get(last * LETTERS + number).copied().unwrap_or(0);
        // No text has so many pairs that the lower count reaches the upper one.
        sum = sum.wrapping_add(counts);
        last = number;
    }
    sum
}

/// Tells whether a text reads like a language.
pub(super) fn is_natural(text: &str) -> bool {
    let counts = pairs(text.as_bytes());
    let look = Look {
        pairs: usize::try_from(counts & ((1 << FREQUENT) - 1)).unwrap_or(usize::MAX),
        frequent: usize::try_from(counts >> FREQUENT).unwrap_or(usize::MAX),
        ..Look::default()
    };
    look.is_natural()
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
