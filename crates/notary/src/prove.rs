//! Proof that one receipt is in a session's tree, to be shown without the rest of the pack.
//!
//! A proof is a JSON text with the receipt's exact line, the hashes beside its way to the root,
//! and the signed checkpoint that names the root.

use std::path::Path;

use crate::error::NotaryError;
use crate::hash::{hex, unhex};
use crate::json::Json;
use crate::keys::{PublicKey, Trust};
use crate::note::Checkpoint;
use crate::pack::{CHECKPOINT, TREE};
use crate::read::Read;
use crate::tree::{self, Hash, Run, Tree};
use crate::verify::{Class, Known, files};
use crate::view::each_line;

const FORM: &str = "mcpproxy.proof.1";

/// Proves that the receipt with that id is in the pack's tree.
pub fn prove(pack: &Path, receipt_id: &str) -> Result<Json, NotaryError> {
    let bad = |why: &str| NotaryError::Input {
        name: pack.display().to_string(),
        why: why.to_owned(),
    };
    let text =
        |name: &str| files::small(pack, name).map_err(NotaryError::file("read", &pack.join(name)));
    let (manifest, place) = (files::manifest(pack)?, text(TREE)?);
    let note =
        String::from_utf8(text(CHECKPOINT)?).map_err(|_| bad("its checkpoint is no text"))?;
    let checkpoint = Checkpoint::read(&note).map_err(bad)?;
    let before = Read::new(&place)
        .and_then(resume)
        .ok_or_else(|| bad("its tree cannot be read"))?;
    let (mut leaves, mut found) = (Vec::new(), None);
    each_line(pack, |line| {
        if line.text("receipt_id").as_deref() == Some(receipt_id) {
            found = Some((leaves.len(), line.whole().to_owned()));
        }
        leaves.push(tree::leaf(line.whole().as_bytes()));
    })?;
    let (place, line) = found.ok_or_else(|| bad("it has no receipt with that id"))?;
    let index = before
        .size()
        .saturating_add(u64::try_from(place).unwrap_or(u64::MAX));
    let path = Run { before, leaves }.prove(index, checkpoint.size);
    let path = path.ok_or_else(|| bad("its checkpoint does not cover that receipt"))?;
    let signer = Read::new(&manifest).ok_or_else(|| bad("its manifest is not JSON"))?;
    let member = |name: &str| Json::optional(signer.text(name));
    Ok(Json::Object(vec![
        ("form", Json::text(FORM)),
        ("receipt", Json::text(line)),
        ("index", Json::Number(index)),
        ("path", Json::texts(path.iter().map(|hash| hex(hash)))),
        ("checkpoint", Json::text(note)),
        ("signer_id", member("signer_id")),
        ("signer_pubkey", member("signer_pubkey")),
    ]))
}

/// Reads what came before the lines of a pack.
fn resume(place: Read<'_>) -> Option<Tree> {
    let peaks: Option<Vec<Hash>> = hashes(place, "peaks");
    Tree::resume(place.number("start")?, peaks?)
}

fn hashes(read: Read<'_>, name: &str) -> Option<Vec<Hash>> {
    read.list(name)?
        .into_iter()
        .map(|raw| unhex(&mcpproxy_text::string(raw)?))
        .collect()
}

/// What a proof shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// What it comes to.
    pub class: Class,
    /// What is known of the signer.
    pub signer: Known,
    /// What is wrong, if something is.
    pub problem: Option<&'static str>,
    /// The receipt.
    pub receipt: String,
    /// Which line of the session it is.
    pub index: u64,
    /// The log that the checkpoint is of.
    pub origin: String,
}

impl Shown {
    /// Returns the judgement for machines.
    pub fn json(&self) -> Json {
        Json::Object(vec![
            ("verdict", Json::text(self.class.name())),
            ("exit_code", Json::Number(self.class.code().into())),
            ("signer", Json::text(self.signer.name())),
            ("problem", Json::optional(self.problem)),
            ("origin", Json::text(&self.origin)),
            ("index", Json::Number(self.index)),
            ("receipt", Json::text(&self.receipt)),
        ])
    }
}

/// Checks a proof. An error means that the text is no proof at all.
pub fn check(proof: &[u8], trust: &Trust) -> Result<Shown, NotaryError> {
    let bad = || NotaryError::Input {
        name: "proof".to_owned(),
        why: "it is not a proof in a form that is known".to_owned(),
    };
    let read = Read::new(proof.trim_ascii()).ok_or_else(bad)?;
    if read.text("form").as_deref() != Some(FORM) {
        return Err(bad());
    }
    let parts = || {
        let text = |name: &str| read.text(name);
        let path = hashes(read, "path")?;
        Some((
            text("receipt")?,
            read.number("index")?,
            path,
            text("checkpoint")?,
            text("signer_id")?,
        ))
    };
    let (receipt, index, path, note, signer_id) = parts().ok_or_else(bad)?;
    let key = read
        .text("signer_pubkey")
        .and_then(|key| PublicKey::parse(key.as_bytes()));
    let key = key.ok_or_else(bad)?;
    let opened = Checkpoint::open(&note, &signer_id, &key);
    let origin = opened
        .as_ref()
        .map(|checkpoint| checkpoint.origin.clone())
        .unwrap_or_default();
    let problem = match opened {
        Err(why) => Some(why),
        Ok(checkpoint) => {
            let leaf = tree::leaf(receipt.as_bytes());
            let holds = tree::check(leaf, index, checkpoint.size, &path, &checkpoint.root);
            (!holds).then_some("the receipt is not in the tree that was signed")
        }
    };
    let signer = if trust.contains(&key) {
        Known::Trusted
    } else {
        Known::Unknown
    };
    let class = match (problem, signer) {
        (Some(_), _) => Class::Tampered,
        (None, Known::Unknown) => Class::Doubt,
        (None, _) => Class::Pass,
    };
    Ok(Shown {
        class,
        signer,
        problem,
        receipt: receipt.into_owned(),
        index,
        origin,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{made, make};

    fn ids(pack: &Path) -> Vec<String> {
        let mut ids = Vec::new();
        each_line(pack, |line| {
            ids.extend(line.text("receipt_id").map(std::borrow::Cow::into_owned));
        })
        .unwrap();
        ids
    }

    #[test]
    fn every_receipt_but_the_checkpoint_can_be_proved() {
        let made = make(crate::keys::Signer::generate("k").unwrap(), 5);
        let ids = ids(&made.path);
        let (last, rest) = ids.split_last().unwrap();
        let trust = Trust::new([made.signer.public()]);
        for (index, id) in rest.iter().enumerate() {
            let proof = prove(&made.path, id).unwrap().pretty();
            let shown = check(proof.as_bytes(), &trust).unwrap();
            assert_eq!((shown.class, shown.index), (Class::Pass, index as u64));
            assert!(shown.receipt.contains(id.as_str()));
            let unknown = check(proof.as_bytes(), &Trust::default()).unwrap();
            assert_eq!(unknown.class, Class::Doubt);
        }
        assert!(prove(&made.path, last).is_err());
        assert!(prove(&made.path, "none").is_err());
    }

    #[test]
    fn a_changed_proof_does_not_hold() {
        let made = made();
        let id = ids(&made.path).swap_remove(1);
        let proof = prove(&made.path, &id).unwrap().pretty();
        let trust = Trust::new([made.signer.public()]);
        for at in 0..proof.len() {
            let mut bytes = proof.clone().into_bytes();
            bytes[at] ^= 1;
            let same = |shown: &Shown| shown.receipt.contains(&id) && shown.index == 1;
            let passed = check(&bytes, &trust).is_ok_and(|shown| shown.class == Class::Pass);
            let told = check(&bytes, &trust).is_ok_and(|shown| same(&shown));
            assert!(!passed || told, "byte {at}");
        }
    }
}
