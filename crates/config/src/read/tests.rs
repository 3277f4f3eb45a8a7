//! Nodes and their places.

use std::fmt::Write;
use std::path::PathBuf;

use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;

fn parse(name: &str, text: &str) -> (Option<Node>, Report, Texts) {
    let mut texts = Texts::default();
    let mut report = Report::default();
    let number = texts.add(Source::new(PathBuf::from(name), text.to_owned()));
    let node = read(&texts, number, &mut report);
    (node, report, texts)
}

/// Prints each value with the text it stands for.
fn check(name: &str, text: &str) -> String {
    let (node, report, texts) = parse(name, text);
    let Some(node) = node else {
        return report.finish().unwrap_err().to_string();
    };
    let mut shown = String::new();
    node.walk(&Path::default(), node.place, &mut |path, _, node| {
        let Place::Text { start, end, .. } = node.place else {
            return;
        };
        let at = texts.get(0).unwrap().position(start);
        let kind = match &node.value {
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Integer(_) | Value::Float(_) => "number",
            Value::Text(_) => "text",
            Value::List(_) => "list",
            Value::Map(_) => "map",
            Value::Removed => "removed",
        };
        let value = text.get(start..end).unwrap();
        writeln!(shown, "{path} {kind} {}:{} {value:?}", at.line, at.column).unwrap();
    });
    shown
}

#[test]
fn yaml() {
    let text = "\
# começo
é: ü
list:
  - a
  - b: 1
    c:

# between
text: |
  line
  line

flow: {a: [1, 2.5], b: 'x'}
last: ~
";
    assert_snapshot!(check("a.yaml", text), @r#"
     map 2:1 "é: ü\nlist:\n  - a\n  - b: 1\n    c:\n\n# between\ntext: |\n  line\n  line\n\nflow: {a: [1, 2.5], b: 'x'}\nlast: ~"
    é text 2:4 "ü"
    list list 4:3 "- a\n  - b: 1\n    c"
    list[0] text 4:5 "a"
    list[1] map 5:5 "b: 1\n    c"
    list[1].b number 5:8 "1"
    list[1].c null 6:6 ""
    text text 10:3 "line\n  line"
    flow map 13:7 "{a: [1, 2.5], b: 'x'}"
    flow.a list 13:11 "[1, 2.5]"
    flow.a[0] number 13:12 "1"
    flow.a[1] number 13:15 "2.5"
    flow.b text 13:24 "'x'"
    last null 14:7 "~"
    "#);
}

#[test]
fn json() {
    let text = "{\n\t\"a\": \"\\ud83d\\ude00 é\",\n\t\"b\": [true, null],\n\t\"c\": 1\n}";
    assert_snapshot!(check("a.json", text), @r#"
     map 1:1 "{\n\t\"a\": \"\\ud83d\\ude00 é\",\n\t\"b\": [true, null],\n\t\"c\": 1\n}"
    a text 2:7 "\"\\ud83d\\ude00 é\""
    b list 3:7 "[true, null]"
    b[0] bool 3:8 "true"
    b[1] null 3:14 "null"
    c number 4:7 "1"
    "#);
    assert_snapshot!(check("a.json", "{\"a\": \"\\ud83d\"}"), @"a.json:1:7: this is no valid JSON: while parsing a quoted scalar, found invalid Unicode character escape code");
    assert_snapshot!(check("a.json", "{\"a\": 1"), @"a.json:1:8: this is no valid JSON: while parsing a flow mapping, did not find expected ',' or '}'");
}

#[test]
fn aliases_and_tags() {
    let text = "a: &x {b: 1}\nc: *x\nd: !!str 12\ne: &y 1\nf: *y\n";
    assert_snapshot!(check("a.yaml", text), @r#"
     map 1:1 "a: &x {b: 1}\nc: *x\nd: !!str 12\ne: &y 1\nf: *y"
    a map 1:4 "&x {b: 1}"
    a.b number 1:11 "1"
    c map 2:4 "*x"
    c.b number 1:11 "1"
    d text 3:4 "!!str 12"
    e number 4:4 "&y 1"
    f number 5:4 "*y"
    "#);
}

proptest! {
    #[test]
    fn no_text_stops_the_reader(text in "\\PC*") {
        parse("a.yaml", &text);
        parse("a.json", &text);
    }

    #[test]
    fn no_text_that_looks_like_a_file_stops_it(
        text in "([\\[\\]{}:,\\-#&*!|>'\"%@?~ \n\t\r\\\\u0a${}é]|key: |- |  |\\\\ud83d|\\\\ude00|---\n|&a |\\*a){0,80}"
    ) {
        parse("a.yaml", &text);
        parse("a.json", &text);
    }
}
