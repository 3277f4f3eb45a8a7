//! Packs as in-toto statements in DSSE envelopes, for tools that gather attestations.
//!
//! The subjects are the pack's files with their digests; the predicate says what the session was.
//! The envelope is signed by the key that signs packs.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::error::NotaryError;
use crate::hash::{Numbers, canonical, hex};
use crate::json::Json;
use crate::keys::{PublicKey, Signer};
use crate::pack::{MANIFEST, RECEIPTS};
use crate::read::Read;
use crate::verify::{Report, files};
use crate::view::Session;

/// The media type of statements.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
/// Names what the predicate is.
pub const PREDICATE_TYPE: &str = "https://mcpproxy.dev/attestation/mcp-session/v1";

/// Makes the statement about a pack that has been judged.
pub fn statement(pack: &Path, report: &Report) -> Result<Json, NotaryError> {
    let session = Session::load(pack)?;
    let subject = |name: &'static str| -> Result<Json, NotaryError> {
        let path = pack.join(name);
        let digest = files::open(pack, name).and_then(files::digest);
        let (digest, _) = digest.map_err(NotaryError::file("read", &path))?;
        let digest = Json::Object(vec![("sha256", Json::text(hex(&digest)))]);
        Ok(Json::Object(vec![
            ("name", Json::text(name)),
            ("digest", digest),
        ]))
    };
    let (first, last) = session.times.clone().unzip();
    let predicate = Json::Object(vec![
        ("packId", Json::optional(report.pack_id.clone())),
        ("sessionId", Json::text(&session.session_id)),
        ("serverId", Json::text(&session.server_id)),
        ("profile", Json::optional(session.profile.clone())),
        ("policyHash", Json::optional(session.policy.clone())),
        (
            "sessionComplete",
            session.complete.map_or(Json::Null, Json::Flag),
        ),
        ("receipts", Json::Number(report.receipts)),
        (
            "calls",
            Json::Number(session.calls.len().try_into().unwrap_or(u64::MAX)),
        ),
        ("verdict", Json::text(report.class.name())),
        (
            "treeSize",
            report.tree_size.map_or(Json::Null, Json::Number),
        ),
        ("rootHash", Json::optional(report.root.clone())),
        ("startedAt", Json::optional(first)),
        ("endedAt", Json::optional(last)),
    ]);
    Ok(Json::Object(vec![
        ("_type", Json::text("https://in-toto.io/Statement/v1")),
        (
            "subject",
            Json::List(vec![subject(MANIFEST)?, subject(RECEIPTS)?]),
        ),
        ("predicateType", Json::text(PREDICATE_TYPE)),
        ("predicate", predicate),
    ]))
}

/// Signs a statement in a DSSE envelope.
pub fn envelope(statement: &Json, signer: &Signer) -> Result<Json, NotaryError> {
    let payload = canonical(statement.pretty().as_bytes(), Numbers::Rfc8785).map_err(|fault| {
        NotaryError::Input {
            name: "statement".to_owned(),
            why: fault.to_string(),
        }
    })?;
    let signature = signer.sign(&encoding(PAYLOAD_TYPE, &payload));
    let signature = Json::Object(vec![
        ("keyid", Json::text(signer.public().fingerprint())),
        ("sig", Json::text(STANDARD.encode(signature))),
    ]);
    Ok(Json::Object(vec![
        ("payloadType", Json::text(PAYLOAD_TYPE)),
        ("payload", Json::text(STANDARD.encode(payload))),
        ("signatures", Json::List(vec![signature])),
    ]))
}

/// Opens an envelope that `key` signed; returns the statement.
pub fn open(envelope: &[u8], key: &PublicKey) -> Option<String> {
    let read = Read::new(envelope.trim_ascii())?;
    let kind = read.text("payloadType")?;
    let payload = STANDARD.decode(read.text("payload")?.as_bytes()).ok()?;
    let message = encoding(&kind, &payload);
    let signed = read.list("signatures")?.into_iter().any(|raw| {
        let signature = Read::new(raw.as_bytes()).and_then(|one| one.text("sig"));
        let signature = signature.and_then(|sig| STANDARD.decode(sig.as_bytes()).ok());
        signature.is_some_and(|signature| key.verify(&message, &signature))
    });
    (signed && kind == PAYLOAD_TYPE).then(|| String::from_utf8(payload).ok())?
}

/// The bytes that DSSE signs (its pre-authentication encoding).
fn encoding(kind: &str, payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!("DSSEv1 {} {kind} {} ", kind.len(), payload.len()).into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::made;

    #[test]
    fn a_statement_opens_under_its_key_only() {
        let made = made();
        let statement = statement(&made.path, &made.judge()).unwrap();
        let envelope = envelope(&statement, &made.signer).unwrap().pretty();
        let opened = open(envelope.as_bytes(), &made.signer.public()).unwrap();
        let opened: serde_json::Value = serde_json::from_str(&opened).unwrap();
        assert_eq!(opened["_type"], "https://in-toto.io/Statement/v1");
        assert_eq!(opened["predicate"]["verdict"], "pass");
        assert_eq!(opened["predicate"]["calls"], 1);
        assert_eq!(opened["subject"][0]["name"], MANIFEST);
        let stranger = Signer::generate("x").unwrap().public();
        assert_eq!(open(envelope.as_bytes(), &stranger), None);
        let changed = envelope.replace("in-toto", "in_toto");
        assert_eq!(open(changed.as_bytes(), &made.signer.public()), None);
    }

    #[test]
    fn the_encoding_is_that_of_the_standard() {
        let expect = b"DSSEv1 29 http://example.com/HelloWorld 11 hello world";
        assert_eq!(
            encoding("http://example.com/HelloWorld", b"hello world"),
            expect
        );
    }
}
