//! Numbers that states give to people and firms: shapes, check digits, and when a label is needed.
//!
//! The countries are data, in one table for each part of the world. A shape that is rare in
//! ordinary text and carries a strong check stands alone; every other one needs its name near by.

mod africa_oceania;
mod americas;
mod asia;
mod europe;
mod nordic_baltic;

use std::ops::Range;

use mcpproxy_core::Severity;

use super::context::{Near, Topic};
use super::view::View;

/// The longest compact form.
const LONGEST: usize = 20;
/// The longest first run of one class that a shape begins with, plus one.
const RUNS: usize = 20;

/// One kind of number.
///
/// In a shape `9` is a digit, `A` a letter, `X` either, `_` an optional separator (space, dot,
/// dash or slash); anything else stands for itself.
#[derive(Debug)]
pub(super) struct Kind {
    pub(super) kind: &'static str,
    pub(super) name: &'static str,
    pub(super) topic: Topic,
    /// Shapes that need a label.
    pub(super) labelled: &'static [&'static str],
    /// Shapes that need none.
    pub(super) alone: &'static [&'static str],
    /// Judges the compact form in upper case.
    pub(super) check: fn(&[u8]) -> bool,
    pub(super) severity: Severity,
}

impl Kind {
    /// The same with another severity.
    const fn rated(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }
}

/// One number that was recognized.
#[derive(Debug)]
pub(super) struct Match {
    pub(super) kind: &'static Kind,
    pub(super) span: Range<usize>,
    /// Whether a label confirmed it.
    pub(super) labelled: bool,
}

/// One shape of one kind.
#[derive(Clone, Copy, Debug)]
struct Shape {
    kind: &'static Kind,
    pattern: &'static str,
    alone: bool,
}

/// All shapes, by the class and length of the run that they begin with.
#[derive(Debug)]
pub(super) struct Kinds {
    digits: [Vec<Shape>; RUNS],
    letters: [Vec<Shape>; RUNS],
}

impl Kinds {
    pub(super) fn new() -> Self {
        let mut kinds = Self {
            digits: Default::default(),
            letters: Default::default(),
        };
        for kind in all() {
            for pattern in kind.alone {
                kinds.insert(kind, pattern, true);
            }
            for pattern in kind.labelled {
                kinds.insert(kind, pattern, false);
            }
        }
        kinds
    }

    fn insert(&mut self, kind: &'static Kind, pattern: &'static str, alone: bool) {
        let shape = Shape {
            kind,
            pattern,
            alone,
        };
        for (is_digit, length) in first_runs(pattern) {
            let table = if is_digit {
                &mut self.digits
            } else {
                &mut self.letters
            };
            if let Some(list) = table.get_mut(length) {
                list.push(shape);
            }
        }
    }

    /// The kind of the number that begins at `start`, strongest evidence first.
    ///
    /// `near` is asked only if a shape fits whose check holds.
    pub(super) fn find<'n>(
        &self,
        view: View<'_>,
        start: usize,
        mut near: impl FnMut(usize) -> &'n Near,
    ) -> Option<Match> {
        let mut best: Option<(u8, Match)> = None;
        for shape in self.starting(view, start) {
            let Some((end, compact)) = fit(view, start, shape.pattern) else {
                continue;
            };
            if !(shape.kind.check)(compact.as_slice()) || !view.closes(end) {
                continue;
            }
            if shape.alone && lower_case(view, start, end) {
                continue;
            }
            let near = near(end);
            let generic = near.to(Topic::NationalId).max(near.to(Topic::TaxId)).min(2);
            let label = near.to(shape.kind.topic).max(generic);
            let rank = if shape.alone && label == 0 { 1 } else { label };
            if rank > best.as_ref().map_or(0, |(rank, _)| *rank) {
                let found = Match {
                    kind: shape.kind,
                    span: start..end,
                    labelled: label > 0,
                };
                best = Some((rank, found));
            }
        }
        best.map(|(_, found)| found)
    }

    /// The kind of a value whose key is known and which it fills from end to end.
    pub(super) fn find_whole(&self, view: View<'_>, near: &Near) -> Option<Match> {
        self.find(view, 0, |_| near)
            .filter(|found| found.span.end == view.len())
    }

    fn starting(&self, view: View<'_>, start: usize) -> &[Shape] {
        let digits = view.run(start, RUNS, |byte| byte.is_ascii_digit());
        let list = if digits > 0 {
            self.digits.get(digits)
        } else {
            let letters = view.run(start, RUNS, |byte| byte.is_ascii_alphabetic());
            self.letters.get(letters)
        };
        list.map(Vec::as_slice).unwrap_or_default()
    }
}

/// A kind of high severity, as most of them are.
const fn high(
    kind: &'static str,
    name: &'static str,
    topic: Topic,
    labelled: &'static [&'static str],
    alone: &'static [&'static str],
    check: fn(&[u8]) -> bool,
) -> Kind {
    Kind {
        kind,
        name,
        topic,
        labelled,
        alone,
        check,
        severity: Severity::High,
    }
}

/// Every kind of every part of the world.
fn all() -> impl Iterator<Item = &'static Kind> {
    [
        americas::KINDS,
        europe::KINDS,
        nordic_baltic::KINDS,
        asia::KINDS,
        africa_oceania::KINDS,
    ]
    .into_iter()
    .flatten()
}

/// Whether the letters of a number are in lower case, which only a label excuses.
fn lower_case(view: View<'_>, start: usize, end: usize) -> bool {
    view.slice(start..end).iter().any(u8::is_ascii_lowercase)
}

/// The compact form of a number, in upper case.
#[derive(Clone, Copy, Debug)]
struct Compact {
    bytes: [u8; LONGEST],
    len: usize,
}

impl Compact {
    fn push(&mut self, byte: u8) {
        if let Some(slot) = self.bytes.get_mut(self.len) {
            *slot = byte.to_ascii_uppercase();
            self.len += 1;
        }
    }

    fn as_slice(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

/// Lays `pattern` on the text at `start`; the end and the compact form if it fits.
fn fit(view: View<'_>, start: usize, pattern: &str) -> Option<(usize, Compact)> {
    let mut compact = Compact {
        bytes: [0; LONGEST],
        len: 0,
    };
    let mut at = start;
    for wanted in pattern.bytes() {
        let byte = view.at(at);
        let fits = match wanted {
            b'9' => byte.is_ascii_digit(),
            b'A' => byte.is_ascii_alphabetic(),
            b'X' => byte.is_ascii_alphanumeric(),
            b'_' => {
                let separates = matches!(byte, b' ' | b'.' | b'-' | b'/');
                at += usize::from(separates);
                continue;
            }
            literal => byte == literal,
        };
        if !fits {
            return None;
        }
        if byte.is_ascii_alphanumeric() {
            compact.push(byte);
        }
        at += 1;
    }
    Some((at, compact))
}

/// The classes and lengths of run that a text may begin with to fit `pattern`.
fn first_runs(pattern: &str) -> Vec<(bool, usize)> {
    let mut runs = Vec::new();
    for is_digit in [true, false] {
        let mut length = 0;
        for wanted in pattern.bytes() {
            match wanted {
                b'9' if is_digit => length += 1,
                b'A' if !is_digit => length += 1,
                b'0'..=b'8' if is_digit => length += 1,
                b'X' => {
                    // Either class may go on or stop here.
                    runs.push((is_digit, length));
                    length += 1;
                }
                b'_' => runs.push((is_digit, length)),
                _ => break,
            }
        }
        runs.push((is_digit, length));
    }
    runs.retain(|(_, length)| *length > 0);
    runs.sort_unstable();
    runs.dedup();
    runs
}
