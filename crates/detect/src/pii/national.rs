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

use super::checksum::{counting, typed};
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
    /// The type in the words that filters use.
    pub(super) code: &'static str,
    pub(super) name: &'static str,
    pub(super) topic: Topic,
    /// Shapes that need a label.
    pub(super) labelled: &'static [&'static str],
    /// Shapes that need none.
    pub(super) alone: &'static [&'static str],
    /// Judges the compact form in upper case.
    pub(super) check: fn(&[u8]) -> bool,
    pub(super) severity: Severity,
    /// Whether a check digit vouches for it, so that a general label is enough.
    checked: bool,
    /// Whether digits that count are taken for it too.
    typed: bool,
}

impl Kind {
    /// The same without a check digit.
    const fn unchecked(mut self) -> Self {
        self.checked = false;
        self
    }

    /// The same with digits that count: who tries out whether it is found types them.
    const fn even_typed(mut self) -> Self {
        self.typed = true;
        self
    }

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
    /// The classes of what may follow the run that the shape begins with: in most texts that alone
    /// turns most shapes away.
    next: u8,
}

/// The classes of bytes, one bit for each.
const DIGIT: u8 = 1;
const LETTER: u8 = 2;
const SEPARATOR: u8 = 4;
const OTHER: u8 = 8;

/// Shapes by the class and length of the run that they begin with.
#[derive(Debug, Default)]
struct Shapes {
    digits: [Vec<Shape>; RUNS],
    letters: [Vec<Shape>; RUNS],
}

/// All shapes, those that need a label apart.
#[derive(Debug)]
pub(super) struct Kinds {
    alone: Shapes,
    labelled: Shapes,
}

impl Kinds {
    pub(super) fn new() -> Self {
        let mut kinds = Self {
            alone: Shapes::default(),
            labelled: Shapes::default(),
        };
        for kind in all() {
            for pattern in kind.alone {
                kinds.alone.insert(kind, pattern);
            }
            for pattern in kind.labelled {
                kinds.labelled.insert(kind, pattern);
            }
        }
        kinds
    }

    /// The kind of the number that begins at `start`: the one with the nearest label, or else one
    /// that needs none.
    ///
    /// What stands `near` is asked for only where some shape that needs a label may fit.
    pub(super) fn find<'n>(
        &self,
        view: View<'_>,
        start: usize,
        near: impl FnOnce() -> &'n Near,
    ) -> Option<Match> {
        let digits = view.run(start, RUNS, |byte| byte.is_ascii_digit());
        let letters = match digits {
            0 => view.run(start, RUNS, |byte| byte.is_ascii_alphabetic()),
            _ => 0,
        };
        let run = (digits, letters);
        let fits = |shape: &Shape| {
            let fit = fit(view, start, shape.pattern);
            fit.is_some_and(|(end, _)| view.closes(end))
        };
        let mut shapes = self.labelled.starting(view, start, run);
        // What has letters among its digits is told from most shapes by a few of them; to lay several
        // shapes on digits alone takes longer than to read what stands before.
        let mixed = letters > 0 || class(view.at(start + digits)) == LETTER;
        let worth = if mixed {
            shapes.any(fits)
        } else {
            shapes.next().is_some()
        };
        let near = worth.then(near).filter(|near| near.any());
        near.and_then(|near| self.find_labelled(view, start, run, near))
            .or_else(|| self.find_alone(view, start, run))
    }

    /// The kind of a value that it fills from end to end.
    pub(super) fn find_whole(&self, view: View<'_>, near: &Near) -> Option<Match> {
        self.find(view, 0, || near)
            .filter(|found| found.span.end == view.len())
    }

    fn find_labelled(
        &self,
        view: View<'_>,
        start: usize,
        run: (usize, usize),
        near: &Near,
    ) -> Option<Match> {
        let general = near.to(Topic::NationalId).max(near.to(Topic::TaxId)).min(1);
        let mut best = 0;
        let mut found = None;
        for shape in self.labelled.starting(view, start, run) {
            let general = if shape.kind.checked { general } else { 0 };
            let label = near.to(shape.kind.topic).max(general);
            if label <= best {
                continue;
            }
            if let Some(end) = holds(view, start, shape).filter(|end| !view.is_literal(start, *end))
            {
                best = label;
                found = Some(Match {
                    kind: shape.kind,
                    span: start..end,
                    labelled: true,
                });
            }
        }
        found
    }

    fn find_alone(&self, view: View<'_>, start: usize, run: (usize, usize)) -> Option<Match> {
        let shapes = self.alone.starting(view, start, run);
        let mut held = shapes.filter_map(|shape| Some((shape.kind, holds(view, start, shape)?)));
        held.find(|(_, end)| {
            let value = view.slice(start..*end);
            // Groups among further groups are a longer number or a table.
            let more = view.follows_digits(start) || view.precedes_digits(*end);
            if more && value.contains(&b' ') {
                return false;
            }
            !view.is_literal(start, *end) && !is_doubtful(value) && !counting(value)
        })
        .map(|(kind, end)| Match {
            kind,
            span: start..end,
            labelled: false,
        })
    }
}

impl Shapes {
    fn insert(&mut self, kind: &'static Kind, pattern: &'static str) {
        for (is_digit, length) in first_runs(pattern) {
            let next = following(pattern, length);
            let shape = Shape {
                kind,
                pattern,
                next,
            };
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

    /// The shapes that begin with so many digits, or so many letters, as the text at `start` does,
    /// and may go on as it does.
    fn starting(
        &self,
        view: View<'_>,
        start: usize,
        (digits, letters): (usize, usize),
    ) -> impl Iterator<Item = &Shape> {
        let list = match digits {
            0 => self.letters.get(letters),
            _ => self.digits.get(digits),
        };
        let next = class(view.at(start + digits + letters));
        let list = list.map(Vec::as_slice).unwrap_or_default().iter();
        list.filter(move |shape| shape.next & next != 0)
    }
}

/// Whether the letters are those of a lower-case hash, which only a label excuses.
fn is_doubtful(value: &[u8]) -> bool {
    let mut letters = value
        .iter()
        .filter(|byte| byte.is_ascii_alphabetic())
        .peekable();
    letters.peek().is_some() && letters.all(|byte| matches!(byte, b'a'..=b'f'))
}

/// The end of the number at `start` if it has this shape and its check holds.
fn holds(view: View<'_>, start: usize, shape: &Shape) -> Option<usize> {
    let (end, compact) = fit(view, start, shape.pattern)?;
    let (kind, compact) = (shape.kind, compact.as_slice());
    // A check digit is no accident, so that what has one may have few different digits.
    let given = kind.checked || kind.typed || !typed(compact);
    (view.closes(end) && (kind.check)(compact) && given).then_some(end)
}

/// A kind of high severity, as most of them are.
const fn high(
    code: &'static str,
    name: &'static str,
    topic: Topic,
    labelled: &'static [&'static str],
    alone: &'static [&'static str],
    check: fn(&[u8]) -> bool,
) -> Kind {
    Kind {
        code,
        name,
        topic,
        labelled,
        alone,
        check,
        severity: Severity::High,
        checked: true,
        typed: false,
    }
}

/// Every kind of every part of the world.
pub(super) fn all() -> impl Iterator<Item = &'static Kind> {
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

/// The class of a byte of a text, or of one that stands for itself in a pattern.
fn class(byte: u8) -> u8 {
    match byte {
        b'0'..=b'9' => DIGIT,
        b'A'..=b'Z' | b'a'..=b'z' => LETTER,
        b' ' | b'.' | b'-' | b'/' => SEPARATOR,
        _ => OTHER,
    }
}

/// The classes of what a text may have behind its first run, of this length, to fit `pattern`.
fn following(pattern: &str, length: usize) -> u8 {
    let mut passed = 0;
    let mut classes = 0;
    for wanted in pattern.bytes() {
        let separates = wanted == b'_';
        if passed < length {
            passed += usize::from(!separates);
        } else if separates {
            classes |= SEPARATOR;
        } else {
            let own = match wanted {
                b'A' => LETTER,
                b'X' => LETTER | DIGIT,
                other => class(other),
            };
            return classes | own;
        }
    }
    // What the pattern does not say may be anything.
    DIGIT | LETTER | SEPARATOR | OTHER
}

/// The classes and lengths of run that a text may begin with to fit `pattern`.
fn first_runs(pattern: &str) -> Vec<(bool, usize)> {
    let mut runs = Vec::new();
    for is_digit in [true, false] {
        let mut length = 0;
        for wanted in pattern.bytes() {
            match wanted {
                b'0'..=b'9' if is_digit => length += 1,
                b'A' if !is_digit => length += 1,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_follow_the_first_run_is_what_the_pattern_takes() {
        const ANY: u8 = DIGIT | LETTER | SEPARATOR | OTHER;
        let check = |pattern: &str, length: usize, expect: u8| {
            assert_eq!(following(pattern, length), expect, "{pattern} {length}");
        };
        check("99A99", 2, LETTER);
        check("99_A9", 2, SEPARATOR | LETTER);
        check("9_9_X", 1, SEPARATOR | DIGIT);
        check("9_9_X", 2, SEPARATOR | LETTER | DIGIT);
        check("99=9", 2, OTHER);
        check("9_99", 3, ANY);
        check("9_99_", 3, ANY);
    }
}
