//! Timestamps by an outside authority (RFC 3161) on a pack's checkpoint.
//!
//! The token says that the checkpoint existed at a time, whatever the proxy's own clock said. It is
//! believed only if its certificate leads to a root that whoever verifies has pinned: anybody can
//! make an authority. Asking one is left to the caller; here a request is made and an answer judged.

mod der;

use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mcpproxy_core::Wall;
use rustls_pki_types::{CertificateDer, SignatureVerificationAlgorithm, UnixTime};
use sha2::{Digest as _, Sha256, Sha384, Sha512};
use webpki::{EndEntityCert, KeyUsage, anchor_from_trusted_cert, ring};

use crate::error::NotaryError;
use crate::file;
use crate::hash::sha256;
use crate::pack::CHECKPOINT;
use crate::verify::files;
use der::{CONTEXT_0, INTEGER, OCTETS, OID, Reader, SEQUENCE, SET, TIME, element};

/// Where a pack's token is kept: beside what was signed, since it is made afterwards.
pub const TOKEN: &str = "_unsigned/checkpoint.tsr";

const SHA256: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01];
const SHA384: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x02];
const SHA512: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x03];
const SIGNED_DATA: &[u8] = &[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x02];
const TST_INFO: &[u8] = &[
    0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x10, 0x01, 0x04,
];
const CONTENT_TYPE: &[u8] = &[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x03];
const MESSAGE_DIGEST: &[u8] = &[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x04];
/// The purpose `timeStamping` of a certificate.
const TIME_STAMPING: &[u8] = &[0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x08];

/// Certificates of authorities that are believed.
#[derive(Clone, Debug, Default)]
pub struct Roots(Vec<Vec<u8>>);

impl Roots {
    /// Reads the certificates in a file, in PEM or DER.
    pub fn load(path: &Path) -> Result<Self, NotaryError> {
        let bytes = file::read(path).map_err(NotaryError::file("read", path))?;
        let roots = Self::parse(&bytes);
        if roots.is_empty() {
            let why = "it has no certificate".to_owned();
            return Err(NotaryError::Input {
                name: path.display().to_string(),
                why,
            });
        }
        Ok(roots)
    }

    fn parse(bytes: &[u8]) -> Self {
        let Ok(text) = std::str::from_utf8(bytes) else {
            return Self(vec![bytes.to_vec()]);
        };
        let blocks = text.split("-----BEGIN CERTIFICATE-----").skip(1);
        let certificates = blocks.filter_map(|block| {
            let body: String = block.split("-----END").next()?.split_whitespace().collect();
            STANDARD.decode(body).ok()
        });
        Self(certificates.collect())
    }

    /// Believes those of `others` too.
    pub fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// Tells whether nobody is believed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Makes the request for a timestamp on a pack's checkpoint.
pub fn request(pack: &Path) -> Result<Vec<u8>, NotaryError> {
    let path = pack.join(CHECKPOINT);
    let note = files::small(pack, CHECKPOINT).map_err(NotaryError::file("read", &path))?;
    let algorithm = element(SEQUENCE, &[element(OID, SHA256), vec![0x05, 0x00]].concat());
    let digest = element(OCTETS, &sha256(&note));
    let imprint = element(SEQUENCE, &[algorithm, digest].concat());
    // Version 1, and the authority's certificate with the answer.
    let parts = [element(INTEGER, &[1]), imprint, vec![0x01, 0x01, 0xFF]];
    Ok(element(SEQUENCE, &parts.concat()))
}

/// Keeps the answer of an authority with the pack that it is about, if it is.
pub fn attach(pack: &Path, answer: &[u8]) -> Result<PathBuf, NotaryError> {
    let path = pack.join(CHECKPOINT);
    let note = files::small(pack, CHECKPOINT).map_err(NotaryError::file("read", &path))?;
    if Token::parse(answer).is_none_or(|token| token.imprint != sha256(&note)) {
        let why = "it is not an authority's answer about this pack's checkpoint".to_owned();
        return Err(NotaryError::Input {
            name: "timestamp".to_owned(),
            why,
        });
    }
    let target = pack.join(TOKEN);
    if let Some(folder) = target.parent() {
        std::fs::create_dir_all(folder).map_err(NotaryError::file("create", folder))?;
    }
    std::fs::write(&target, answer).map_err(NotaryError::file("write", &target))?;
    Ok(target)
}

/// Checks an authority's answer about `note`; returns the time that it vouches for.
pub fn check(answer: &[u8], note: &[u8], roots: &Roots) -> Result<Wall, &'static str> {
    let token = Token::parse(answer).ok_or("the timestamp cannot be read")?;
    if token.imprint != sha256(note) {
        return Err("the timestamp is of something else");
    }
    let digest = token
        .digest(token.content)
        .ok_or("the timestamp's digest is not known")?;
    if token.message_digest != digest {
        return Err("the timestamp's content is not what was signed");
    }
    let seconds = Duration::from_millis(token.time.0);
    let trusted = token.certificates.iter().any(|certificate| {
        let certificate = CertificateDer::from(*certificate);
        EndEntityCert::try_from(&certificate).is_ok_and(|signer| {
            token.signed_by(&signer) && leads_to(&signer, &token.certificates, roots, seconds)
        })
    });
    trusted
        .then_some(token.time)
        .ok_or("the timestamp's signer does not lead to a pinned root")
}

/// Follows a signer's certificate to a root, at the time that it vouches for.
fn leads_to(signer: &EndEntityCert<'_>, others: &[&[u8]], roots: &Roots, at: Duration) -> bool {
    let roots: Vec<CertificateDer<'_>> = roots
        .0
        .iter()
        .map(|root| CertificateDer::from(root.as_slice()))
        .collect();
    let anchors: Vec<_> = roots
        .iter()
        .filter_map(|root| anchor_from_trusted_cert(root).ok())
        .collect();
    let others: Vec<CertificateDer<'_>> = others
        .iter()
        .map(|one| CertificateDer::from(*one))
        .collect();
    let (at, usage) = (
        UnixTime::since_unix_epoch(at),
        KeyUsage::required(TIME_STAMPING),
    );
    signer
        .verify_for_usage(ALGORITHMS, &anchors, &others, at, usage, None, None)
        .is_ok()
}

const ALGORITHMS: &[&dyn SignatureVerificationAlgorithm] = &[
    ring::RSA_PKCS1_2048_8192_SHA256,
    ring::RSA_PKCS1_2048_8192_SHA384,
    ring::RSA_PKCS1_2048_8192_SHA512,
    ring::ECDSA_P256_SHA256,
    ring::ECDSA_P256_SHA384,
    ring::ECDSA_P384_SHA256,
    ring::ECDSA_P384_SHA384,
    ring::ED25519,
];

/// What an answer holds.
#[derive(Debug)]
struct Token<'a> {
    /// The digest that was stamped.
    imprint: [u8; 32],
    time: Wall,
    /// The bytes of what is vouched for.
    content: &'a [u8],
    certificates: Vec<&'a [u8]>,
    digest_algorithm: &'a [u8],
    message_digest: Vec<u8>,
    /// The signed attributes, as they are signed.
    attributes: Vec<u8>,
    signature: &'a [u8],
}

impl<'a> Token<'a> {
    /// Reads a `TimeStampResp`, or the token alone.
    fn parse(answer: &'a [u8]) -> Option<Self> {
        let mut outer = Reader::new(answer).enter(SEQUENCE)?;
        let mut content = outer;
        if content.expect(OID).is_none() {
            let status = outer.enter(SEQUENCE)?.expect(INTEGER)?;
            // Granted, or granted with changes.
            if !matches!(status.body, [0 | 1]) {
                return None;
            }
            outer = outer.enter(SEQUENCE)?;
        }
        if outer.expect(OID)?.body != SIGNED_DATA {
            return None;
        }
        Self::signed_data(outer.enter(CONTEXT_0)?.enter(SEQUENCE)?)
    }

    fn signed_data(mut data: Reader<'a>) -> Option<Self> {
        data.expect(INTEGER)?;
        data.expect(SET)?;
        let mut inner = data.enter(SEQUENCE)?;
        if inner.expect(OID)?.body != TST_INFO {
            return None;
        }
        let content = inner.enter(CONTEXT_0)?.expect(OCTETS)?.body;
        let mut certificates = Vec::new();
        if let Some(set) = data.optional(CONTEXT_0) {
            let mut set = Reader::new(set.body);
            while let Some(certificate) = set.next() {
                certificates.push(certificate.whole);
            }
        }
        data.optional(0xA1);
        let mut signers = data.enter(SET)?;
        let signer = signers.enter(SEQUENCE)?;
        if signers.next().is_some() {
            return None;
        }
        let (imprint, time) = info(content)?;
        let token = Self {
            imprint,
            time,
            content,
            certificates,
            digest_algorithm: &[],
            message_digest: Vec::new(),
            attributes: Vec::new(),
            signature: &[],
        };
        token.signer(signer)
    }

    fn signer(mut self, mut signer: Reader<'a>) -> Option<Self> {
        signer.expect(INTEGER)?;
        // Whose certificate it is shows in whose key fits.
        signer.next()?;
        self.digest_algorithm = signer.enter(SEQUENCE)?.expect(OID)?.body;
        let attributes = signer.expect(CONTEXT_0)?;
        // RFC 5652, section 5.4: what is signed has the tag of a set.
        self.attributes = attributes.whole.to_vec();
        *self.attributes.first_mut()? = SET;
        let mut typed = false;
        let mut each = Reader::new(attributes.body);
        while let Some(attribute) = each.next() {
            let mut attribute = Reader::new(attribute.body);
            let name = attribute.expect(OID)?.body;
            let value = attribute.enter(SET)?.next()?;
            match name {
                MESSAGE_DIGEST if value.tag == OCTETS => self.message_digest = value.body.to_vec(),
                CONTENT_TYPE => typed = value.body == TST_INFO,
                _ => {}
            }
        }
        signer.expect(SEQUENCE)?;
        self.signature = signer.expect(OCTETS)?.body;
        typed.then_some(self)
    }

    fn digest(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        match self.digest_algorithm {
            SHA256 => Some(Sha256::digest(bytes).to_vec()),
            SHA384 => Some(Sha384::digest(bytes).to_vec()),
            SHA512 => Some(Sha512::digest(bytes).to_vec()),
            _ => None,
        }
    }

    fn signed_by(&self, signer: &EndEntityCert<'_>) -> bool {
        let fits = |algorithm: &&dyn SignatureVerificationAlgorithm| {
            signer
                .verify_signature(*algorithm, &self.attributes, self.signature)
                .is_ok()
        };
        ALGORITHMS.iter().any(fits)
    }
}

/// Reads the digest and the time of a `TSTInfo`.
fn info(content: &[u8]) -> Option<([u8; 32], Wall)> {
    let mut info = Reader::new(content).enter(SEQUENCE)?;
    info.expect(INTEGER)?;
    info.expect(OID)?;
    let mut imprint = info.enter(SEQUENCE)?;
    if imprint.enter(SEQUENCE)?.expect(OID)?.body != SHA256 {
        return None;
    }
    let digest = imprint.expect(OCTETS)?.body.try_into().ok()?;
    info.expect(INTEGER)?;
    let time = std::str::from_utf8(info.expect(TIME)?.body).ok()?;
    Some((digest, general_time(time)?))
}

/// Reads `20261115T…` as DER spells it: `20261115221807Z`, perhaps with a fraction.
fn general_time(text: &str) -> Option<Wall> {
    let (whole, fraction) = text.strip_suffix('Z')?.split_at_checked(14)?;
    let part = |from: usize, to: usize| whole.get(from..to);
    let (date, time) = (
        format!("{}-{}-{}", part(0, 4)?, part(4, 6)?, part(6, 8)?),
        format!("{}:{}:{}", part(8, 10)?, part(10, 12)?, part(12, 14)?),
    );
    Wall::from_rfc3339(&format!("{date}T{time}{fraction}Z"))
}

#[cfg(test)]
mod authority;
#[cfg(test)]
mod tests;
