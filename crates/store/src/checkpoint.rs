//! How far a chain has got, or what was dropped of it, as a statement that is signed.

use std::fmt::Write as _;

use mcpproxy_core::{Id128, Signed, StatementCheck, StatementSigner, Wall};

use crate::chain::{Chain, Genesis, Hash};

/// What a statement says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The chain had got so far.
    Kept,
    /// The records up to here were dropped, as the configuration wants.
    Pruned,
}

/// A signed statement about a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    /// The row of the writer.
    pub(crate) writer: i64,
    pub(crate) state: State,
    pub(crate) number: i64,
    pub(crate) hash: Vec<u8>,
    pub(crate) at: i64,
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
        let at = i64::try_from(at.0).unwrap_or(i64::MAX);
        let said = (state, head.number, &head.hash[..], at);
        let text = statement(&head.name, head.begins, said);
        Self {
            writer: head.writer,
            state,
            number: head.number,
            hash: head.hash.to_vec(),
            at,
            key: signer.key().to_vec(),
            signature: signer.sign(text.as_bytes()).to_vec(),
        }
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
    let text = statement(name, begins, said);
    trust.check(key, text.as_bytes(), signature)
}

/// What is signed: of whom, from where on, and how far it has got.
fn statement(name: &[u8; 16], begins: Option<Hash>, (state, number, hash, at): Said<'_>) -> String {
    let writer = Id128::from_bytes(*name);
    let state = match state {
        State::Kept => "kept",
        State::Pruned => "pruned",
    };
    let at = Wall(u64::try_from(at).unwrap_or(0)).rfc3339();
    let hash = hex(hash);
    let begins = begins.map_or(String::new(), |hash| format!("begins: {}\n", hex(&hash)));
    format!(
        "mcpproxy activity log\nwriter: {writer}\n{begins}number: {number}\nhash: {hash}\nstate: {state}\nat: {at}\n"
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
