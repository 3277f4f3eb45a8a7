//! Checkpoints as signed notes, in the form that tools of transparency logs read.
//!
//! A note is a text, an empty line, and signature lines (C2SP signed-note); a checkpoint is a note
//! whose text is an origin, a size and a root (C2SP tlog-checkpoint). Written here rather than
//! taken from a crate: the published ones come with a log server's dependencies.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use crate::hash::hex;
use crate::keys::{PublicKey, Signer};
use crate::tree::Hash;

/// The name of the Ed25519 algorithm in a key id.
const ED25519: u8 = 1;

/// Says that a key signed something else.
pub(crate) const FORGED: &str = "the checkpoint's signature does not hold";

/// What a checkpoint says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Which log this is of.
    pub origin: String,
    /// How many leaves the tree has.
    pub size: u64,
    /// The root over them.
    pub root: Hash,
}

impl Checkpoint {
    fn text(&self) -> String {
        format!(
            "{}\n{}\n{}\n",
            self.origin,
            self.size,
            STANDARD.encode(self.root)
        )
    }

    /// Signs the checkpoint.
    pub fn sign(&self, signer: &Signer) -> String {
        let text = self.text();
        let signature = signer.sign(text.as_bytes());
        let mut bytes = key_id(signer.name(), &signer.public()).to_vec();
        bytes.extend_from_slice(&signature);
        format!(
            "{text}\n\u{2014} {} {}\n",
            signer.name(),
            STANDARD.encode(bytes)
        )
    }

    /// Reads a note and checks that `key` signed it under `name`; says what is wrong if not.
    pub fn open(note: &str, name: &str, key: &PublicKey) -> Result<Self, &'static str> {
        let (checkpoint, text, signatures) = split(note)?;
        let id = key_id(name, key);
        for line in signatures.lines() {
            let Some((signed_by, encoded)) = line
                .strip_prefix("\u{2014} ")
                .and_then(|rest| rest.split_once(' '))
            else {
                return Err("a signature line is malformed");
            };
            let bytes = STANDARD
                .decode(encoded)
                .map_err(|_| "a signature is not base64")?;
            let Some((found, signature)) = bytes.split_first_chunk::<4>() else {
                return Err("a signature is too short");
            };
            if signed_by == name && *found == id {
                return key
                    .verify(text.as_bytes(), signature)
                    .then_some(checkpoint)
                    .ok_or(FORGED);
            }
        }
        Err("the checkpoint is not signed by this key")
    }

    /// Reads what a note says without judging who signed it.
    pub fn read(note: &str) -> Result<Self, &'static str> {
        split(note).map(|(checkpoint, _, _)| checkpoint)
    }
}

fn split(note: &str) -> Result<(Checkpoint, &str, &str), &'static str> {
    let at = note.rfind("\n\n").ok_or("the note has no signatures")?;
    let (text, signatures) = (note.get(..=at), note.get(at + 2..));
    let (Some(text), Some(signatures)) = (text, signatures) else {
        return Err("the note has no signatures");
    };
    if !signatures.ends_with('\n') {
        return Err("the note does not end with a line feed");
    }
    let mut lines = text.lines();
    let (Some(origin), Some(size), Some(root)) = (lines.next(), lines.next(), lines.next()) else {
        return Err("the note is not a checkpoint");
    };
    let plain = !size.is_empty() && size.bytes().all(|byte| byte.is_ascii_digit());
    let leading = size.len() > 1 && size.starts_with('0');
    let number = size.parse().ok().filter(|_| plain && !leading);
    let size = number.ok_or("the checkpoint's size is not a number")?;
    let root = STANDARD
        .decode(root)
        .ok()
        .and_then(|root| root.try_into().ok());
    let root = root.ok_or("the checkpoint's root is not a hash")?;
    if origin.is_empty() {
        return Err("the checkpoint names no log");
    }
    Ok((
        Checkpoint {
            origin: origin.to_owned(),
            size,
            root,
        },
        text,
        signatures,
    ))
}

/// Returns the four bytes that name a key in signature lines.
pub fn key_id(name: &str, key: &PublicKey) -> [u8; 4] {
    let hash = Sha256::new()
        .chain_update(name)
        .chain_update([b'\n', ED25519])
        .chain_update(key.bytes())
        .finalize();
    let [a, b, c, d, ..]: [u8; 32] = hash.into();
    [a, b, c, d]
}

/// Prints a key as verifiers of notes take it: `name+id+key`.
pub fn verifier_key(name: &str, key: &PublicKey) -> String {
    let mut bytes = vec![ED25519];
    bytes.extend_from_slice(key.bytes());
    let id = hex(&key_id(name, key));
    format!("{name}+{id}+{}", STANDARD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_prints_as_other_tools_print_it() {
        // The example key of Go's sumdb/note.
        let vkey = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
        let key: Vec<u8> = STANDARD
            .decode("ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW")
            .unwrap();
        let key = PublicKey::from_bytes(key[1..].try_into().unwrap()).unwrap();
        assert_eq!(verifier_key("PeterNeumann", &key), vkey);
    }

    #[test]
    fn a_checkpoint_opens_under_its_key_only() {
        let signer = Signer::generate("log").unwrap();
        let checkpoint = Checkpoint {
            origin: "o/1".to_owned(),
            size: 7,
            root: crate::tree::leaf(b"x"),
        };
        let note = checkpoint.sign(&signer);
        let open = |note: &str, name: &str| Checkpoint::open(note, name, &signer.public());
        assert_eq!(open(&note, "log"), Ok(checkpoint.clone()));
        assert_eq!(Checkpoint::read(&note), Ok(checkpoint));
        assert!(open(&note, "other").is_err());
        let stranger = Signer::generate("log").unwrap().public();
        assert!(Checkpoint::open(&note, "log", &stranger).is_err());
        for at in 0..note.len() {
            let mut bytes = note.clone().into_bytes();
            bytes[at] ^= 1;
            let changed = String::from_utf8(bytes).is_ok_and(|note| open(&note, "log").is_ok());
            assert!(!changed, "byte {at}");
        }
    }
}
