//! Base64 and hex, as far as a command can hide in them.

/// Decodes base64 of either alphabet, with or without padding, blanks passed over.
pub(super) fn base64(text: &str) -> Option<Vec<u8>> {
    let (mut out, mut bits, mut held) = (Vec::with_capacity(text.len() / 4 * 3), 0_u32, 0_u32);
    for byte in text.bytes() {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' | b' ' | b'\t' | b'\r' | b'\n' => continue,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(digit);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push(u8::try_from((bits >> held) & 0xff).unwrap_or_default());
            bits &= (1 << held) - 1;
        }
    }
    Some(out)
}

/// Decodes hex digits, blanks passed over.
pub(super) fn hex(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 2);
    let mut high = None;
    for letter in text.chars().filter(|letter| !letter.is_whitespace()) {
        let digit = u8::try_from(letter.to_digit(16)?).ok()?;
        match high.take() {
            None => high = Some(digit),
            Some(first) => out.push(first * 16 + digit),
        }
    }
    Some(out)
}

/// Reads bytes as UTF-16, low byte first, as `-EncodedCommand` wants them.
pub(super) fn utf16(bytes: &[u8]) -> String {
    let units: Vec<u16> = bytes
        .chunks_exact(2)
        .map(|pair| {
            pair.iter()
                .rev()
                .fold(0, |unit, byte| (unit << 8) | u16::from(*byte))
        })
        .collect();
    String::from_utf16_lossy(&units)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes() {
        assert_eq!(base64("Y3VybA==").as_deref(), Some(b"curl".as_slice()));
        assert_eq!(base64("Y3Vy\nbA").as_deref(), Some(b"curl".as_slice()));
        assert_eq!(base64("!"), None);
        assert_eq!(hex("63 75726c").as_deref(), Some(b"curl".as_slice()));
        assert_eq!(hex("xy"), None);
        assert_eq!(utf16(b"c\0u\0"), "cu");
    }
}
