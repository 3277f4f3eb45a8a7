//! The API key: whoever shows it is the owner.
//!
//! It comes from the configuration, or from a file in the data folder that is made at the first
//! start. Agents have tokens instead; see `tokens`.

use std::fmt;
use std::path::Path;

use mcpproxy_core::Secret;

use crate::credential::{self, Digest};
use crate::error::Error;
use crate::file::{Content, PrivateFile};

/// The file in the data folder.
const FILE: &str = "api_key";
/// Far more than any key needs.
const FILE_LIMIT: usize = 4096;
/// By this, scanners know a key of ours.
const PREFIX: &str = "mcp_key_";
/// The fewest characters a key may have.
pub const SHORTEST_KEY: usize = 16;

/// The key that administers this installation.
pub struct ApiKey {
    secret: Secret,
    digest: Digest,
}

/// Where a key came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Created {
    /// It was made just now.
    New,
    /// It was there.
    Existing,
}

impl ApiKey {
    /// Reads the key in the data folder, or makes one where there is none.
    pub fn load_or_create(data_dir: &Path) -> Result<(Self, Created), Error> {
        let file = PrivateFile::new(data_dir, FILE, FILE_LIMIT);
        if let Some(key) = Self::parse(&file, file.read()?)? {
            return Ok((key, Created::Existing));
        }
        let writing = file.lock()?;
        // Another process may have been faster, and its key is the one that was shown.
        if let Some(key) = Self::parse(&file, file.read()?)? {
            return Ok((key, Created::Existing));
        }
        let secret = credential::make(PREFIX)?;
        writing.replace(format!("{}\n", secret.expose()).as_bytes())?;
        Ok((Self::from_secret(secret)?, Created::New))
    }

    /// Takes a key from the configuration.
    pub fn from_secret(secret: Secret) -> Result<Self, Error> {
        let key = secret.expose();
        let length = key.chars().count();
        if length < SHORTEST_KEY {
            return Err(Error::ShortKey { length });
        }
        if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Error::OddKey);
        }
        let digest = Digest::of(key.as_bytes());
        Ok(Self { secret, digest })
    }

    /// Says whether a caller presents this key, in a time that does not tell how nearly.
    pub fn matches(&self, presented: &[u8]) -> bool {
        Digest::of(presented).equals(&self.digest).into()
    }

    /// Returns the key, for a command that has to show it.
    pub fn secret(&self) -> &Secret {
        &self.secret
    }

    fn parse(file: &PrivateFile, content: Content) -> Result<Option<Self>, Error> {
        let Some(bytes) = content.bytes else {
            return Ok(None);
        };
        let text = String::from_utf8(bytes).map_err(|_| file.broken("it is not text"))?;
        let key = Self::from_secret(Secret::new(text.trim_ascii()));
        key.map(Some)
            .map_err(|error| file.broken(error.to_string()))
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ApiKey(***)")
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_key_is_made_once_and_kept_private() {
        let folder = tempfile::tempdir().unwrap();
        let (key, created) = ApiKey::load_or_create(folder.path()).unwrap();
        assert_eq!(created, Created::New);
        let text = key.secret().expose();
        assert!(
            text.starts_with("mcp_key_") && text.len() == 8 + 43,
            "{text}"
        );
        let file = folder.path().join("api_key");
        assert_eq!(
            fs::metadata(&file).unwrap().permissions().mode() & 0o7777,
            0o600
        );
        assert_eq!(fs::read_to_string(&file).unwrap(), format!("{text}\n"));
        let (again, created) = ApiKey::load_or_create(folder.path()).unwrap();
        assert_eq!((again.secret(), created), (key.secret(), Created::Existing));
        assert_eq!(format!("{key:?}"), "ApiKey(***)");
    }

    #[test]
    fn only_the_key_itself_matches() {
        let text = "mcp_key_0123456789abcdef";
        let key = ApiKey::from_secret(Secret::new(text)).unwrap();
        assert!(key.matches(text.as_bytes()));
        for length in 0..text.len() {
            assert!(!key.matches(&text.as_bytes()[..length]), "{length}");
            let mut wrong = text.as_bytes().to_vec();
            wrong[length] ^= 1;
            assert!(!key.matches(&wrong), "{length}");
        }
        for length in 0..300 {
            assert!(!key.matches(&vec![b'x'; length]), "{length}");
            let longer = [text.as_bytes(), &vec![b'x'; length + 1]].concat();
            assert!(!key.matches(&longer), "{length}");
        }
    }

    #[test]
    fn a_key_from_the_configuration_must_be_usable() {
        let check = |key: &str, expect: Result<(), &str>| {
            let result = ApiKey::from_secret(Secret::new(key));
            let result = result.map(|_| ()).map_err(|error| error.to_string());
            assert_eq!(result, expect.map_err(ToOwned::to_owned), "{key}");
        };
        check("0123456789abcdef", Ok(()));
        check(
            "0123456789abcde",
            Err("the API key has 15 characters and needs at least 16"),
        );
        check(
            "",
            Err("the API key has 0 characters and needs at least 16"),
        );
        let odd = "the API key contains a character other than printable ASCII";
        check("0123456789 abcdef", Err(odd));
        check("0123456789abcdef\n", Err(odd));
        check("0123456789abcdefé", Err(odd));
    }

    #[test]
    fn a_file_that_cannot_be_trusted_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("api_key");
        let check = |bytes: &[u8], mode: u32, expect: &str| {
            fs::write(&file, bytes).unwrap();
            fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
            let error = ApiKey::load_or_create(folder.path()).unwrap_err();
            let message = error.to_string().replace(&*file.to_string_lossy(), "FILE");
            assert_eq!(message, expect);
            assert!(error.remedy().unwrap().contains(&*file.to_string_lossy()));
            assert_eq!(fs::read(&file).unwrap(), bytes, "it is left as it was");
        };
        let good = b"mcp_key_0123456789abcdef\n";
        check(good, 0o644, "`FILE` is open to other users (mode 0644)");
        check(good, 0o640, "`FILE` is open to other users (mode 0640)");
        let short = "the API key has 0 characters and needs at least 16";
        check(b"", 0o600, &format!("cannot understand `FILE`: {short}"));
        check(b" \n", 0o600, &format!("cannot understand `FILE`: {short}"));
        check(
            b"\xff\xfe",
            0o600,
            "cannot understand `FILE`: it is not text",
        );
        check(
            &[b'x'; 5000],
            0o600,
            "`FILE` is larger than the 4096 bytes it may have",
        );
    }

    #[test]
    fn many_starts_at_once_make_one_key() {
        let folder = tempfile::tempdir().unwrap();
        let start = || ApiKey::load_or_create(folder.path()).unwrap();
        let keys: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(start)).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        assert!(
            keys.iter()
                .all(|(key, _)| key.secret() == keys[0].0.secret())
        );
        let made = keys
            .iter()
            .filter(|(_, created)| *created == Created::New)
            .count();
        assert_eq!(made, 1);
    }
}
