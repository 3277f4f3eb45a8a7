//! Tables for the reader and the editor.

use proptest::prelude::*;

use super::*;
use crate::format::Format;
use crate::tree::{Edit, Put};

fn edit(text: &str, remove: &[&str]) -> Result<String, String> {
    let path = |key: &&str| vec!["e".to_owned(), (*key).to_owned()];
    let entry = Node::map([
        ("on", Node::new(Value::Bool(true))),
        ("uri", Node::text("http://a/b")),
        ("args", Node::texts(&["x".into()])),
    ]);
    let put = Some(Put {
        list: vec!["e".into()],
        name: "p".into(),
        entry,
    });
    Format::Yaml.edit(
        text,
        &Edit {
            remove: remove.iter().map(path).collect(),
            put,
        },
    )
}

const P: &str = "  p:\n    \"on\": true\n    uri: \"http://a/b\"\n    args: [\"x\"]\n";

#[test]
fn edits_by_lines() {
    let check = |text: &str, remove: &[&str], expect: &str| {
        assert_eq!(edit(text, remove).as_deref(), Ok(expect), "{text}");
    };
    check("", &[], &format!("e:\n{P}"));
    check("a: 1", &[], &format!("a: 1\ne:\n{P}"));
    check("a: 1\ne:\nb: 2\n", &[], &format!("a: 1\ne:\n{P}b: 2\n"));
    check(
        "e: {} # none\nb: 2\n",
        &[],
        &format!("e:  # none\n{P}b: 2\n"),
    );
    check("e: null", &[], &format!("e: \n{P}"));
    check(
        "e:\n  a:\n    x: 1\nb: 2\n",
        &["a"],
        &format!("e:\n{P}b: 2\n"),
    );
    check("e:\n  a:\n    x: 1", &["a"], &format!("e:\n{P}"));
    check(
        "e:\n  k:\n    x: 1",
        &[],
        &format!("e:\n  k:\n    x: 1\n{P}"),
    );
    check(
        "e:\n  a: {x: 1}\n  k: {x: 2}\n",
        &["a"],
        &format!("e:\n{P}  k: {{x: 2}}\n"),
    );
    check(
        "e:\n  a:\n    t: |\n      one\n\n      two\n  k:\n    l:\n    - 1\n    - 2\n  b:\n    l: [1,\n      2]\n# end\n",
        &["a", "b"],
        &format!("e:\n{P}  k:\n    l:\n    - 1\n    - 2\n# end\n"),
    );
    check(
        "# top\ne:\n  # about a\n  a: # inline\n    x: 'é' # 1\n\n  # about k\n  k:\n    x: 2\n  # tail\nz: 1\n",
        &["a"],
        &format!("# top\ne:\n  # about a\n{P}\n  # about k\n  k:\n    x: 2\n  # tail\nz: 1\n"),
    );
    let crlf = P.replace('\n', "\r\n");
    check(
        "e:\r\n  a:\r\n    x: 1\r\nb: 2\r\n",
        &["a"],
        &format!("e:\r\n{crlf}b: 2\r\n"),
    );
}

#[test]
fn refuses_what_it_cannot_edit() {
    let check = |text: &str, remove: &[&str], expect: &str| {
        assert_eq!(edit(text, remove), Err(expect.into()), "{text}");
    };
    check("e: {a: {x: 1}}\n", &["a"], "`e` is written in braces");
    check("e: {k: {x: 1}}\n", &[], "`e` is written in braces");
    check("e: 1\n", &[], "`e` is not a map");
}

#[test]
fn says_where_it_stumbled() {
    let check = |text: &str, line: usize, column: usize| {
        let error = parse(text).err().unwrap();
        assert_eq!(
            (error.line, error.column),
            (line, column),
            "{text}: {}",
            error.message
        );
    };
    check("a: [1\nb: 2\n", 2, 2);
    check("a: 1\nb: *x\n", 2, 4);
    check("a: &x 1\nb: *x\n", 2, 4);
    check("a: 1\n---\nb: 2\n", 3, 1);
    check("? [a]\n: 1\n", 1, 3);
}

#[test]
fn scalars_follow_the_core_schema() {
    let check = |text: &str, expect: Value| {
        assert!(parse(text).unwrap().value == expect, "{text}");
    };
    check("yes", Value::Text("yes".into()));
    check("'1'", Value::Text("1".into()));
    check("1", Value::Number("1".into()));
    check("-1.5", Value::Number("-1.5".into()));
    check("1.2.3", Value::Text("1.2.3".into()));
    check("infinity", Value::Text("infinity".into()));
    check("~", Value::Null);
    check("True", Value::Bool(true));
}

proptest! {
    #[test]
    fn an_edit_is_made_or_refused(text in r#"[a-ce:\-{}\[\]"'#|>&*é\n ]{0,60}"#) {
        if let Ok(edited) = edit(&text, &["a"]) {
            let root = parse(&edited).ok();
            let entry = root.as_ref().and_then(|root| root.get("e")).and_then(|e| e.get("p"));
            prop_assert!(entry.is_some(), "{}", edited);
        }
    }
}

/// Makes mappings with odd blanks, comments, blocks and flows.
fn messy() -> impl Strategy<Value = (String, Vec<bool>)> {
    let value = prop::sample::select(vec![
        " {x: 1}",
        "\n    x: 1 # c",
        "\n    l:\n    - 1\n\n    - 2",
        "\n    t: |\n      # text\n\n      more\n",
        "\n    t: >-\n      folded\n\n\n",
        "\n    x: 'it''s' # c",
        "\n    x: \"a\\\"b\"  ",
        " # null",
        " plain\n    more",
        "\n    f: [1,\n      2] # c",
    ]);
    let gap = prop::sample::select(vec![
        "",
        "\n",
        "  # about it\n",
        "# far left\n",
        "    # deep\n",
    ]);
    let members = prop::collection::vec((value, gap.clone(), any::<bool>()), 1..6);
    (members, gap).prop_map(|(members, end)| {
        let mut text = "z: 0\ne:\n".to_owned();
        let gone = members.iter().map(|(.., go)| *go).collect();
        for (i, (value, gap, _)) in members.into_iter().enumerate() {
            text = format!("{text}{gap}  k{i}:{value}\n");
        }
        (format!("{text}{end}y: 1"), gone)
    })
}

proptest! {
    /// The editor proves each result by parsing it again, so that an `Err` would be a mistake here.
    #[test]
    fn edits_whatever_it_reads((text, gone) in messy()) {
        let named = gone.iter().enumerate().filter(|(_, gone)| **gone);
        let keys: Vec<String> = named.map(|(i, _)| format!("k{i}")).collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        prop_assert!(parse(&text).is_ok(), "{}", text);
        let after = edit(&text, &keys);
        prop_assert!(after.is_ok(), "{}\n{:?}", text, after);
        let comments = |text: &str| text.matches("# about it").count();
        prop_assert_eq!(comments(&after.unwrap()), comments(&text));
    }
}
