//! Every spelling leads to the host that a fetcher would reach.

use proptest::prelude::*;

use super::*;

#[test]
fn urls_are_found_with_their_parts() {
    let check = |text: &str, expect: &[&str]| {
        let found: Vec<_> = urls(text)
            .into_iter()
            .map(|url| text.get(url.span).unwrap())
            .collect();
        assert_eq!(found, expect, "{text}");
    };
    check(
        "see https://a.example/x?y=1#z.",
        &["https://a.example/x?y=1#z"],
    );
    check(
        "(https://a.example/x_(y)) [b](https://b.example)",
        &["https://a.example/x_(y))", "https://b.example"],
    );
    check(
        "\"https://a.example\", 'http://b.example'",
        &["https://a.example", "http://b.example"],
    );
    check(
        "https://a.example/?u=http://b.example/c",
        &[
            "https://a.example/?u=http://b.example/c",
            "http://b.example/c",
        ],
    );
    check(
        "postgres://u:p@db:5432/x and 12:30 or C:/x or a::b",
        &["postgres://u:p@db:5432/x"],
    );
    check(
        "https:/a.example https:\\\\b.example",
        &["https:/a.example", "https:\\\\b.example"],
    );
    check("http:// https://", &[]);
    let url = parse("HTTPS://user:pw@Host.Example.COM:8443/a/b?c=d#e").unwrap();
    assert_eq!(url.userinfo, Some("user:pw"));
    assert_eq!(
        (url.host, url.port),
        (Host::Name("host.example.com".to_owned()), Some(8443))
    );
    assert_eq!(
        (url.path, url.query, url.fragment),
        ("/a/b", Some("c=d"), Some("e"))
    );
}

#[test]
fn addresses_are_read_in_every_spelling() {
    let check = |host: &str, expect: &str, reach: Reach| {
        let read = Host::read(host).unwrap();
        let shown = match &read {
            Host::Ip(address) => address.to_string(),
            Host::Name(name) => name.clone(),
        };
        assert_eq!((shown.as_str(), read.reach()), (expect, reach), "{host}");
    };
    for host in [
        "127.0.0.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.1",
        "0x7f.1",
        "127.0.0.1.",
        "１２７.0.0.1",
        "127。0。0。1",
        "%31%32%37.0.0.1",
    ] {
        check(host, "127.0.0.1", Reach::Loopback);
    }
    check("0", "0.0.0.0", Reach::Loopback);
    check("[::1]", "::1", Reach::Loopback);
    check(
        "[::ffff:169.254.169.254]",
        "::ffff:169.254.169.254",
        Reach::Metadata,
    );
    check("[64:ff9b::a00:1]", "64:ff9b::a00:1", Reach::Private);
    check("[2002:7f00:1::]", "2002:7f00:1::", Reach::Loopback);
    check("[fe80::1%25eth0]", "fe80::1", Reach::LinkLocal);
    check("[fd00:ec2::254]", "fd00:ec2::254", Reach::Metadata);
    check("[fc00::1]", "fc00::1", Reach::Private);
    check("[fec0::1]", "fec0::1", Reach::Private);
    check(
        "[64:ff9b:1::808:808]",
        "64:ff9b:1::808:808",
        Reach::Reserved,
    );
    check("[100::1]", "100::1", Reach::Reserved);
    check("[3fff::1]", "3fff::1", Reach::Reserved);
    check("[3fff:1000::1]", "3fff:1000::1", Reach::Public);
    check("[4000::1]", "4000::1", Reach::Reserved);
    check("[2606:4700::1]", "2606:4700::1", Reach::Public);
    check("169.254.169.254", "169.254.169.254", Reach::Metadata);
    check("2852039166", "169.254.169.254", Reach::Metadata);
    check("169.254.1.1", "169.254.1.1", Reach::LinkLocal);
    check("10.1.2.3", "10.1.2.3", Reach::Private);
    check("172.32.0.1", "172.32.0.1", Reach::Public);
    check("100.64.0.1", "100.64.0.1", Reach::Private);
    check("224.0.0.1", "224.0.0.1", Reach::Reserved);
    check("8.8.8.8", "8.8.8.8", Reach::Public);
    check("localhost", "localhost", Reach::Loopback);
    check("app.localhost", "app.localhost", Reach::Loopback);
    check("notlocalhost.com", "notlocalhost.com", Reach::Public);
    check("db", "db", Reach::Private);
    check("git.corp", "git.corp", Reach::Private);
    check(
        "metadata.google.internal",
        "metadata.google.internal",
        Reach::Metadata,
    );
    check("10.0.0.1.nip.io", "10.0.0.1.nip.io", Reach::Private);
    check(
        "app-169-254-169-254.sslip.io",
        "app-169-254-169-254.sslip.io",
        Reach::Metadata,
    );
    check("Bücher.example", "xn--bcher-kva.example", Reach::Public);
    for host in [
        "",
        ".",
        "256.256.256.256",
        "1.2.3.4.5",
        "a b",
        "[::1",
        "0x100000000",
        "99999999999",
    ] {
        assert_eq!(Host::read(host), None, "{host}");
    }
}

#[test]
fn numbers_are_read_in_base_ten_too() {
    let check = |text: &str, expect: Option<&str>| {
        let found = Host::read_decimal(text).map(|host| host.unicode().into_owned());
        assert_eq!(found.as_deref(), expect, "{text}");
    };
    check("010.0.0.1", Some("10.0.0.1"));
    check("0127.1", Some("127.0.0.1"));
    check("02130706433", Some("127.0.0.1"));
    check("8.8.8.8", Some("8.8.8.8"));
    check("0x7f.1", None);
    check("0300.0.0.1", None);
    check("+1.2.3.4", None);
    check("example.com", None);
    check("", None);
}

#[test]
fn the_registered_domain_is_known() {
    let check = |host: &str, domain: Option<&str>, below: Option<&str>| {
        let host = Host::read(host).unwrap();
        assert_eq!((host.registrable(), host.below()), (domain, below));
    };
    check("a.b.example.co.uk", Some("example.co.uk"), Some("a.b"));
    check("example.com", Some("example.com"), None);
    check("x.ann.github.io", Some("ann.github.io"), Some("x"));
    check("co.uk", None, None);
    check("10.0.0.1", None, None);
    let host = Host::read("xn--80ak6aa92e.com").unwrap();
    assert_eq!(host.unicode(), "аррӏе.com");
    assert!(host.is_within("com") && !host.is_within("e.com"));
}

#[test]
fn tricks_are_seen() {
    let check = |text: &str, host: &str, expect: &[Trick]| {
        let url = parse(text).unwrap();
        assert_eq!(
            (url.host.unicode().as_ref(), url.tricks().as_slice()),
            (host, expect),
            "{text}"
        );
    };
    check("https://good.example/x", "good.example", &[]);
    check("https://user:pw@good.example/", "good.example", &[]);
    check(
        "https://good.example@evil.example/",
        "evil.example",
        &[Trick::HostBeforeAt],
    );
    check(
        "https://evil.example\\@good.example/",
        "evil.example",
        &[Trick::Backslash],
    );
    check("https://evil.example#@good.example/", "evil.example", &[]);
    check("http://0x7f.1/", "127.0.0.1", &[Trick::OddAddress]);
    check(
        "http://[::ffff:10.0.0.1]/",
        "::ffff:10.0.0.1",
        &[Trick::OddAddress],
    );
    check("http://127.0.0.1:80/", "127.0.0.1", &[]);
    check("https://аррӏе.com/", "аррӏе.com", &[Trick::International]);
    check(
        "https://evil%2Eexample/",
        "evil.example",
        &[Trick::EncodedHost],
    );
    check(
        "https://evil。example/",
        "evil.example",
        &[Trick::EncodedHost],
    );
    check(
        "http://10.0.0.1.nip.io/",
        "10.0.0.1.nip.io",
        &[Trick::WildcardDns],
    );
}

#[test]
fn data_on_its_way_out_is_seen() {
    let check = |text: &str, expect: &[(Part, usize)]| {
        let url = parse(text).unwrap();
        let found: Vec<_> = carried(&url)
            .iter()
            .map(|carried| (carried.part, carried.length))
            .collect();
        assert_eq!(found, expect, "{text}");
    };
    check(
        "https://docs.example.com/how-to-write-good-documentation-in-2024?page=2&lang=en#install",
        &[],
    );
    check(
        "https://a.example.com/?d=c2VjcmV0IHZhbHVlIDEyMzQ1Njc4OTA",
        &[(Part::Query, 31)],
    );
    check(
        "https://a.example.com/4f8a1c9e2b7d6035aa11bb22cc33dd44/x",
        &[(Part::Path, 32)],
    );
    check(
        "https://nbswy3dpeb3w64tmmqqhi2dfebyxk2ld.a.example.com/",
        &[(Part::Labels, 32)],
    );
    let labels = ["abcdefgh"; 8].join(".");
    check(
        &format!("https://{labels}.example.com/"),
        &[(Part::Labels, 71)],
    );
    check(
        &format!("https://a.example.com/?q={}", "word+".repeat(30)),
        &[(Part::Query, 150)],
    );
}

#[test]
fn finding_stays_linear() {
    for unit in ["http://", "http://a/", "a:/", ":", "://", "http:////"] {
        let text = unit.repeat(60_000 / unit.len());
        let covered: usize = urls(&text).iter().map(|url| url.span.len()).sum();
        assert!(covered <= text.len() * (NESTED + 2), "{unit}");
    }
}

proptest! {
    #[test]
    fn any_text_is_survived(text in r"([a-z0-9:/\\@.?#%\[\]() é。]|http|://|xn--|0x){0,80}") {
        for url in urls(&text) {
            prop_assert!(text.get(url.span.clone()).is_some());
            drop((url.tricks(), url.host.reach(), url.host.unicode().len(), carried(&url).len()));
        }
        drop(crate::path::normal(&text));
    }

    #[test]
    fn every_number_is_an_address(address in any::<u32>()) {
        let expect = Some(Host::Ip(std::net::Ipv4Addr::from(address).into()));
        prop_assert_eq!(Host::read(&address.to_string()), expect.clone());
        prop_assert_eq!(Host::read(&format!("0x{address:x}")), expect.clone());
        prop_assert_eq!(Host::read(&format!("0{address:o}")), expect.clone());
        prop_assert_eq!(Host::read(&format!("{}.{}", address >> 24, address & 0xFF_FFFF)), expect);
    }
}
