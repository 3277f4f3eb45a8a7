//! Encoded text, read again: finds the runs of a text that look encoded, decodes them within a
//! budget, and looks into what comes out.
//!
//! Everything is linear in the text plus the bytes of the budget. What is not decoded, because it
//! is no known coding or because a bound was met, is named with its place and never dropped.
//! Deliberately absent: what a view means, and any key; encrypted data stays opaque.

mod alphabets;
mod calls;
mod escapes;
mod inflate;
mod invisible;
mod mirror;
mod plausible;
mod spaced;
mod tokens;
mod walk;

use std::fmt;
use std::ops::Range;

pub use self::invisible::is_hidden;
pub use self::walk::views;

/// A way in which text is written so that it does not look like itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Coding {
    /// RFC 4648 base64, either alphabet, padded or not, wrapped or not.
    Base64,
    /// RFC 4648 base32, either case.
    Base32,
    /// Pairs of hexadecimal digits.
    Hex,
    /// Numbers of characters in a list: `105, 103` or `0x69, 0x67`.
    CharCodes,
    /// `%41`, also with `+` for a space.
    Percent,
    /// `&#65;`, `&#x41;` and the common names.
    Html,
    /// Backslash escapes of JSON and programming languages, and `U+0041`.
    Escapes,
    /// RFC 2045 quoted-printable.
    QuotedPrintable,
    /// Letters with something between them.
    Separated,
    /// Characters that nobody sees between the others.
    Invisible,
    /// Tag characters that spell ASCII.
    Tags,
    /// Variation selectors that spell bytes.
    VariationSelectors,
    /// Letters moved by thirteen places.
    Rot13,
    /// Written backwards.
    Reversed,
    /// UTF-16, little or big end first.
    Utf16,
    /// RFC 1952.
    Gzip,
    /// RFC 1950.
    Zlib,
    /// RFC 1951 without a wrapper.
    Deflate,
    /// An archive, each entry a view.
    Zip,
}

impl Coding {
    /// Returns the name under which reports show it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Base64 => "base64",
            Self::Base32 => "base32",
            Self::Hex => "hex",
            Self::CharCodes => "char_codes",
            Self::Percent => "percent",
            Self::Html => "html",
            Self::Escapes => "escapes",
            Self::QuotedPrintable => "quoted_printable",
            Self::Separated => "separated",
            Self::Invisible => "invisible",
            Self::Tags => "tags",
            Self::VariationSelectors => "variation_selectors",
            Self::Rot13 => "rot13",
            Self::Reversed => "reversed",
            Self::Utf16 => "utf16",
            Self::Gzip => "gzip",
            Self::Zlib => "zlib",
            Self::Deflate => "deflate",
            Self::Zip => "zip",
        }
    }
}

impl fmt::Display for Coding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A stretch of text that looks encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Where it stands.
    pub span: Range<usize>,
    /// How it seems to be encoded.
    pub coding: Coding,
}

/// A stretch that looks like data and that no coding here makes readable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opaque {
    /// Where it stands in the text that was given.
    pub span: Range<usize>,
    /// What was decoded before it turned out to be unreadable.
    pub via: Vec<Coding>,
    /// How many bytes it holds once its alphabet is undone.
    pub bytes: usize,
    /// The kind of media whose first and last bytes it has.
    pub media: Option<&'static str>,
}

/// What a text holds beside plain text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Runs worth decoding, in no order; runs of different codings may overlap.
    pub runs: Vec<Run>,
    /// Runs that are not.
    pub opaque: Vec<Opaque>,
}

/// How much decoding one text may cost. What is used is taken off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Bytes that all decoded output together may have.
    pub bytes: usize,
    /// Codings that may lie inside each other.
    pub depth: usize,
    /// Views that may be made.
    pub views: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            bytes: 4 << 20,
            depth: 4,
            views: 1024,
        }
    }
}

/// One decoded text.
#[derive(Clone, PartialEq, Eq)]
pub struct View {
    /// What was written there.
    pub text: String,
    /// The encoded run in the text that was given, the outermost one if they nest.
    pub span: Range<usize>,
    /// The codings that were undone, outermost first.
    pub via: Vec<Coding>,
}

/// Shows length and way only: the text may be a secret.
impl fmt::Debug for View {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("View")
            .field("bytes", &self.text.len())
            .field("span", &self.span)
            .field("via", &self.via)
            .finish()
    }
}

/// A bound that was met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// The run that was not, or not wholly, decoded.
    pub span: Range<usize>,
    /// The codings that were undone before.
    pub via: Vec<Coding>,
    /// Which bound it was.
    pub limit: Limit,
}

/// The bounds of decoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The bytes of the budget were used up.
    Bytes,
    /// The codings lie deeper inside each other than allowed.
    Depth,
    /// The views of the budget were used up.
    Views,
    /// Compressed data grew beyond any use.
    Bomb,
}

/// All that decoding a text gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Views {
    /// The decoded texts, outer ones before those found in them.
    pub views: Vec<View>,
    /// What could not be read.
    pub opaque: Vec<Opaque>,
    /// Where a bound was met; empty if everything was decoded.
    pub stops: Vec<Stop>,
}

/// Finds the runs of `text` that look encoded.
pub fn find(text: &str) -> Found {
    let mut found = Found::default();
    let bytes = text.as_bytes();
    // Nothing shorter hides anything that its neighbours would not show.
    if bytes.len() < 8 {
        return found;
    }
    let worth = if bytes.len() <= SHORT {
        Worth::of(bytes)
    } else {
        Worth::ALL
    };
    if worth.tokens {
        tokens::find(bytes, &mut found);
    }
    if worth.escapes {
        escapes::find(bytes, &mut found.runs);
    }
    if worth.spaced {
        spaced::find(bytes, &mut found.runs);
        calls::find(bytes, &mut found.runs);
    }
    mirror::find(text, &mut found.runs);
    if !text.is_ascii() {
        invisible::find(text, &mut found.runs);
    }
    found
}

/// Longest text for which one look at each byte is cheaper than starting every pass.
const SHORT: usize = 64;

/// Which passes a short text is worth; most leaves of a message are short and worth none.
struct Worth {
    tokens: bool,
    escapes: bool,
    spaced: bool,
}

impl Worth {
    const ALL: Self = Self {
        tokens: true,
        escapes: true,
        spaced: true,
    };

    fn of(text: &[u8]) -> Self {
        let (mut run, mut longest, mut kinds, mut gaps) = (0, 0, 0, 0);
        for &byte in text {
            let kind = KINDS.get(usize::from(byte)).copied().unwrap_or(0);
            run = (run + 1) * (kind & TOKEN);
            longest = longest.max(run);
            kinds |= kind;
            gaps += kind >> 2 & 1;
        }
        Self {
            tokens: longest >= 12,
            escapes: kinds & SIGN != 0,
            spaced: gaps >= 5,
        }
    }
}

const TOKEN: u8 = 1;
const SIGN: u8 = 2;
const GAP: u8 = 4;

/// What a byte can be part of: a token, an escape, a gap between letters.
const KINDS: [u8; 256] = kinds();

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated when compiled; a wrong index does not build"
)]
const fn kinds() -> [u8; 256] {
    let mut table = [0; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        table[byte as usize] = match byte {
            b'+' => TOKEN | SIGN | GAP,
            b'/' | b'-' | b'_' => TOKEN | GAP,
            b'%' | b'&' | b'\\' | b'=' => SIGN | GAP,
            _ if byte.is_ascii_alphanumeric() => TOKEN,
            _ => GAP,
        };
        byte += 1;
    }
    table
}

/// Undoes the coding of one run that [`find`] gave for `text`; the output is never longer than
/// the run, but for names of HTML characters and the like, by a small factor.
///
/// Returns nothing if the run turns out not to have that coding.
pub fn decode(text: &str, run: &Run) -> Option<Vec<u8>> {
    let bytes = text.as_bytes().get(run.span.clone())?;
    match run.coding {
        Coding::Base64 => alphabets::base64(bytes),
        Coding::Base32 => alphabets::base32(bytes),
        Coding::Hex => alphabets::hex(bytes),
        Coding::CharCodes => calls::decode(bytes).or_else(|| spaced::char_codes(bytes)),
        Coding::Percent => escapes::percent(bytes),
        Coding::Html => escapes::html(bytes),
        Coding::Escapes => escapes::backslash(bytes),
        Coding::QuotedPrintable => escapes::quoted_printable(bytes),
        Coding::Separated => Some(spaced::joined(bytes)),
        Coding::Invisible => invisible::stripped(text.get(run.span.clone())?),
        Coding::Tags => Some(invisible::tags(text.get(run.span.clone())?)),
        Coding::VariationSelectors => Some(invisible::selectors(text.get(run.span.clone())?)),
        Coding::Rot13 => Some(mirror::rot13(bytes)),
        Coding::Reversed => Some(mirror::reversed(text.get(run.span.clone())?)),
        // These are found in bytes, never in text.
        Coding::Utf16 | Coding::Gzip | Coding::Zlib | Coding::Deflate | Coding::Zip => None,
    }
}

/// Undoes percent signs and nothing else, wherever they stand.
pub fn percent_decoded(bytes: &[u8]) -> Vec<u8> {
    escapes::percent_signs(bytes)
}

#[cfg(test)]
mod tests;
