//! Finds ends of paths in a text: from one slash or dot to the next, by the letters after it.
//!
//! Every literal has a slash or a dot in it, or begins with `id_`; there it is anchored, so that a
//! text without paths is passed over at the speed of `memchr`.

use std::ops::Range;

use memchr::memmem::Finder;

use super::FileRule;
use crate::DetectError;

/// The buckets by the two letters behind an anchor, five bits of each.
const BUCKETS: usize = 1024;
/// How far a path reaches back from its end, in bytes.
const REACH: usize = 256;
/// The beginning of the names that have neither slash nor dot.
const KEY_NAMES: &[u8] = b"id_";
/// What may follow a name behind a dot and leave it what it is: copies of it.
const COPIES: &[&[u8]] = &[
    b"bak", b"old", b"orig", b"backup", b"save", b"copy", b"swp", b"gz", b"zip", b"tar", b"tgz",
];

/// One literal of one rule, cut at its anchor.
#[derive(Debug)]
struct Literal {
    rule: usize,
    /// What stands before the anchor, the last byte first.
    before: Vec<u8>,
    anchor: u8,
    /// What stands behind the anchor.
    after: Vec<u8>,
    place: Place,
}

/// Where in a path a literal stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// A name, whole.
    Name,
    /// The beginning of names or a folder.
    Opening,
    /// The ending of a name.
    Ending,
}

/// A path that a rule names.
#[derive(Debug)]
pub(super) struct Hit {
    pub(super) rule: usize,
    /// The path as far as it was read.
    pub(super) span: Range<usize>,
    /// The part that the rule names, which tells nothing about the user.
    pub(super) named: Range<usize>,
}

/// All literals by their anchor.
#[derive(Debug)]
pub(super) struct Matcher {
    literals: Vec<Literal>,
    buckets: Vec<Vec<usize>>,
    /// One bit for each bucket that is not empty: most places stop here.
    filled: [u64; BUCKETS / 64],
    /// Finds the names without an anchor, in small letters and in capitals.
    key_names: [Finder<'static>; 2],
    /// What must not follow the literals of each rule.
    unless: Vec<Vec<Vec<u8>>>,
}

impl Matcher {
    pub(super) fn new(rules: &[FileRule]) -> Result<Self, DetectError> {
        let mut matcher = Self {
            literals: Vec::new(),
            buckets: vec![Vec::new(); BUCKETS],
            filled: [0; BUCKETS / 64],
            key_names: [Finder::new(KEY_NAMES), Finder::new(b"ID_")],
            unless: Vec::new(),
        };
        for (index, rule) in rules.iter().enumerate() {
            let names = rule.any.iter().map(|name| (name, false));
            let endings = rule.endings.iter().map(|name| (name, true));
            for (name, ending) in names.chain(endings) {
                matcher
                    .add(index, name, ending)
                    .ok_or_else(|| DetectError::Rule {
                        file: "files.json".to_owned(),
                        rule: rule.id.clone(),
                        reason: format!("`{name}` has no slash or dot with two letters behind it"),
                    })?;
            }
            let unless = rule.unless.iter().map(|text| text.clone().into_bytes());
            matcher.unless.push(unless.collect());
        }
        // The longer literal is the more exact one and is tried first.
        for bucket in &mut matcher.buckets {
            let length = |index: &usize| {
                let literal = matcher.literals.get(*index);
                literal.map_or(0, |literal| literal.before.len() + literal.after.len())
            };
            bucket.sort_by_key(|index| usize::MAX - length(index));
        }
        Ok(matcher)
    }

    fn add(&mut self, rule: usize, name: &str, ending: bool) -> Option<()> {
        let bytes = name.as_bytes();
        let at = if bytes.starts_with(KEY_NAMES) {
            KEY_NAMES.len() - 1
        } else {
            bytes.iter().position(|byte| matches!(byte, b'/' | b'.'))?
        };
        let (before, rest) = bytes.split_at_checked(at)?;
        let (anchor, after) = rest.split_first()?;
        let bucket = bucket(*after.first()?, *after.get(1)?);
        let place = match bytes.last() {
            _ if ending => Place::Ending,
            Some(b'/' | b'_') => Place::Opening,
            _ => Place::Name,
        };
        self.buckets.get_mut(bucket)?.push(self.literals.len());
        *self.filled.get_mut(bucket / 64)? |= 1 << (bucket % 64);
        self.literals.push(Literal {
            rule,
            before: before.iter().rev().copied().collect(),
            anchor: *anchor,
            after: after.to_vec(),
            place,
        });
        Some(())
    }

    /// Reports every path, from left to right, each place once.
    pub(super) fn scan(&self, text: &str, mut found: impl FnMut(Hit)) {
        let bytes = text.as_bytes();
        let mut floor = 0;
        let mut report = |hit: Option<Hit>| {
            if let Some(hit) = hit {
                floor = hit.span.end;
                found(hit);
            }
            floor
        };
        let mut upto = 0;
        for at in memchr::memchr3_iter(b'/', b'\\', b'.', bytes) {
            if at >= upto {
                upto = report(self.at(bytes, at));
            }
        }
        for (capitals, finder) in [false, true].into_iter().zip(&self.key_names) {
            let mut upto = 0;
            for at in finder.find_iter(bytes) {
                let anchor = at + KEY_NAMES.len() - 1;
                // A constant of a program is in capitals too, but in no path.
                let lead = at.checked_sub(1).and_then(|at| bytes.get(at));
                let path = lead.is_some_and(|byte| fold(*byte) == b'/');
                if anchor >= upto && (path || !capitals) {
                    upto = report(self.at(bytes, anchor));
                }
            }
        }
    }

    /// The path whose literal is anchored at `at`.
    fn at(&self, bytes: &[u8], at: usize) -> Option<Hit> {
        let first = skip_slashes(bytes, at + 1, fold(*bytes.get(at)?));
        let bucket = bucket(fold(*bytes.get(first)?), fold(*bytes.get(first + 1)?));
        if self.filled.get(bucket / 64)? >> (bucket % 64) & 1 == 0 {
            return None;
        }
        let list = self.buckets.get(bucket)?;
        list.iter()
            .filter_map(|index| self.literals.get(*index))
            .find_map(|literal| {
                let named = literal.fits(bytes, at, first)?;
                let unless = self.unless.get(literal.rule)?;
                let rest = bytes.get(named.end..)?;
                let barred = unless.iter().any(|text| starts(rest, text));
                (!barred).then(|| Hit {
                    rule: literal.rule,
                    span: path_start(bytes, named.start)..named.end,
                    named,
                })
            })
    }
}

impl Literal {
    /// The place of the literal whose anchor is at `at` and whose rest begins at `first`.
    fn fits(&self, bytes: &[u8], at: usize, first: usize) -> Option<Range<usize>> {
        if fold(*bytes.get(at)?) != self.anchor {
            return None;
        }
        let end = self.after.iter().try_fold(first, |at, wanted| {
            let byte = fold(*bytes.get(at)?);
            (byte == *wanted).then(|| skip_slashes(bytes, at + 1, byte))
        })?;
        let start = self.before.iter().try_fold(at, |at, wanted| {
            let byte = fold(*bytes.get(at.checked_sub(1)?)?);
            (byte == *wanted).then_some(at - 1)
        })?;
        let lead = start.checked_sub(1).and_then(|at| bytes.get(at)).copied();
        let opens = match self.place {
            Place::Ending => lead.is_some_and(|byte| is_name(byte) || byte == b'*'),
            _ if self.before.is_empty() && self.anchor == b'/' => true,
            _ => lead.is_none_or(|byte| !is_name(byte) && !b".?!)]".contains(&byte)),
        };
        if self.place == Place::Opening && is_escape(bytes, end) {
            return None;
        }
        (opens && (self.place == Place::Opening || closes(bytes, end))).then_some(start..end)
    }
}

/// Whether the backslash before `end` begins an escape of a string in code.
fn is_escape(bytes: &[u8], end: usize) -> bool {
    let tail = bytes.get(end.saturating_sub(2)..end);
    let single = matches!(tail, Some([before, b'\\']) if *before != b'\\');
    let next = bytes.get(end).copied().unwrap_or(0);
    single && matches!(next, b'n' | b't' | b'r' | b'u' | b'"' | b'\'')
}

/// A byte in lower case, slashes leaning forward.
fn fold(byte: u8) -> u8 {
    match byte {
        b'\\' => b'/',
        byte => byte.to_ascii_lowercase(),
    }
}

/// The place behind further slashes (and `./`) if the byte before `at` was one.
fn skip_slashes(bytes: &[u8], at: usize, before: u8) -> usize {
    if before != b'/' {
        return at;
    }
    let rest = bytes.get(at..).unwrap_or_default().iter().take(8);
    let slashes = rest.take_while(|byte| fold(**byte) == b'/').count();
    match bytes.get(at + slashes..) {
        Some([b'.', b'/' | b'\\', ..]) => at + slashes + 2,
        _ => at + slashes,
    }
}

fn bucket(first: u8, second: u8) -> usize {
    usize::from(first & 31) << 5 | usize::from(second & 31)
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-') || byte > 127
}

/// Whether a name ends at `end`: nothing hangs on it but the ending of a copy.
fn closes(bytes: &[u8], end: usize) -> bool {
    match bytes.get(end..).unwrap_or_default() {
        [] => true,
        [b'.', rest @ ..] => {
            let more = rest.first().is_some_and(|byte| is_name(*byte));
            !more || COPIES.iter().any(|copy| starts(rest, copy))
        }
        [b'(' | b'=' | b'[', ..] => false,
        [byte, ..] => !is_name(*byte),
    }
}

fn starts(bytes: &[u8], with: &[u8]) -> bool {
    bytes
        .get(..with.len())
        .is_some_and(|head| head.eq_ignore_ascii_case(with))
}

/// The beginning of the path that `start` is in.
fn path_start(bytes: &[u8], start: usize) -> usize {
    let head = bytes.get(start.saturating_sub(REACH)..start);
    let length = head
        .unwrap_or_default()
        .iter()
        .rev()
        .take_while(|byte| is_name(**byte) || b"./\\~$%{}:*@+".contains(byte))
        .count();
    // A character is not split: bytes above ASCII are names, so at worst the reach cuts one.
    let mut from = start - length;
    while from < start
        && bytes
            .get(from)
            .is_some_and(|byte| (0x80..0xC0).contains(byte))
    {
        from += 1;
    }
    from
}
