//! What was last signed of a log, kept apart from it: whoever takes the last run of a gateway out of the
//! database, with its writer and its signatures, leaves a log that looks as it did before that run.
//!
//! A file beside the key holds one statement of the newest writer, replaced whenever that has got further
//! and the log is on disk as far. What the log does not have any more stays there, so that a gateway which
//! starts again does not cover it up. Each gateway speaks of its own writers alone.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use mcpproxy_core::{Signed, StatementCheck};

use crate::chain::Hash;
use crate::checkpoint::{Checkpoint, Head, State, hex, judged};
use crate::database::{Fault, Log};

/// Statements that are kept of what the log does not have.
const MOST: usize = 16;

/// A file apart from the log.
#[derive(Debug)]
pub(crate) struct Reminder(Option<PathBuf>);

/// A statement in it: a [`Checkpoint`] with all that its signature is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reminded {
    pub(crate) name: [u8; 16],
    pub(crate) number: i64,
    hash: Hash,
    begins: Option<Hash>,
    at: i64,
    pub(crate) key: Vec<u8>,
    signature: Vec<u8>,
}

impl Reminder {
    /// Names the file; without one nothing is kept.
    pub(crate) fn new(path: Option<PathBuf>) -> Self {
        Self(path)
    }

    /// Keeps what was signed of a writer, in the place of all that the log has. The log must be on disk as
    /// far: else a stop of the machine would look like a theft.
    pub(crate) fn renew(
        &self,
        log: &mut impl Log,
        head: &Head,
        signed: &Checkpoint,
    ) -> Result<(), Fault> {
        let Some(path) = &self.0 else {
            return Ok(());
        };
        let said = match load(path) {
            Ok(said) => said,
            // It is left as it is, for an audit to say so.
            Err(fault) => {
                tracing::warn!("cannot read {fault}");
                return Ok(());
            }
        };
        let mut kept = Vec::new();
        for one in said {
            let reached = log.reached(&one.name)?;
            if one.name != head.name && reached.is_none_or(|reached| reached < one.number) {
                kept.push(one);
            }
        }
        // The first that is missed tells enough.
        kept.truncate(MOST);
        kept.push(Reminded::of(head, signed));
        let lines: String = kept.iter().map(Reminded::line).collect();
        // Nothing is lost without it but what it would have told.
        replace(path, lines.as_bytes()).unwrap_or_else(|fault| {
            tracing::warn!("cannot write `{}`: {fault}", path.display());
        });
        Ok(())
    }
}

impl Reminded {
    fn of(head: &Head, signed: &Checkpoint) -> Self {
        Self {
            name: head.name,
            number: head.number,
            hash: head.hash,
            begins: head.begins,
            at: signed.at,
            key: signed.key.clone(),
            signature: signed.signature.clone(),
        }
    }

    /// Judges the signature.
    pub(crate) fn check(&self, trust: &dyn StatementCheck) -> Signed {
        let said = (State::Kept, self.number, &self.hash[..], self.at);
        judged(
            (&self.name, self.begins),
            said,
            trust,
            (&self.key, &self.signature),
        )
    }

    fn line(&self) -> String {
        let begins = self.begins.map_or("-".to_owned(), |hash| hex(&hash));
        format!(
            "{} {} {} {begins} {} {} {}\n",
            hex(&self.name),
            self.number,
            hex(&self.hash),
            self.at,
            hex(&self.key),
            hex(&self.signature)
        )
    }

    fn read(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let mut next = || words.next();
        Some(Self {
            name: fixed(next()?)?,
            number: next()?.parse().ok()?,
            hash: fixed(next()?)?,
            begins: match next()? {
                "-" => None,
                hash => Some(fixed(hash)?),
            },
            at: next()?.parse().ok()?,
            key: bytes(next()?)?,
            signature: bytes(next()?)?,
        })
    }
}

/// Reads what is kept; nothing where there is no file.
pub(crate) fn load(path: &Path) -> Result<Vec<Reminded>, Fault> {
    let told = |why: &dyn std::fmt::Display| Fault::new(format!("`{}`: {why}", path.display()));
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(fault) => return Err(told(&fault)),
    };
    let lines = text.lines().map(Reminded::read);
    let all: Option<Vec<_>> = lines.collect();
    all.ok_or_else(|| told(&"this is not what the gateway keeps there"))
}

/// CRASH: a stop before the end of this leaves the file as it was.
fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("new");
    let mut file = File::create(&beside)?;
    file.write_all(text)?;
    file.sync_all()?;
    fs::rename(beside, path)
}

fn fixed<const N: usize>(text: &str) -> Option<[u8; N]> {
    bytes(text)?.try_into().ok()
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    let pairs = pairs.map(|pair| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok());
    pairs.collect()
}
