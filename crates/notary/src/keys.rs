//! Ed25519 keys: made on first use, kept in files of their owner, replaced with a statement that
//! the old key signs, and read in the forms in which people hand public keys around.

use std::fmt;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::error::NotaryError;
use crate::hash::{hex, sha256};

/// The name under which packs are signed.
pub const SIGNER: &str = "assay-local";

/// How many replacements of a key are kept in mind.
const STEPS: usize = 32;

/// Returns the folder of the user's keys, `~/.assay/keys`.
pub fn usual_folder() -> PathBuf {
    let home = std::env::home_dir().unwrap_or_else(|| PathBuf::from("."));
    home.join(".assay").join("keys")
}

/// What precedes the 32 bytes of a key in its `SubjectPublicKeyInfo` (RFC 8410).
const SPKI: [u8; 12] = [
    0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
];

/// A public key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

impl PublicKey {
    /// Takes the 32 bytes of a key; nothing if they are not a point, or a weak one.
    pub fn from_bytes(bytes: [u8; 32]) -> Option<Self> {
        VerifyingKey::from_bytes(&bytes)
            .ok()
            .filter(|key| !key.is_weak())
            .map(Self)
    }

    /// Reads a key as raw bytes, base64 or PEM.
    pub fn parse(text: &[u8]) -> Option<Self> {
        if let Ok(raw) = text.try_into() {
            return Self::from_bytes(raw);
        }
        let text = std::str::from_utf8(text).ok()?;
        let pem = text.contains("-----BEGIN PUBLIC KEY-----");
        let body: String = text
            .lines()
            .filter(|line| !line.starts_with("-----"))
            .map(str::trim)
            .collect();
        let bytes = STANDARD.decode(body).ok()?;
        let key = if pem || bytes.len() > 32 {
            bytes.strip_prefix(&SPKI)?
        } else {
            &bytes
        };
        Self::from_bytes(key.try_into().ok()?)
    }

    /// Reads a key file.
    pub fn load(path: &Path) -> Result<Self, NotaryError> {
        let bytes = crate::file::read(path).map_err(NotaryError::file("read", path))?;
        Self::parse(&bytes).ok_or_else(|| {
            bad(
                path,
                "it is neither 32 raw bytes, base64 nor PEM of an Ed25519 public key",
            )
        })
    }

    /// Returns the raw bytes.
    pub fn bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }

    /// Returns the key in base64.
    pub fn base64(&self) -> String {
        STANDARD.encode(self.bytes())
    }

    /// Returns the key in PEM, as `openssl` reads it.
    pub fn pem(&self) -> String {
        let mut bytes = SPKI.to_vec();
        bytes.extend_from_slice(self.bytes());
        let body = STANDARD.encode(bytes);
        format!("-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n")
    }

    /// Returns the SHA-256 of the raw bytes, in hexadecimal.
    pub fn fingerprint(&self) -> String {
        hex(&sha256(self.bytes()))
    }

    /// Tells whether the key signed `message`.
    pub fn verify(&self, message: &[u8], signature: &[u8]) -> bool {
        Signature::from_slice(signature)
            .is_ok_and(|signature| self.0.verify_strict(message, &signature).is_ok())
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.base64())
    }
}

/// A key that signs, under the name that stands in what it signs.
pub struct Signer {
    name: String,
    key: SigningKey,
    /// The statements by which keys were replaced until this one came, oldest first.
    successions: Vec<Succession>,
    /// Where the key is kept.
    folder: Option<PathBuf>,
}

impl fmt::Debug for Signer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("Signer")
            .field(&self.name)
            .field(&self.public())
            .finish()
    }
}

impl Signer {
    /// Makes a key that is kept nowhere.
    pub fn generate(name: &str) -> Result<Self, NotaryError> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|fault| NotaryError::Random(fault.to_string()))?;
        Ok(Self {
            name: name.to_owned(),
            key: SigningKey::from_bytes(&seed),
            successions: Vec::new(),
            folder: None,
        })
    }

    /// Reads the key `name` in `folder`, and makes it if it is not there.
    pub fn open(folder: &Path, name: &str) -> Result<Self, NotaryError> {
        check_name(name)?;
        let path = file(folder, name, "key");
        match fs::read(&path) {
            Ok(seed) => Self::read(folder, name, &path, &seed),
            Err(fault) if fault.kind() == ErrorKind::NotFound => {
                let made = Self::generate(name)?;
                fs::create_dir_all(folder).map_err(NotaryError::file("create", folder))?;
                made.store(folder)?;
                // Another process may have been first; its key is the one that counts.
                let seed = fs::read(&path).map_err(NotaryError::file("read", &path))?;
                Self::read(folder, name, &path, &seed)
            }
            Err(fault) => Err(NotaryError::file("read", &path)(fault)),
        }
    }

    /// Replaces the key `name` in `folder` by a new one; the old one is kept beside it. Whoever
    /// replaces it at the same time waits, and replaces this one.
    pub fn rotate(folder: &Path, name: &str) -> Result<Self, NotaryError> {
        let turn = file(folder, name, "lock");
        fs::create_dir_all(folder).map_err(NotaryError::file("create", folder))?;
        let held = File::create(&turn).map_err(NotaryError::file("create", &turn))?;
        held.lock().map_err(NotaryError::file("lock", &turn))?;
        let old = Self::open(folder, name)?;
        let mut new = Self::generate(name)?;
        new.successions.clone_from(&old.successions);
        let oldest = (new.successions.len() + 1).saturating_sub(STEPS);
        new.successions.drain(..oldest);
        let succession = Succession::sign(&old, new.public());
        new.successions.push(succession);
        let path = file(folder, name, "succession");
        let statements: String = new.successions.iter().map(Succession::print).collect();
        // CRASH: the statement comes first; without the new key beside it, it is not read. The old
        // key has a second name before the new one takes its first, so that there always is a key.
        write_private(&path, statements.as_bytes(), folder)?;
        let key = file(folder, name, "key");
        let old_name = format!("{name}-{}", short(&old.public()));
        let kept = file(folder, &old_name, "key");
        fs::hard_link(&key, &kept).map_err(NotaryError::file("create", &kept))?;
        write_private(&key, new.key.as_bytes(), folder)?;
        let public = new.public();
        write_private(&file(folder, name, "pub"), public.bytes(), folder)?;
        Ok(new)
    }

    fn read(folder: &Path, name: &str, path: &Path, seed: &[u8]) -> Result<Self, NotaryError> {
        owner_only(path)?;
        let seed = seed
            .try_into()
            .map_err(|_| bad(path, "it does not have 32 bytes"))?;
        let key = SigningKey::from_bytes(&seed);
        let public = PublicKey(key.verifying_key());
        let statements = fs::read_to_string(file(folder, name, "succession"));
        let successions = Succession::leading_to(public, &statements.unwrap_or_default());
        Ok(Self {
            name: name.to_owned(),
            key,
            successions,
            folder: Some(folder.to_owned()),
        })
    }

    fn store(&self, folder: &Path) -> Result<(), NotaryError> {
        let path = file(folder, &self.name, "key");
        // Whose key is already there has written its public half, or is about to.
        if !write_new(&path, self.key.as_bytes(), folder)? {
            return Ok(());
        }
        let public = file(folder, &self.name, "pub");
        let bytes = self.public();
        write_private(&public, bytes.bytes(), folder)
    }

    /// Returns the name under which it signs.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the folder that it was read from.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Returns the public key.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.key.verifying_key())
    }

    /// Returns the statements by which keys were replaced until this one came, oldest first.
    pub fn successions(&self) -> &[Succession] {
        &self.successions
    }

    /// Derives 32 secret bytes for a purpose other than signing.
    pub(crate) fn derive(&self, purpose: &[u8]) -> [u8; 32] {
        // HMAC takes keys of any length, so the fallback never comes to pass.
        Hmac::<Sha256>::new_from_slice(self.key.as_bytes())
            .map(|mac| mac.chain_update(purpose).finalize().into_bytes().into())
            .unwrap_or_default()
    }

    /// Signs some bytes.
    pub fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.key.sign(message).to_bytes()
    }
}

/// A statement of one key that another one follows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Succession {
    /// The key that signed until then, and this statement.
    pub old: PublicKey,
    /// The key that signs from then on.
    pub new: PublicKey,
    signature: [u8; 64],
}

impl Succession {
    fn sign(old: &Signer, new: PublicKey) -> Self {
        let signature = old.sign(&statement(&old.public(), &new));
        Self {
            old: old.public(),
            new,
            signature,
        }
    }

    /// Takes up a statement from its parts.
    pub fn new(old: PublicKey, new: PublicKey, signature: &[u8]) -> Option<Self> {
        Some(Self {
            old,
            new,
            signature: signature.try_into().ok()?,
        })
    }

    /// Tells whether the old key signed it.
    pub fn holds(&self) -> bool {
        self.old
            .verify(&statement(&self.old, &self.new), &self.signature)
    }

    /// Returns the signature in base64.
    pub fn signature(&self) -> String {
        STANDARD.encode(self.signature)
    }

    fn print(&self) -> String {
        format!(
            "{}\n{}\n{}\n",
            self.old.base64(),
            self.new.base64(),
            self.signature()
        )
    }

    fn parse(lines: &[&str]) -> Option<Self> {
        let [old, new, signature] = lines else {
            return None;
        };
        let key = |line: &str| PublicKey::parse(line.as_bytes());
        Self::new(key(old)?, key(new)?, &STANDARD.decode(signature).ok()?)
    }

    /// Reads statements, oldest first, and returns those that lead to a key without a gap.
    ///
    /// A statement about a key that never came, since its making was interrupted, is passed over.
    fn leading_to(key: PublicKey, text: &str) -> Vec<Self> {
        let lines: Vec<&str> = text.lines().collect();
        let mut next = key;
        let mut found = Vec::new();
        for one in lines.chunks(3).rev().filter_map(Self::parse) {
            if one.new == next && one.holds() {
                next = one.old;
                found.push(one);
            }
        }
        found.reverse();
        found
    }
}

fn statement(old: &PublicKey, new: &PublicKey) -> Vec<u8> {
    format!(
        "mcpproxy key succession 1\n{}\n{}\n",
        old.base64(),
        new.base64()
    )
    .into_bytes()
}

/// The keys whose packs are believed.
#[derive(Clone, Debug, Default)]
pub struct Trust(Vec<PublicKey>);

impl Trust {
    /// Trusts these keys and no others.
    pub fn new(keys: impl IntoIterator<Item = PublicKey>) -> Self {
        Self(keys.into_iter().collect())
    }

    /// Tells whether a key is trusted.
    pub fn contains(&self, key: &PublicKey) -> bool {
        self.0.contains(key)
    }
}

fn file(folder: &Path, name: &str, kind: &str) -> PathBuf {
    folder.join(format!("{name}.{kind}"))
}

fn short(key: &PublicKey) -> String {
    key.fingerprint().chars().take(16).collect()
}

fn bad(path: &Path, why: &str) -> NotaryError {
    NotaryError::Key {
        name: path.display().to_string(),
        why: why.to_owned(),
    }
}

/// A name becomes a file name and stands in notes, where blanks and `+` separate.
fn check_name(name: &str) -> Result<(), NotaryError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if !name.is_empty() && name.len() <= 64 && name.bytes().all(plain) && !name.starts_with('.') {
        return Ok(());
    }
    let why = "a key's name has letters, digits, `-`, `_` and `.` only";
    Err(NotaryError::Key {
        name: name.to_owned(),
        why: why.to_owned(),
    })
}

#[cfg(unix)]
fn owner_only(path: &Path) -> Result<(), NotaryError> {
    use std::os::unix::fs::MetadataExt as _;
    let meta = fs::metadata(path).map_err(NotaryError::file("read", path))?;
    if meta.mode() & 0o777 & !0o700 == 0 {
        return Ok(());
    }
    Err(bad(
        path,
        "others than its owner can read it; set its mode to 0600",
    ))
}

#[cfg(not(unix))]
fn owner_only(_: &Path) -> Result<(), NotaryError> {
    Ok(())
}

/// Writes a file that only its owner can read (which is how temporary files are made).
fn write_private(path: &Path, bytes: &[u8], folder: &Path) -> Result<(), NotaryError> {
    let failed = NotaryError::file("write", path);
    let temporary = temporary(bytes, folder).map_err(&failed)?;
    temporary
        .persist(path)
        .map_err(|fault| failed(fault.error))?;
    sync(folder)
}

/// As [`write_private`], but leaves a file that is already there as it is; tells whether it wrote.
fn write_new(path: &Path, bytes: &[u8], folder: &Path) -> Result<bool, NotaryError> {
    let failed = NotaryError::file("write", path);
    let temporary = temporary(bytes, folder).map_err(&failed)?;
    match temporary.persist_noclobber(path) {
        Ok(_) => sync(folder).map(|()| true),
        Err(fault) if fault.error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(fault) => Err(failed(fault.error)),
    }
}

fn temporary(bytes: &[u8], folder: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    Ok(file)
}

fn sync(folder: &Path) -> Result<(), NotaryError> {
    File::open(folder)
        .and_then(|file| file.sync_all())
        .map_err(NotaryError::file("sync", folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_made_once_and_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let made = Signer::open(folder.path(), "k").unwrap();
        let again = Signer::open(folder.path(), "k").unwrap();
        assert_eq!(made.public(), again.public());
        assert_eq!(
            PublicKey::load(&folder.path().join("k.pub")).unwrap(),
            made.public()
        );
        for name in ["", "../k", "a b", "a+b", ".hidden"] {
            assert!(Signer::open(folder.path(), name).is_err(), "{name}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_key_that_others_can_read_is_refused() {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
        let folder = tempfile::tempdir().unwrap();
        Signer::open(folder.path(), "k").unwrap();
        let path = folder.path().join("k.key");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let fault = Signer::open(folder.path(), "k").unwrap_err().to_string();
        assert!(fault.ends_with("set its mode to 0600"), "{fault}");
    }

    #[test]
    fn public_keys_are_read_in_each_form() {
        let key = Signer::generate("k").unwrap().public();
        let check = |text: &[u8], expect: bool| {
            assert_eq!(PublicKey::parse(text) == Some(key), expect, "{text:?}");
        };
        check(key.bytes(), true);
        check(key.base64().as_bytes(), true);
        check(format!("{}\n", key.base64()).as_bytes(), true);
        check(key.pem().as_bytes(), true);
        check(b"", false);
        check(b"not a key", false);
        check(&key.base64().as_bytes()[1..], false);
    }

    #[test]
    fn a_new_key_is_vouched_for_by_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let old = Signer::open(folder.path(), "k").unwrap();
        let new = Signer::rotate(folder.path(), "k").unwrap();
        let read = Signer::open(folder.path(), "k").unwrap();
        assert_eq!(
            (read.public(), read.successions()),
            (new.public(), new.successions())
        );
        let [succession] = read.successions() else {
            panic!("{:?}", read.successions());
        };
        assert_eq!(
            (succession.old, succession.new),
            (old.public(), new.public())
        );
        assert!(succession.holds());
        let kept = format!("k-{}", short(&old.public()));
        let kept = Signer::open(folder.path(), &kept).unwrap();
        assert_eq!(kept.public(), old.public(), "the old key is kept");
        let mut forged = succession.clone();
        forged.new = Signer::generate("x").unwrap().public();
        assert!(!forged.holds());
    }

    #[test]
    fn every_replacement_of_a_key_is_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let mut keys = vec![Signer::open(folder.path(), "k").unwrap().public()];
        for _ in 0..STEPS + 2 {
            keys.push(Signer::rotate(folder.path(), "k").unwrap().public());
        }
        let read = Signer::open(folder.path(), "k").unwrap();
        let steps = read.successions();
        assert_eq!(steps.len(), STEPS);
        let known: Vec<_> = steps.iter().map(|step| (step.old, step.new)).collect();
        let pairs = keys.windows(2).map(|pair| (pair[0], pair[1]));
        assert_eq!(known, pairs.skip(2).collect::<Vec<_>>());
        assert!(steps.iter().all(Succession::holds));
    }

    #[test]
    fn keys_replaced_at_the_same_time_follow_one_another() {
        let folder = tempfile::tempdir().unwrap();
        let first = Signer::open(folder.path(), "k").unwrap().public();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| Signer::rotate(folder.path(), "k").unwrap());
            }
        });
        let last = Signer::open(folder.path(), "k").unwrap();
        let steps = last.successions();
        assert_eq!(steps.len(), 8);
        assert_eq!(steps[0].old, first);
        assert_eq!(steps[7].new, last.public());
        assert!(steps.iter().all(Succession::holds));
        assert!(steps.windows(2).all(|pair| pair[0].new == pair[1].old));
    }
}
