//! Tokens of a local authority made with `openssl ts`, pinned and not.

use std::fs;
use std::process::Command;

use tempfile::TempDir;

use super::*;
use crate::sample::made;
use crate::verify::{Checks, Class, verify};

/// An authority of our own: a root and a certificate for timestamps.
struct Authority(TempDir);

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
    fn make(purpose: &str) -> Option<Self> {
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

    fn stamp(&self, request: &[u8]) -> Vec<u8> {
        fs::write(self.0.path().join("request"), request).unwrap();
        self.openssl(
            "ts -reply -queryfile request -config config -section local -signer tsa.pem \
             -inkey tsa.key -out answer",
        );
        fs::read(self.0.path().join("answer")).unwrap()
    }

    fn roots(&self) -> Roots {
        Roots::load(&self.0.path().join("ca.pem")).unwrap()
    }
}

/// PEERS, notary 13: a fake authority must not pass.
#[test]
fn a_timestamp_is_believed_only_under_a_pinned_root() {
    let (Some(authority), Some(fake)) = (Authority::make("tsa"), Authority::make("tsa")) else {
        return;
    };
    let made = made();
    let note = fs::read(made.path.join(CHECKPOINT)).unwrap();
    let answer = authority.stamp(&request(&made.path).unwrap());
    assert!(check(&answer, &note, &authority.roots()).is_ok());
    assert!(check(&answer, &note, &fake.roots()).is_err());
    assert!(check(&answer, &note, &Roots::default()).is_err());
    assert!(check(&answer, b"another note", &authority.roots()).is_err());
    attach(&made.path, &answer).unwrap();

    let judge = |roots: Roots| {
        let checks = Checks {
            time_roots: roots,
            ..made.checks()
        };
        verify(&made.path, &checks).unwrap()
    };
    let report = judge(authority.roots());
    assert_eq!(report.class, Class::Pass, "{:?}", report.problems);
    assert!(report.stamped_at.is_some());
    let report = judge(fake.roots());
    assert_eq!(report.problems[0].code.name(), "E_TIME_AUTHORITY");
    let report = judge(Roots::default());
    assert_eq!(
        (report.class, report.stamped_at, report.warnings.len()),
        (Class::Pass, None, 1)
    );
}

#[test]
fn a_changed_timestamp_does_not_hold() {
    let Some(authority) = Authority::make("tsa") else {
        return;
    };
    let made = made();
    let note = fs::read(made.path.join(CHECKPOINT)).unwrap();
    let answer = authority.stamp(&request(&made.path).unwrap());
    let time = check(&answer, &note, &authority.roots()).unwrap();
    for at in (0..answer.len()).step_by(7) {
        let mut changed = answer.clone();
        changed[at] ^= 1;
        let judged = check(&changed, &note, &authority.roots());
        assert!(judged.is_err() || judged == Ok(time), "byte {at}");
    }
    assert!(attach(&made.path, &answer[1..]).is_err());
}

#[test]
fn a_certificate_for_another_purpose_cannot_stamp() {
    let Some(authority) = Authority::make("tsa") else {
        return;
    };
    let made = made();
    let note = fs::read(made.path.join(CHECKPOINT)).unwrap();
    let answer = authority.stamp(&request(&made.path).unwrap());
    let token = Token::parse(&answer).unwrap();
    let other = Authority::make("other").unwrap();
    let wrong = fs::read(other.0.path().join("tsa.pem")).unwrap();
    let Roots(wrong) = Roots::parse(&wrong);
    let certificate = CertificateDer::from(wrong[0].as_slice());
    let signer = EndEntityCert::try_from(&certificate).unwrap();
    let at = Duration::from_millis(token.time.0);
    assert!(!leads_to(&signer, &[], &other.roots(), at));
    assert!(check(&answer, &note, &other.roots()).is_err());
}

#[test]
fn times_are_read_as_der_spells_them() {
    let check = |text: &str, expect: Option<&str>| {
        assert_eq!(
            general_time(text).map(Wall::rfc3339).as_deref(),
            expect,
            "{text}"
        );
    };
    check("20261115221807Z", Some("2026-11-15T22:18:07.000Z"));
    check("20261115221807.25Z", Some("2026-11-15T22:18:07.250Z"));
    for wrong in [
        "",
        "Z",
        "2026111522Z",
        "20261115221807",
        "20261315221807Z",
        "2026111522180éZ",
    ] {
        check(wrong, None);
    }
}
