//! Backslash escapes as `$'..'`, `printf` and `echo -e` know them.

/// Decodes one escape past its backslash into `out`; gives how many bytes it took.
pub(super) fn unescape(text: &str, out: &mut Vec<u8>) -> usize {
    let Some(letter) = text.chars().next() else {
        out.push(b'\\');
        return 0;
    };
    let simple = match letter {
        'n' => Some(b'\n'),
        't' => Some(b'\t'),
        'r' => Some(b'\r'),
        'a' => Some(7),
        'b' => Some(8),
        'e' | 'E' => Some(27),
        'f' => Some(12),
        'v' => Some(11),
        '\\' | '\'' | '"' | '?' => u8::try_from(letter).ok(),
        _ => None,
    };
    if let Some(byte) = simple {
        out.push(byte);
        return 1;
    }
    match letter {
        'x' => coded(text, 1, 2, 16, out),
        'u' => coded(text, 1, 4, 16, out),
        'U' => coded(text, 1, 8, 16, out),
        // `\0nnn` of echo has one digit more than `\nnn`.
        '0'..='7' => coded(text, 0, if letter == '0' { 4 } else { 3 }, 8, out),
        _ => {
            out.push(b'\\');
            out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
            letter.len_utf8()
        }
    }
}

fn coded(text: &str, skip: usize, most: usize, radix: u32, out: &mut Vec<u8>) -> usize {
    let digits = text
        .chars()
        .skip(skip)
        .take(most)
        .take_while(|letter| letter.is_digit(radix))
        .count();
    let code = text
        .get(skip..skip + digits)
        .and_then(|digits| u32::from_str_radix(digits, radix).ok());
    match code {
        None => out.extend_from_slice(b"\\x"),
        Some(code)
            if most <= 4 && text.starts_with(['x', '0', '1', '2', '3', '4', '5', '6', '7']) =>
        {
            out.push(u8::try_from(code & 0xff).unwrap_or_default());
        }
        Some(code) => {
            let letter = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
            out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    skip + digits
}

/// Decodes every escape of a text.
pub(super) fn unescape_all(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.extend_from_slice(rest.get(..at).unwrap_or_default().as_bytes());
        rest = rest.get(at + 1..).unwrap_or_default();
        let taken = unescape(rest, &mut out);
        rest = rest.get(taken..).unwrap_or_default();
    }
    out.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&out).into_owned()
}
