//! The sensitive values that were read: every six symbols of each, and how much of each has left.
//!
//! A value is kept as hashes of its windows, never as text. What left is added up over all
//! outside destinations and calls, so that pieces count as one; a call that is still on its way
//! counts until it is known that it did not leave.

mod room;

use std::ops::Range;
use std::sync::Arc;

use mcpproxy_core::{CallId, DataOrigin, Label, Masked, Nature};
use mcpproxy_text::decode::{Coding, Run, decode};

use crate::brief;
use crate::content::Marked;
use crate::fold::folded;
use crate::hash::{KeyedMap, QuickMap};
use crate::roll::{roll, whole};
use crate::view::is_chance;

/// Symbols in a window of a secret.
pub(crate) const GRAM: usize = 6;
/// A run of a secret that is as good as the secret.
const RUN: usize = 16;
/// Less than this of a secret is an accident, unless it is all of it.
const LEAST: usize = 8;
/// Symbols of the longest value of which every window is kept. Of a longer one each eighth is: three of
/// them lie in any run of 29 symbols, and are more than a run that is as good as the secret.
const DENSE: usize = 256;
const APART: usize = 8;
/// Windows of one value that are kept: the first 4,000 symbols of a longer one give it away.
pub(crate) const LONGEST: usize = 512;
/// Values that one principal's state holds, and the windows of all of them together.
pub(crate) const ENTRIES: usize = 4096;
const WINDOWS: usize = 1 << 16;
/// Windows that a value counts for at the least, so that there are no more values than entries.
const LEAST_HELD: usize = WINDOWS / ENTRIES;
/// Values that a window leads to: one that many share, as of a domain or a prefix, leads to none of
/// them in particular. Their other windows do, and from there a value is followed as far as it goes.
const SHARED: usize = 8;
/// Windows that wait to be put in order with the others.
const FRESH: usize = 1024;
/// Pieces of values on their way that are kept apart.
const PENDING: usize = 1024;
/// Length from which on no list of numbers has a value by chance.
const NUMBERS: usize = 14;
/// Digits of the longest number that anybody counts with, as years are.
const LONGEST_COUNT: usize = 4;
/// One in so many lists may have a number by chance for it to count.
const CHANCE: u64 = 256;
/// Bytes that a value takes beside its entry and its windows, by estimate: what leads to it as a whole,
/// what is shown of it, and what is kept for memory itself. And those of what has left of one.
const BESIDE: usize = 88;
const LEFT: usize = 96;
/// Bits of the filter in front of the windows.
const FILTER_BITS: u32 = 19;

/// The windows of one sensitive value; made before any lock is taken.
#[derive(Clone, Debug)]
pub(crate) struct SecretPrint {
    pub(crate) label: Label,
    pub(crate) whole: u64,
    pub(crate) length: usize,
    pub(crate) sample: Masked,
    /// Whether it is digits alone, of which any long list of numbers has some by chance.
    pub(crate) digits: bool,
    /// Whether at least half of it is digits: what it is in two parts, it is in the one as in the other
    /// order, and no other value has both.
    pub(crate) figures: bool,
    pub(crate) spelled: Spelled,
    pub(crate) windows: Vec<u32>,
}

impl SecretPrint {
    /// Takes the windows of a marked value, and of what it stands for where it is encoded.
    pub(crate) fn all(marked: &Marked<'_>) -> impl Iterator<Item = Self> {
        let hidden = (marked.label.nature == Nature::Secret).then(|| encoded_in(&marked.value));
        let values = std::iter::once(core_of(&marked.value)).chain(hidden.flatten());
        values.filter_map(|value| Self::of(&value, &marked.label))
    }

    /// Returns by what a marked value is known as a whole.
    pub(crate) fn whole_of(marked: &Marked<'_>) -> u64 {
        whole(&folded(&core_of(&marked.value)))
    }

    /// Takes the windows of a value; nothing if it has no letters or digits.
    fn of(value: &str, label: &Label) -> Option<Self> {
        let symbols = folded(value);
        let digits = symbols.iter().all(u8::is_ascii_digit);
        if symbols.is_empty() || digits && is_counting(&symbols) {
            return None;
        }
        let mut windows = Vec::new();
        let (apart, mut at) = (apart(symbols.len()), 0_usize);
        roll::<GRAM>(&symbols, |hash| {
            if at.is_multiple_of(apart) && windows.len() < LONGEST {
                windows.push(short(hash));
            }
            at += 1;
        });
        Some(Self {
            label: label.clone(),
            whole: whole(&symbols),
            length: symbols.len(),
            sample: mask(value),
            digits,
            figures: 2 * symbols.iter().filter(|one| one.is_ascii_digit()).count() >= symbols.len(),
            spelled: Spelled::of(&symbols, label.nature),
            windows,
        })
    }
}

/// Returns how many symbols lie between the windows that are kept of a value of this length.
fn apart(length: usize) -> usize {
    if length > DENSE { APART } else { 1 }
}

/// Whether a value is words that everybody writes, and the digits that are all that makes it a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spelled {
    /// It is something else.
    No,
    /// They stand in the place of letters.
    Within,
    /// They stand before or behind.
    Beside,
}

impl Spelled {
    fn of(symbols: &[u8], nature: Nature) -> Self {
        let inner = inner(symbols);
        let word = std::str::from_utf8(inner).unwrap_or_default();
        let letters = inner.iter().all(u8::is_ascii_lowercase);
        match nature {
            _ if is_spelled(symbols) => Self::Within,
            Nature::Typed if letters && inner.len() < symbols.len() && !is_chance(word) => {
                Self::Beside
            }
            Nature::Typed | Nature::Personal | Nature::Secret => Self::No,
        }
    }

    /// Tells whether a stretch of a text has the digits.
    fn has(self, stretch: &[u8]) -> bool {
        match self {
            Self::No => true,
            Self::Within => inner(stretch).iter().any(u8::is_ascii_digit),
            Self::Beside => stretch.iter().any(u8::is_ascii_digit),
        }
    }
}

/// Returns what stands between the digits at either end.
fn inner(symbols: &[u8]) -> &[u8] {
    let is_letter = |symbol: &u8| !symbol.is_ascii_digit();
    let first = symbols.iter().position(is_letter).unwrap_or(symbols.len());
    let last = symbols
        .iter()
        .rposition(is_letter)
        .map_or(first, |at| at + 1);
    symbols.get(first..last).unwrap_or_default()
}

/// Tells whether a value is words with digits in the place of letters, as `h3ll0w0rld`. Such digits
/// are all that makes it a secret.
fn is_spelled(symbols: &[u8]) -> bool {
    let inner = inner(symbols);
    let letter = |symbol: &u8| match symbol {
        b'0' => 'o',
        b'1' => 'i',
        b'3' => 'e',
        b'4' => 'a',
        b'5' => 's',
        b'7' => 't',
        other => char::from(*other),
    };
    let read: String = inner.iter().map(letter).collect();
    let words = read.bytes().all(|byte| byte.is_ascii_lowercase());
    inner.iter().any(u8::is_ascii_digit) && words && !is_chance(&read)
}

/// Tells whether digits only count, up or down or on one spot, or are numbers that follow each other:
/// whoever numbers anything writes them.
fn is_counting(digits: &[u8]) -> bool {
    let step = |pair: &[u8]| match pair {
        [one, two] => (two + 10 - one) % 10,
        _ => 0,
    };
    let mut steps = digits.windows(2).map(step);
    let first = steps.next();
    let even = matches!(first, Some(0 | 1 | 9)) && steps.all(|step| Some(step) == first);
    even || (1..=LONGEST_COUNT).any(|length| are_in_a_row(digits, length))
}

/// Tells whether digits are numbers that follow each other, of which the first has so many digits.
fn are_in_a_row(digits: &[u8], length: usize) -> bool {
    let first = digits.get(..length).filter(|_| digits.len() >= 2 * length);
    let first = first.and_then(|first| std::str::from_utf8(first).ok()?.parse::<u32>().ok());
    let Some(first) = first else {
        return false;
    };
    let row = (first..).flat_map(|number| number.to_string().into_bytes());
    row.zip(digits).all(|(one, digit)| one == *digit)
}

/// Returns the part of a value that is secret: the lines between the borders of a PEM block, the
/// password of a URL.
fn core_of(value: &str) -> String {
    if value.contains("-----BEGIN") {
        let lines = value.lines().filter(|line| !line.contains("-----"));
        let body: String = lines.collect();
        if !body.is_empty() {
            return body;
        }
    }
    let password = value.split_once("://").and_then(|(_, rest)| {
        let (userinfo, _) = rest.split_once('@')?;
        let (_, password) = userinfo.split_once(':')?;
        (password.len() >= GRAM).then_some(password)
    });
    password.unwrap_or(value).to_owned()
}

/// Returns what a credential is that its source keeps in base64, as a Secret of Kubernetes, the logins
/// of docker and Basic authentication do: whoever uses it decodes it first. A login is its password.
fn encoded_in(value: &str) -> Option<String> {
    let word = value.split_ascii_whitespace().next_back()?;
    let run = Run {
        coding: Coding::Base64,
        span: 0..word.len(),
    };
    let text = String::from_utf8(decode(word, &run)?).ok()?;
    let text = text.trim_end();
    let secret = text.split_once(':').map_or(text, |(_, password)| password);
    let is_text = !text.contains(|char: char| char.is_control() || !char.is_ascii());
    (is_text && folded(secret).len() >= GRAM).then(|| secret.to_owned())
}

/// Shows four characters of a long value, and none of a short one.
pub(crate) fn mask(value: &str) -> Masked {
    let count = value.chars().count();
    if count < 12 {
        return Masked::from_safe("***");
    }
    let first: String = value.chars().take(2).collect();
    let last: String = value.chars().skip(count - 2).collect();
    Masked::from_safe(format!("{first}…{last}"))
}

/// Cuts a hash to what the table of windows keeps.
pub(crate) fn short(hash: u64) -> u32 {
    u32::try_from(hash >> 32).unwrap_or(0)
}

/// Which windows of a value were seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bits(pub(crate) Vec<u64>);

impl Bits {
    pub(crate) fn set(&mut self, at: usize) {
        if self.0.len() <= at / 64 {
            self.0.resize(at / 64 + 1, 0);
        }
        if let Some(word) = self.0.get_mut(at / 64) {
            *word |= 1 << (at % 64);
        }
    }

    pub(crate) fn set_all(&mut self, range: Range<usize>) {
        range.for_each(|at| self.set(at));
    }

    pub(crate) fn join(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (to, from) in self.0.iter_mut().zip(&other.0) {
            *to |= from;
        }
    }

    fn has(&self, at: usize) -> bool {
        let word = self.0.get(at / 64).copied().unwrap_or(0);
        word >> (at % 64) & 1 == 1
    }

    /// Returns the symbols that windows so far apart cover, and the longest run of them; windows that
    /// only `touch` make a run, too, if those count.
    fn cover(&self, apart: usize, touch: bool) -> (usize, usize) {
        let (mut covered, mut longest, mut run, mut end) = (0, 0, 0_usize, 0);
        for at in (0..self.0.len() * 64).filter(|at| self.has(*at)) {
            let start = at * apart;
            // A run is a chain of windows of which each is the next one that is kept.
            let goes_on = at > 0 && self.has(at - 1);
            let touches = touch && end > 0 && start <= end;
            run = match () {
                () if goes_on => run + apart,
                () if touches => run + (start + GRAM - end),
                () => GRAM,
            };
            let from = if goes_on { end } else { start.max(end) };
            end = start + GRAM;
            covered += end - from;
            longest = longest.max(run);
        }
        (covered, longest)
    }
}

/// One sensitive value.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Shared with all other values that are the same: there are few kinds of them.
    pub(crate) label: Arc<Label>,
    pub(crate) whole: u64,
    pub(crate) origin: DataOrigin,
    pub(crate) length: usize,
    pub(crate) sample: Masked,
    pub(crate) digits: bool,
    figures: bool,
    spelled: Spelled,
    /// The windows of the value, in order.
    pub(crate) windows: Box<[u32]>,
    /// The reading that showed it last.
    round: u64,
}

impl Entry {
    /// Tells whether a stretch of a text that reads like the value may be part of it: `password` is
    /// not `p4ssw0rd`, which hashes do not tell apart.
    pub(crate) fn may_be(&self, stretch: &[u8]) -> bool {
        self.spelled.has(stretch)
    }

    /// Returns how many symbols lie between its windows.
    pub(crate) fn apart(&self) -> usize {
        apart(self.length)
    }

    /// Tells how much of the value the windows amount to: the symbols, and whether it is enough.
    pub(crate) fn weigh(&self, bits: &Bits) -> (usize, bool) {
        let (covered, run) = bits.cover(self.apart(), self.figures);
        let covered = covered.min(self.length);
        let enough = match self.label.nature {
            Nature::Secret => {
                let half = self.length.div_ceil(2).max(LEAST.min(self.length));
                covered >= half || run >= RUN.min(self.length)
            }
            // Half an address is somebody else's; a telephone number may lack its country. What came in two
            // parts touches, whichever came first.
            Nature::Personal | Nature::Typed => {
                let most = (self.length * 5).div_ceil(6).max(LEAST.min(self.length));
                run >= most
            }
        };
        (covered, enough)
    }
}

/// All sensitive values of a scope.
#[derive(Debug, Default)]
pub(crate) struct Vault {
    entries: Vec<Entry>,
    by_whole: KeyedMap<u64, u16>,
    labels: Vec<Arc<Label>>,
    /// What has left of those of which something has.
    left: QuickMap<u16, Bits>,
    /// Window, number of the entry and position, packed and sorted; the fresh ones apart, so that a
    /// value comes in without moving all others.
    windows: Vec<u64>,
    fresh: Vec<u64>,
    /// Windows of all values together, as they count, and the readings so far.
    held: usize,
    round: u64,
    filter: Vec<u64>,
    /// What calls that are on their way take along.
    pending: Vec<(CallId, u16, Bits)>,
    full: bool,
    /// The lengths of the values that no window leads to, as bits, and of those that an encoding may hide
    /// in a short run.
    short: u64,
    brief: u64,
    /// How many values are digits alone, by their length.
    numbers: [u32; NUMBERS],
}

impl Vault {
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Tells whether a value had to go.
    pub(crate) fn is_full(&self) -> bool {
        self.full
    }

    /// Returns the lengths, in symbols, of the values that no window leads to, as bits.
    pub(crate) fn short_lengths(&self) -> u64 {
        self.short
    }

    /// Returns the lengths of the values that an encoding may hide in a short run, as bits.
    pub(crate) fn brief_lengths(&self) -> u64 {
        self.brief
    }

    pub(crate) fn bytes(&self) -> usize {
        let index = self.windows.capacity() + self.fresh.capacity() + self.filter.capacity();
        let entries = self.entries.capacity() * size_of::<Entry>() + self.entries.len() * BESIDE;
        index * 8 + self.held * 4 + entries + self.left.len() * LEFT
    }

    pub(crate) fn entry(&self, number: u16) -> Option<&Entry> {
        self.entries.get(usize::from(number))
    }

    /// Remembers values that were read; where there is no room, others go.
    pub(crate) fn add(&mut self, prints: &[SecretPrint], origin: &DataOrigin) {
        self.round += 1;
        for print in prints {
            if let Some(&known) = self.by_whole.get(&print.whole) {
                if let Some(entry) = self.entries.get_mut(usize::from(known)) {
                    entry.origin = origin.clone();
                    entry.round = self.round;
                    if print.label.nature > entry.label.nature {
                        entry.label = shared(&mut self.labels, &print.label);
                    }
                }
                continue;
            }
            let held = held(&print.windows);
            if self.held + held > WINDOWS {
                self.make_room();
            }
            let number = u16::try_from(self.entries.len()).unwrap_or(u16::MAX);
            self.by_whole.insert(print.whole, number);
            self.held += held;
            // What no window leads to is found as a whole word only.
            if !self.index(number, &print.windows) {
                self.short |= 1 << print.length.min(63);
            }
            if print.length <= brief::MOST {
                self.brief |= 1 << print.length;
            }
            self.count_number(print.digits, print.length);
            self.entries.push(Entry {
                label: shared(&mut self.labels, &print.label),
                whole: print.whole,
                origin: origin.clone(),
                length: print.length,
                sample: print.sample.clone(),
                digits: print.digits,
                figures: print.figures,
                spelled: print.spelled,
                windows: print.windows.as_slice().into(),
                round: self.round,
            });
        }
    }

    fn count_number(&mut self, digits: bool, length: usize) {
        if let Some(count) = self.numbers.get_mut(length).filter(|_| digits) {
            *count += 1;
        }
    }

    /// Lets windows lead to a value; tells whether any does.
    fn index(&mut self, number: u16, windows: &[u32]) -> bool {
        let mut led = false;
        for (at, &window) in (0_u64..).zip(windows) {
            let mut count = 0;
            let mut own = false;
            self.find(window, |other, _| {
                count += 1;
                own |= other == number;
            });
            led |= own;
            if own || count >= SHARED {
                continue;
            }
            led = true;
            let packed = u64::from(window) << 32 | u64::from(number) << 16 | at;
            let place = self.fresh.partition_point(|&other| other < packed);
            self.fresh.insert(place, packed);
            self.mark(window);
            if self.fresh.len() >= FRESH {
                self.windows.append(&mut self.fresh);
                self.windows.sort_unstable();
            }
        }
        led
    }

    fn mark(&mut self, window: u32) {
        if self.filter.is_empty() {
            self.filter = vec![0; 1 << (FILTER_BITS - 6)];
        }
        let (word, bit) = filter_place(window);
        if let Some(word) = self.filter.get_mut(word) {
            *word |= 1 << bit;
        }
    }

    /// Tells whether a window may lead to a value: one that does not seldom seems to.
    #[inline]
    fn may_find(&self, window: u32) -> bool {
        self.may_find_any(std::iter::once(window))
    }

    /// Tells the same of some windows together. All of them are looked at, which is faster than to stop
    /// where nobody can guess.
    #[inline]
    pub(crate) fn may_find_any(&self, windows: impl Iterator<Item = u32>) -> bool {
        // Of a filter whose length is known, no place has to be compared with it.
        let filter = self.filter.first_chunk::<{ 1 << (FILTER_BITS - 6) }>();
        filter.is_some_and(|filter| {
            let marked = windows.fold(0, |marked, window| {
                let (word, bit) = filter_place(window);
                marked | filter.get(word).copied().unwrap_or(0) >> bit
            });
            marked & 1 != 0
        })
    }

    /// Hands the entry and position of each value that a window leads to, of which there are few.
    pub(crate) fn find(&self, window: u32, mut each: impl FnMut(u16, usize)) {
        if !self.may_find(window) {
            return;
        }
        let low = u64::from(window) << 32;
        for list in [&self.windows, &self.fresh] {
            let first = list.partition_point(|&packed| packed < low);
            let rest = list.get(first..).unwrap_or_default().iter();
            for &packed in rest.take_while(|&&packed| packed >> 32 == u64::from(window)) {
                let number = u16::try_from(packed >> 16 & 0xFFFF).unwrap_or(0);
                each(number, usize::try_from(packed & 0xFFFF).unwrap_or(0));
            }
        }
    }

    /// Finds the value that is exactly this token, for values too short to have windows.
    pub(crate) fn find_whole(&self, token: u64) -> Option<u16> {
        self.by_whole.get(&token).copied()
    }

    /// Returns all that has left or may be leaving of a value.
    pub(crate) fn gone(&self, number: u16) -> Bits {
        let mut bits = self.left.get(&number).cloned().unwrap_or_default();
        for (_, other, taken) in &self.pending {
            if *other == number {
                bits.join(taken);
            }
        }
        bits
    }

    /// Tells whether a value may well stand by chance in a row of so many digits: it is digits alone,
    /// and there are many of its length.
    pub(crate) fn is_chance(&self, entry: &Entry, digits: usize) -> bool {
        let alike = self.numbers.get(entry.length).filter(|_| entry.digits);
        let Some(&alike) = alike else {
            return false;
        };
        // What is enough of a value lacks a sixth of it.
        let needed = u32::try_from(entry.length * 5 / 6).unwrap_or(u32::MAX);
        let rows = u64::try_from(digits).unwrap_or(u64::MAX);
        let expected = rows.saturating_mul(u64::from(alike)).saturating_mul(CHANCE);
        expected > 10_u64.saturating_pow(needed)
    }

    /// Notes that a call takes these windows along.
    pub(crate) fn reserve(&mut self, call: CallId, number: u16, bits: Bits) {
        // Of what nobody settles it is not known that it stayed.
        if self.pending.len() >= PENDING
            && let Some(&(oldest, ..)) = self.pending.first()
        {
            self.settle(oldest, true);
        }
        self.pending.push((call, number, bits));
    }

    /// Settles what a call took along; tells whether there was anything to settle.
    pub(crate) fn settle(&mut self, call: CallId, left: bool) -> bool {
        let pending = std::mem::take(&mut self.pending);
        let before = pending.len();
        for (other, number, bits) in pending {
            if other != call {
                self.pending.push((other, number, bits));
            } else if left && usize::from(number) < self.entries.len() {
                self.left.entry(number).or_default().join(&bits);
            }
        }
        self.pending.len() < before
    }
}

/// Returns how many windows these count for.
fn held(windows: &[u32]) -> usize {
    windows.len().max(LEAST_HELD)
}

/// Returns the one label for all values that have it.
fn shared(labels: &mut Vec<Arc<Label>>, label: &Label) -> Arc<Label> {
    if let Some(known) = labels.iter().find(|known| ***known == *label) {
        return Arc::clone(known);
    }
    let new = Arc::new(label.clone());
    labels.push(Arc::clone(&new));
    new
}

/// Returns the place of a window in the filter: a word, and one of its bits.
fn filter_place(window: u32) -> (usize, u32) {
    let bit = window >> (32 - FILTER_BITS);
    let word = usize::try_from(bit / 64).unwrap_or(0);
    (word, bit % 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covered_symbols_and_runs_are_counted() {
        let of = |windows: &[usize]| {
            let mut bits = Bits::default();
            for &at in windows {
                bits.set(at);
            }
            bits
        };
        let check = |windows: &[usize], apart: usize, expect: (usize, usize)| {
            assert_eq!(of(windows).cover(apart, false), expect, "{windows:?}");
        };
        let touching = |windows: &[usize], expect: (usize, usize)| {
            assert_eq!(of(windows).cover(1, true), expect, "{windows:?}");
        };
        touching(&[0, 1, 2, 8, 9, 10], (16, 16));
        touching(&[0, 3], (9, 9));
        touching(&[0, 1, 2, 9, 10], (15, 8));
        check(&[], 1, (0, 0));
        check(&[0], 1, (6, 6));
        check(&[3, 4, 5], 1, (8, 8));
        check(&[0, 3], 1, (9, 6));
        check(&[0, 10], 1, (12, 6));
        check(&[0, 6], 1, (12, 6));
        check(&[62, 63, 64, 65], 1, (9, 9));
        check(&[0], APART, (6, 6));
        check(&[0, 1], APART, (14, 14));
        check(&[0, 2], APART, (12, 6));
        check(&[62, 63, 64, 70], APART, (28, 22));
    }

    #[test]
    fn a_window_that_many_values_share_leads_to_few() {
        let origin = DataOrigin {
            call: CallId::new(1, 0),
            upstream: mcpproxy_core::UpstreamId::new("crm"),
            tool: mcpproxy_core::ToolName::new("people"),
            at: mcpproxy_core::Wall(0),
            side: mcpproxy_core::Side::Inside,
        };
        let mut vault = Vault::default();
        let print = |number: u32| {
            let value = format!("someone{number}@corvane-freight.com");
            let label = Label {
                kind: "email".into(),
                word: "pii",
                severity: mcpproxy_core::Severity::Medium,
                validated: true,
                nature: Nature::Typed,
            };
            SecretPrint::of(&value, &label).unwrap()
        };
        let prints: Vec<_> = (1000..3000).map(print).collect();
        vault.add(&prints, &origin);
        assert!(!vault.is_full());
        for (number, print) in prints.iter().enumerate() {
            let mut own = false;
            for &window in &print.windows {
                let mut count = 0;
                vault.find(window, |found, _| {
                    count += 1;
                    own |= usize::from(found) == number;
                });
                assert!(count <= SHARED);
            }
            assert!(own, "nothing leads to {number}");
        }
    }

    #[test]
    fn numbers_that_only_count_are_no_values() {
        let check = |digits: &str, expect: bool| {
            assert_eq!(is_counting(digits.as_bytes()), expect, "{digits}");
        };
        for counts in [
            "123456789",
            "1234567890",
            "987654",
            "000000",
            "7777777",
            "7891011",
            "20212022",
            "99100101",
        ] {
            check(counts, true);
        }
        for value in ["1", "135791", "123457", "482913", "112233", "20212024"] {
            check(value, false);
        }
    }

    #[test]
    fn words_with_digits_for_letters_are_told_from_keys() {
        let check = |value: &str, expect: bool| {
            assert_eq!(is_spelled(&folded(value)), expect, "{value}");
        };
        for spelled in [
            "p4ssw0rd!",
            "h3ll0w0rld",
            "sup3rs3cr3t",
            "Passw0rd123",
            "w3lc0m3",
        ] {
            check(spelled, true);
        }
        for other in [
            "hunter2",
            "correcthorse",
            "tr8ub9dor6x",
            "Kx7Qm2Vb9TkwYpR4sNdLc6Gf",
            "x4kq0zj3vb1w",
            "20241118",
        ] {
            check(other, false);
        }
    }

    #[test]
    fn only_the_secret_part_of_a_value_is_kept() {
        let check = |value: &str, expect: &str| assert_eq!(core_of(value), expect);
        check("plain", "plain");
        check(
            "-----BEGIN X KEY-----\nabc\ndef\n-----END X KEY-----",
            "abcdef",
        );
        check("postgres://app:s3cretpw@db.local/main", "s3cretpw");
        check("https://example.com/a@b", "https://example.com/a@b");
    }

    #[test]
    fn what_a_credential_stands_for_is_known_where_it_is_encoded() {
        let check = |value: &str, expect: Option<&str>| {
            assert_eq!(encoded_in(value).as_deref(), expect, "{value}");
        };
        check("aHVudGVyMiF4UQ==", Some("hunter2!xQ"));
        check("Basic c3ZjOlprODEtcHFMdw==", Some("Zk81-pqLw"));
        check("ZGVwbG95OnRyMHViNGRvciYzeA", Some("tr0ub4dor&3x"));
        check("aHVudGVyMgo=", Some("hunter2"));
        // Too little, no text, no encoding.
        check("c3ZjOmFi", None);
        check("Kx7Qm2Vb9TkwYpR4sNdLc6Gf", None);
        check("hunter2!xQ", None);
        check("", None);
    }
}
