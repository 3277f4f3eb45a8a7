//! Tables over the strict pass, and a comparison with an independent parser.

use proptest::prelude::*;

use super::*;

fn verdict(text: &[u8]) -> String {
    match check(text, Limits { depth: 4 }) {
        Ok(_) => "fine".into(),
        Err(fault) => fault.to_string(),
    }
}

#[test]
fn well_formed_texts_pass() {
    for text in [
        "{}",
        "[]",
        "null",
        "true",
        " false ",
        "0",
        "-0",
        "-0.5e+10",
        "1E400",
        r#""""#,
        r#"{"a":[1,2,{"b":null}]}"#,
        r#""é😀""#,
        "\"\u{2028}\"",
        "[ 1 , 2 ]",
        r#"{"a":1,"A":2}"#,
        "123456789012345678901234567890",
    ] {
        assert_eq!(verdict(text.as_bytes()), "fine", "{text}");
    }
}

#[test]
fn broken_texts_are_refused_with_a_place() {
    let check = |text: &str, expect: &str| assert_eq!(verdict(text.as_bytes()), expect, "{text}");
    check("", "invalid JSON: expected a value at byte 0");
    check("{", "invalid JSON: expected a key in quotes at byte 1");
    check("[1,]", "invalid JSON: expected a value at byte 3");
    check(
        r#"{"a":1,}"#,
        "invalid JSON: expected a key in quotes at byte 7",
    );
    check(
        "{}{}",
        "invalid JSON: expected the end of the text at byte 2",
    );
    check("01", "invalid JSON: expected the end of the text at byte 1");
    check("NaN", "invalid JSON: expected a value at byte 0");
    check("1.", "invalid JSON: expected a digit at byte 2");
    check(
        "\"a\nb\"",
        "invalid JSON: expected an escape instead of a control character at byte 2",
    );
    check(r#""\x""#, "invalid JSON: expected a known escape at byte 2");
    check(
        r#""\ud800""#,
        "invalid JSON: expected a low surrogate at byte 7",
    );
    check(
        r#""\udc00""#,
        "invalid JSON: expected a high surrogate before a low one at byte 7",
    );
    check(
        r#""open"#,
        "invalid JSON: expected the end of a string at byte 5",
    );
    check(
        "[[[[[1]]]]]",
        "JSON is nested deeper than 4 levels at byte 4",
    );
    assert_eq!(verdict(b"\"\xff\""), "invalid UTF-8 at byte 1");
}

#[test]
fn half_a_pair_is_one_character_and_takes_no_other() {
    let same = |inner: &str, expect: &str| assert_eq!(unescape(inner), expect, "{inner}");
    same(r"\ud83d\ude00", "\u{1F600}");
    same(r"a\ud800b", "a\u{FFFD}b");
    same(r"\ud800\u0041", "\u{FFFD}A");
    same(r"\ud800\ud800\udc00", "\u{FFFD}\u{10000}");
    same(r"a\ud800", "a\u{FFFD}");
    same(r"\udc00", "\u{FFFD}");
}

#[test]
fn duplicate_keys_are_found_unescaped_and_everywhere() {
    let check = |text: &str, expect: &str| assert_eq!(verdict(text.as_bytes()), expect, "{text}");
    check(r#"{"a":1,"a":2}"#, "duplicate key `a` at byte 8");
    check(
        r#"{"x":[{"a":1,"\u0061":2}]}"#,
        "duplicate key `a` at byte 14",
    );
    check(r#"{"a":{"a":1},"b":{"a":1}}"#, "fine");
    let many: Vec<_> = (0..20).map(|n| format!("\"k{n}\":0")).collect();
    check(
        &format!("{{{},\"k7\":1}}", many.join(",")),
        "duplicate key `k7` at byte 152",
    );
    check(&format!("{{{}}}", many.join(",")), "fine");
}

#[test]
fn a_million_levels_are_refused_without_recursion() {
    let deep = "[".repeat(1_000_000);
    assert!(matches!(
        check(deep.as_bytes(), Limits::default()),
        Err(Fault {
            kind: FaultKind::TooDeep(128),
            ..
        })
    ));
}

#[test]
fn plain_runs_stop_at_the_first_special_byte() {
    for length in 0..40 {
        for special in [b'"', b'\\', 0x1f, b'\n', 0] {
            let mut text = vec![b'x'; length];
            text.push(special);
            text.extend_from_slice(b"xxxxxxxxxxx");
            assert_eq!(plain_run(&text), Some(length));
        }
        assert_eq!(plain_run(&vec![0xFF; length]), None);
        assert_eq!(plain_run(&vec![0x7F; length]), None);
    }
}

proptest! {
    #[test]
    fn accepts_what_an_independent_parser_accepts(text in r#"[\[\]{}",:0-9a-c\\ue. \-]{0,40}"#) {
        let ours = check(text.as_bytes(), Limits::default());
        let theirs = serde_json::from_str::<serde_json::Value>(&text);
        match (&ours, &theirs) {
            (Ok(_), Err(fault)) => {
                // Ours keeps any number spelling; theirs refuses what does not fit a double.
                prop_assert!(fault.to_string().contains("number out of range"), "{text}: {fault}");
            }
            (Err(fault), Ok(_)) => {
                prop_assert!(matches!(fault.kind, FaultKind::DuplicateKey(_)), "{text}: {fault}");
            }
            _ => {}
        }
    }

    #[test]
    fn unescape_agrees_with_an_independent_parser(plain in "\\PC{0,20}|[\u{0}-\u{1f}\"\\\\]{0,10}") {
        let quoted = serde_json::to_string(&plain).unwrap();
        prop_assert!(check(quoted.as_bytes(), Limits::default()).is_ok());
        prop_assert_eq!(unescape(quoted.get(1..quoted.len() - 1).unwrap()), plain);
    }

    #[test]
    fn never_panics_on_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        drop(check(&bytes, Limits::default()));
    }
}
