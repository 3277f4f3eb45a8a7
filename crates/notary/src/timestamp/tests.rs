//! Tokens of a local authority made with `openssl ts`, pinned and not.

use std::fs;

use super::authority::Authority;
use super::*;
use crate::sample::made;
use crate::verify::{Checks, Class, verify};

fn roots(authority: &Authority) -> Roots {
    Roots::load(&authority.root()).unwrap()
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
    assert!(check(&answer, &note, &roots(&authority)).is_ok());
    assert!(check(&answer, &note, &roots(&fake)).is_err());
    assert!(check(&answer, &note, &Roots::default()).is_err());
    assert!(check(&answer, b"another note", &roots(&authority)).is_err());
    attach(&made.path, &answer).unwrap();

    let judge = |roots: Roots| {
        let checks = Checks {
            time_roots: roots,
            ..made.checks()
        };
        verify(&made.path, &checks).unwrap()
    };
    let report = judge(roots(&authority));
    assert_eq!(report.class, Class::Pass, "{:?}", report.problems);
    assert!(report.stamped_at.is_some());
    let report = judge(roots(&fake));
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
    let time = check(&answer, &note, &roots(&authority)).unwrap();
    for at in (0..answer.len()).step_by(7) {
        let mut changed = answer.clone();
        changed[at] ^= 1;
        let judged = check(&changed, &note, &roots(&authority));
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
    let wrong = fs::read(other.root().with_file_name("tsa.pem")).unwrap();
    let Roots(wrong) = Roots::parse(&wrong);
    let certificate = CertificateDer::from(wrong[0].as_slice());
    let signer = EndEntityCert::try_from(&certificate).unwrap();
    let at = Duration::from_millis(token.time.0);
    assert!(!leads_to(&signer, &[], &roots(&other), at));
    assert!(check(&answer, &note, &roots(&other)).is_err());
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
