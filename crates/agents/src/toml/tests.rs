//! Tables for the editor; the reader is a library's.

use super::*;
use crate::format::Format;

fn edit(text: &str, remove: &[&str]) -> Result<String, String> {
    let path = |key: &&str| vec!["m".to_owned(), (*key).to_owned()];
    let entry = Node::map([
        ("url", Node::text("u")),
        ("args", Node::texts(&["x".into()])),
    ]);
    let put = Some(Put {
        list: vec!["m".into()],
        name: "p".into(),
        entry,
    });
    Format::Toml.edit(
        text,
        &Edit {
            remove: remove.iter().map(path).collect(),
            put,
        },
    )
}

const P: &str = "[m.p]\nurl = \"u\"\nargs = [\"x\"]\n";

#[test]
fn edits_tables() {
    let check = |text: &str, remove: &[&str], expect: &str| {
        assert_eq!(edit(text, remove).as_deref(), Ok(expect), "{text}");
    };
    check("", &[], P);
    check("a = 1\n", &[], &format!("a = 1\n\n{P}"));
    check("[m.a]\nx = 1\n", &["a"], P);
    check(
        "[m.a]\nx = 1\n[m.a.env]\ny = 2\n[z]\n",
        &["a"],
        &format!("{P}[z]\n"),
    );
    check("[m.a.env]\ny = 2\n", &["a"], P);
    check(
        "[m.k]\nx = 1\n\n[z]\n",
        &[],
        &format!("[m.k]\nx = 1\n\n{P}\n[z]\n"),
    );
    check(
        "[m]\na = { x = 1 }\nk = { x = 2 }\n",
        &["a"],
        &format!("[m]\nk = {{ x = 2 }}\n{P}"),
    );
    check("m.a.x = 1\nb = 2\n", &["a"], &format!("b = 2\n{P}"));
    check(
        "m = { a = { x = 1 } }\n",
        &["a"],
        "m = { p = { url = \"u\", args = [\"x\"] } }\n",
    );
}

#[test]
fn keeps_comments_and_layout() {
    let text = "# top\nmodel   =  \"o3\" # odd\n\n# about a\n[m.a] # head\nx = 1\n\n[z]\nq = 1\n\n# \
                about b\n[m.b]\nx = 2\n# tail\n";
    let expect = "# top\nmodel   =  \"o3\" # odd\n\n# about a\n# about b\n[m.p]\nurl = \"u\"\nargs = \
                  [\"x\"]\n\n[z]\nq = 1\n# tail\n";
    assert_eq!(edit(text, &["a", "b"]).as_deref(), Ok(expect));
    let crlf = |text: &str| text.replace('\n', "\r\n");
    assert_eq!(edit(&crlf(text), &["a", "b"]), Ok(crlf(expect)));
}

#[test]
fn refuses_what_it_cannot_edit() {
    assert_eq!(edit("m = 1\n", &[]), Err("`m` is not a table".into()));
    let error = parse("a = 1\nb = [1,\n").err().unwrap();
    assert_eq!((error.line, error.message.is_empty()), (2, false));
}
