//! Any text is read, in bounded time, and a bound that was met is said.

use proptest::prelude::*;

use super::super::{Dialect, MAX_LENGTH, Reason, UnknownKind, read, read_as};

fn reason(command: &str) -> Option<Reason> {
    read(command).unparsed.map(|unparsed| unparsed.reason)
}

fn limited(command: &str) -> bool {
    read(command)
        .unknown
        .iter()
        .any(|unknown| unknown.kind == UnknownKind::Limit)
}

#[test]
fn bounds_are_said() {
    assert_eq!(reason(&"a".repeat(MAX_LENGTH + 1)), Some(Reason::TooLong));
    assert_eq!(reason(&"'".repeat(1 << 20)), Some(Reason::TooLong));
    for (open, close) in [
        ("$(", ")"),
        ("( ", ")"),
        ("${a:-", "}"),
        ("`", "`"),
        ("<(", ")"),
        ("if a; then ", "; fi"),
    ] {
        let deep = format!("echo {}x{}", open.repeat(5_000), close.repeat(5_000));
        let found = reason(
            deep.strip_prefix("echo ")
                .filter(|_| open.starts_with(['(', 'i']))
                .unwrap_or(&deep),
        );
        assert!(
            found == Some(Reason::TooDeep) || open == "`",
            "{open}: {found:?}"
        );
    }
    assert!(limited(&format!("echo {}", "{a,b}".repeat(40))));
    assert!(limited("echo {1..100000}"));
    let functions: Vec<String> = (0..30)
        .map(|n| format!("f{n}() {{ f{0}; f{0}; f{0}; }}; ", n + 1))
        .collect();
    assert!(limited(&format!(
        "{} f30() {{ ls; }}; f0",
        functions.concat()
    )));
    let doubled = format!("a=0123456789; {} echo $a", "a=$a$a;".repeat(60));
    assert!(read(&doubled).unparsed.is_none());
    assert!(read(":(){ :|:& };:").unparsed.is_none());
}

fn dialects(text: &str) {
    for dialect in [Dialect::Posix, Dialect::Cmd, Dialect::PowerShell] {
        let once = read_as(text, dialect);
        for access in once.reads.iter().chain(&once.writes).chain(&once.runs) {
            assert!(access.span.end <= text.len(), "{access:?}");
        }
        assert_eq!(once, read_as(text, dialect));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read(text in any::<String>()) {
        dialects(&text);
    }

    #[test]
    fn any_mixture_of_tokens_is_read(parts in prop::collection::vec(prop::sample::select(TOKENS), 0..60)) {
        dialects(&parts.concat());
    }
}

const TOKENS: &[&str] = &[
    " ",
    " ",
    " ",
    "\n",
    ";",
    "|",
    "&",
    "&&",
    "||",
    "(",
    ")",
    "{",
    "}",
    "{a,b}",
    "'",
    "\"",
    "`",
    "\\",
    "$",
    "$(",
    "${",
    "$((",
    "))",
    "}",
    "<",
    ">",
    ">>",
    "<<E",
    "<<<",
    "<(",
    "E\n",
    "a",
    "x=",
    "$x",
    "\u{e4}\u{1F600}",
    "curl",
    "-d",
    "@f",
    "h.example",
    "cat",
    "sh",
    "-c",
    "eval",
    "echo",
    "if",
    "then",
    "fi",
    "for",
    "in",
    "do",
    "done",
    "case",
    "esac",
    "[[",
    "]]",
    "while",
    "f()",
    "xargs",
    "find",
    "-exec",
    "{}",
    "tar",
    "git",
    "push",
    "python3",
    "powershell",
    "iex",
    "iwr",
    "cmd",
    "/c",
    "%x%",
    "@{",
    "[",
    "]",
    "base64",
    "printf",
    "%s",
    "tr",
    "a-z",
    "*",
    "?",
    "~",
    "/",
    "#",
    "=",
    ":",
    "-",
    "+",
    "1",
    "99999999999999999999",
    "..",
    "alias a=",
    "trap",
    "set",
    "--",
    "read",
    "export",
];
