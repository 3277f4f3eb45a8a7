//! Sensitive values in a sending: windows lead to a value, which is followed from there as far as
//! it goes.

use std::ops::Range;

use mcpproxy_core::{Label, Likeness, Nature};
use mcpproxy_text::decode::Coding;

use super::{Hits, Read, SecretHit, likeness};
use crate::hash::QuickMap;
use crate::roll::{roll, roll_some};
use crate::secret::{Bits, Entry, GRAM as SECRET, Vault, short};
use crate::sending::Sending;
use crate::state::{Errand, State, place_salt, said_salt};
use crate::stream::{Family, Stream};
use crate::view::is_chance;

/// Windows that are asked for together.
const TOGETHER: usize = 16;

/// Symbols that may stand in a text between two windows of a value for them not to be an accident, in
/// one so long; in a longer one fewer may. And how far apart they may stand in the value.
const BETWEEN: usize = 32;
const SHORT: usize = 1024;
const LEFT_OUT: usize = 2 * SECRET;

/// Where windows of one value were seen. One window alone is an accident in any long message: two
/// that follow each other, in either direction, are counted, and so are two of a secret that stand
/// close together, whatever of it is left out between them.
struct Trail<'a> {
    own: Bits,
    /// The stream with the longest run, the first and the last window of it there.
    stream: &'a Stream,
    start: u32,
    end: u32,
    best: usize,
    /// The stream that was looked at last, and up to which window the value was followed there.
    last: &'a Stream,
    until: usize,
    /// The windows that were seen last in it, where they end, and whether they are counted.
    seen: Range<usize>,
    end_of_seen: usize,
    counted: bool,
}

impl<'a> Trail<'a> {
    fn new(stream: &'a Stream) -> Self {
        Self {
            own: Bits::default(),
            stream,
            start: 0,
            end: 0,
            best: 0,
            last: stream,
            until: 0,
            seen: 0..0,
            end_of_seen: 0,
            counted: false,
        }
    }

    /// Follows a value from where a window led to it, forwards and backwards in the text, and in
    /// either direction in the value.
    fn follow(&mut self, (stream, sent): Read<'a>, text: &[u32], value: &Entry, lead: Lead) {
        if !std::ptr::eq(self.last, stream) {
            (self.last, self.until, self.seen) = (stream, 0, 0..0);
        }
        if lead.at < self.until {
            return;
        }
        let (windows, apart) = (&*value.windows, value.apart());
        let (before, after) = text.split_at_checked(lead.at).unwrap_or_default();
        let unseen = before.get(self.until..).unwrap_or_default();
        let unseen = || unseen.iter().rev().skip(apart - 1).step_by(apart);
        let after = || after.iter().step_by(apart);
        let (left, right) = windows.split_at_checked(lead.position).unwrap_or_default();
        let this = windows.get(..=lead.position).unwrap_or_default();
        let next = right.get(1..).unwrap_or_default();
        // As it stands, and mirrored.
        let plain = (
            alike(unseen(), left.iter().rev()),
            alike(after(), right.iter()),
        );
        let turned = (
            alike(unseen(), next.iter()),
            alike(after(), this.iter().rev()),
        );
        let is_plain = plain.0 + plain.1 >= turned.0 + turned.1;
        let (back, on) = if is_plain { plain } else { turned };
        let (start, run) = (lead.at - back * apart, back + on);
        self.until = start + run.saturating_sub(1) * apart + 1;
        let first = if is_plain {
            lead.position - back
        } else {
            lead.position + 1 - on
        };
        self.count(start, first..first + run, value);
        // What lies in what left before adds up, and is no news by itself.
        let is_news = sent.is_none_or(|sent| self.until + SECRET - 1 > sent.sent(stream));
        if run > self.best && is_news {
            self.best = run;
            self.stream = stream;
            self.start = u32::try_from(start).unwrap_or(u32::MAX);
            self.end = u32::try_from(self.until - 1).unwrap_or(u32::MAX);
        }
    }

    /// Counts windows that follow each other, and one that stands alone if others stand near.
    fn count(&mut self, start: usize, found: Range<usize>, value: &Entry) {
        let follow = found.len() >= 2 || value.windows.len() == 1;
        let between = BETWEEN * SHORT / self.last.symbols.len().max(SHORT);
        let near = !self.seen.is_empty() && start <= self.end_of_seen + between;
        // The windows next to each other, in either direction.
        let step =
            |one: &Range<usize>, next: &Range<usize>| (next.start + 1).saturating_sub(one.end);
        let step = step(&self.seen, &found).max(step(&found, &self.seen));
        let linked = near && (SECRET..=LEFT_OUT).contains(&(step * value.apart())) && {
            let rare = |at: usize, one: &Range<usize>| one.len() >= 2 || self.is_rare(at, value);
            rare(start, &found) && rare(self.end_of_seen - SECRET, &self.seen)
        };
        if linked && !self.counted {
            self.own.set_all(self.seen.clone());
        }
        if follow || linked {
            self.own.set_all(found.clone());
        }
        self.seen = found;
        self.end_of_seen = self.until - 1 + SECRET;
        self.counted = follow || linked;
    }

    /// Tells whether a window that stands alone can only be one of a secret: it is no word.
    fn is_rare(&self, at: usize, value: &Entry) -> bool {
        let window = self.last.symbols.get(at..at + SECRET).unwrap_or_default();
        let window = std::str::from_utf8(window).unwrap_or_default();
        value.label.nature == Nature::Secret && !value.digits && is_chance(window)
    }
}

/// A window of a text that led to a value: where it is in either.
#[derive(Clone, Copy, Debug)]
struct Lead {
    at: usize,
    position: usize,
}

/// Returns how far two rows of windows are alike.
fn alike<'w>(one: impl Iterator<Item = &'w u32>, other: impl Iterator<Item = &'w u32>) -> usize {
    one.zip(other)
        .take_while(|(one, other)| one == other)
        .count()
}

/// Finds the windows of a text among which some lead to a value; returns how many windows it has. Few
/// lead anywhere; the others are not looked at again.
fn find_leads(vault: &Vault, symbols: &[u8], leads: &mut Vec<Range<usize>>) -> usize {
    leads.clear();
    let mut count = 0;
    roll_some::<SECRET>(symbols, |hashes| {
        for some in hashes.chunks(TOGETHER) {
            let end = count + some.len();
            let windows = some.iter().map(|hash| short(*hash));
            if vault.may_find_any(windows.clone()) {
                let mut led = false;
                windows.for_each(|window| vault.find(window, |_, _| led = true));
                leads.extend(led.then_some(count..end));
            }
            count = end;
        }
    });
    count
}

/// Finds the sensitive values of which a sending has enough, itself or with what left before.
pub(super) fn secrets<'a>(
    state: &State,
    errand: Errand<'_>,
    salts: &[u64],
    sending: &Sending<'_>,
    streams: impl Iterator<Item = Read<'a>>,
    hits: &mut Hits,
) {
    if state.vault.is_empty() {
        return;
    }
    let mut seen: QuickMap<u16, Trail<'a>> = QuickMap::default();
    let mut text = Vec::new();
    let mut leads = Vec::new();
    for (stream, before) in streams {
        let count = find_leads(&state.vault, &stream.symbols, &mut leads);
        text.clear();
        if !leads.is_empty() {
            text.reserve(count);
            roll::<SECRET>(&stream.symbols, |hash| text.push(short(hash)));
        }
        for at in leads.iter().cloned().flatten() {
            let Some(&window) = text.get(at) else {
                continue;
            };
            state.vault.find(window, |number, position| {
                let Some(entry) = state.vault.entry(number) else {
                    return;
                };
                let trail = seen.entry(number).or_insert_with(|| Trail::new(stream));
                trail.follow((stream, before), &text, entry, Lead { at, position });
            });
        }
    }
    let mut found: Vec<_> = seen.into_iter().collect();
    found.sort_unstable_by_key(|(number, _)| *number);
    let mut numbers = 0;
    for (number, trail) in found {
        let Trail {
            own,
            stream,
            start,
            end,
            best,
            ..
        } = trail;
        let Some(entry) = state.vault.entry(number).filter(|_| best > 0) else {
            continue;
        };
        if entry.label.nature == Nature::Typed && is_supplied(state, errand, salts, entry.whole) {
            continue;
        }
        let place = |at: u32| usize::try_from(at).unwrap_or(usize::MAX);
        let stretch = place(start)..place(end).saturating_add(SECRET);
        if !entry.may_be(stream.symbols.get(stretch).unwrap_or_default()) {
            continue;
        }
        // What stands as a word of its own is looked for below.
        let digits = stream.symbols.iter().filter(|one| one.is_ascii_digit());
        if state.vault.is_chance(entry, digits.count()) {
            numbers |= 1 << entry.length.min(63);
            continue;
        }
        let (alone, enough_alone) = entry.weigh(&own);
        let mut all = state.vault.gone(number);
        // Of an address that has left as a whole, a part is no news: anything may have its domain.
        let told = entry.label.nature != Nature::Secret && entry.weigh(&all).1;
        all.join(&own);
        let (together, enough) = if told {
            (alone, enough_alone)
        } else {
            entry.weigh(&all)
        };
        let behind = end + u32::try_from(SECRET).unwrap_or(0);
        let crosses = stream.crosses(&(start..behind));
        let how = match () {
            () if !enough_alone && enough => Likeness::Pieces,
            () if alone >= entry.length && stream.family == Family::Whole && !crosses => {
                Likeness::Exact
            }
            () => likeness(stream, start..end + 1),
        };
        hits.secrets.push(SecretHit {
            number,
            own,
            origin: entry.origin.clone(),
            label: Label::clone(&entry.label),
            covered: u32::try_from(together).unwrap_or(u32::MAX),
            enough,
            leaf: stream.leaf(start),
            last: stream.leaf(behind - 1),
            how,
            via: stream.via.clone(),
            sample: entry.sample.clone(),
        });
    }
    let lengths = state.vault.short_lengths() | numbers;
    words(state, errand, salts, sending, lengths, hits);
}

/// Tells whether a token came from the very place that it goes to, or from the user.
pub(crate) fn is_supplied(state: &State, errand: Errand<'_>, salts: &[u64], token: u64) -> bool {
    let alive = |seq| state.origins.is_alive(seq);
    let has = |tag| state.supplied.get(tag, alive).is_some();
    has(token ^ place_salt(errand.to)) || salts.iter().any(|salt| has(token ^ said_salt(*salt)))
}

/// Finds values of these lengths as whole words: those that are too short to have windows, and
/// numbers that any list could have. A short value is looked for in what is encoded by itself, too.
fn words(
    state: &State,
    errand: Errand<'_>,
    salts: &[u64],
    sending: &Sending<'_>,
    lengths: u64,
    hits: &mut Hits,
) {
    let mut add = |word, leaf, coding: Option<Coding>| {
        let Some(number) = state.vault.find_whole(word) else {
            return;
        };
        let known = hits
            .secrets
            .iter()
            .any(|hit| hit.number == number && hit.enough);
        let Some(entry) = state.vault.entry(number).filter(|_| !known) else {
            return;
        };
        if entry.label.nature == Nature::Typed && is_supplied(state, errand, salts, entry.whole) {
            return;
        }
        hits.secrets.push(SecretHit {
            number,
            own: Bits::default(),
            origin: entry.origin.clone(),
            label: Label::clone(&entry.label),
            covered: u32::try_from(entry.length).unwrap_or(u32::MAX),
            enough: true,
            leaf,
            last: leaf,
            how: coding.map_or(Likeness::Exact, |_| Likeness::Encoded),
            via: coding.map(Coding::name).into_iter().collect(),
            sample: entry.sample.clone(),
        });
    };
    if lengths != 0 {
        sending.short_words(lengths, |word, leaf| add(word, leaf, None));
    }
    let lengths = state.vault.brief_lengths();
    if lengths != 0 {
        sending.brief_words(lengths, |word, leaf, coding| add(word, leaf, Some(coding)));
    }
}
