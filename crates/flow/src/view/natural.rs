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
const COUNTS: [u32; LETTERS * LETTERS] = counts();
const FREQUENT: u32 = 16;

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
const fn counts() -> [u32; LETTERS * LETTERS] {
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

/// What each byte is: one in the bits of its kind, in which as many are counted as a block has.
const KINDS: [u64; 256] = kinds();
const KIND: u32 = 16;
/// Bytes that are counted at once: a count of them fits the bits of a kind.
const BLOCK: usize = 1 << 15;

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated when compiled; a wrong index does not build"
)]
const fn kinds() -> [u64; 256] {
    let mut table = [0; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        table[byte as usize] = match byte {
            _ if byte.is_ascii_alphabetic() => 1,
            _ if byte.is_ascii_digit() => 1 << KIND,
            _ if byte.is_ascii_punctuation() => 1 << (2 * KIND),
            _ if byte.is_ascii_whitespace() => 1 << (3 * KIND),
            _ => 0,
        };
        byte += 1;
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
    /// Blanks of ASCII.
    pub(super) blanks: usize,
    pairs: usize,
    frequent: usize,
}

impl Look {
    /// Looks at every byte. What is counted of it is added up in one number, by adding once.
    pub(super) fn at(text: &str) -> Self {
        let mut look = Self::default();
        let mut last = 0;
        for block in text.as_bytes().chunks(BLOCK) {
            let (mut kinds, mut pairs) = (0_u64, 0_u32);
            for &byte in block {
                let number = number(byte);
                // INVARIANT: a block is too short for any count to wrap; checked sums are slow here.
                pairs = pairs.wrapping_add(pair(last, number));
                kinds = kinds.wrapping_add(KINDS.get(usize::from(byte)).copied().unwrap_or(0));
                last = number;
            }
            let kind = |at: u32| size(kinds >> (at * KIND) & ((1 << KIND) - 1));
            look.letters += kind(0);
            look.digits += kind(1);
            look.signs += kind(2);
            look.blanks += kind(3);
            look.pairs += size(u64::from(pairs & ((1 << FREQUENT) - 1)));
            look.frequent += size(u64::from(pairs >> FREQUENT));
        }
        look
    }

    /// Tells whether a text reads like a language: one pair of letters in six is a frequent one,
    /// which by chance only one in eighteen is.
    pub(super) fn is_natural(self) -> bool {
        self.pairs >= 8 && self.frequent * 6 >= self.pairs
    }
}

fn size(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

fn number(byte: u8) -> usize {
    let number = NUMBER.get(usize::from(byte));
    number.copied().map_or(0, usize::from)
}

/// Returns what a pair of letters counts.
fn pair(last: usize, number: usize) -> u32 {
    // What the mask takes off is never set: it spares a look at the length.
    let place = (last * LETTERS + number) & (COUNTS.len() - 1);
    COUNTS.get(place).copied().unwrap_or(0)
}

/// Tells whether a text reads like a language.
pub(crate) fn is_natural(text: &str) -> bool {
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
