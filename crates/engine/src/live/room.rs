//! One scope as it is shared: what was told, what was heard, and what still has to be told.
//!
//! Everybody numbers what they tell, so that what is told twice is folded once: an answer that was
//! lost on its way, or a store that forgot everything, only makes everybody tell again.

use std::collections::{BTreeMap, HashMap, VecDeque};

use mcpproxy_core::{Exchanged, Id128, LogAsk, LogSaid, Place, Wall};
use mcpproxy_flow::{Event, Lane};

use super::packed;

/// Bytes and entries of each log that are kept in the store.
const KEPT: (usize, usize) = (4 << 20, 8192);
const TEXT: (usize, usize) = (16 << 20, 4096);
/// Bytes of each log that this process keeps of its own words, to tell them again.
const OWN: usize = 4 << 20;
/// Entries and bytes that are told at once; one at least, whatever its size.
const AT_ONCE: (usize, usize) = (256, 1 << 20);
/// Other processes that are told apart, and gaps in what each of them told.
const WRITERS: usize = 1024;
const GAPS: usize = 64;
/// Bytes in front of an event: who, the number, when.
const HEAD: usize = 32;

/// What one process told of.
#[derive(Debug)]
pub(super) struct Packet {
    writer: Id128,
    number: u64,
    pub(super) at: Wall,
    pub(super) event: Event,
}

impl Packet {
    fn read(bytes: &[u8]) -> Option<Self> {
        let (head, event) = bytes.split_at_checked(HEAD)?;
        let (writer, rest) = head.split_first_chunk::<16>()?;
        let (number, at) = rest.split_first_chunk::<8>()?;
        Some(Self {
            writer: Id128::from_bytes(*writer),
            number: u64::from_be_bytes(*number),
            at: Wall(u64::from_be_bytes(at.try_into().ok()?)),
            event: Event::decode(event)?,
        })
    }
}

/// One log of a scope.
#[derive(Debug, Default)]
struct Log {
    after: Option<Place>,
    /// What is known to be in the store, with its size.
    there: VecDeque<(Place, usize)>,
    bytes: usize,
    /// What has to be told.
    outgoing: VecDeque<Vec<u8>>,
    /// What was told, as long as there is room.
    told: VecDeque<Vec<u8>>,
    told_bytes: usize,
    /// The number of the last word of this process.
    number: u64,
    heard: HashMap<Id128, Heard>,
}

/// Which words of another process were heard: stretches of numbers, by their first.
#[derive(Debug, Default)]
struct Heard(BTreeMap<u64, u64>);

impl Heard {
    /// Takes note of a word; tells whether it is new.
    fn take(&mut self, number: u64) -> bool {
        let before = self.0.range(..=number).next_back();
        let before = before.map(|(first, last)| (*first, *last));
        if before.is_some_and(|(_, last)| last >= number) {
            return false;
        }
        let mut last = number;
        if let Some(end) = self.0.remove(&number.saturating_add(1)) {
            last = end;
        }
        let joins = before.filter(|(_, end)| end.saturating_add(1) == number);
        let first = joins.map_or(number, |(first, _)| first);
        self.0.insert(first, last);
        if self.0.len() > GAPS {
            // What was missed that long ago does not come any more.
            self.0.pop_first();
        }
        true
    }
}

/// One scope.
#[derive(Debug)]
pub(super) struct Room {
    /// Who writes: this process, in this room, and nobody later.
    writer: Id128,
    logs: [Log; 2],
    epoch: Option<Id128>,
}

impl Room {
    /// Makes a room in which nothing was told.
    pub(super) fn new(writer: Id128) -> Self {
        Self {
            writer,
            logs: Default::default(),
            epoch: None,
        }
    }

    /// Keeps an event to be told.
    pub(super) fn write(&mut self, at: Wall, event: &Event) {
        let [kept, text] = &mut self.logs;
        let log = match event.lane() {
            Lane::Kept => kept,
            Lane::Text => text,
        };
        log.number += 1;
        log.outgoing
            .push_back(packed(self.writer, log.number, at, event));
    }

    /// Tells whether something has to be told.
    pub(super) fn waits(&self) -> bool {
        self.logs.iter().any(|log| !log.outgoing.is_empty())
    }

    /// Returns what is asked of the store.
    pub(super) fn asked(&self) -> [LogAsk; 2] {
        self.logs.each_ref().map(Log::asked)
    }

    /// Takes what the store said. Returns what is new, and whether it has to be asked again.
    pub(super) fn said(&mut self, said: Exchanged) -> (Vec<Packet>, bool) {
        let mut packets = Vec::new();
        let mut again = false;
        let bounds = [KEPT, TEXT];
        for ((log, said), bound) in self.logs.iter_mut().zip(said.logs).zip(bounds) {
            again |= log.said(said, self.writer, bound, &mut packets);
        }
        if self.epoch.is_some_and(|epoch| epoch != said.epoch) {
            // The store forgot everything; what others told of is told again by them.
            self.logs.iter_mut().for_each(Log::tell_again);
            again = true;
        }
        self.epoch = Some(said.epoch);
        (packets, again)
    }
}

impl Log {
    fn asked(&self) -> LogAsk {
        let (most, mut bytes) = AT_ONCE;
        let mut first = true;
        let fits = |entry: &&Vec<u8>| {
            let fits = first || entry.len() <= bytes;
            bytes = bytes.saturating_sub(entry.len());
            first = false;
            fits
        };
        let told = self.outgoing.iter().take(most).take_while(fits);
        LogAsk {
            append: told.cloned().collect(),
            after: self.after,
            keep: self.there.front().map(|(place, _)| *place),
        }
    }

    fn said(
        &mut self,
        said: LogSaid,
        writer: Id128,
        bound: (usize, usize),
        packets: &mut Vec<Packet>,
    ) -> bool {
        for (place, bytes) in said.entries {
            self.after = Some(place);
            self.note(place, bytes.len(), bound);
            let packet = Packet::read(&bytes).filter(|packet| packet.writer != writer);
            packets.extend(packet.filter(|packet| self.is_new(packet)));
        }
        for place in said.appended {
            let Some(bytes) = self.outgoing.pop_front() else {
                break;
            };
            // Nothing came between, unless there is more: then this is read with it.
            if !said.more {
                self.after = Some(place);
                self.note(place, bytes.len(), bound);
            }
            self.remember(bytes);
        }
        said.more || !self.outgoing.is_empty()
    }

    /// Takes note of what the store holds; the oldest beyond the bounds may go there.
    fn note(&mut self, place: Place, bytes: usize, (most, entries): (usize, usize)) {
        self.there.push_back((place, bytes));
        self.bytes += bytes;
        while (self.bytes > most || self.there.len() > entries)
            && self.there.len() > 1
            && let Some((_, bytes)) = self.there.pop_front()
        {
            self.bytes -= bytes;
        }
    }

    fn remember(&mut self, bytes: Vec<u8>) {
        self.told_bytes += bytes.len();
        self.told.push_back(bytes);
        while self.told_bytes > OWN
            && let Some(oldest) = self.told.pop_front()
        {
            self.told_bytes -= oldest.len();
        }
    }

    /// Tells whether this was not heard before.
    fn is_new(&mut self, packet: &Packet) -> bool {
        if self.heard.len() >= WRITERS && !self.heard.contains_key(&packet.writer) {
            self.heard.clear();
        }
        let heard = self.heard.entry(packet.writer).or_default();
        heard.take(packet.number)
    }

    fn tell_again(&mut self) {
        self.after = None;
        self.there.clear();
        self.bytes = 0;
        self.told_bytes = 0;
        let mut again = std::mem::take(&mut self.told);
        again.append(&mut self.outgoing);
        self.outgoing = again;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_heard_once_in_whatever_order_it_comes() {
        let mut heard = Heard::default();
        let check = |heard: &mut Heard, numbers: &[u64], expect: &[bool]| {
            let new: Vec<bool> = numbers.iter().map(|one| heard.take(*one)).collect();
            assert_eq!(new, expect, "{numbers:?}");
        };
        check(&mut heard, &[3, 4, 3, 4], &[true, true, false, false]);
        check(&mut heard, &[1, 6, 2, 5], &[true; 4]);
        check(&mut heard, &[1, 2, 3, 4, 5, 6], &[false; 6]);
        assert_eq!(heard.0.len(), 1);
        let apart: Vec<u64> = (10..1000).step_by(2).collect();
        assert!(apart.iter().all(|one| heard.take(*one)));
        assert_eq!(heard.0.len(), GAPS);
        check(&mut heard, &[998, 999, u64::MAX], &[false, true, true]);
    }
}
