//! A log of its own room that everybody reads on from, kept to its last entries.

use std::collections::VecDeque;
use std::time::Duration;

use super::{Exchange, LiveFault, LiveStore, LogAsk, Place};
use crate::id::Id128;

/// A log, as far as it was read.
#[derive(Debug)]
pub struct Journal {
    room: Id128,
    most: usize,
    read: Read,
}

#[derive(Clone, Debug, Default)]
struct Read {
    after: Option<Place>,
    /// Where entries stand that are still wanted.
    places: VecDeque<Place>,
    epoch: Option<Id128>,
}

/// What one turn brought.
#[derive(Debug)]
pub struct Turn {
    /// What stands in the log after what was read before, oldest first, one's own among it.
    pub entries: Vec<Vec<u8>>,
    /// Whether the store forgot what was told before.
    pub forgot: bool,
}

impl Journal {
    /// Takes a room, which nobody else uses, and how many entries are wanted.
    pub fn new(room: Id128, most: usize) -> Self {
        Self {
            room,
            most,
            read: Read::default(),
        }
    }

    /// Appends, and reads what others appended. What is appended now is read with the next turn, like
    /// that of anybody. Where it fails, nothing was read; what was to be appended may be there.
    pub async fn turn(
        &mut self,
        live: &dyn LiveStore,
        mut append: Vec<Vec<u8>>,
        rest: Duration,
    ) -> Result<Turn, LiveFault> {
        let mut read = self.read.clone();
        let mut turn = Turn {
            entries: Vec::new(),
            forgot: false,
        };
        loop {
            let log = LogAsk {
                append: std::mem::take(&mut append),
                after: read.after,
                keep: read.places.front().copied(),
            };
            let said = live.exchange(Exchange {
                room: self.room,
                logs: [log, LogAsk::default()],
                rest,
            });
            let said = said.await?;
            turn.forgot |= read
                .epoch
                .replace(said.epoch)
                .is_some_and(|was| was != said.epoch);
            let [log, _] = said.logs;
            for (place, entry) in log.entries {
                read.after = Some(place);
                read.places.push_back(place);
                turn.entries.push(entry);
            }
            while read.places.len() > self.most {
                read.places.pop_front();
            }
            if !log.more {
                self.read = read;
                return Ok(turn);
            }
        }
    }
}
