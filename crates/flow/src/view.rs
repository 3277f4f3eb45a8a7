//! What is about to leave, with encodings undone: every view of every part, as streams of their
//! own.

use mcpproxy_text::decode::{Budget, Coding, views};

use crate::content::Part;
use crate::stream::{Family, Stream};

/// Encodings inside each other that are undone.
const DEPTH: usize = 4;
/// Views of a small message; a larger one may have more.
const VIEWS: usize = 32;
/// Decoded bytes of a small message; a larger one may have four times its own.
const BYTES: usize = 1 << 16;
/// Shortest run of bytes that is called opaque.
const OPAQUE: usize = 48;

/// What decoding a message gave.
#[derive(Debug, Default)]
pub(crate) struct Decoded {
    pub(crate) streams: Vec<Stream>,
    /// The decoded texts, for tokens.
    pub(crate) texts: Vec<(String, u32)>,
    /// Leaf and size of what nobody can read.
    pub(crate) opaque: Vec<(u32, u32)>,
    /// Whether a bound was met.
    pub(crate) cut: bool,
}

/// Returns the budget for a message of this size.
pub(crate) fn budget(bytes: usize) -> Budget {
    Budget {
        bytes: bytes.saturating_mul(4).max(BYTES),
        depth: DEPTH,
        views: VIEWS.max(bytes / 128),
    }
}

/// Undoes the encodings of all parts.
pub(crate) fn decode(parts: &[Part<'_>], bytes: usize) -> Decoded {
    let mut decoded = Decoded::default();
    let mut budget = budget(bytes);
    for part in parts {
        one(
            &part.text,
            part.leaf,
            Family::Decoded,
            &mut budget,
            &mut decoded,
        );
    }
    decoded
}

/// Undoes the encodings of one text.
pub(crate) fn one(text: &str, leaf: u32, family: Family, budget: &mut Budget, out: &mut Decoded) {
    let found = views(text, budget);
    out.cut |= !found.stops.is_empty();
    for view in found.views {
        let via = view.via.iter().copied().map(Coding::name).collect();
        out.streams.push(Stream::of(family, &view.text, leaf, via));
        out.texts.push((view.text, leaf));
    }
    for opaque in found.opaque {
        if opaque.bytes >= OPAQUE && opaque.media.is_none() {
            let bytes = u32::try_from(opaque.bytes).unwrap_or(u32::MAX);
            out.opaque.push((leaf, bytes));
        }
    }
}
