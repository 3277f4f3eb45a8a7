//! Whether decoded bytes are something: text in UTF-8 or UTF-16, a container, or known media.

use super::Coding;

/// Bytes of output that are enough for a first opinion.
pub(super) const PEEK: usize = 24;

/// What the first bytes of a decoding promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Promise {
    /// Text, or a container of more.
    Readable,
    /// Media of a kind; nothing to read.
    Media(&'static str),
    /// Nothing known.
    Noise,
}

/// Gives a first opinion on the beginning of a decoding.
pub(super) fn promise(start: &[u8]) -> Promise {
    if let Some(kind) = media(start) {
        return Promise::Media(kind);
    }
    let readable = container(start).is_some()
        || utf16(start).is_some()
        || !is_hopeless(start) && mostly_text(whole_characters(start), 4);
    if readable {
        Promise::Readable
    } else {
        Promise::Noise
    }
}

/// Returns the container that the first bytes name.
pub(super) fn container(bytes: &[u8]) -> Option<Coding> {
    match *bytes {
        [0x1F, 0x8B, 0x08, ..] => Some(Coding::Gzip),
        [b'P', b'K', 3, 4, ..] => Some(Coding::Zip),
        // RFC 1950: method 8, and both bytes together divide by 31.
        [cmf, flags, _, _, ..]
            if cmf & 0x8F == 0x08
                && (u16::from(cmf) << 8 | u16::from(flags)).is_multiple_of(31) =>
        {
            Some(Coding::Zlib)
        }
        _ => None,
    }
}

/// Returns the kind of media whose first bytes these are.
pub(super) fn media(bytes: &[u8]) -> Option<&'static str> {
    const KINDS: [(&[u8], &str); 14] = [
        (b"\x89PNG\r\n\x1a\n", "png"),
        (b"\xFF\xD8\xFF", "jpeg"),
        (b"GIF87a", "gif"),
        (b"GIF89a", "gif"),
        (b"%PDF-", "pdf"),
        (b"wOFF", "woff"),
        (b"wOF2", "woff2"),
        (b"\0\x01\0\0\0", "ttf"),
        (b"OggS", "ogg"),
        (b"fLaC", "flac"),
        (b"ID3", "mp3"),
        (b"\x1AE\xDF\xA3", "webm"),
        (b"\0asm", "wasm"),
        (b"\0\0\x01\0", "ico"),
    ];
    if bytes.starts_with(b"RIFF") && matches!(bytes.get(8..12), Some(b"WEBP" | b"WAVE" | b"AVI ")) {
        return Some("riff");
    }
    // Most bytes begin as none of them, which takes no search to see.
    let first = bytes.first();
    let mut known = KINDS.iter().filter(|(magic, _)| magic.first() == first);
    let known = known.find(|(magic, _)| bytes.starts_with(magic));
    known.map(|&(_, kind)| kind)
}

/// Returns the text that the bytes are, if they are text but for a few of them.
pub(super) fn text(bytes: Vec<u8>) -> Result<String, Vec<u8>> {
    if !mostly_text(&bytes, 10) {
        return Err(bytes);
    }
    // Noise in front of or behind a text must not hide it.
    String::from_utf8(bytes)
        .or_else(|fault| Ok(String::from_utf8_lossy(fault.as_bytes()).into_owned()))
}

/// Shortest run of printable characters that is read out of what is no text: by chance one place in
/// a hundred thousand begins one.
const STRING: usize = 12;

/// Returns the printable runs of bytes that are no text as a whole, a line each, up to `most` bytes.
pub(super) fn strings(bytes: &[u8], most: usize) -> Option<String> {
    let fair = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t');
    let mut found = String::new();
    for run in bytes.split(|byte| !fair(byte)) {
        if run.len() >= STRING && found.len() + run.len() < most {
            found.extend(run.iter().copied().map(char::from));
            found.push('\n');
        }
    }
    (!found.is_empty()).then_some(found)
}

/// Tells whether bytes are text without a single odd character.
pub(super) fn is_clean(bytes: &[u8]) -> bool {
    mostly_text(bytes, usize::MAX)
}

/// Reads UTF-16 that is mostly ASCII, as shells of one vendor take their commands.
pub(super) fn utf16(bytes: &[u8]) -> Option<String> {
    let (pairs, _) = bytes.as_chunks::<2>();
    if pairs.len() < 4 || memchr::memchr(0, bytes).is_none() {
        return None;
    }
    let zeros = |at: usize| pairs.iter().filter(|pair| pair.get(at) == Some(&0)).count();
    let units: Vec<u16> = if zeros(1) * 4 >= pairs.len() * 3 {
        pairs.iter().map(|&pair| u16::from_le_bytes(pair)).collect()
    } else if zeros(0) * 4 >= pairs.len() * 3 {
        pairs.iter().map(|&pair| u16::from_be_bytes(pair)).collect()
    } else {
        return None;
    };
    let text = String::from_utf16(&units).ok()?;
    mostly_text(text.as_bytes(), 10).then_some(text)
}

/// Cuts a character that a peek left incomplete.
fn whole_characters(start: &[u8]) -> &[u8] {
    match std::str::from_utf8(start) {
        Err(fault) if fault.error_len().is_none() => {
            start.get(..fault.valid_up_to()).unwrap_or_default()
        }
        _ => start,
    }
}

/// Tells whether at most one character in `odd_in` is a control character or no UTF-8; among few
/// characters there may be none.
///
/// A random byte passes with less than a half, so a dozen of them do not.
fn mostly_text(bytes: &[u8], odd_in: usize) -> bool {
    let odd = |char: &char| {
        matches!(char, '\0'..='\x08' | '\x0B' | '\x0C' | '\x0E'..='\x1F' | '\x7F'..='\u{9F}')
            || *char == char::REPLACEMENT_CHARACTER
    };
    let few =
        |odd: usize| odd == 0 || bytes.len() >= PEEK && odd.saturating_mul(odd_in) <= bytes.len();
    let mut count = 0;
    for chunk in bytes.utf8_chunks() {
        count += chunk.valid().chars().filter(odd).count();
        count += usize::from(!chunk.invalid().is_empty());
        // Noise is known as such after a few bytes.
        if !few(count) {
            return false;
        }
    }
    !bytes.is_empty()
}

/// Tells whether there is a control character of ASCII among bytes that are too few to have one,
/// which takes no look at how other characters are spelled.
fn is_hopeless(bytes: &[u8]) -> bool {
    let odd = |byte: &u8| ODD.get(usize::from(*byte)).copied().unwrap_or(false);
    bytes.len() < PEEK && bytes.iter().any(odd)
}

/// The control characters of ASCII that no text has, as a table, since they are looked for in noise.
const ODD: [bool; 256] = odd();

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated when compiled; a wrong index does not build"
)]
const fn odd() -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        let blank = matches!(byte, b'\t' | b'\n' | b'\r');
        table[byte as usize] = byte.is_ascii_control() && !blank;
        byte += 1;
    }
    table
}
