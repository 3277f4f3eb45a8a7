//! Secrets that other services gave us, in one encrypted file of the data folder.
//!
//! The key lies in a file of its own, so that a copy of one file alone says nothing: a backup, a
//! synchronized folder, a support bundle. Whoever can read the user's files as the user can read
//! both. What a secret means is for those who keep it here.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use mcpproxy_core::Secret;

use crate::error::Error;
use crate::file::PrivateFile;

/// The files in the data folder.
const FILE: &str = "vault";
const KEY_FILE: &str = "vault.key";
const FILE_LIMIT: usize = 4 * 1024 * 1024;
const KEY_LIMIT: usize = 4096;
/// The length of a nonce.
const NONCE: usize = 24;
/// Says what is encrypted, and in which form, to whoever opens it.
const FORM: &[u8] = b"mcpproxy vault 1";

/// The encrypted file.
pub struct Vault {
    file: PrivateFile,
    key: PrivateFile,
}

impl fmt::Debug for Vault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Vault(***)")
    }
}

impl Vault {
    /// Names the vault of a data folder; nothing is read or made yet.
    pub fn new(data_dir: &Path) -> Self {
        Self {
            file: PrivateFile::new(data_dir, FILE, FILE_LIMIT),
            key: PrivateFile::new(data_dir, KEY_FILE, KEY_LIMIT),
        }
    }

    /// Returns the secret of a name.
    pub fn get(&self, name: &str) -> Result<Option<Secret>, Error> {
        let found = self.read()?.remove(name);
        Ok(found.map(Secret::new))
    }

    /// Keeps a secret under a name, in place of the one before; nothing removes it.
    pub fn put(&self, name: &str, secret: Option<&Secret>) -> Result<(), Error> {
        // Made before the file is locked: both wait for the same lock.
        let cipher = self.cipher(Missing::Make)?;
        let writing = self.file.lock()?;
        let mut all = self.read()?;
        match secret {
            Some(secret) => drop(all.insert(name.to_owned(), secret.expose().to_owned())),
            None if all.remove(name).is_none() => return Ok(()),
            None => {}
        }
        let plain = serde_json::to_vec(&all).map_err(|why| self.file.broken(why.to_string()))?;
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce).map_err(Error::Random)?;
        let sealed = Payload {
            msg: &plain,
            aad: FORM,
        };
        let sealed = cipher.encrypt(&XNonce::from(nonce), sealed);
        let sealed = sealed.map_err(|_| self.file.broken("it cannot be encrypted"))?;
        writing.replace(&[nonce.as_slice(), &sealed].concat())
    }

    fn read(&self) -> Result<BTreeMap<String, String>, Error> {
        let Some(bytes) = self.file.read()?.bytes else {
            return Ok(BTreeMap::new());
        };
        let closed = || self.file.broken("it does not open with its key");
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE>().ok_or_else(closed)?;
        let sealed = Payload {
            msg: sealed,
            aad: FORM,
        };
        let cipher = self.cipher(Missing::Refuse)?;
        let plain = cipher.decrypt(&XNonce::from(*nonce), sealed);
        let plain = plain.map_err(|_| closed())?;
        serde_json::from_slice(&plain).map_err(|_| closed())
    }

    fn cipher(&self, missing: Missing) -> Result<XChaCha20Poly1305, Error> {
        if let Some(cipher) = self.known_cipher()? {
            return Ok(cipher);
        }
        match missing {
            Missing::Refuse => Err(self.key.broken("it is not there, and the vault is")),
            Missing::Make => self.new_cipher(),
        }
    }

    fn known_cipher(&self) -> Result<Option<XChaCha20Poly1305>, Error> {
        let Some(bytes) = self.key.read()?.bytes else {
            return Ok(None);
        };
        let key = URL_SAFE_NO_PAD.decode(bytes.trim_ascii()).ok();
        let key = key.and_then(|key| <[u8; 32]>::try_from(key).ok());
        let key = key.ok_or_else(|| self.key.broken("it is not a key of ours"))?;
        Ok(Some(XChaCha20Poly1305::new(&Key::from(key))))
    }

    fn new_cipher(&self) -> Result<XChaCha20Poly1305, Error> {
        let writing = self.key.lock()?;
        // Another process may have been faster.
        if let Some(cipher) = self.known_cipher()? {
            return Ok(cipher);
        }
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(Error::Random)?;
        writing.replace(format!("{}\n", URL_SAFE_NO_PAD.encode(key)).as_bytes())?;
        Ok(XChaCha20Poly1305::new(&Key::from(key)))
    }
}

/// What is done where there is no key.
#[derive(Clone, Copy)]
enum Missing {
    Make,
    Refuse,
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn kept(word: &str) -> (tempfile::TempDir, Vault) {
        let folder = tempfile::tempdir().unwrap();
        let vault = Vault::new(folder.path());
        vault.put("a", Some(&Secret::new(word))).unwrap();
        (folder, vault)
    }

    #[test]
    fn what_is_kept_is_found_again_and_can_be_removed() {
        let (folder, vault) = kept("one");
        vault.put("b", Some(&Secret::new("two"))).unwrap();
        let again = Vault::new(folder.path());
        let check = |name: &str, expect: Option<&str>| {
            let found = again.get(name).unwrap();
            assert_eq!(found.as_ref().map(Secret::expose), expect, "{name}");
        };
        check("a", Some("one"));
        check("b", Some("two"));
        check("c", None);
        vault.put("a", None).unwrap();
        check("a", None);
        check("b", Some("two"));
    }

    #[test]
    fn neither_file_shows_a_secret_or_is_open_to_others() {
        let word = ["made", "-up-", "token"].concat();
        let (folder, vault) = kept(&word);
        for name in [FILE, KEY_FILE] {
            let path = folder.path().join(name);
            let bytes = fs::read(&path).unwrap();
            let shown = bytes.windows(4).any(|part| part == b"made");
            assert!(!shown, "{name}");
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o7777, 0o600, "{name}");
        }
        assert_eq!(format!("{vault:?}"), "Vault(***)");
    }

    #[test]
    fn a_changed_file_or_another_key_opens_nothing() {
        let (folder, vault) = kept("one");
        let path = folder.path().join(FILE);
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            fs::write(&path, &changed).unwrap();
            assert!(vault.get("a").is_err(), "byte {at}");
            assert!(vault.put("b", None).is_err(), "byte {at}");
        }
        fs::write(&path, &whole).unwrap();
        assert!(vault.get("a").unwrap().is_some());
        let (other, _) = kept("two");
        fs::copy(other.path().join(KEY_FILE), folder.path().join(KEY_FILE)).unwrap();
        assert!(vault.get("a").is_err());
        fs::remove_file(folder.path().join(KEY_FILE)).unwrap();
        assert!(vault.get("a").is_err());
    }

    #[test]
    fn many_writers_lose_nothing() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for name in ["a", "b", "c", "d"] {
                let vault = Vault::new(folder.path());
                let put = move || vault.put(name, Some(&Secret::new(name))).unwrap();
                scope.spawn(put);
            }
        });
        let vault = Vault::new(folder.path());
        for name in ["a", "b", "c", "d"] {
            assert!(vault.get(name).unwrap().is_some(), "{name}");
        }
    }
}
