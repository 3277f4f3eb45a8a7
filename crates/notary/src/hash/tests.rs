//! Canonical forms, their faults, and digests by name.

use super::*;

fn canon(text: &str) -> Result<String, Fault> {
    // Every cut into chunks must give the same.
    let whole = canonical(text.as_bytes(), Numbers::Rfc8785);
    for size in [1, 2, 3, 7] {
        let mut canon = Canon::new(Numbers::Rfc8785, Limits::default(), None);
        let mut bytes = Vec::new();
        let pushed = text
            .as_bytes()
            .chunks(size)
            .try_for_each(|chunk| canon.push(chunk));
        let cut = pushed
            .and_then(|()| canon.finish(&mut |part| bytes.extend_from_slice(part)))
            .map(|()| bytes);
        assert_eq!(cut.is_ok(), whole.is_ok(), "{text} in chunks of {size}");
        if let (Ok(cut), Ok(whole)) = (&cut, &whole) {
            assert_eq!(cut, whole, "{text} in chunks of {size}");
        }
    }
    whole.map(|bytes| String::from_utf8(bytes).unwrap())
}

#[test]
fn texts_take_their_canonical_form() {
    let check = |text: &str, expect: &str| assert_eq!(canon(text).as_deref(), Ok(expect), "{text}");
    check(" { } ", "{}");
    check("[ ]", "[]");
    check("[1 , [2.50,{}] ,\"x\" ]", r#"[1,[2.5,{}],"x"]"#);
    check(
        r#"{"b":1,"a":{"d":null,"c":true}}"#,
        r#"{"a":{"c":true,"d":null},"b":1}"#,
    );
    check(
        r#""\u0041\/\u001f\u007f\t\u00e9\ud83d\ude00""#,
        "\"A/\\u001f\u{7f}\\té😀\"",
    );
    check("\"é\u{2028}\"", "\"é\u{2028}\"");
    // RFC 8785, section 3.2.3: by UTF-16 units, where an emoji sorts before U+FB33.
    check(
        "{\"\\u20ac\":1,\"\\r\":2,\"\\ufb33\":3,\"1\":4,\"\\ud83d\\ude00\":5,\"\\u0080\":6,\"\\u00f6\":7}",
        "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\u{fb33}\":3}",
    );
    check("12", "12");
}

#[test]
fn what_is_not_strict_json_is_a_fault() {
    for text in [
        "",
        "{",
        "[1,]",
        "{\"a\":1,}",
        "{\"a\" 1}",
        "01",
        "1.",
        "+1",
        "tru",
        "nulll",
        "\"\\x\"",
        "\"\\ud800\"",
        "\"\\ud800a\"",
        "\"\\ude00\"",
        "\"\\ud800\\n\"",
        "\"a\nb\"",
        "{\"a\":1,\"\\u0061\":2}",
        "1 2",
        "]",
        "{]",
        "[}",
        "1e999",
        "NaN",
        "'a'",
    ] {
        assert!(canon(text).is_err(), "{text}");
    }
    let raw = |bytes: &[u8]| digest(bytes, None).kind;
    assert_eq!(raw(b"\"\xff\""), Kind::Raw);
    assert_eq!(raw(b"\"\xc3\""), Kind::Raw);
    assert_eq!(raw("[".repeat(200).as_bytes()), Kind::Raw);
    assert_eq!(raw(b"{}"), Kind::Canonical);
}

#[test]
fn digests_name_their_kind() {
    let check =
        |text: &str, expect: &str| assert_eq!(digest(text.as_bytes(), None).to_string(), expect);
    check(
        "{}",
        "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
    );
    check(
        " { }",
        "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
    );
    let keyed = digest(b"{}", Some(&Pepper::new("k"))).to_string();
    assert!(
        keyed.starts_with("hmac-sha256:") && !keyed.contains("44136fa3"),
        "{keyed}"
    );
    let raw = digest(b"{", Some(&Pepper::new("k"))).to_string();
    assert!(raw.starts_with("raw-hmac-sha256:"), "{raw}");
}

#[test]
fn long_values_go_to_the_file_and_hash_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let long = "x\\u00e9".repeat(200_000);
    let text = format!(
        "{{\"z\":\"{long}\",\"list\":[{}0],\"a\":{{\"y\":\"{long}\",\"b\":1}}}}",
        "123456,".repeat(100_000)
    );
    let limits = Limits {
        memory: 1 << 20,
        ..Limits::default()
    };
    let run = |folder: Option<&Path>| {
        let mut hasher = Hasher::new(None, limits, folder);
        text.as_bytes()
            .chunks(10_000)
            .for_each(|chunk| hasher.push(chunk));
        hasher.finish()
    };
    let (spilled, fault) = run(Some(folder.path()));
    assert_eq!((spilled, fault), (digest(text.as_bytes(), None), None));
    let (digest, fault) = run(None);
    assert_eq!((digest.kind, fault), (Kind::Raw, Some(Fault::Memory)));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn memory_is_bounded_by_what_is_open_not_by_what_was() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits {
        memory: 256 << 10,
        ..Limits::default()
    };
    let check = |text: &str, expect: Option<Fault>| {
        let mut hasher = Hasher::new(None, limits, Some(folder.path()));
        hasher.push(text.as_bytes());
        let (found, fault) = hasher.finish();
        assert_eq!(fault, expect);
        assert_eq!(found == digest(text.as_bytes(), None), expect.is_none());
    };
    check(
        &format!("[{}0]", "[1,{\"key\":2,\"a\":{}}],".repeat(50_000)),
        None,
    );
    let wide: Vec<String> = (0..5_000).map(|key| format!("\"{key}\":1,")).collect();
    let wide = wide.concat();
    check(&format!("{{{wide}\"z\":0}}"), Some(Fault::Memory));
}

#[test]
fn hexadecimal_reads_back() {
    let bytes = sha256(b"x");
    assert_eq!(unhex(&hex(&bytes)), Some(bytes));
    assert_eq!(unhex("zz"), None);
    assert_eq!(unhex(&hex(&bytes).to_uppercase()), None);
}
