//! Folded text as it is compared: the parts of a content, put together in the ways in which a
//! sender could have taken them apart.
//!
//! The first stream has everything in document order. The others only bridge what keys or other
//! fields keep apart there: values beside values, keys beside keys, fields of one name. A part
//! that is longer than two runs is left out in the middle, since the first stream has it.

use std::ops::{Range, RangeInclusive};

use crate::content::Part;
use crate::fold::fold;
use crate::winnow::{GRAM, Gram, RUN, Room, winnow};

/// How a stream was put together; what one family shows, another may show again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Family {
    /// Everything in document order.
    Whole,
    /// Values beside values.
    Values,
    /// Keys beside keys.
    Keys,
    /// Fields of one name.
    Named,
    /// What encodings hid.
    Decoded,
    /// What moves from row to row. Sensitive values alone are looked for in it: text is not written
    /// down a column.
    Aligned,
    /// What was sent before, and what comes now.
    Tail,
}

/// Folded text with the places it came from.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    pub(crate) family: Family,
    pub(crate) symbols: Vec<u8>,
    marks: Marks,
    /// The encodings that were undone.
    pub(crate) via: Vec<&'static str>,
    /// The windows that are compared, once they were chosen.
    pub(crate) grams: Vec<Gram>,
}

impl Stream {
    pub(crate) fn new(family: Family) -> Self {
        Self {
            family,
            symbols: Vec::new(),
            marks: Marks::Many(Vec::new()),
            via: Vec::new(),
            grams: Vec::new(),
        }
    }

    /// Chooses the windows that are compared.
    pub(crate) fn choose(&mut self, room: &mut Room) {
        if self.family == Family::Aligned {
            return;
        }
        self.grams.reserve(self.symbols.len() / 6);
        winnow(&self.symbols, room, |gram| self.grams.push(gram));
    }

    /// Makes a stream of one text.
    pub(crate) fn of(family: Family, text: &str, leaf: u32, via: Vec<&'static str>) -> Self {
        let mut stream = Self::new(family);
        stream.mark(leaf);
        fold(text, &mut stream.symbols);
        stream.via = via;
        stream
    }

    fn mark(&mut self, leaf: u32) {
        let at = u32::try_from(self.symbols.len()).unwrap_or(u32::MAX);
        self.marks.push((at, leaf));
    }

    /// Returns the number of the leaf at a place.
    pub(crate) fn leaf(&self, at: u32) -> u32 {
        let marks = self.marks.list();
        let behind = marks.partition_point(|&(start, _)| start <= at);
        let mark = behind.checked_sub(1).and_then(|index| marks.get(index));
        mark.map_or(0, |&(_, leaf)| leaf)
    }

    /// Returns where the windows begin that lie in these leaves alone. Leaves stand in their order.
    pub(crate) fn windows_in(&self, leaves: &RangeInclusive<u32>) -> Range<u32> {
        let end = u32::try_from(self.symbols.len()).unwrap_or(u32::MAX);
        let marks = self.marks.list();
        let from = |index: usize| marks.get(index).map_or(end, |&(start, _)| start);
        let first = marks.partition_point(|(_, leaf)| leaf < leaves.start());
        let behind = marks.partition_point(|(_, leaf)| leaf <= leaves.end());
        let width = u32::try_from(GRAM - 1).unwrap_or(0);
        from(first)..from(behind).saturating_sub(width)
    }

    /// Tells whether a stretch lies in more than one leaf.
    pub(crate) fn crosses(&self, span: &Range<u32>) -> bool {
        self.leaf(span.start) != self.leaf(span.end.saturating_sub(1))
    }
}

/// Where each leaf begins, and its number. Most streams are one text, which needs no memory for that.
#[derive(Clone, Debug)]
enum Marks {
    One([(u32, u32); 1]),
    Many(Vec<(u32, u32)>),
}

impl Marks {
    fn list(&self) -> &[(u32, u32)] {
        match self {
            Self::One(one) => one,
            Self::Many(list) => list,
        }
    }

    fn push(&mut self, mark: (u32, u32)) {
        match self {
            Self::Many(list) if list.capacity() == 0 => *self = Self::One([mark]),
            Self::Many(list) => list.push(mark),
            Self::One([first]) => *self = Self::Many(vec![*first, mark]),
        }
    }
}

/// Folds the parts and puts those of `own` together; `keys` if keys beside keys are wanted, too.
pub(crate) fn streams(parts: &[Part<'_>], own: Range<usize>, keys: bool) -> Vec<Stream> {
    let mut all = Stream::new(Family::Whole);
    let mut spans = Vec::with_capacity(parts.len());
    // Few characters fold to more symbols than they have bytes.
    all.symbols
        .reserve(parts.iter().map(|part| part.text.len()).sum());
    all.marks = Marks::Many(Vec::with_capacity(parts.len()));
    for part in parts {
        let start = all.symbols.len();
        all.mark(part.leaf);
        fold(&part.text, &mut all.symbols);
        spans.push(start..all.symbols.len());
    }
    let mut found = Vec::new();
    let parts = parts.get(own.clone()).unwrap_or_default();
    let spans = spans.get(own).unwrap_or_default();
    let has_keys = parts.iter().any(Part::is_key);
    if has_keys && parts.len() > 2 {
        let of_kind = |is_key: bool| {
            parts
                .iter()
                .zip(spans)
                .filter(move |(p, _)| p.is_key() == is_key)
        };
        bridge(Family::Values, of_kind(false), &all, &mut found);
        if keys {
            bridge(Family::Keys, of_kind(true), &all, &mut found);
        }
        let mut named: Vec<_> = of_kind(false).collect();
        named.sort_by_key(|(part, _)| part.name);
        let groups = named.chunk_by(|(one, _), (other, _)| one.name == other.name);
        for group in groups.filter(|group| group.len() > 1) {
            bridge(Family::Named, group.iter().copied(), &all, &mut found);
        }
    }
    found.insert(0, all);
    found
}

/// Puts parts beside each other that stand apart in `all`.
fn bridge<'a>(
    family: Family,
    parts: impl Iterator<Item = (&'a Part<'a>, &'a Range<usize>)>,
    all: &Stream,
    found: &mut Vec<Stream>,
) {
    const REACH: usize = RUN - 1;
    let mut open = Stream::new(family);
    // Most have a few short parts, and the beginning of a long one.
    open.symbols.reserve(2 * RUN);
    for (part, span) in parts {
        let symbols = all.symbols.get(span.clone()).unwrap_or_default();
        open.mark(part.leaf);
        if symbols.len() <= 2 * REACH {
            open.symbols.extend_from_slice(symbols);
            continue;
        }
        open.symbols.extend(symbols.iter().take(REACH));
        let mut next = Stream::new(family);
        next.mark(part.leaf);
        next.symbols
            .extend(symbols.iter().skip(symbols.len() - REACH));
        found.push(std::mem::replace(&mut open, next));
    }
    found.push(open);
    // What lies in one leaf, or is too short for a window of a secret, shows nothing new.
    found.retain(|one| one.family != family || one.marks.list().len() > 1);
}
