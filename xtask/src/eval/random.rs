//! A generator with a fixed seed, so that a set that is made anew is the same set. Not for secrets.

/// Letters and digits.
pub(crate) const WORD: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/// Digits.
pub(crate) const DIGIT: &str = "0123456789";

/// A sequence of numbers that looks random and is always the same.
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// Starts the sequence of a name.
    pub(crate) fn named(name: &str) -> Self {
        let seed = name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self(seed)
    }

    /// Returns the next number.
    pub(crate) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound.max(1)).unwrap_or(1);
        usize::try_from(self.number() % bound).unwrap_or(0)
    }

    /// Chooses one.
    pub(crate) fn pick<T: Copy + Default>(&mut self, from: &[T]) -> T {
        from.get(self.below(from.len()))
            .copied()
            .unwrap_or_default()
    }

    /// Puts things into another order.
    pub(crate) fn shuffle<T>(&mut self, things: &mut [T]) {
        for last in (1..things.len()).rev() {
            things.swap(last, self.below(last + 1));
        }
    }

    /// Returns characters of an alphabet in ASCII.
    pub(crate) fn string(&mut self, alphabet: &str, length: usize) -> String {
        let bytes = alphabet.as_bytes();
        (0..length).map(|_| char::from(self.pick(bytes))).collect()
    }

    /// Returns bytes.
    pub(crate) fn bytes(&mut self, length: usize) -> Vec<u8> {
        let byte = |_| self.number().to_be_bytes().first().copied().unwrap_or(0);
        (0..length).map(byte).collect()
    }

    /// Fills the places of a template: `{h32}` is 32 characters of class `h`.
    ///
    /// Classes: `w` letters and digits, `l` letters, `a` lower case and digits, `A` upper case and
    /// digits, `u` as `w` with `-` and `_`, `h` hexadecimal, `d` digits, `b` base64, `t` base32.
    pub(crate) fn fill(&mut self, template: &str) -> String {
        let mut out = String::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            out.push_str(before);
            let Some((place, tail)) = after.split_once('}') else {
                rest = after;
                continue;
            };
            match self.place(place) {
                Some(text) => out.push_str(&text),
                None => out.extend(["{", place, "}"]),
            }
            rest = tail;
        }
        out.push_str(rest);
        out
    }

    fn place(&mut self, place: &str) -> Option<String> {
        let mut chars = place.chars();
        let alphabet = match chars.next()? {
            'w' => WORD,
            'l' => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
            'a' => "abcdefghijklmnopqrstuvwxyz0123456789",
            'A' => "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
            'u' => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
            'b' => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
            'h' => "0123456789abcdef",
            't' => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
            'd' => DIGIT,
            _ => return None,
        };
        Some(self.string(alphabet, chars.as_str().parse().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_name_gives_the_same_text() {
        let make = || Random::named("a").fill("k_{h8}-{d3} {other}");
        assert_eq!(make(), make());
        assert_eq!(make().len(), "k_12345678-123 {other}".len());
        assert_ne!(make(), Random::named("b").fill("k_{h8}-{d3} {other}"));
    }
}
