//! What certificates say, and which files can be used.

use mcpproxy_core::PrincipalKind;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair,
    SanType, date_time_ymd,
};
use tempfile::TempDir;

use super::*;

fn params(subject: &[(DnType, &str)], names: Vec<SanType>) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    for (kind, value) in subject {
        params.distinguished_name.push(kind.clone(), *value);
    }
    params.subject_alt_names = names;
    params.not_after = date_time_ymd(2040, 1, 2);
    params
}

/// An authority's name and everything that it signs.
fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = params(&[(DnType::CommonName, "Machines")], Vec::new());
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

fn issued(params: &CertificateParams) -> Vec<u8> {
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, &authority()).unwrap();
    certificate.der().to_vec()
}

fn name(kind: fn(rcgen::string::Ia5String) -> SanType, text: &str) -> SanType {
    kind(text.try_into().unwrap())
}

#[test]
fn a_certificate_names_its_holder_with_roles_and_attributes() {
    let subject = [
        (DnType::CommonName, "ci"),
        (DnType::OrganizationName, "Example"),
        (DnType::OrganizationalUnitName, "deployers"),
    ];
    let der = issued(&params(&subject, Vec::new()));
    let shown = Shown::read(&der, NamedBy::CommonName);
    let who = shown.holder.unwrap();
    assert_eq!(who.kind, PrincipalKind::Certificate);
    assert_eq!(&*who.name, "certificate:ci");
    let claims = who.claims.unwrap();
    assert_eq!(claims.subject, "ci");
    assert_eq!(claims.roles, ["deployers"]);
    let value = |name: &str| {
        let mut found = claims.attributes.iter().filter(|(known, _)| known == name);
        found.next().map(|(_, value)| value.as_str())
    };
    assert_eq!(value("organization"), Some("Example"));
    assert_eq!(value("issuer"), Some("Machines"));
    assert!(
        value("serial").is_some_and(|serial| serial.bytes().all(|one| one.is_ascii_hexdigit()))
    );
    assert_eq!(claims.until.unwrap().rfc3339(), "2040-01-02T00:00:00.000Z");
    assert_eq!(shown.thumbprint.len(), 43);
    let other = Shown::read(&issued(&params(&subject, Vec::new())), NamedBy::CommonName);
    assert_ne!(other.thumbprint, shown.thumbprint);
}

#[test]
fn exactly_one_name_of_the_kind_that_counts_is_a_name() {
    let check = |by: NamedBy, names: Vec<SanType>, expect: Option<&str>| {
        let subject = [(DnType::CommonName, "common")];
        let shown = Shown::read(&issued(&params(&subject, names)), by);
        let found = shown.holder.ok().map(|who| who.name.to_string());
        let expect = expect.map(|name| format!("certificate:{name}"));
        assert_eq!(found, expect, "{by:?}");
    };
    let dns = |text: &str| name(SanType::DnsName, text);
    let uri = |text: &str| name(SanType::URI, text);
    let mail = |text: &str| name(SanType::Rfc822Name, text);
    check(
        NamedBy::CommonName,
        vec![dns("host.example")],
        Some("common"),
    );
    check(
        NamedBy::Dns,
        vec![dns("host.example")],
        Some("host.example"),
    );
    check(NamedBy::Dns, vec![], None);
    check(NamedBy::Dns, vec![uri("spiffe://example/ci")], None);
    check(NamedBy::Dns, vec![dns("a.example"), dns("b.example")], None);
    check(NamedBy::Dns, vec![dns("*.example")], None);
    let both = vec![dns("host.example"), uri("spiffe://example/ci")];
    check(NamedBy::Uri, both, Some("spiffe://example/ci"));
    check(
        NamedBy::Email,
        vec![mail("ada@example.com")],
        Some("ada@example.com"),
    );
    let long = "x".repeat(300);
    check(NamedBy::Uri, vec![uri(&format!("spiffe://{long}"))], None);
}

#[test]
fn what_cannot_be_written_down_is_no_name() {
    let check = |subject: &[(DnType, &str)], expect: &str| {
        let shown = Shown::read(&issued(&params(subject, Vec::new())), NamedBy::CommonName);
        let why = shown.holder.unwrap_err();
        assert!(why.contains(expect), "{why}");
    };
    check(&[], "exactly one name");
    check(&[(DnType::CommonName, "a\nb")], "exactly one name");
    let units = [
        (DnType::CommonName, "ci"),
        (DnType::OrganizationalUnitName, "a\u{7}"),
    ];
    check(&units, "organizational units");
    let garbage = Shown::read(b"no certificate", NamedBy::CommonName);
    assert!(garbage.holder.is_err());
}

#[test]
fn a_file_that_cannot_be_used_is_named() {
    let folder = TempDir::new().unwrap();
    let file = |name: &str| folder.path().join(name);
    let key = KeyPair::generate().unwrap();
    let issuer = authority();
    let subject = [(DnType::CommonName, "gateway")];
    let certificate = params(&subject, Vec::new())
        .signed_by(&key, &issuer)
        .unwrap();
    let write = |name: &str, text: &str| std::fs::write(file(name), text).unwrap();
    write("own.pem", &certificate.pem());
    write("key.pem", &key.serialize_pem());
    write("other.pem", &KeyPair::generate().unwrap().serialize_pem());
    write("roots.pem", &issuer.pem());
    write("empty.pem", "");
    write("large.pem", &"-".repeat(1024 * 1024 + 1));
    let check = |own: &str, key: &str, roots: Option<&str>, expect: Option<&str>| {
        let settings = TlsSettings {
            certificate: file(own),
            key: file(key),
            callers: roots.map(|roots| CallerSettings {
                roots: file(roots),
                required: true,
                named_by: NamedBy::CommonName,
            }),
        };
        let found = Tls::read(&settings).err().map(|fault| fault.to_string());
        match (&found, expect) {
            (None, None) => {}
            (Some(found), Some(expect)) => assert!(found.contains(expect), "{found}"),
            _ => panic!("{found:?} is not {expect:?}"),
        }
    };
    check("own.pem", "key.pem", None, None);
    check("own.pem", "key.pem", Some("roots.pem"), None);
    check("nowhere.pem", "key.pem", None, Some("nowhere.pem"));
    check("empty.pem", "key.pem", None, Some("holds no certificate"));
    check("large.pem", "key.pem", None, Some("larger than 1 MiB"));
    check("own.pem", "empty.pem", None, Some("empty.pem"));
    check("own.pem", "other.pem", None, Some("own.pem"));
    check("own.pem", "key.pem", Some("empty.pem"), Some("empty.pem"));
}
