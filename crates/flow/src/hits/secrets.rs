//! Sensitive values in a sending: windows lead to a value, which is followed from there as far as
//! it goes.

use std::ops::Range;

use mcpproxy_core::{Label, Likeness, Nature};

use super::{Hits, Read, SecretHit, likeness};
use crate::hash::QuickMap;
use crate::roll::{roll, roll_some};
use crate::secret::{Bits, GRAM as SECRET, Vault, short};
use crate::sending::Sending;
use crate::state::{Errand, State, place_salt, said_salt};
use crate::stream::{Family, Stream};

/// Windows that are asked for together.
const TOGETHER: usize = 16;

/// Where windows of one value were seen. One window alone is an accident in any long message: two
/// that follow each other, in either direction, are counted.
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
        }
    }

    /// Follows a value from where a window led to it, forwards and backwards in the text, and in
    /// either direction in the value.
    fn follow(&mut self, (stream, sent): Read<'a>, text: &[u32], value: &[u32], lead: Lead) {
        if !std::ptr::eq(self.last, stream) {
            (self.last, self.until) = (stream, 0);
        }
        if lead.at < self.until {
            return;
        }
        let (before, after) = text.split_at_checked(lead.at).unwrap_or_default();
        let unseen = before.get(self.until..).unwrap_or_default();
        let (left, right) = value.split_at_checked(lead.position).unwrap_or_default();
        let this = value.get(..=lead.position).unwrap_or_default();
        let next = right.get(1..).unwrap_or_default();
        // As it stands, and mirrored.
        let plain = (
            alike(unseen.iter().rev(), left.iter().rev()),
            alike(after.iter(), right.iter()),
        );
        let turned = (
            alike(unseen.iter().rev(), next.iter()),
            alike(after.iter(), this.iter().rev()),
        );
        let is_plain = plain.0 + plain.1 >= turned.0 + turned.1;
        let (back, on) = if is_plain { plain } else { turned };
        let (start, run) = (lead.at - back, back + on);
        self.until = start + run;
        if run >= 2 || value.len() == 1 {
            let first = if is_plain {
                lead.position - back
            } else {
                lead.position + 1 - on
            };
            (first..first + run).for_each(|position| self.own.set(position));
        }
        // What lies in what left before adds up, and is no news by itself.
        let is_news = sent.is_none_or(|sent| self.until + SECRET - 1 > sent.sent(stream));
        if run > self.best && is_news {
            self.best = run;
            self.stream = stream;
            self.start = u32::try_from(start).unwrap_or(u32::MAX);
            self.end = u32::try_from(start + run - 1).unwrap_or(u32::MAX);
        }
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
                trail.follow(
                    (stream, before),
                    &text,
                    &entry.windows,
                    Lead { at, position },
                );
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
        let crosses = stream.crosses(&(start..end + u32::try_from(SECRET).unwrap_or(0)));
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
/// numbers that any list could have.
fn words(
    state: &State,
    errand: Errand<'_>,
    salts: &[u64],
    sending: &Sending<'_>,
    lengths: u64,
    hits: &mut Hits,
) {
    if lengths == 0 {
        return;
    }
    sending.short_words(lengths, |word, leaf| {
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
            how: Likeness::Exact,
            via: Vec::new(),
            sample: entry.sample.clone(),
        });
    });
}
