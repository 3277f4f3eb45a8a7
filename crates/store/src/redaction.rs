//! Which records of a chain lost their words, as a statement that is signed: whoever can write to the
//! database could take words away as well as the log does, but cannot say that the log did it.
//!
//! Statements are only ever added, one for each writer and run of upkeep: who would put them together
//! would sign what somebody else wrote.

use std::collections::BTreeMap;

use mcpproxy_core::{Id128, Signed, StatementCheck, StatementSigner, Wall};
use sha2::{Digest as _, Sha256};

use crate::chain::{Genesis, Hash};
use crate::checkpoint::{Head, hex};
use crate::columns::signed;

/// Bytes of a record in a statement.
const LENGTH: usize = 40;

/// A record whose words are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Bare {
    /// Its place in the chain of its writer.
    pub(crate) number: i64,
    /// What its facts were committed to. They say how old it is: whoever gave an old record the place of
    /// a young one for as long as this is signed would have nothing that fits the young one.
    pub(crate) facts: Hash,
}

impl Bare {
    fn to_bytes(self) -> [u8; LENGTH] {
        let bytes = self.number.to_be_bytes().into_iter().chain(self.facts);
        let mut all = [0; LENGTH];
        all.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
        all
    }

    fn read(bytes: &[u8; LENGTH]) -> Option<Self> {
        let (number, facts) = bytes.split_first_chunk()?;
        Some(Self {
            number: i64::from_be_bytes(*number),
            facts: facts.try_into().ok()?,
        })
    }
}

/// A signed statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Redacting {
    /// The row of the writer.
    pub(crate) writer: i64,
    /// The records, as bytes.
    pub(crate) records: Vec<u8>,
    pub(crate) at: i64,
    pub(crate) key: Vec<u8>,
    pub(crate) signature: Vec<u8>,
}

impl Redacting {
    /// Signs that the words of records are dropped, each of the writer in a row. What is of a writer that
    /// is not among `heads` nobody can sign, and an audit says so.
    pub(crate) fn sign(
        signer: &dyn StatementSigner,
        heads: &[Head],
        dropped: impl Iterator<Item = (i64, Bare)>,
        at: Wall,
    ) -> Vec<Self> {
        let mut chains: BTreeMap<i64, Vec<u8>> = BTreeMap::new();
        for (writer, record) in dropped {
            let records = chains.entry(writer).or_default();
            records.extend(record.to_bytes());
        }
        let heads = heads.iter();
        let known = heads.filter_map(|head| Some((head, chains.remove(&head.writer)?)));
        let sign = |(head, records)| Self::one(signer, head, records, signed(at.0));
        known.map(sign).collect()
    }

    fn one(signer: &dyn StatementSigner, head: &Head, records: Vec<u8>, at: i64) -> Self {
        let text = statement(&head.name, head.begins, &records, at);
        Self {
            writer: head.writer,
            records,
            at,
            key: signer.key().to_vec(),
            signature: signer.sign(text.as_bytes()).to_vec(),
        }
    }

    /// Judges the signature.
    pub(crate) fn check(&self, genesis: &Genesis, trust: &dyn StatementCheck) -> Signed {
        let text = statement(&genesis.name, genesis.stated(), &self.records, self.at);
        trust.check(&self.key, text.as_bytes(), &self.signature)
    }

    /// Returns the records.
    pub(crate) fn records(&self) -> impl Iterator<Item = Bare> {
        records(&self.records)
    }

    /// Returns the last place that it is about.
    pub(crate) fn last(&self) -> i64 {
        let places = self.records().map(|record| record.number);
        places.max().unwrap_or(0)
    }
}

fn records(bytes: &[u8]) -> impl Iterator<Item = Bare> {
    bytes.as_chunks().0.iter().filter_map(Bare::read)
}

/// What is signed: of whom, which records, and when.
fn statement(name: &[u8; 16], begins: Option<Hash>, bytes: &[u8], at: i64) -> String {
    let writer = Id128::from_bytes(*name);
    let begins = begins.map_or(String::new(), |hash| format!("begins: {}\n", hex(&hash)));
    let numbers = || records(bytes).map(|record| record.number);
    let (first, last) = (numbers().min().unwrap_or(0), numbers().max().unwrap_or(0));
    let (count, hash) = (numbers().count(), hex(&Sha256::digest(bytes)));
    let at = Wall(u64::try_from(at).unwrap_or(0)).rfc3339();
    format!(
        "mcpproxy activity log redaction\nwriter: {writer}\n{begins}first: {first}\nlast: {last}\nrecords: {count}\nhash: {hash}\nat: {at}\n"
    )
}

#[cfg(test)]
mod tests {
    use mcpproxy_testkit::WordSigner;

    use super::*;

    fn head(writer: i64) -> Head {
        Head {
            writer,
            name: [7; 16],
            number: 9,
            hash: [0; 32],
            begins: None,
        }
    }

    fn genesis() -> Genesis {
        Genesis {
            name: [7; 16],
            begun: 9,
            after_name: Vec::new(),
            after_number: 0,
            after_hash: Vec::new(),
            gaps: None,
        }
    }

    fn bare(number: i64) -> Bare {
        Bare {
            number,
            facts: [3; 32],
        }
    }

    #[test]
    fn a_statement_is_about_one_writer_and_nothing_in_it_can_be_changed() {
        let (ours, others) = (WordSigner("ours"), WordSigner("others"));
        let dropped = [(1, 4), (2, 7), (1, 6), (3, 1)];
        let dropped = dropped
            .into_iter()
            .map(|(writer, number)| (writer, bare(number)));
        let found = Redacting::sign(&ours, &[head(1), head(2)], dropped, Wall(5));
        let told = found.iter().map(|one| (one.writer, one.last()));
        assert_eq!(told.collect::<Vec<_>>(), [(1, 6), (2, 7)]);
        let one = &found[0];
        assert_eq!(one.records().collect::<Vec<_>>(), [bare(4), bare(6)]);
        assert_eq!(one.check(&genesis(), &ours), Signed::Trusted);
        assert_eq!(one.check(&genesis(), &others), Signed::Unknown);
        let other = Genesis {
            name: [8; 16],
            ..genesis()
        };
        assert_eq!(one.check(&other, &ours), Signed::Forged);
        let changes: [fn(&mut Redacting); 4] = [
            |one| one.at += 1,
            |one| one.records[7] += 1,
            |one| one.records[9] += 1,
            |one| one.records.extend(bare(7).to_bytes()),
        ];
        for change in changes {
            let mut forged = one.clone();
            change(&mut forged);
            assert_eq!(forged.check(&genesis(), &ours), Signed::Forged);
        }
    }
}
