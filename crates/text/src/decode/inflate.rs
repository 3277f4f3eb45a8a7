//! Compressed data: DEFLATE in its wrappers, and archives. Output is bounded before it is made.

use std::cell::Cell;

use flate2::{Decompress, FlushDecompress, Status};

use super::Coding;

/// Growth from which output that met its bound is a bomb; honest text stays far below.
const BOMB: usize = 100;
/// What is kept of a bomb, to be looked at all the same.
const KEPT: usize = 16 << 10;
/// Fewest bytes of a stream without a header that are tried.
const SHORTEST: usize = 16;
/// Bytes in which the code for the lengths of codes ends, at the latest.
const CODE: usize = 10;
/// Entries of an archive that are opened.
const ENTRIES: usize = 64;

/// What came out.
#[derive(Debug, Default)]
pub(super) struct Inflated {
    /// The output, as far as it was made.
    pub(super) bytes: Vec<u8>,
    /// How many bytes of input it took.
    pub(super) used: usize,
    /// How it ended.
    pub(super) end: End,
}

/// How inflating ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum End {
    /// At the end of the stream.
    #[default]
    Whole,
    /// In the middle: the data is cut off or broken.
    Broken,
    /// At the bound.
    Full,
    /// At the bound, after growing out of all proportion.
    Bomb,
}

/// Inflates a stream of the given coding into at most `room` bytes.
pub(super) fn inflate(coding: Coding, input: &[u8], room: usize) -> Inflated {
    let (skip, zlib) = match coding {
        Coding::Gzip => (gzip_header(input).unwrap_or(input.len()), false),
        Coding::Zlib => (0, true),
        _ if !can_be_deflate(input) => {
            return Inflated {
                end: End::Broken,
                ..Inflated::default()
            };
        }
        _ => (0, false),
    };
    let mut inflated = raw(input.get(skip..).unwrap_or_default(), zlib, room);
    inflated.used += skip;
    inflated
}

/// Tells whether bytes can begin a DEFLATE stream that is worth the state it takes to read one: long
/// enough for a sentence, and with a first block of a kind there is (RFC 1951, 3.2.3 to 3.2.7).
fn can_be_deflate(input: &[u8]) -> bool {
    input.len() >= SHORTEST && may_be_deflate(input)
}

/// Tells the same of the first bytes alone, as far as they tell.
pub(super) fn may_be_deflate(start: &[u8]) -> bool {
    let &[first, second, third, fourth, fifth, ..] = start else {
        return true;
    };
    match first >> 1 & 3 {
        0 => u16::from_le_bytes([second, third]) == !u16::from_le_bytes([fourth, fifth]),
        1 => true,
        2 => {
            let sizes = first >> 3 <= 29 && second & 0x1F <= 29;
            sizes && (start.len() < CODE || has_whole_code(start))
        }
        _ => false,
    }
}

/// Tells whether the code for the lengths of the codes, with which a dynamic block begins, is whole:
/// each of its words is taken (RFC 1951, 3.2.7). A random one hardly ever is.
fn has_whole_code(input: &[u8]) -> bool {
    let bits = |at: usize, count: usize| {
        let byte = |index: usize| input.get(index).copied().map_or(0, u16::from);
        (byte(at / 8) | byte(at / 8 + 1) << 8) >> (at % 8) & ((1 << count) - 1)
    };
    let lengths = usize::from(bits(13, 4)) + 4;
    let lengths = (0..lengths).map(|index| bits(17 + 3 * index, 3));
    let (mut used, mut taken) = (0, 0);
    for length in lengths.filter(|length| *length > 0) {
        used += 1;
        taken += 128 >> length;
    }
    // One word alone may be a code of its own.
    used <= 1 || taken == 128
}

thread_local! {
    /// The state of the last stream without a wrapper. To make one takes longer than to read what
    /// most runs of noise give before they break, and every line of noise may be tried.
    ///
    /// INVARIANT: nothing of a stream is left in it.
    static STATE: Cell<Option<Decompress>> = const { Cell::new(None) };
}

fn raw(input: &[u8], zlib: bool, room: usize) -> Inflated {
    if zlib {
        return read(&mut Decompress::new(true), input, room);
    }
    let mut state = STATE.take().unwrap_or_else(|| Decompress::new(false));
    let inflated = read(&mut state, input, room);
    state.reset(false);
    STATE.set(Some(state));
    inflated
}

fn read(state: &mut Decompress, input: &[u8], room: usize) -> Inflated {
    let mut out = Vec::new();
    let mut end = End::Broken;
    loop {
        let used = usize::try_from(state.total_in()).unwrap_or(usize::MAX);
        let rest = input.get(used..).unwrap_or_default();
        let before = (used, out.len());
        // A step of at most 32 KB more, so that a lie about sizes costs nothing.
        out.reserve_exact(room.saturating_sub(out.len()).min(32 << 10));
        let status = state.decompress_vec(rest, &mut out, FlushDecompress::None);
        let used = usize::try_from(state.total_in()).unwrap_or(usize::MAX);
        match status {
            Ok(Status::StreamEnd) => {
                end = End::Whole;
                break;
            }
            Ok(_) if out.len() >= room => {
                end = bound(out.len(), used);
                break;
            }
            Ok(_) if (used, out.len()) != before => {}
            _ => break,
        }
    }
    if end == End::Bomb {
        out.truncate(KEPT);
    }
    Inflated {
        bytes: out,
        used: usize::try_from(state.total_in()).unwrap_or(usize::MAX),
        end,
    }
}

fn bound(made: usize, used: usize) -> End {
    if made / used.max(1) >= BOMB {
        End::Bomb
    } else {
        End::Full
    }
}

/// Returns the length of a gzip header (RFC 1952, 2.3).
fn gzip_header(input: &[u8]) -> Option<usize> {
    let flags = *input.get(3)?;
    let mut at = 10;
    if flags & 0x04 != 0 {
        at += 2 + usize::from(little16(input, at)?);
    }
    for flag in [0x08, 0x10] {
        if flags & flag != 0 {
            at += memchr::memchr(0, input.get(at..)?)? + 1;
        }
    }
    Some(at + if flags & 0x02 != 0 { 2 } else { 0 })
}

fn little16(input: &[u8], at: usize) -> Option<u16> {
    let bytes = input.get(at..at.checked_add(2)?)?;
    Some(u16::from_le_bytes(bytes.try_into().ok()?))
}

fn little32(input: &[u8], at: usize) -> Option<usize> {
    let bytes = input.get(at..at.checked_add(4)?)?;
    usize::try_from(u32::from_le_bytes(bytes.try_into().ok()?)).ok()
}

/// One entry of an archive, its name first.
pub(super) struct Entry {
    pub(super) bytes: Vec<u8>,
    pub(super) end: End,
}

/// Opens the entries of an archive as they stand in it, into at most `room` bytes together.
///
/// The directory at the end is not read: what it says can differ from what is there.
pub(super) fn unzip(input: &[u8], room: usize) -> Vec<Entry> {
    let mut entries = Vec::new();
    let (mut at, mut room) = (0, room);
    while let Some(local) = Local::read(input, at) {
        if entries.len() >= ENTRIES || room == 0 {
            entries.push(Entry {
                bytes: Vec::new(),
                end: End::Full,
            });
            break;
        }
        let data = input.get(local.data..).unwrap_or_default();
        let content = local.content(data, room);
        room = room.saturating_sub(content.bytes.len());
        at = local.data + content.used;
        let mut bytes = input.get(local.name.clone()).unwrap_or_default().to_vec();
        bytes.push(b'\n');
        bytes.extend(content.bytes);
        entries.push(Entry {
            bytes,
            end: content.end,
        });
        at = match memchr::memmem::find(input.get(at..).unwrap_or_default(), b"PK\x03\x04") {
            Some(step) => at + step,
            None => break,
        };
    }
    entries
}

/// A local file header (APPNOTE 4.3.7).
struct Local {
    method: u16,
    size: usize,
    streamed: bool,
    name: std::ops::Range<usize>,
    data: usize,
}

impl Local {
    fn read(input: &[u8], at: usize) -> Option<Self> {
        input.get(at..)?.starts_with(b"PK\x03\x04").then_some(())?;
        let name = at + 30..at + 30 + usize::from(little16(input, at + 26)?);
        let data = name.end + usize::from(little16(input, at + 28)?);
        Some(Self {
            method: little16(input, at + 8)?,
            size: little32(input, at + 18)?,
            streamed: little16(input, at + 6)? & 8 != 0,
            name,
            data,
        })
    }

    fn content(&self, data: &[u8], room: usize) -> Inflated {
        if self.method == 8 {
            return raw(data, false, room);
        }
        let size = if self.streamed {
            0
        } else {
            self.size.min(data.len())
        };
        let stored = data.get(..size.min(room)).unwrap_or_default();
        let end = match self.method {
            0 if size > room => End::Full,
            0 if !self.streamed => End::Whole,
            _ => End::Broken,
        };
        let bytes = if self.method == 0 {
            stored.to_vec()
        } else {
            Vec::new()
        };
        Inflated {
            bytes,
            used: size,
            end,
        }
    }
}
