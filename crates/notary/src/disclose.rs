//! Selective disclosure: commitments to single fields, and the revealing of one of them.
//!
//! The digest of all arguments of a call can be guessed where they have few values. A commitment
//! cannot: it is keyed by a salt that only the signer's key yields. Whoever holds the key reveals
//! a field by giving its name, its value and its salt; everybody can check that the commitment was
//! in the receipts, and learns nothing of the other fields, not even their names.

use std::ops::Range;
use std::path::Path;

use hmac::{Hmac, KeyInit, Mac};
use mcpproxy_text::members;
use sha2::Sha256;
use subtle::ConstantTimeEq;

use crate::error::NotaryError;
use crate::hash::{Numbers, canonical, hex, quote, unhex};
use crate::json::Json;
use crate::keys::Signer;
use crate::read::Read;
use crate::view::each_line;

const FORM: &str = "mcpproxy.disclosure.1";

/// The most fields that are committed to one by one.
const MOST: usize = 256;

/// Which side of a call a field is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Its arguments.
    Arguments,
    /// Its result.
    Result,
}

impl Side {
    /// Returns the name that stands in receipts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Arguments => "arguments",
            Self::Result => "result",
        }
    }
}

/// Makes the salts of one session.
#[derive(Clone)]
pub struct Salts([u8; 32]);

impl std::fmt::Debug for Salts {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Salts")
    }
}

impl Salts {
    /// Derives the salts of a session from the key that signs it.
    pub fn new(signer: &Signer, session_id: &str) -> Self {
        Self(signer.derive(format!("mcpproxy field salts 1\n{session_id}").as_bytes()))
    }

    fn salt(&self, invocation_id: &str, side: Side, field: &str) -> [u8; 32] {
        let mut name = Vec::new();
        for part in [invocation_id, side.name(), field] {
            quote(part, &mut name);
        }
        mac(&self.0, &name)
    }

    /// Commits to each field of an object, in an order that tells nothing; to nothing if the text
    /// is not an object, or one of too many fields.
    pub fn commit(&self, invocation_id: &str, side: Side, text: &[u8]) -> Vec<String> {
        let Some(fields) = fields(text).filter(|fields| fields.len() <= MOST) else {
            return Vec::new();
        };
        let mut commitments: Vec<String> = fields
            .iter()
            .map(|(name, value)| commitment(&self.salt(invocation_id, side, name), name, value))
            .collect();
        commitments.sort();
        commitments
    }

    /// Reveals one field of an object that was committed to; nothing if it has no such field.
    pub fn reveal(
        &self,
        invocation_id: &str,
        side: Side,
        text: &[u8],
        field: &str,
    ) -> Option<Json> {
        let (name, value) = fields(text)?.into_iter().find(|(name, _)| name == field)?;
        Some(Json::Object(vec![
            ("form", Json::text(FORM)),
            ("invocation_id", Json::text(invocation_id)),
            ("side", Json::text(side.name())),
            ("field", Json::text(&name)),
            ("value", Json::text(value)),
            (
                "salt",
                Json::text(hex(&self.salt(invocation_id, side, &name))),
            ),
        ]))
    }
}

/// Returns the fields of an object with their values in canonical form.
fn fields(text: &[u8]) -> Option<Vec<(String, String)>> {
    let text = String::from_utf8(canonical(text, Numbers::Rfc8785).ok()?).ok()?;
    text.starts_with('{').then(|| {
        let value = |span: Range<usize>| text.get(span).unwrap_or_default().to_owned();
        members(&text)
            .map(|member| (member.key.into_owned(), value(member.value)))
            .collect()
    })
}

fn commitment(salt: &[u8; 32], name: &str, value: &str) -> String {
    let mut message = Vec::new();
    quote(name, &mut message);
    message.push(b':');
    message.extend_from_slice(value.as_bytes());
    format!("hmac-sha256:{}", hex(&mac(salt, &message)))
}

fn mac(key: &[u8; 32], message: &[u8]) -> [u8; 32] {
    // HMAC takes keys of any length, so the fallback never comes to pass.
    Hmac::<Sha256>::new_from_slice(key)
        .map(|mac| mac.chain_update(message).finalize().into_bytes().into())
        .unwrap_or_default()
}

/// What a disclosure shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disclosed {
    /// The call.
    pub invocation_id: String,
    /// The field's name.
    pub field: String,
    /// Its value, in canonical JSON.
    pub value: String,
    /// Whether the line commits to it.
    pub holds: bool,
}

/// Checks a disclosure against the line of commitments that it is about. An error means that one
/// of them is not what it should be.
pub fn check(disclosure: &[u8], line: &[u8]) -> Result<Disclosed, NotaryError> {
    let bad = || NotaryError::Input {
        name: "disclosure".to_owned(),
        why: "it is not a disclosure in a form that is known, or not of that receipt".to_owned(),
    };
    let (read, line) = (
        Read::new(disclosure.trim_ascii()),
        Read::new(line.trim_ascii()),
    );
    let (read, line) = read.zip(line).ok_or_else(bad)?;
    let same = |name: &str| {
        read.text(name)
            .filter(|text| line.text(name).as_ref() == Some(text))
    };
    if read.text("form").as_deref() != Some(FORM) || same("side").is_none() {
        return Err(bad());
    }
    let invocation_id = same("invocation_id").ok_or_else(bad)?.into_owned();
    let (field, value) = read.text("field").zip(read.text("value")).ok_or_else(bad)?;
    let salt = read
        .text("salt")
        .and_then(|salt| unhex(&salt))
        .ok_or_else(bad)?;
    let expect = commitment(&salt, &field, &value);
    let made = line.list("commitments").ok_or_else(bad)?;
    let holds = made
        .into_iter()
        .filter_map(mcpproxy_text::string)
        .any(|one| bool::from(one.as_bytes().ct_eq(expect.as_bytes())));
    let (field, value) = (field.into_owned(), value.into_owned());
    Ok(Disclosed {
        invocation_id,
        field,
        value,
        holds,
    })
}

/// Looks in a pack, or in a file of receipts, for the commitment that a disclosure opens. What is
/// found may be one of the same call that does not hold.
pub fn find(disclosure: &[u8], path: &Path) -> Result<Option<Disclosed>, NotaryError> {
    let mut found: Option<Disclosed> = None;
    each_line(path, |line| {
        let open = found.as_ref().is_none_or(|found| !found.holds);
        if open && line.text("type").as_deref() == Some("mcp.commitments") {
            found = check(disclosure, line.whole().as_bytes())
                .ok()
                .or(found.take());
        }
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"{\"path\":\"/etc/hosts\",\"dry\":true}";

    fn salts() -> Salts {
        Salts::new(&Signer::generate("k").unwrap(), "mcp_1")
    }

    fn line(salts: &Salts) -> Vec<u8> {
        let mut line = crate::line::Line::default();
        let made = salts.commit("inv_1", Side::Arguments, TEXT);
        line.text("invocation_id", "inv_1")
            .text("side", "arguments");
        line.list("commitments", made.iter().map(String::as_str));
        line.print()
    }

    #[test]
    fn one_field_is_revealed_and_the_others_stay_hidden() {
        let salts = salts();
        let line = line(&salts);
        let revealed = salts
            .reveal("inv_1", Side::Arguments, TEXT, "dry")
            .unwrap()
            .pretty();
        let shown = check(revealed.as_bytes(), &line).unwrap();
        assert_eq!(
            (shown.field.as_str(), shown.value.as_str(), shown.holds),
            ("dry", "true", true)
        );
        assert!(!revealed.contains("hosts") && !revealed.contains("path"));
        assert!(!String::from_utf8_lossy(&line).contains("dry"));
        let lied = revealed.replace("true", "false");
        assert!(!check(lied.as_bytes(), &line).unwrap().holds);
        assert!(
            salts
                .reveal("inv_1", Side::Arguments, TEXT, "none")
                .is_none()
        );
    }

    #[test]
    fn the_same_value_looks_different_in_every_call() {
        let salts = salts();
        let commit = |invocation: &str, side: Side| salts.commit(invocation, side, b"{\"a\":1}");
        let one = commit("inv_1", Side::Arguments);
        assert_ne!(one, commit("inv_2", Side::Arguments));
        assert_ne!(one, commit("inv_1", Side::Result));
        assert_ne!(
            one,
            self::salts().commit("inv_1", Side::Arguments, b"{\"a\":1}")
        );
        assert!(salts.commit("inv_1", Side::Result, b"[1]").is_empty());
    }

    #[test]
    fn what_is_no_disclosure_is_an_error() {
        let salts = salts();
        let line = line(&salts);
        let revealed = salts
            .reveal("inv_1", Side::Arguments, TEXT, "dry")
            .unwrap()
            .pretty();
        for wrong in [
            "",
            "{}",
            "[]",
            &revealed.replace("inv_1", "inv_2"),
            &revealed.replace("arguments", "result"),
        ] {
            assert!(check(wrong.as_bytes(), &line).is_err(), "{wrong}");
        }
    }
}
