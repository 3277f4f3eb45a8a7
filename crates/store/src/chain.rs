//! The chain of one writer: every record has a hash over the one before and over salted
//! commitments to its parts.
//!
//! What is dropped later, with its salt, leaves its commitment behind, and the chain still holds.
//! A part is what is dropped together: the facts stay for as long as the record does, and so do
//! names; words go first.

use std::borrow::Cow;

use sha2::{Digest as _, Sha256};

use crate::columns::Columns;
use crate::database::Fault;
use crate::gap::Gaps;

/// A hash, or a commitment.
pub(crate) type Hash = [u8; 32];
type Salt = [u8; 16];

/// Tells the hashes of records from all others.
const RECORD: &[u8] = b"mcpproxy activity record 1\n";
/// Writers that say nothing of lost records, and those that do.
const WRITERS: [&[u8]; 2] = [
    b"mcpproxy activity writer 1\n",
    b"mcpproxy activity writer 2\n",
];
/// Salts that are drawn at once.
const DRAWN: usize = 256;

/// What is committed to, and dropped, together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Facts = 1,
    Names = 2,
    Words = 3,
}

const PARTS: [Part; 3] = [Part::Facts, Part::Names, Part::Words];

/// The place of a record in a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link<'a> {
    pub(crate) number: i64,
    pub(crate) salts: Cow<'a, [u8]>,
    pub(crate) hash: Hash,
}

/// Who writes, and after whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Genesis {
    pub(crate) name: [u8; 16],
    pub(crate) begun: i64,
    /// The writer that began last before this one; empty for the first.
    pub(crate) after_name: Vec<u8>,
    /// How far it had got, and its hash there.
    pub(crate) after_number: i64,
    pub(crate) after_hash: Vec<u8>,
    /// The notes of lost records by then; nothing where an earlier version began.
    pub(crate) gaps: Option<Gaps>,
}

impl Genesis {
    /// Returns what statements say of the beginning, so that it is covered when the first records were
    /// dropped; those of an earlier version say nothing.
    pub(crate) fn stated(&self) -> Option<Hash> {
        self.gaps.is_some().then(|| self.hash())
    }

    /// Returns what the first record of the writer follows.
    pub(crate) fn hash(&self) -> Hash {
        let mut hash = Sha256::new();
        let [before, now] = WRITERS;
        hash.update(if self.gaps.is_some() { now } else { before });
        hash.update(self.name);
        hash.update(self.begun.to_be_bytes());
        let mut bytes = Vec::new();
        put(&mut bytes, &self.after_name);
        bytes.extend(self.after_number.to_be_bytes());
        put(&mut bytes, &self.after_hash);
        if let Some(Gaps { number, hash }) = &self.gaps {
            bytes.extend(number.to_be_bytes());
            bytes.extend(hash);
        }
        hash.update(&bytes);
        hash.finalize().into()
    }
}

/// The end of a chain that is being written.
#[derive(Debug)]
pub(crate) struct Chain {
    number: i64,
    hash: Hash,
    seeds: Vec<Salt>,
    /// What is hashed, kept for its room.
    room: Vec<u8>,
}

impl Chain {
    /// Begins after what a writer follows.
    pub(crate) fn new(genesis: &Genesis) -> Self {
        Self {
            number: 0,
            hash: genesis.hash(),
            seeds: Vec::new(),
            room: Vec::new(),
        }
    }

    /// Returns how far it has got, and the hash there.
    pub(crate) fn head(&self) -> (i64, Hash) {
        (self.number, self.hash)
    }

    /// Draws salts for as many records.
    pub(crate) fn draw(&mut self, records: usize) -> Result<(), Fault> {
        while self.seeds.len() < records {
            let mut drawn = [0; DRAWN * 16];
            getrandom::fill(&mut drawn).map_err(|fault| Fault::new(fault.to_string()))?;
            self.seeds.extend(drawn.as_chunks().0);
        }
        Ok(())
    }

    /// Puts a record at the end. There must be a salt for it.
    pub(crate) fn push(&mut self, columns: &Columns<'_>) -> Option<Link<'static>> {
        let seed = self.seeds.pop()?;
        self.number += 1;
        let commitments = PARTS.map(|part| {
            let salt = salt(&seed, part);
            commitment(&mut self.room, columns, part, &salt)
        });
        self.hash = record(&self.hash, self.number, &commitments);
        Some(Link {
            number: self.number,
            salts: Cow::Owned(seed.to_vec()),
            hash: self.hash,
        })
    }
}

/// Computes the hash of a record from what is left of it; nothing if its salts are no salts.
pub(crate) fn recompute(
    before: &Hash,
    number: i64,
    columns: &Columns<'_>,
    salts: &[u8],
) -> Option<Hash> {
    let mut room = Vec::new();
    let mut commitment = |part, salt: &Salt| commitment(&mut room, columns, part, salt);
    let commitments = if let Some(redacted) = Redacted::read(salts) {
        // What was dropped must not come back as something else.
        if columns.words.is_some() {
            return None;
        }
        let [facts, names] = redacted.kept;
        [
            commitment(Part::Facts, &facts),
            commitment(Part::Names, &names),
            redacted.words,
        ]
    } else {
        let seed = salts.try_into().ok()?;
        PARTS.map(|part| commitment(part, &salt(&seed, part)))
    };
    Some(record(before, number, &commitments))
}

/// Returns what the facts of a record are committed to; nothing if its salts are no salts.
pub(crate) fn facts(columns: &Columns<'_>, salts: &[u8]) -> Option<Hash> {
    let salt = match Redacted::read(salts) {
        Some(Redacted {
            kept: [facts, _], ..
        }) => facts,
        None => salt(&salts.try_into().ok()?, Part::Facts),
    };
    Some(commitment(&mut Vec::new(), columns, Part::Facts, &salt))
}

/// The salts of a record whose words were dropped: those of the other parts, and what the words
/// were committed to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Redacted {
    kept: [Salt; 2],
    words: Hash,
}

impl Redacted {
    /// Takes the words of a record away; nothing if they are gone already.
    pub(crate) fn of(columns: &Columns<'_>, salts: &[u8]) -> Option<Self> {
        let seed: Salt = salts.try_into().ok()?;
        let words = salt(&seed, Part::Words);
        Some(Self {
            kept: [Part::Facts, Part::Names].map(|part| salt(&seed, part)),
            words: commitment(&mut Vec::new(), columns, Part::Words, &words),
        })
    }

    /// Returns what is kept in place of the salts.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let [facts, names] = &self.kept;
        [&facts[..], &names[..], &self.words[..]].concat()
    }

    /// Reads what [`Redacted::to_bytes`] gave.
    pub(crate) fn read(salts: &[u8]) -> Option<Self> {
        let (facts, salts) = salts.split_first_chunk()?;
        let (names, salts) = salts.split_first_chunk()?;
        Some(Self {
            kept: [*facts, *names],
            words: salts.try_into().ok()?,
        })
    }
}

fn record(before: &Hash, number: i64, commitments: &[Hash; 3]) -> Hash {
    let mut hash = Sha256::new();
    hash.update(RECORD);
    hash.update(before);
    hash.update(number.to_be_bytes());
    for commitment in commitments {
        hash.update(commitment);
    }
    hash.finalize().into()
}

/// Salts come from one seed, so that a record needs no room for three.
fn salt(seed: &Salt, part: Part) -> Salt {
    let mut hash = Sha256::new();
    hash.update(seed);
    hash.update([part as u8]);
    let hash: Hash = hash.finalize().into();
    let mut salt = [0; 16];
    salt.iter_mut().zip(hash).for_each(|(to, from)| *to = from);
    salt
}

fn commitment(room: &mut Vec<u8>, columns: &Columns<'_>, part: Part, salt: &Salt) -> Hash {
    room.clear();
    match part {
        Part::Facts => put_facts(room, columns),
        Part::Names => put_names(room, columns),
        Part::Words => put_optional(room, columns.words.as_deref()),
    }
    let mut hash = Sha256::new();
    hash.update(salt);
    hash.update([part as u8]);
    hash.update(room);
    hash.finalize().into()
}

fn put_facts(bytes: &mut Vec<u8>, columns: &Columns<'_>) {
    bytes.extend(columns.at.to_be_bytes());
    bytes.extend(columns.id);
    bytes.extend(columns.duration_ms.to_bits().to_be_bytes());
    for number in [
        columns.risk_score,
        columns.request_bytes,
        columns.response_bytes,
        i64::from(columns.has_sensitive_data),
    ] {
        bytes.extend(number.to_be_bytes());
    }
    for text in [
        columns.kind,
        columns.source,
        columns.status,
        columns.decision,
        columns.flow_type,
        columns.risk_level,
    ] {
        put(bytes, text.as_bytes());
    }
    put_optional(bytes, columns.intent_type);
    put_optional(bytes, columns.max_severity);
    put_optional(bytes, columns.detection_types.as_deref());
    put_optional(bytes, columns.rest.as_deref());
}

fn put_names(bytes: &mut Vec<u8>, columns: &Columns<'_>) {
    for text in [
        &columns.server_name,
        &columns.tool_name,
        &columns.method,
        &columns.session_id,
        &columns.principal,
    ] {
        put(bytes, text.as_bytes());
    }
}

/// Lengths go before, so that no two records are the same bytes.
pub(crate) fn put(bytes: &mut Vec<u8>, text: &[u8]) {
    bytes.extend(u64::try_from(text.len()).unwrap_or(u64::MAX).to_be_bytes());
    bytes.extend_from_slice(text);
}

fn put_optional(bytes: &mut Vec<u8>, text: Option<&str>) {
    bytes.push(u8::from(text.is_some()));
    put(bytes, text.unwrap_or_default().as_bytes());
}

#[cfg(test)]
mod tests {
    use mcpproxy_testkit::suite::activity::{denial, record};

    use super::*;

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

    #[test]
    fn a_beginning_is_hashed_as_it_was_where_it_says_nothing_of_lost_records() {
        let expect = "822caab1c924e72b8d88038c7b2fce11d339371f1bbd3ab636879302bf1a2744";
        assert_eq!(crate::checkpoint::hex(&genesis().hash()), expect);
        assert_eq!(genesis().stated(), None);
        let says = Genesis {
            gaps: Some(Gaps::default()),
            ..genesis()
        };
        assert_ne!(says.hash(), genesis().hash());
        assert_eq!(says.stated(), Some(says.hash()));
    }

    #[test]
    fn a_record_is_recomputed_whole_and_without_its_words_but_not_with_others() {
        let mut chain = Chain::new(&genesis());
        chain.draw(2).unwrap();
        for record in [record(1), denial(2)] {
            let columns = Columns::of(&record);
            let before = chain.head().1;
            let link = chain.push(&columns).unwrap();
            let check = |columns: &Columns<'_>, salts: &[u8], holds: bool| {
                let found = recompute(&before, link.number, columns, salts);
                assert_eq!(found == Some(link.hash), holds, "{columns:?}");
            };
            check(&columns, &link.salts, true);
            check(&columns, b"no salts", false);
            let wordless = Columns {
                words: None,
                ..columns.clone()
            };
            let redacted = Redacted::of(&columns, &link.salts).unwrap().to_bytes();
            check(&wordless, &redacted, true);
            assert_eq!(facts(&columns, &link.salts), facts(&wordless, &redacted));
            assert_eq!(facts(&columns, b"no salts"), None);
            check(&wordless, &link.salts, columns.words.is_none());
            let others = Columns {
                words: Some("{}".into()),
                ..columns.clone()
            };
            check(&others, &redacted, false);
            // A redacted record is not redacted again, and its other salts open nothing.
            assert_eq!(Redacted::of(&wordless, &redacted), None);
        }
    }

    #[test]
    fn every_column_is_committed_to() {
        let plain = denial(1);
        let mut chain = Chain::new(&genesis());
        chain.draw(1).unwrap();
        let columns = Columns::of(&plain);
        let before = chain.head().1;
        let link = chain.push(&columns).unwrap();
        let changes: [fn(&mut Columns<'_>); 23] = [
            |one| one.at += 1,
            |one| one.id = [0; 16],
            |one| one.kind = "x",
            |one| one.source = "x",
            |one| one.server_name = "x".into(),
            |one| one.tool_name = "x".into(),
            |one| one.method = "x".into(),
            |one| one.session_id = "x".into(),
            |one| one.principal = "x".into(),
            |one| one.status = "x",
            |one| one.decision = "x",
            |one| one.flow_type = "x",
            |one| one.risk_level = "x",
            |one| one.risk_score += 1,
            |one| one.duration_ms += 1.0,
            |one| one.request_bytes += 1,
            |one| one.response_bytes += 1,
            |one| one.has_sensitive_data ^= true,
            |one| one.intent_type = None,
            |one| one.max_severity = None,
            |one| one.detection_types = None,
            |one| one.rest = None,
            |one| one.words = None,
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let mut forged = columns.clone();
            change(&mut forged);
            let found = recompute(&before, link.number, &forged, &link.salts);
            assert_ne!(found, Some(link.hash), "change {number}");
        }
        let moved = recompute(&before, link.number + 1, &columns, &link.salts);
        assert_ne!(moved, Some(link.hash));
    }
}
