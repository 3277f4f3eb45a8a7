//! Alphabets that spell bytes: base64, base32, hexadecimal. White space is passed over.
//!
//! A decoder is lenient where readers are (either alphabet, missing padding, stray bits at the
//! end) and refuses any other character.

/// Marks of the decoding tables beside the values of digits.
const SPACE: u8 = 0xFE;
const PAD: u8 = 0xFD;
const NONE: u8 = 0xFF;

const BASE64: [u8; 256] = table(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
);
const BASE32: [u8; 256] = table(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
    b"abcdefghijklmnopqrstuvwxyz234567",
);
const HEX: [u8; 256] = table(b"0123456789abcdef", b"0123456789ABCDEF");

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated when compiled; a wrong index does not build"
)]
#[expect(
    clippy::cast_possible_truncation,
    reason = "an alphabet has at most 64 digits"
)]
const fn table(one: &[u8], other: &[u8]) -> [u8; 256] {
    let mut table = [NONE; 256];
    let mut digit = 0;
    while digit < one.len() {
        table[one[digit] as usize] = digit as u8;
        table[other[digit] as usize] = digit as u8;
        digit += 1;
    }
    table[b' ' as usize] = SPACE;
    table[b'\t' as usize] = SPACE;
    table[b'\r' as usize] = SPACE;
    table[b'\n' as usize] = SPACE;
    table[b'=' as usize] = PAD;
    table
}

fn value(table: &[u8; 256], byte: u8) -> u8 {
    table.get(usize::from(byte)).copied().unwrap_or(NONE)
}

/// Returns the value of a hexadecimal digit.
pub(super) fn nibble(byte: u8) -> Option<u8> {
    Some(value(&HEX, byte)).filter(|&digit| digit < 16)
}

/// Decodes base64; at least two digits, padding at the end only.
pub(super) fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let (quads, _) = text.as_chunks::<4>();
    let mut at = 0;
    // Whole groups without white space or padding are nearly all there is.
    for &[a, b, c, d] in quads {
        let digits = [a, b, c, d].map(|byte| value(&BASE64, byte));
        let [a, b, c, d] = digits;
        if (a | b | c | d) >= 64 {
            break;
        }
        out.extend_from_slice(&[a << 2 | b >> 4, b << 4 | c >> 2, c << 6 | d]);
        at += 4;
    }
    rest(&BASE64, 6, text.get(at..)?, &mut out)?;
    Some(out)
}

/// Decodes base32.
pub(super) fn base32(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 8 * 5 + 5);
    let (groups, _) = text.as_chunks::<8>();
    let mut at = 0;
    for group in groups {
        let digits = group.map(|byte| value(&BASE32, byte));
        if digits.iter().fold(0, |all, digit| all | digit) >= 32 {
            break;
        }
        let add = |bits: u64, digit: &u8| bits << 5 | u64::from(*digit);
        let [_, _, _, bytes @ ..] = digits.iter().fold(0, add).to_be_bytes();
        out.extend_from_slice(&bytes);
        at += 8;
    }
    rest(&BASE32, 5, text.get(at..)?, &mut out)?;
    Some(out)
}

/// Decodes pairs of hexadecimal digits, with or without `0x` in front.
pub(super) fn hex(text: &[u8]) -> Option<Vec<u8>> {
    let text = text
        .strip_prefix(b"0x")
        .or_else(|| text.strip_prefix(b"0X"))
        .unwrap_or(text);
    let mut out = Vec::with_capacity(text.len() / 2 + 1);
    let (pairs, odd) = text.as_chunks::<2>();
    let mut worst = 0;
    out.extend(pairs.iter().map(|pair| {
        let [high, low] = pair.map(|byte| value(&HEX, byte));
        worst |= high | low;
        high << 4 | low
    }));
    if worst < 16 {
        rest(&HEX, 4, odd, &mut out)?;
    } else {
        // Something stands between the digits.
        out.clear();
        rest(&HEX, 4, text, &mut out)?;
    }
    Some(out)
}

/// Decodes hexadecimal digits into `out`, as far as there is room, and returns how many bytes they
/// are; none if anything but white space stands among them.
pub(super) fn hex_into(text: &[u8], out: &mut [u8]) -> usize {
    let (pairs, odd) = text.as_chunks::<2>();
    let mut worst = odd.iter().fold(0, |worst, byte| worst | value(&HEX, *byte));
    for (slot, pair) in out.iter_mut().zip(pairs) {
        let [high, low] = pair.map(|byte| value(&HEX, byte));
        worst |= high | low;
        *slot = high << 4 | low;
    }
    if worst < 16 {
        return pairs.len().min(out.len());
    }
    copied(&hex(text).unwrap_or_default(), out)
}

/// Copies bytes as far as there is room, and returns how many.
pub(super) fn copied(bytes: &[u8], out: &mut [u8]) -> usize {
    for (slot, byte) in out.iter_mut().zip(bytes) {
        *slot = *byte;
    }
    bytes.len().min(out.len())
}

/// Decodes digit by digit, so that white space may stand anywhere.
fn rest(table: &[u8; 256], width: u32, text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let (mut bits, mut held, mut padded) = (0_u32, 0_u32, false);
    for &byte in text {
        match value(table, byte) {
            SPACE => {}
            PAD => padded = true,
            NONE => return None,
            _ if padded => return None,
            digit => {
                bits = (bits << width | u32::from(digit)) & 0xFFFF;
                held += width;
                if held >= 8 {
                    held -= 8;
                    out.push(u8::try_from(bits >> held & 0xFF).unwrap_or(0));
                }
            }
        }
    }
    Some(())
}
