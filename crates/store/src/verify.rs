//! Going through the log to find what was changed, taken out or put in behind its back.
//!
//! One pass over the records in the order of their places, with the end of every chain in memory, and one
//! block of records whose index is compared (`index`).
//! What cannot be seen: records that were taken off the end together with the signature over
//! them, where somebody kept an older one and nothing newer is known apart from the log.

use std::collections::{BTreeMap, HashSet};

use mcpproxy_core::{CallId, Id128, Signed, StatementCheck};

use crate::chain::{self, Genesis, Redacted};
use crate::checkpoint::{Checkpoint, State, hex};
use crate::database::Row;
use crate::gap::{Gap, Gaps};
use crate::index::{Comparison, Misfiled};
use crate::redaction::{Bare, Redacting};
use crate::reminder::Reminded;

/// Flaws that are told; of more it is only said that there are.
const MOST: usize = 100;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Records that were looked at.
    pub records: u64,
    /// Those of them that have no place in a chain: nobody can vouch for them, and anybody may have put
    /// them in.
    pub unchained: u64,
    /// Those whose words were dropped.
    pub redacted: u64,
    /// Those of them of which nobody signed that their words were to go: anybody may have taken them.
    pub unaccounted: u64,
    /// Those after the last signature of their writer.
    pub unsigned: u64,
    /// Records that were dropped, with a signature over it.
    pub pruned: u64,
    /// Full blocks of records that have no index: all their records are looked at by whoever asks, until
    /// upkeep has made one.
    pub unindexed: u64,
    /// Chains.
    pub writers: u64,
    /// Keys that signed and that nobody vouches for, in hexadecimal.
    pub unknown_keys: Vec<String>,
    /// What is wrong, the first of it.
    pub flaws: Vec<Flaw>,
    /// How much more is wrong.
    pub more: u64,
}

impl Verified {
    /// Tells whether nothing is wrong, and somebody vouches for every signature.
    pub fn is_sound(&self) -> bool {
        self.flaws.is_empty() && self.unknown_keys.is_empty()
    }
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// The record's place in the log, and its call.
    pub record: Option<(u64, CallId)>,
    /// Whose chain, and where in it.
    pub chain: Option<(Id128, u64)>,
    /// The block of records, counted from the beginning of the log.
    pub block: Option<u64>,
    /// What is wrong.
    pub what: &'static str,
}

/// A chain as far as it was followed.
#[derive(Debug)]
struct Thread {
    genesis: Genesis,
    /// The number that comes next, and what it follows.
    next: i64,
    hash: chain::Hash,
    /// How far it was dropped, and the hash there.
    pruned: i64,
    dropped: chain::Hash,
    kept: Option<Checkpoint>,
    is_broken: bool,
}

/// The state of the pass.
#[derive(Debug)]
pub(crate) struct Verifier<'a> {
    trust: &'a dyn StatementCheck,
    threads: BTreeMap<i64, Thread>,
    /// What later writers say of a place in the chain of another: writer, number, hash.
    followed: BTreeMap<(i64, i64), Vec<u8>>,
    /// The records whose words were dropped with a signature, by writer.
    excused: HashSet<(i64, Bare)>,
    found: Verified,
}

impl<'a> Verifier<'a> {
    /// Begins with everybody who wrote, in order, all statements, and all notes of lost records.
    pub(crate) fn new(
        writers: Vec<(i64, Genesis)>,
        checkpoints: Vec<Checkpoint>,
        gaps: &[Gap],
        trust: &'a dyn StatementCheck,
    ) -> Self {
        let mut verifier = Self {
            trust,
            threads: BTreeMap::new(),
            followed: BTreeMap::new(),
            excused: HashSet::new(),
            found: Verified::default(),
        };
        verifier.recall(&writers, gaps);
        for (writer, genesis) in writers {
            verifier.follow(&genesis);
            let thread = Thread {
                next: 1,
                hash: genesis.hash(),
                pruned: 0,
                dropped: genesis.hash(),
                kept: None,
                is_broken: false,
                genesis,
            };
            verifier.threads.insert(writer, thread);
            verifier.found.writers += 1;
        }
        for checkpoint in checkpoints {
            verifier.hear(checkpoint);
        }
        verifier
    }

    /// Compares the notes of lost records with what writers say of them. One flaw tells enough: all who
    /// began later say the same.
    fn recall(&mut self, writers: &[(i64, Genesis)], gaps: &[Gap]) {
        let mut known = vec![Gaps::default()];
        for gap in gaps {
            let next = known.last().map(|last| last.and(gap));
            known.extend(next);
        }
        for (_, genesis) in writers {
            let Some(said) = &genesis.gaps else {
                continue;
            };
            let number = usize::try_from(said.number).unwrap_or(usize::MAX);
            let what = match known.get(number) {
                None => "a note of lost records is gone",
                Some(known) if known != said => "a note of lost records is not what was written",
                Some(_) => continue,
            };
            return self.flaw(None, Some((genesis, 0)), what);
        }
        // A note is made when a writer begins, which says so.
        let said = writers.iter().filter_map(|(_, one)| one.gaps.as_ref());
        let most = said.map(|said| said.number).max();
        let more = |most: i64| usize::try_from(most).is_ok_and(|most| most < gaps.len());
        if most.is_some_and(more) {
            self.flaw(None, None, "a note of lost records was put in");
        }
    }

    fn follow(&mut self, genesis: &Genesis) {
        if genesis.after_name.is_empty() {
            return;
        }
        let mut before = self.threads.iter();
        let before = before.find(|(_, thread)| thread.genesis.name[..] == genesis.after_name[..]);
        if let Some((writer, _)) = before {
            let place = (*writer, genesis.after_number);
            let other = self.followed.insert(place, genesis.after_hash.clone());
            if other.is_some_and(|other| other != genesis.after_hash) {
                self.flaw(
                    None,
                    Some((genesis, 0)),
                    "two writers followed different records",
                );
            }
        } else {
            self.flaw(
                None,
                Some((genesis, 0)),
                "the writer before this one is gone",
            );
        }
    }

    fn hear(&mut self, checkpoint: Checkpoint) {
        let Some(thread) = self.threads.get_mut(&checkpoint.writer) else {
            return self.flaw(None, None, "a signature is about a writer that is gone");
        };
        let signed = checkpoint.check(&thread.genesis, self.trust);
        let genesis = thread.genesis.clone();
        if !self.believe(signed, &checkpoint.key, (&genesis, checkpoint.number)) {
            return;
        }
        // Those that the statement rests on: its signature does not vouch for them.
        for key in checkpoint.keys().skip(1) {
            if !self.trust.vouches(&key) {
                self.doubt(&key);
            }
        }
        let Some(thread) = self.threads.get_mut(&checkpoint.writer) else {
            return;
        };
        match checkpoint.state {
            State::Kept => thread.kept = Some(checkpoint),
            State::Pruned => {
                thread.pruned = checkpoint.number;
                thread.next = checkpoint.number + 1;
                thread.hash = checkpoint.hash.try_into().unwrap_or_default();
                thread.dropped = thread.hash;
                let pruned = u64::try_from(checkpoint.number).unwrap_or(0);
                self.found.pruned = self.found.pruned.saturating_add(pruned);
                let hash = thread.hash;
                self.compare(checkpoint.writer, checkpoint.number, &hash);
            }
        }
    }

    /// Takes note of whose words were dropped with a signature, before any record is looked at.
    pub(crate) fn excuse(&mut self, redacting: &Redacting) {
        let Some(thread) = self.threads.get(&redacting.writer) else {
            return self.flaw(None, None, "a signature is about a writer that is gone");
        };
        let signed = redacting.check(&thread.genesis, self.trust);
        let genesis = thread.genesis.clone();
        if self.believe(signed, &redacting.key, (&genesis, redacting.last())) {
            let records = redacting.records();
            let records = records.map(|record| (redacting.writer, record));
            self.excused.extend(records);
        }
    }

    /// Tells whether a statement counts.
    fn believe(&mut self, signed: Signed, key: &[u8], about: (&Genesis, i64)) -> bool {
        match signed {
            Signed::Trusted => {}
            Signed::Unknown => self.doubt(key.get(..32).unwrap_or(key)),
            Signed::Forged => {
                self.flaw(None, Some(about), "the signature is not genuine");
                return false;
            }
        }
        true
    }

    /// Takes note of a key that nobody vouches for.
    fn doubt(&mut self, key: &[u8]) {
        let key = hex(key);
        if !self.found.unknown_keys.contains(&key) {
            self.found.unknown_keys.push(key);
        }
    }

    /// Looks at the next record.
    pub(crate) fn look(&mut self, place: i64, row: &Row<'_>) {
        self.found.records += 1;
        let record = Some((u64::try_from(place).unwrap_or(0), row.columns.call()));
        let Some((writer, link)) = &row.link else {
            self.found.unchained += 1;
            return self.flaw(record, None, "the record has no place in a chain");
        };
        let is_redacted = Redacted::read(&link.salts).is_some();
        let is_excused = || row.bare().is_some_and(|one| self.excused.contains(&one));
        let unaccounted = is_redacted && !is_excused();
        let Some(thread) = self.threads.get_mut(writer) else {
            return self.flaw(record, None, "whoever wrote the record is gone");
        };
        let hash = chain::recompute(&thread.hash, link.number, &row.columns, &link.salts);
        let wrong = if link.number > thread.next {
            Some("records before this one are gone")
        } else if link.number < thread.next {
            Some("the record stands in the chain a second time")
        } else if hash != Some(link.hash) {
            Some("the record is not what was written")
        } else if is_redacted && !row.columns.has_sensitive_data {
            Some("the words of a record are gone that holds nothing sensitive")
        } else if unaccounted {
            Some("the words of a record are gone, and nobody signed that they were to go")
        } else {
            None
        };
        // The chain goes on from what stands there, so that one change is one flaw.
        thread.next = link.number.saturating_add(1).max(thread.next);
        thread.hash = match hash {
            // A hash that is gone is the one that follows from the rest.
            Some(hash) if link.hash == chain::Hash::default() => hash,
            Some(_) | None => link.hash,
        };
        thread.is_broken |= wrong.is_some();
        let kept = thread.kept.as_ref();
        let other = kept.is_some_and(|kept| kept.number == link.number && kept.hash != link.hash);
        let genesis = (wrong.is_some() || other).then(|| thread.genesis.clone());
        let signed = kept.map_or(0, |kept| kept.number);
        self.found.unsigned += u64::from(link.number > signed);
        self.found.redacted += u64::from(is_redacted);
        self.found.unaccounted += u64::from(unaccounted);
        if let (Some(what), Some(genesis)) = (wrong, &genesis) {
            self.flaw(record, Some((genesis, link.number)), what);
        } else if let Some(genesis) = &genesis {
            let what = "the signature is over another record";
            self.flaw(record, Some((genesis, link.number)), what);
        }
        self.compare(*writer, link.number, &link.hash);
    }

    /// Compares with what a later writer followed.
    fn compare(&mut self, writer: i64, number: i64, hash: &chain::Hash) {
        if let Some(followed) = self.followed.remove(&(writer, number))
            && followed != hash
        {
            let genesis = self
                .threads
                .get(&writer)
                .map(|thread| thread.genesis.clone());
            let chain = genesis.as_ref().map(|genesis| (genesis, number));
            self.flaw(None, chain, "the next writer followed another record");
        }
    }

    /// Takes note of a block whose index is not what it should be.
    pub(crate) fn misfiled(&mut self, (block, what): Misfiled) {
        self.tell(Flaw {
            record: None,
            chain: None,
            block: u64::try_from(block).ok(),
            what,
        });
    }

    /// Takes note that the next record would not stand after the last.
    pub(crate) fn misplaced(&mut self) {
        self.flaw(
            None,
            None,
            "the place of the last record is not that of the last record",
        );
    }

    /// Compares with what was kept apart from the log, once all signatures were heard.
    pub(crate) fn recollect(&mut self, reminded: &[Reminded]) {
        for one in reminded {
            let signed = one.check(self.trust);
            if signed == Signed::Unknown {
                self.doubt(&one.key);
            }
            let what = if signed == Signed::Forged {
                "what is kept beside the key about the last run is not genuine"
            } else {
                let mut threads = self.threads.values();
                let thread = threads.find(|thread| thread.genesis.name == one.name);
                let kept = thread.map(|thread| thread.kept.as_ref().map_or(-1, |kept| kept.number));
                match kept {
                    None => "a run of the gateway is gone that is known beside the key",
                    Some(kept) if kept < one.number => {
                        "records are gone that were signed, as is known beside the key"
                    }
                    Some(_) => continue,
                }
            };
            let number = u64::try_from(one.number).unwrap_or(0);
            self.tell(Flaw {
                record: None,
                chain: Some((Id128::from_bytes(one.name), number)),
                block: None,
                what,
            });
        }
    }

    /// Ends the comparison of indexes.
    pub(crate) fn compared(&mut self, comparison: Comparison) {
        let (unindexed, misfiled) = comparison.finish();
        self.found.unindexed = unindexed;
        if let Some(misfiled) = misfiled {
            self.misfiled(misfiled);
        }
    }

    /// Ends the pass.
    pub(crate) fn finish(mut self) -> Verified {
        let threads = std::mem::take(&mut self.threads);
        for thread in threads.values() {
            let last = thread.next - 1;
            match &thread.kept {
                None => self.flaw(None, Some((&thread.genesis, last)), "the signature is gone"),
                Some(kept) if kept.number > last => {
                    let chain = Some((&thread.genesis, kept.number));
                    self.flaw(None, chain, "records that were signed are gone");
                }
                // Of what was dropped the hash is all there is.
                Some(kept) if kept.number == thread.pruned && kept.hash != thread.dropped => {
                    let chain = Some((&thread.genesis, kept.number));
                    self.flaw(None, chain, "the signature is over another record");
                }
                Some(_) => {}
            }
        }
        for (writer, number) in std::mem::take(&mut self.followed).into_keys() {
            // What was dropped, and what is missing anyway, has been told.
            let thread = threads.get(&writer);
            let known = |thread: &&Thread| thread.pruned >= number || thread.next <= number;
            if let Some(thread) = thread.filter(|thread| !known(thread)) {
                let chain = Some((&thread.genesis, number));
                self.flaw(
                    None,
                    chain,
                    "the record that the next writer followed is gone",
                );
            } else if let Some(thread) = thread.filter(|thread| thread.pruned < number) {
                let chain = Some((&thread.genesis, number));
                self.flaw(None, chain, "records before the next writer are gone");
            }
        }
        self.found
    }

    fn flaw(
        &mut self,
        record: Option<(u64, CallId)>,
        chain: Option<(&Genesis, i64)>,
        what: &'static str,
    ) {
        let chain = chain.map(|(genesis, number)| {
            let number = u64::try_from(number).unwrap_or(0);
            (Id128::from_bytes(genesis.name), number)
        });
        self.tell(Flaw {
            record,
            chain,
            block: None,
            what,
        });
    }

    fn tell(&mut self, flaw: Flaw) {
        if self.found.flaws.len() >= MOST {
            self.found.more += 1;
        } else {
            self.found.flaws.push(flaw);
        }
    }
}
