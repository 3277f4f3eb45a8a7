//! Keys that a peer must show, beside what authorities vouch for: a certificate from any authority
//! is not enough.
//!
//! A pin is the SHA-256 of the public key with its kind (`SubjectPublicKeyInfo`, as in RFC 7469,
//! 2.4), so that a certificate can be renewed under it.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use sha2::{Digest as _, Sha256};

/// The word before the hash.
const PREFIX: &str = "sha256/";

/// The hash of a key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Pin([u8; 32]);

impl Pin {
    /// Reads `sha256/` and the base64 of a hash.
    pub fn read(text: &str) -> Option<Self> {
        let hash = BASE64.decode(text.strip_prefix(PREFIX)?).ok()?;
        hash.try_into().ok().map(Self)
    }

    /// Returns the pin of a key, as DER.
    pub fn of(key: &[u8]) -> Self {
        Self(Sha256::digest(key).into())
    }
}

impl fmt::Display for Pin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{PREFIX}{}", BASE64.encode(self.0))
    }
}

impl fmt::Debug for Pin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// What counts beside the pin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chain {
    /// An authority vouches for name and time.
    Checked,
    /// Nothing: the key alone is who it is, as for a certificate that signed itself.
    Unchecked,
}

/// Makes the configuration of connections that show one of the pins.
pub(super) fn config(pins: Vec<Pin>, chain: Chain) -> Result<ClientConfig, String> {
    let provider = Arc::new(ring::default_provider());
    let algorithms = provider.signature_verification_algorithms;
    let chain = match chain {
        Chain::Unchecked => None,
        Chain::Checked => {
            let roots: RootCertStore = webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect();
            Some(authorities(roots)?)
        }
    };
    let verifier = Pinned {
        pins,
        chain,
        algorithms,
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|fault| fault.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(config)
}

fn authorities(roots: RootCertStore) -> Result<Arc<WebPkiServerVerifier>, String> {
    let provider = Arc::new(ring::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
    verifier.build().map_err(|fault| fault.to_string())
}

/// Lets a peer in that shows a pinned key.
#[derive(Debug)]
struct Pinned {
    pins: Vec<Pin>,
    chain: Option<Arc<WebPkiServerVerifier>>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        stapled: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if let Some(chain) = &self.chain {
            chain.verify_server_cert(certificate, others, name, stapled, now)?;
        }
        let key = ParsedCertificate::try_from(certificate)?.subject_public_key_info();
        let shown = Pin::of(&key);
        if self.pins.contains(&shown) {
            return Ok(ServerCertVerified::assertion());
        }
        tracing::warn!("a peer shows the key `{shown}`, which is not the pinned one");
        let why = CertificateError::ApplicationVerificationFailure;
        Err(Error::InvalidCertificate(why))
    }

    // That the peer has the key is checked as always: a pin is public.
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests;
