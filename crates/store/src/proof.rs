//! Whether records are what was written, as far as whoever drops them has to know.
//!
//! The log signs that it dropped records, and who can write to the database would like it to: so it
//! follows the chains of all that is dropped, or that is a reason to drop others, from a signature on. What
//! stands after the last signature of a writer is no reason for anything: anybody can add to it.
//!
//! A signature of a key that is not ours counts, since other gateways share a database. Whatever is signed
//! over it names that key, so that an audit asks who vouches for it for as long as the statement stands.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use mcpproxy_core::{Signed, StatementCheck};

use crate::chain::{self, Genesis, Hash};
use crate::checkpoint::{Checkpoint, Head, Keys, State};
use crate::database::Row;

/// How far chains were followed: the number and the hash there, by writer.
pub(crate) type Heads = BTreeMap<i64, (i64, Hash)>;

/// Everybody who wrote, and all that is signed of them.
#[derive(Debug)]
pub(crate) struct Statements {
    writers: BTreeMap<i64, Genesis>,
    kept: BTreeMap<i64, Checkpoint>,
    pruned: BTreeMap<i64, Checkpoint>,
    /// Who follows a writer of a name.
    followers: BTreeMap<Vec<u8>, Vec<i64>>,
}

impl Statements {
    /// Takes what a database has.
    pub(crate) fn new(writers: Vec<(i64, Genesis)>, checkpoints: Vec<Checkpoint>) -> Self {
        let mut followers: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (writer, genesis) in &writers {
            let after = followers.entry(genesis.after_name.clone());
            after.or_default().push(*writer);
        }
        let (mut kept, mut pruned) = (BTreeMap::new(), BTreeMap::new());
        for checkpoint in checkpoints {
            let to = match checkpoint.state {
                State::Kept => &mut kept,
                State::Pruned => &mut pruned,
            };
            to.insert(checkpoint.writer, checkpoint);
        }
        Self {
            writers: writers.into_iter().collect(),
            kept,
            pruned,
            followers,
        }
    }
}

/// A chain as far as it was followed.
#[derive(Debug)]
struct Thread {
    head: Head,
    /// What is signed of some of its records, by the writer or by one that follows it.
    signed: BTreeMap<i64, Vec<u8>>,
    keys: Keys,
    is_followed: bool,
}

/// Follows chains.
#[derive(Debug)]
pub(crate) struct Proof<'a> {
    statements: &'a Statements,
    trust: &'a dyn StatementCheck,
    /// Where to go on; what is not there begins after what was dropped.
    from: &'a Heads,
    threads: BTreeMap<i64, Thread>,
}

impl<'a> Proof<'a> {
    /// Begins.
    pub(crate) fn new(
        statements: &'a Statements,
        trust: &'a dyn StatementCheck,
        from: &'a Heads,
    ) -> Self {
        Self {
            statements,
            trust,
            from,
            threads: BTreeMap::new(),
        }
    }

    /// Looks at the next record, and tells whether it stands before a signature; else what is wrong with
    /// it. A record without a chain is vouched for by nobody, and nothing is signed of it.
    pub(crate) fn look(&mut self, row: &Row<'_>) -> Result<bool, &'static str> {
        let Some((writer, link)) = &row.link else {
            return Ok(false);
        };
        let (statements, trust, from) = (self.statements, self.trust, self.from);
        let thread = match self.threads.entry(*writer) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(begun(*writer, statements, trust, from)?),
        };
        let head = &mut thread.head;
        let next = head.number.saturating_add(1);
        if link.number < next {
            return Err("the record stands in the chain a second time");
        }
        let hash = chain::recompute(&head.hash, link.number, &row.columns, &link.salts);
        // The chain goes on from what stands there, so that one change is one flaw.
        (head.number, head.hash) = (link.number, link.hash);
        if link.number > next {
            return Err("records before this one are gone");
        }
        if hash != Some(link.hash) {
            return Err("the record is not what was written");
        }
        let signed = thread.signed.get(&link.number);
        if signed.is_some_and(|signed| *signed != link.hash) {
            return Err("the signature is over another record");
        }
        thread.is_followed = true;
        let last = thread.signed.last_key_value();
        Ok(last.is_some_and(|(last, _)| link.number <= *last))
    }

    /// Returns how far the chains were followed.
    pub(crate) fn heads(&self) -> Heads {
        let threads = self.threads.values();
        let heads = threads.map(|thread| &thread.head);
        let heads = heads.map(|head| (head.writer, (head.number, head.hash)));
        self.from.clone().into_iter().chain(heads).collect()
    }

    /// Returns the ends of the chains that were followed, and the keys that all of it rests on.
    pub(crate) fn followed(&self) -> (Vec<Head>, Keys) {
        let threads = self.threads.values().filter(|thread| thread.is_followed);
        let (mut heads, mut all) = (Vec::new(), Keys::new());
        for thread in threads {
            heads.push(thread.head.clone());
            all.extend(thread.keys.iter().copied());
        }
        (heads, all)
    }
}

fn begun(
    writer: i64,
    statements: &Statements,
    trust: &dyn StatementCheck,
    from: &Heads,
) -> Result<Thread, &'static str> {
    let genesis = statements.writers.get(&writer);
    let genesis = genesis.ok_or("whoever wrote the record is gone")?;
    let kept = statements.kept.get(&writer);
    let kept = kept.ok_or("the signature is gone")?;
    let pruned = statements.pruned.get(&writer);
    let (mut keys, mut signed) = (Keys::new(), BTreeMap::new());
    for one in std::iter::once(kept).chain(pruned) {
        if one.check(genesis, trust) == Signed::Forged {
            return Err("the signature is not genuine");
        }
        keys.extend(one.keys());
        let other = signed.insert(one.number, one.hash.clone());
        if other.is_some_and(|other| other != one.hash) {
            return Err("the signature is over another record");
        }
    }
    let followers = statements.followers.get(&genesis.name[..]);
    for follower in followers.into_iter().flatten() {
        let genesis = statements.writers.get(follower);
        let Some((genesis, kept)) = genesis.zip(statements.kept.get(follower)) else {
            continue;
        };
        // Who followed what counts as far as that is signed; an audit says what is wrong with the rest.
        if genesis.gaps.is_none() || kept.check(genesis, trust) == Signed::Forged {
            continue;
        }
        keys.extend(kept.keys());
        let hash = genesis.after_hash.clone();
        let other = signed.insert(genesis.after_number, hash);
        if other.is_some_and(|other| other != genesis.after_hash) {
            return Err("the next writer followed another record");
        }
    }
    let (number, hash) = match (from.get(&writer), pruned) {
        (Some(from), _) => *from,
        (None, Some(pruned)) => {
            let hash = pruned.hash.as_slice().try_into();
            (pruned.number, hash.unwrap_or_default())
        }
        (None, None) => (0, genesis.hash()),
    };
    Ok(Thread {
        head: Head {
            writer,
            name: genesis.name,
            number,
            hash,
            begins: genesis.stated(),
        },
        signed,
        keys,
        is_followed: false,
    })
}
