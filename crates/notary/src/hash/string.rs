//! The inside of a JSON string, chunk by chunk: escapes undone and set again as RFC 8785 has them.

use super::canon::Fault;

/// What is left over between two chunks.
#[derive(Debug, Default)]
pub(super) struct Text {
    /// An escape of which more is to come, or the first bytes of a character.
    partial: Vec<u8>,
    /// The first half of a surrogate pair.
    high: Option<u32>,
}

const UTF8: Fault = Fault::Syntax("invalid UTF-8");
const ESCAPE: Fault = Fault::Syntax("an unknown escape");
const SURROGATE: Fault = Fault::Syntax("half a surrogate pair");

impl Text {
    /// Appends the canonical form of `bytes` up to the closing quote to `out`; returns what
    /// follows the quote, or nothing while the string goes on.
    pub(super) fn take<'a>(
        &mut self,
        bytes: &'a [u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<&'a [u8]>, Fault> {
        let mut rest = bytes;
        loop {
            if self.partial.first() == Some(&b'\\') {
                rest = self.escape(rest, out)?;
            }
            let run = run(rest);
            let (plain, after) = rest.split_at_checked(run).unwrap_or((rest, &[]));
            if !plain.is_empty() && self.high.is_some() {
                return Err(SURROGATE);
            }
            self.plain(plain, out)?;
            let Some((&byte, after)) = after.split_first() else {
                return Ok(None);
            };
            if self.high.is_some() && byte != b'\\' {
                return Err(SURROGATE);
            }
            if !self.partial.is_empty() {
                return Err(UTF8);
            }
            match byte {
                b'"' => return Ok(Some(after)),
                b'\\' => self.partial.push(b'\\'),
                _ => return Err(Fault::Syntax("a bare control character in a string")),
            }
            rest = after;
        }
    }

    /// Copies what has no escapes; the bytes of a character may be cut at a chunk's end.
    fn plain(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
        let mut bytes = bytes;
        while !self.partial.is_empty()
            && let Some((&first, rest)) = bytes.split_first()
        {
            self.partial.push(first);
            bytes = rest;
            match std::str::from_utf8(&self.partial) {
                Ok(char) => {
                    out.extend_from_slice(char.as_bytes());
                    self.partial.clear();
                }
                Err(fault) if fault.error_len().is_none() => {}
                Err(_) => return Err(UTF8),
            }
        }
        let whole = match std::str::from_utf8(bytes) {
            Ok(_) => bytes.len(),
            Err(fault) if fault.error_len().is_none() => fault.valid_up_to(),
            Err(_) => return Err(UTF8),
        };
        let (whole, cut) = bytes.split_at_checked(whole).unwrap_or((bytes, &[]));
        out.extend_from_slice(whole);
        self.partial.extend_from_slice(cut);
        Ok(())
    }

    /// Goes on with an escape whose backslash has been seen; returns what follows it.
    fn escape<'a>(&mut self, bytes: &'a [u8], out: &mut Vec<u8>) -> Result<&'a [u8], Fault> {
        let mut rest = bytes;
        while let Some((&byte, after)) = rest.split_first() {
            self.partial.push(byte);
            rest = after;
            let code = match self.partial.as_slice() {
                [_, b'u'] => continue,
                [_, b'u', digits @ ..] if digits.len() < 4 => continue,
                [_, b'u', digits @ ..] => hex(digits)?,
                [_, known] => simple(*known)?,
                _ => return Err(ESCAPE),
            };
            let unicode = self.partial.get(1) == Some(&b'u');
            self.partial.clear();
            self.character(code, unicode, out)?;
            break;
        }
        Ok(rest)
    }

    fn character(&mut self, code: u32, unicode: bool, out: &mut Vec<u8>) -> Result<(), Fault> {
        let code = match (self.high.take(), code) {
            (None, 0xD800..=0xDBFF) if unicode => {
                self.high = Some(code);
                return Ok(());
            }
            (Some(high), 0xDC00..=0xDFFF) => 0x1_0000 + ((high - 0xD800) << 10) + (code - 0xDC00),
            (Some(_), _) => return Err(SURROGATE),
            (None, code) => code,
        };
        let char = char::from_u32(code).ok_or(SURROGATE)?;
        set(char, out);
        Ok(())
    }
}

/// Returns how many bytes precede the next quote, backslash or control character.
fn run(bytes: &[u8]) -> usize {
    let end = memchr::memchr2(b'"', b'\\', bytes).unwrap_or(bytes.len());
    let plain = bytes.get(..end).unwrap_or(bytes);
    // Without a branch in the loop, sixteen bytes and more are looked at in one step.
    if plain.iter().fold(u8::MAX, |least, byte| least.min(*byte)) < 0x20 {
        return plain.iter().position(|byte| *byte < 0x20).unwrap_or(end);
    }
    end
}

fn hex(digits: &[u8]) -> Result<u32, Fault> {
    digits.iter().try_fold(0, |code, digit| {
        let digit = char::from(*digit).to_digit(16).ok_or(ESCAPE)?;
        Ok(code << 4 | digit)
    })
}

fn simple(letter: u8) -> Result<u32, Fault> {
    Ok(u32::from(match letter {
        b'"' | b'\\' | b'/' => letter,
        b'b' => 0x08,
        b'f' => 0x0C,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        _ => return Err(ESCAPE),
    }))
}

/// Writes one character as RFC 8785, section 3.2.2.2, has it.
pub(super) fn set(char: char, out: &mut Vec<u8>) {
    match char {
        '"' => out.extend_from_slice(b"\\\""),
        '\\' => out.extend_from_slice(b"\\\\"),
        '\u{8}' => out.extend_from_slice(b"\\b"),
        '\t' => out.extend_from_slice(b"\\t"),
        '\n' => out.extend_from_slice(b"\\n"),
        '\u{c}' => out.extend_from_slice(b"\\f"),
        '\r' => out.extend_from_slice(b"\\r"),
        '\0'..'\u{20}' => out.extend_from_slice(format!("\\u{:04x}", u32::from(char)).as_bytes()),
        _ => out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
    }
}
