//! How far a chain has got, or what was dropped of it, as a statement that is signed.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use mcpproxy_core::{Id128, Signed, StatementCheck, StatementSigner, Wall};

use crate::chain::{Chain, Genesis, Hash};

/// Bytes of a key.
const KEY: usize = 32;

/// What a statement says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The chain had got so far.
    Kept,
    /// The records up to here were dropped, as the configuration wants.
    Pruned,
}

/// Public keys.
pub(crate) type Keys = BTreeSet<[u8; 32]>;

/// A signed statement about a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    /// The row of the writer.
    pub(crate) writer: i64,
    pub(crate) state: State,
    pub(crate) number: i64,
    pub(crate) hash: Vec<u8>,
    pub(crate) at: i64,
    /// The key that made the signature, and after it the others that the statement rests on.
    pub(crate) key: Vec<u8>,
    pub(crate) signature: Vec<u8>,
}

/// The end of what a statement is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// The row of the writer, and its name.
    pub(crate) writer: i64,
    pub(crate) name: [u8; 16],
    pub(crate) number: i64,
    pub(crate) hash: Hash,
    /// What is said of the beginning.
    pub(crate) begins: Option<Hash>,
}

impl Head {
    /// Where the chain of a writer is now.
    pub(crate) fn of(writer: i64, genesis: &Genesis, chain: &Chain) -> Self {
        let (number, hash) = chain.head();
        Self {
            writer,
            name: genesis.name,
            number,
            hash,
            begins: genesis.stated(),
        }
    }
}

impl Checkpoint {
    /// Signs a statement.
    pub(crate) fn sign(signer: &dyn StatementSigner, head: &Head, state: State, at: Wall) -> Self {
        Self::resting(signer, head, (state, at), &Keys::new())
    }

    /// Signs a statement that rests on what some keys have signed. It names those of others, so that it
    /// does not vouch for what they did.
    pub(crate) fn resting(
        signer: &dyn StatementSigner,
        head: &Head,
        (state, at): (State, Wall),
        keys: &Keys,
    ) -> Self {
        let at = i64::try_from(at.0).unwrap_or(i64::MAX);
        let own = signer.key();
        let others = keys.iter().filter(|key| **key != own);
        let key: Vec<u8> = std::iter::once(&own)
            .chain(others)
            .flatten()
            .copied()
            .collect();
        let said = (state, head.number, &head.hash[..], at);
        let text = statement(&head.name, head.begins, said, others_of(&key));
        Self {
            writer: head.writer,
            state,
            number: head.number,
            hash: head.hash.to_vec(),
            at,
            key,
            signature: signer.sign(text.as_bytes()).to_vec(),
        }
    }

    /// Returns the keys that it rests on, that of whoever signed first.
    pub(crate) fn keys(&self) -> impl Iterator<Item = [u8; 32]> {
        self.key.as_chunks().0.iter().copied()
    }

    /// Judges the signature.
    pub(crate) fn check(&self, genesis: &Genesis, trust: &dyn StatementCheck) -> Signed {
        let said = (self.state, self.number, &self.hash[..], self.at);
        let of = (&genesis.name, genesis.stated());
        judged(of, said, trust, (&self.key, &self.signature))
    }
}

/// What a statement says: the state, how far, the hash there, and when.
type Said<'a> = (State, i64, &'a [u8], i64);

/// Judges the signature of a key over a statement: of whom, and what.
pub(crate) fn judged(
    (name, begins): (&[u8; 16], Option<Hash>),
    said: Said<'_>,
    trust: &dyn StatementCheck,
    (key, signature): (&[u8], &[u8]),
) -> Signed {
    let text = statement(name, begins, said, others_of(key));
    let key = key.get(..KEY).unwrap_or(key);
    trust.check(key, text.as_bytes(), signature)
}

fn others_of(key: &[u8]) -> &[u8] {
    key.get(KEY..).unwrap_or_default()
}

/// What is signed: of whom, from where on, how far it has got, and on which other keys that rests.
fn statement(
    name: &[u8; 16],
    begins: Option<Hash>,
    (state, number, hash, at): Said<'_>,
    others: &[u8],
) -> String {
    let writer = Id128::from_bytes(*name);
    let state = match state {
        State::Kept => "kept",
        State::Pruned => "pruned",
    };
    let at = Wall(u64::try_from(at).unwrap_or(0)).rfc3339();
    let hash = hex(hash);
    let begins = begins.map_or(String::new(), |hash| format!("begins: {}\n", hex(&hash)));
    let others = others.chunks(KEY);
    let others = others.flat_map(|key| ["rests on: ".to_owned(), hex(key), "\n".to_owned()]);
    let others: String = others.collect();
    format!(
        "mcpproxy activity log\nwriter: {writer}\n{begins}number: {number}\nhash: {hash}\nstate: {state}\nat: {at}\n{others}"
    )
}

/// Returns bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a string does not fail.
        write!(text, "{byte:02x}").unwrap_or_default();
    }
    text
}
