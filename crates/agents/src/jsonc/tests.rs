//! Tables for the reader and the editor, and properties over made-up texts.

use proptest::prelude::*;

use super::*;
use crate::format::Format;
use crate::tree::{Edit, Put};

/// Shows a tree in a form short enough for tables.
fn shown(node: &Node) -> String {
    match &node.value {
        Value::Null => "null".into(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.clone(),
        Value::Text(text) => format!("{text:?}"),
        Value::List(items) => format!("{:?}", items.iter().map(shown).collect::<Vec<_>>()),
        Value::Map(members) => {
            let pairs = members
                .iter()
                .map(|m| format!("{}={}", m.key, shown(&m.value)));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(" "))
        }
    }
}

#[test]
fn reads_json_with_comments() {
    let check = |text: &str, expect: &str| {
        assert_eq!(
            parse(text).map(|node| shown(&node)).unwrap(),
            expect,
            "{text}"
        );
    };
    check("", "{}");
    check(" \n", "{}");
    check("// nothing yet\n", "{}");
    check("{}", "{}");
    check("\u{feff}{\"a\": 1}", "{a=1}");
    check(
        "{\"a\": [true, false, null,],}",
        r#"{a=["true", "false", "null"]}"#,
    );
    check("{ /* x */ \"a\" /*/ y */ : // z\n -1.5e3 }", "{a=-1.5e3}");
    check("{\"a\": \"//\", \"b\": \"/*\"}", r#"{a="//" b="/*"}"#);
    check(
        r#"{"a": "\u00e9\ud83d\ude00\n\"\\\/"}"#,
        r#"{a="é😀\n\"\\/"}"#,
    );
    check(r#"{"a": "\ud800x"}"#, "{a=\"\u{fffd}x\"}");
    check("{\"a\": 1, \"a\": 2}", "{a=1 a=2}");
}

#[test]
fn says_where_it_stumbled() {
    let check = |text: &str, line: usize, column: usize, message: &str| {
        let expect = Syntax {
            line,
            column,
            message: message.into(),
        };
        assert_eq!(parse(text).err(), Some(expect), "{text}");
    };
    check("{\n  \"é\": x\n}", 2, 8, "expected a value");
    check("{\"a\" 1}", 1, 6, "expected `:` after the key");
    check("{\"a\": 1 \"b\": 2}", 1, 9, "expected `,` or `}`");
    check("[1 2]", 1, 4, "expected `,` or `]`");
    check("{a: 1}", 1, 2, "expected a key in double quotes or `}`");
    check("{\"a\": \"b}", 1, 7, "this string is never closed");
    check(
        "{\"a\": \"b\nc\"}",
        1,
        9,
        "a string cannot hold a control character",
    );
    check("{\"a\": \"\\x\"}", 1, 8, "unknown escape in a string");
    check(
        "{\"a\": \"\\u12g4\"}",
        1,
        8,
        "expected four hexadecimal digits",
    );
    check("{} /* open", 1, 4, "this comment is never closed");
    check("{} x", 1, 4, "something follows the end of the value");
    check("{\"a\": -}", 1, 7, "`-` is not a number");
    check(
        "{\"a\":",
        1,
        6,
        "expected a value, found the end of the file",
    );
    check(&"[".repeat(1_000_000), 1, 130, "nested too deeply");
}

fn edit(text: &str, remove: &[&str], put: bool) -> String {
    let list = vec!["m".to_owned()];
    let path = |key: &&str| vec!["m".to_owned(), (*key).to_owned()];
    let entry = Node::map([("url", Node::text("u"))]);
    let put = put.then(|| Put {
        list,
        name: "p".into(),
        entry,
    });
    Format::Jsonc
        .edit(
            text,
            &Edit {
                remove: remove.iter().map(path).collect(),
                put,
            },
        )
        .unwrap()
}

#[test]
fn edits_by_spans() {
    let check = |text: &str, remove: &[&str], put: bool, expect: &str| {
        assert_eq!(edit(text, remove, put), expect, "{text}");
    };
    // On one line.
    check(
        r#"{"m":{"a":1}}"#,
        &["a"],
        true,
        r#"{"m":{"p": { "url": "u" }}}"#,
    );
    check(r#"{"m":{"a":1, "b":2}}"#, &["a"], false, r#"{"m":{"b":2}}"#);
    check(r#"{"m":{"a":1, "b":2}}"#, &["b"], false, r#"{"m":{"a":1}}"#);
    check(
        r#"{"m":{"a":1, "b":2, "c":3}}"#,
        &["b"],
        false,
        r#"{"m":{"a":1, "c":3}}"#,
    );
    check(
        r#"{"m":{"a":1, "b":2, "c":3}}"#,
        &["a", "c"],
        false,
        r#"{"m":{"b":2}}"#,
    );
    check(r#"{"m":{"a":1, "b":2}}"#, &["a", "b"], false, r#"{"m":{}}"#);
    check(
        r#"{"m":{"k":1}}"#,
        &[],
        true,
        r#"{"m":{"k":1, "p": { "url": "u" }}}"#,
    );
    // A key that is there twice goes twice.
    check(
        r#"{"m":{"a":1, "a":2, "k":3}}"#,
        &["a"],
        false,
        r#"{"m":{"k":3}}"#,
    );
    // Nothing there yet.
    let made = "{\n  \"m\": {\n    \"p\": {\n      \"url\": \"u\"\n    }\n  }\n}";
    check("{}", &[], true, made);
    check("", &[], true, &format!("{made}\n"));
    check("{\n  \"m\": {}\n}", &[], true, made);
    check("{\n  \"m\": null\n}", &[], true, made);
    check("{\n  \"m\": {\n  }\n}", &[], true, made);
    check("// c", &[], true, &format!("// c\n{made}\n"));
    // Tabs and carriage returns.
    check(
        "{\r\n\t\"x\": 1,\r\n\t\"m\": {\r\n\t\t\"a\": 1\r\n\t}\r\n}\r\n",
        &["a"],
        true,
        "{\r\n\t\"x\": 1,\r\n\t\"m\": {\r\n\t\t\"p\": {\r\n\t\t\t\"url\": \"u\"\r\n\t\t}\r\n\t}\r\n}\r\n",
    );
}

#[test]
fn keeps_comments_and_commas() {
    let text = "{\n  // top\n  \"m\": {\n    // first\n    \"a\": 1, // one\n    /* second */\n    \
                \"b\": { // in b\n    },\n    \"k\": 3, // keep\n  }, // end\n}\n";
    let one = "{\n  // top\n  \"m\": {\n    // first\n    \"p\": {\n      \"url\": \"u\"\n    }, // \
               one\n    /* second */\n    \"k\": 3, // keep\n  }, // end\n}\n";
    assert_eq!(edit(text, &["a", "b"], true), one);
    let none = "{\n  // top\n  \"m\": {\n    // first\n    // one\n    /* second */\n    // keep\n  \
                }, // end\n}\n";
    assert_eq!(edit(text, &["a", "b", "k"], false), none);
    let last = "{\n  \"m\": {\n    \"k\": 1, // stays\n    \"a\": 2\n  }\n}\n";
    let strict = "{\n  \"m\": {\n    \"k\": 1 // stays\n  }\n}\n";
    assert_eq!(edit(last, &["a"], false), strict);
}

/// Makes texts of the shape `{"m": {...}, ...}` with odd blanks, comments and commas.
fn messy() -> impl Strategy<Value = (String, Vec<bool>)> {
    let gap = prop::sample::select(vec![
        "", " ", "\n", "\r\n  ", "\t", " // x\n", "/* , */", " ",
    ]);
    let value = prop::sample::select(vec!["1", "\"a,b\"", "{\"x\":{}}", "[1, 2,]", "{ // {\n}"]);
    let member = (value, gap.clone(), gap.clone(), gap.clone(), any::<bool>());
    (
        prop::collection::vec(member, 0..6),
        gap.clone(),
        gap,
        any::<bool>(),
    )
        .prop_map(|(members, open, close, trailing)| {
            let last = members.len().saturating_sub(1);
            let mut text = format!("{{\"z\": 0,{open}\"m\":{open}{{{open}");
            let mut gone = Vec::new();
            for (i, (value, before, middle, after, go)) in members.into_iter().enumerate() {
                let comma = if i < last || trailing { "," } else { "" };
                text = format!("{text}{before}\"k{i}\":{middle}{value}{after}{comma}{close}");
                gone.push(go);
            }
            (format!("{text}}}{close}}}"), gone)
        })
}

/// Parses a text and says whether what was found, or the place of the mistake, is within it.
fn spans_fit(text: &str) -> bool {
    fn fits(text: &str, node: &Node) -> bool {
        text.get(node.span.clone()).is_some()
            && node
                .items()
                .unwrap_or_default()
                .iter()
                .all(|item| fits(text, item))
            && node.members().unwrap_or_default().iter().all(|member| {
                text.get(member.key_span.clone()).is_some() && fits(text, &member.value)
            })
    }
    match parse(text) {
        Ok(root) => fits(text, &root),
        Err(error) => error.line <= text.matches('\n').count() + 1,
    }
}

proptest! {
    #[test]
    fn spans_are_of_the_text(text in ".{0,200}") {
        prop_assert!(spans_fit(&text));
    }

    #[test]
    fn spans_are_of_near_json(text in r#"[{}\[\]",:/*\\u0-9a-fé\n \-tre.]{0,80}"#) {
        prop_assert!(spans_fit(&text));
    }

    #[test]
    fn agrees_with_a_strict_reader(text in r#"[{}\[\]",:0-9a-f \-]{0,24}"#) {
        if serde_json::from_str::<serde_json::Value>(&text).is_ok() {
            prop_assert!(parse(&text).is_ok());
        }
    }

    /// The editor proves each result by parsing it again, so that an `Err` would be a mistake here.
    #[test]
    fn edits_whatever_it_reads((text, gone) in messy(), put in any::<bool>()) {
        let named = gone.iter().enumerate().filter(|(_, gone)| **gone);
        let keys: Vec<String> = named.map(|(i, _)| format!("k{i}")).collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let after = edit(&text, &keys, put);
        let kept = (0..gone.len()).filter(|i| !gone[*i]).count() + usize::from(put);
        let members = parse(&after).unwrap().get("m").unwrap().members().unwrap().len();
        prop_assert_eq!(members, kept);
        // Doing it again changes nothing.
        prop_assert_eq!(edit(&after, &keys, false), after);
    }
}
