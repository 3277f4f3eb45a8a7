//! Rolling hashes of folded text: one number for every window of `K` symbols, the same whether
//! the window is written forwards, backwards, moved by thirteen letters, or both.
//!
//! The hash is a cyclic polynomial over classes of symbols. A letter and the one thirteen places
//! on are one class, and so are the digits and letters that stand for each other in leetspeak;
//! twenty symbols of a text keep far more than enough of what makes them rare. The two directions
//! are added, which no order changes.

/// Width of a tag: the bits of a hash that are kept.
pub(crate) const TAG_BITS: u32 = 40;
/// Bits below the tag, in which a position can travel.
pub(crate) const SPARE: u32 = 64 - TAG_BITS;

const TABLE: [u64; 256] = table();

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated when compiled; a wrong index does not build"
)]
const fn table() -> [u64; 256] {
    let mut table = [0; 256];
    let mut symbol = 0_u8;
    loop {
        table[symbol as usize] = scramble(class(symbol) as u64 + 1);
        if symbol == u8::MAX {
            return table;
        }
        symbol += 1;
    }
}

/// Returns the class of a symbol: its leetspeak letter, moved into the first half of the alphabet.
const fn class(symbol: u8) -> u8 {
    let letter = match symbol {
        b'0' => b'o',
        b'1' | b'l' => b'i',
        b'3' => b'e',
        b'4' => b'a',
        b'5' => b's',
        b'7' => b't',
        // Keeps `1`, `i` and `l` together when they were moved.
        b'y' => b'v',
        other => other,
    };
    match letter {
        b'n'..=b'z' => letter - 13,
        other => other,
    }
}

/// Spreads the bits of a number over all of them.
pub(crate) const fn scramble(number: u64) -> u64 {
    let number = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

#[inline]
fn value(symbol: u8) -> u64 {
    TABLE.get(usize::from(symbol)).copied().unwrap_or(0)
}

/// Hashes that are written without a jump between them, and those that are handed on together.
const GROUP: usize = 8;
const BLOCK: usize = 64;

/// The hashes of every window of `K` symbols, in order.
#[derive(Debug)]
pub(crate) struct Roll<'a, const K: usize> {
    forward: u64,
    backward: u64,
    /// Symbols that leave the window, and those that enter it.
    leaving: &'a [u8],
    entering: &'a [u8],
    first: bool,
}

impl<'a, const K: usize> Roll<'a, K> {
    /// Starts at the first window; there is none if the text is shorter.
    pub(crate) fn new(symbols: &'a [u8]) -> Self {
        let start = symbols.get(..K);
        let rest = symbols.get(K..).unwrap_or_default();
        let (mut forward, mut backward) = (0_u64, 0_u64);
        for (at, &symbol) in (0_u32..).zip(start.unwrap_or_default()) {
            forward = forward.rotate_left(1) ^ value(symbol);
            backward ^= value(symbol).rotate_left(at);
        }
        Self {
            forward,
            backward,
            leaving: symbols,
            entering: rest,
            first: start.is_some(),
        }
    }

    /// Writes the next hashes, as many as there are or as fit; returns how many that is.
    ///
    /// A loop of its own keeps all that it needs at hand, which it would not inside of another.
    #[inline(never)]
    pub(crate) fn fill(&mut self, hashes: &mut [u64]) -> usize {
        let before = usize::from(self.first && !hashes.is_empty());
        if let Some(hash) = hashes.first_mut().filter(|_| self.first) {
            *hash = combine(self.forward, self.backward);
            self.first = false;
        }
        let hashes = hashes.get_mut(before..).unwrap_or_default();
        let count = hashes.len().min(self.entering.len());
        let (gone, leaving) = self.leaving.split_at_checked(count).unwrap_or_default();
        let (new, entering) = self.entering.split_at_checked(count).unwrap_or_default();
        (self.leaving, self.entering) = (leaving, entering);
        let hashes = hashes.get_mut(..count).unwrap_or_default();
        let (hash_groups, hashes) = hashes.as_chunks_mut::<GROUP>();
        let (gone_groups, gone) = gone.as_chunks::<GROUP>();
        let (new_groups, new) = new.as_chunks::<GROUP>();
        for ((hashes, gone), new) in hash_groups.iter_mut().zip(gone_groups).zip(new_groups) {
            for ((hash, gone), new) in hashes.iter_mut().zip(gone).zip(new) {
                *hash = self.step(*gone, *new);
            }
        }
        for ((hash, gone), new) in hashes.iter_mut().zip(gone).zip(new) {
            *hash = self.step(*gone, *new);
        }
        before + count
    }

    /// Moves on by one symbol, and returns the hash.
    #[inline]
    fn step(&mut self, gone: u8, new: u8) -> u64 {
        let (gone, new) = (value(gone), value(new));
        let width = u32::try_from(K).unwrap_or(0);
        // What does not wait for the hash before is put together first.
        let forward = gone.rotate_left(width) ^ new;
        let backward = gone.rotate_right(1) ^ new.rotate_left(width - 1);
        self.forward = self.forward.rotate_left(1) ^ forward;
        self.backward = self.backward.rotate_right(1) ^ backward;
        combine(self.forward, self.backward)
    }
}

/// Hands the hash of every window of `K` symbols to `each`, in order.
#[inline]
pub(crate) fn roll<const K: usize>(symbols: &[u8], mut each: impl FnMut(u64)) {
    roll_some::<K>(symbols, |hashes| hashes.iter().copied().for_each(&mut each));
}

/// Hands the hashes of all windows of `K` symbols to `each`, some at a time, in order.
#[inline]
pub(crate) fn roll_some<const K: usize>(symbols: &[u8], mut each: impl FnMut(&[u64])) {
    let mut roll = Roll::<K>::new(symbols);
    let mut block = [0; BLOCK];
    loop {
        let count = roll.fill(&mut block);
        if count == 0 {
            return;
        }
        each(block.get(..count).unwrap_or_default());
    }
}

fn combine(forward: u64, backward: u64) -> u64 {
    // The product spreads the sum upwards, where tags are taken from.
    forward
        .wrapping_add(backward)
        .wrapping_mul(0xD6E8_FEB8_6659_FD93)
}

/// Hashes a whole short text, exactly as it stands.
pub(crate) fn whole(symbols: &[u8]) -> u64 {
    let mut state = 0x51_7C_C1_B7_27_22_0A_95_u64;
    let mut add = |word: u64| state = scramble(state.rotate_left(23) ^ word);
    let (words, rest) = symbols.as_chunks::<8>();
    for word in words {
        add(u64::from_le_bytes(*word));
    }
    if !rest.is_empty() {
        let bytes = rest.iter().rev();
        add(bytes.fold(0, |word, byte| word << 8 | u64::from(*byte)));
    }
    scramble(state ^ u64::try_from(symbols.len()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashes(text: &str) -> Vec<u64> {
        let mut found = Vec::new();
        roll::<6>(text.as_bytes(), |hash| found.push(hash));
        found
    }

    #[test]
    fn direction_and_rot13_do_not_change_a_hash() {
        let check = |one: &str, other: &str, same: bool| {
            let mut other = hashes(other);
            other.sort_unstable();
            let mut one = hashes(one);
            one.sort_unstable();
            assert_eq!(one == other, same);
        };
        check("abcdefghij", "jihgfedcba", true);
        check("secretkey9", "frpergxrl9", true);
        check("secretkey9", "9lrxgreprf", true);
        check("secretkey", "53cr37k3y", true);
        check("secretkey9", "secretkez9", false);
        check("abcdefghij", "bacdefghij", false);
    }

    #[test]
    fn windows_hash_alike_wherever_they_stand() {
        let all = hashes("thequickbrownfox");
        assert_eq!(all.len(), 11);
        assert_eq!(hashes("quickb"), [all[3]]);
        assert!(hashes("short").is_empty());
    }
}
