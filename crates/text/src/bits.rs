//! Sixty-four bytes at a time, one bit for each: which of them are of a sort. Ends of words are then
//! found by counting bits, not by a guess at every byte.

/// Bytes of a block.
pub const BLOCK: usize = 64;

/// The highest byte of a word.
const TOP: u64 = 0xFF << 56;

/// One bit for each byte of a block for which `flag` is one; it gives one or zero, without a jump,
/// so that the compiler does many bytes in one go.
#[inline]
pub fn mask(block: &[u8; BLOCK], flag: impl Fn(u8) -> u8) -> u64 {
    let mut flags = [0; BLOCK];
    // A loop and not `map`, which some builds call for every byte instead of doing many in one go.
    for (one, byte) in flags.iter_mut().zip(block) {
        *one = flag(*byte);
    }
    let (groups, _) = flags.as_chunks::<8>();
    let mut bits = 0;
    for &group in groups {
        // The product moves the lowest bits of eight bytes next to each other, at its top. From there
        // they move down: a shift of two words by one step is slow on many processors.
        let packed = u64::from_le_bytes(group).wrapping_mul(0x0102_0408_1020_4080) & TOP;
        bits = bits >> 8 | packed;
    }
    bits
}

/// The block that begins at `base`, with zeros behind the end of the text.
#[inline]
pub fn block(bytes: &[u8], base: usize) -> [u8; BLOCK] {
    let rest = bytes.get(base..).unwrap_or_default();
    if let Some(block) = rest.first_chunk() {
        return *block;
    }
    let mut block = [0; BLOCK];
    if let Some(head) = block.get_mut(..rest.len()) {
        head.copy_from_slice(rest);
    }
    block
}

/// One for an ASCII digit and zero for any other byte.
#[inline]
pub fn digit(byte: u8) -> u8 {
    u8::from(byte.wrapping_sub(b'0') < 10)
}

/// One for an ASCII letter or digit and zero for any other byte.
#[inline]
pub fn alphanumeric(byte: u8) -> u8 {
    u8::from((byte | 0x20).wrapping_sub(b'a') < 26) | digit(byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_has_its_bit() {
        let all: Vec<u8> = (0..=255).collect();
        for base in (0..300).step_by(BLOCK) {
            let block = block(&all, base);
            let (digits, words) = (mask(&block, digit), mask(&block, alphanumeric));
            for (at, found) in block.into_iter().enumerate() {
                let byte = all.get(base + at).copied().unwrap_or(0);
                assert_eq!(found, byte);
                assert_eq!(digits >> at & 1 != 0, byte.is_ascii_digit(), "{byte}");
                assert_eq!(words >> at & 1 != 0, byte.is_ascii_alphanumeric(), "{byte}");
            }
        }
    }
}
