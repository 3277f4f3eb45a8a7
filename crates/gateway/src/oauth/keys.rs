//! An issuer's public keys (RFC 7517), and the signatures that they verify.
//!
//! Only keys of pairs are read: a secret that is shared could be anybody's, and a public key taken
//! for one would let everybody sign.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde::Deserialize;
use serde_json::Value;

/// Keys of one issuer that are kept.
const MOST: usize = 64;

/// How a token may be signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Algorithm {
    Rs256,
    Ps256,
    Es256,
    Es384,
    EdDsa,
}

impl Algorithm {
    /// Finds an algorithm by its name (RFC 7518, RFC 8037); `none` and shared secrets are not among
    /// them.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "RS256" => Self::Rs256,
            "PS256" => Self::Ps256,
            "ES256" => Self::Es256,
            "ES384" => Self::Es384,
            "EdDSA" => Self::EdDsa,
            _ => return None,
        })
    }
}

/// The keys of an issuer.
#[derive(Debug, Default)]
pub(crate) struct KeySet(Vec<Key>);

/// One key.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    id: Option<String>,
    /// The one algorithm that it is for, where it says so.
    only: Option<String>,
    public: Public,
}

#[derive(Clone, Debug)]
enum Public {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

/// A key as it is published; members that say nothing about it are passed over.
#[derive(Deserialize)]
struct Published {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    key_ops: Option<Vec<String>>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl KeySet {
    /// Reads the keys that verify; others are passed over.
    pub(crate) fn read(text: &[u8]) -> Result<Self, &'static str> {
        let set: Value = serde_json::from_slice(text).map_err(|_| "it is not JSON")?;
        let keys = set.get("keys").and_then(Value::as_array);
        let keys = keys.ok_or("it has no list `keys`")?;
        let keys = keys.iter().filter_map(|key| {
            let published = Published::deserialize(key).ok()?;
            published.key()
        });
        let keys: Vec<_> = keys.take(MOST).collect();
        if keys.is_empty() {
            return Err("it has no key that could verify a token");
        }
        Ok(Self(keys))
    }

    /// Finds the key of a token. Where the token names none, the only one that fits is meant.
    pub(crate) fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Option<&Key> {
        let mut fitting = self.0.iter().filter(|key| {
            let meant = id.is_none_or(|id| key.id.as_deref() == Some(id));
            meant && key.fits(algorithm)
        });
        match (fitting.next(), fitting.next()) {
            (Some(key), None) => Some(key),
            (None, _) | (Some(_), Some(_)) => None,
        }
    }
}

impl Published {
    fn key(self) -> Option<Key> {
        let ops = self.key_ops.as_ref();
        let verifies = self.purpose.as_deref().is_none_or(|one| one == "sig")
            && ops.is_none_or(|ops| ops.iter().any(|one| one == "verify"));
        if !verifies {
            return None;
        }
        let part = |text: &Option<String>, length: Option<usize>| {
            let bytes = BASE64.decode(text.as_ref()?).ok()?;
            length
                .is_none_or(|length| bytes.len() == length)
                .then_some(bytes)
        };
        let point = |length: usize| {
            let (x, y) = (part(&self.x, Some(length))?, part(&self.y, Some(length))?);
            // An uncompressed point (SEC 1, section 2.3.3).
            Some([vec![4], x, y].concat())
        };
        let public = match (self.kty.as_str(), self.crv.as_deref()) {
            ("RSA", _) => Public::Rsa {
                n: without_zeros(part(&self.n, None)?),
                e: without_zeros(part(&self.e, None)?),
            },
            ("EC", Some("P-256")) => Public::P256(point(32)?),
            ("EC", Some("P-384")) => Public::P384(point(48)?),
            ("OKP", Some("Ed25519")) => Public::Ed25519(part(&self.x, Some(32))?),
            _ => return None,
        };
        Some(Key {
            id: self.kid,
            only: self.alg,
            public,
        })
    }
}

impl Key {
    fn fits(&self, algorithm: Algorithm) -> bool {
        let only = self.only.as_deref().map(Algorithm::named);
        only.is_none_or(|only| only == Some(algorithm))
            && matches!(
                (&self.public, algorithm),
                (Public::Rsa { .. }, Algorithm::Rs256 | Algorithm::Ps256)
                    | (Public::P256(_), Algorithm::Es256)
                    | (Public::P384(_), Algorithm::Es384)
                    | (Public::Ed25519(_), Algorithm::EdDsa)
            )
    }

    /// Tells whether this key made a signature.
    pub(crate) fn verifies(&self, algorithm: Algorithm, signed: &[u8], signature: &[u8]) -> bool {
        let verified = match (&self.public, algorithm) {
            (Public::Rsa { n, e }, Algorithm::Rs256) => RsaPublicKeyComponents { n, e }.verify(
                &RSA_PKCS1_2048_8192_SHA256,
                signed,
                signature,
            ),
            (Public::Rsa { n, e }, Algorithm::Ps256) => {
                RsaPublicKeyComponents { n, e }.verify(&RSA_PSS_2048_8192_SHA256, signed, signature)
            }
            (Public::P256(point), Algorithm::Es256) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(signed, signature)
            }
            (Public::P384(point), Algorithm::Es384) => {
                UnparsedPublicKey::new(&ECDSA_P384_SHA384_FIXED, point).verify(signed, signature)
            }
            (Public::Ed25519(point), Algorithm::EdDsa) => {
                UnparsedPublicKey::new(&ED25519, point).verify(signed, signature)
            }
            _ => return false,
        };
        verified.is_ok()
    }
}

fn without_zeros(mut bytes: Vec<u8>) -> Vec<u8> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    bytes.drain(..zeros);
    bytes
}
