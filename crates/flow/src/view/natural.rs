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

/// Tells whether a text reads like a language: one pair of letters in six is a frequent one, which
/// by chance only one in eighteen is.
pub(super) fn is_natural(text: &str) -> bool {
    let (mut pairs, mut frequent) = (0_u32, 0_u32);
    let mut before = None;
    for byte in text.bytes() {
        let letter = byte.to_ascii_lowercase().wrapping_sub(b'a');
        let letter = (letter < 26).then_some(letter);
        if let (Some(one), Some(two)) = (before, letter) {
            let row = TABLE.get(usize::from(one)).copied().unwrap_or(0);
            pairs += 1;
            frequent += row >> two & 1;
        }
        before = letter;
    }
    pairs >= 8 && frequent * 6 >= pairs
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
