//! A local authority for timestamps, made with `openssl ts`; for tests, also for those of `assay`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

/// An authority of our own: a root and a certificate for timestamps.
pub(crate) struct Authority(TempDir);

const CONFIG: &str = "
[ca]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign
[tsa]
basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = critical,timeStamping
[other]
basicConstraints = critical,CA:FALSE
extendedKeyUsage = serverAuth
[ts]
default_tsa = local
[local]
serial = serial
default_policy = 1.2.3.4.1
digests = sha256
signer_digest = sha256
";

impl Authority {
    /// Makes one; nothing where there is no `openssl`.
    pub(crate) fn make(purpose: &str) -> Option<Self> {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("config"), CONFIG).unwrap();
        fs::write(folder.path().join("serial"), "01\n").unwrap();
        let authority = Self(folder);
        let sign = "req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 9000 \
                    -subj /CN=root -config config -extensions ca";
        if !Command::new("openssl")
            .arg("version")
            .output()
            .is_ok_and(|done| done.status.success())
        {
            return None;
        }
        fs::write(
            authority.0.path().join("config"),
            format!("[req]\ndistinguished_name = name\n[name]\n{CONFIG}"),
        )
        .unwrap();
        authority.openssl(sign);
        authority.openssl(
            "req -newkey rsa:2048 -nodes -keyout tsa.key -out tsa.csr -subj /CN=tsa -config config",
        );
        authority.openssl(&format!(
            "x509 -req -in tsa.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out tsa.pem -days 9000 \
             -extfile config -extensions {purpose}"
        ));
        Some(authority)
    }

    fn openssl(&self, arguments: &str) {
        let mut command = Command::new("openssl");
        command
            .args(arguments.split_whitespace())
            .current_dir(self.0.path());
        let output = command.output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    pub(crate) fn stamp(&self, request: &[u8]) -> Vec<u8> {
        fs::write(self.0.path().join("request"), request).unwrap();
        self.openssl(
            "ts -reply -queryfile request -config config -section local -signer tsa.pem \
             -inkey tsa.key -out answer",
        );
        fs::read(self.0.path().join("answer")).unwrap()
    }

    /// Returns the file of the certificate that is to be pinned.
    pub(crate) fn root(&self) -> PathBuf {
        self.0.path().join("ca.pem")
    }
}
