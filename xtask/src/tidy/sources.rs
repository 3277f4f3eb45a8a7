//! Rules for Rust sources: the opening comment, names that must not appear, and the one place
//! where a clearance is issued.

use super::Problem;
use super::lex::{Token, find, tokens};

/// Token patterns that no source may have, with the reason.
const FORBIDDEN: &[(&[&str], &str)] = &[
    (&["todo", "!"], "`todo!` is work that was not done"),
    (
        &["unimplemented", "!"],
        "`unimplemented!` is work that was not done",
    ),
    (
        &["#", "[", "ignore"],
        "`#[ignore]` is a test that does not run",
    ),
    (
        &["#", "[", "should_panic"],
        "`#[should_panic]` hides which line panics; assert the error",
    ),
];

/// Crates that judge by rules alone: whom they could ask would be a model, or somebody's service.
const ALONE: [&str; 6] = ["core", "text", "detect", "classify", "flow", "policy"];
/// Names by which a source reaches others than its caller.
const OTHERS: [&[&str]; 7] = [
    &["TcpStream"],
    &["UdpSocket"],
    &["UnixStream"],
    &["std", ":", ":", "process"],
    &["tokio"],
    &["hyper"],
    &["reqwest"],
];

/// A call of `Cleared::issue` outside tests.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Clearance {
    file: String,
    line: usize,
}

/// Says whether a path is a Rust source.
pub(super) fn is_rust(path: &str) -> bool {
    path.rsplit_once('.')
        .is_some_and(|(_, extension)| extension == "rs")
}

/// Checks one source file by itself.
pub(super) fn check(path: &str, text: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    if !text.starts_with("//!") {
        problems.push(Problem::new(
            path,
            1,
            "the file does not start with a `//!` comment",
        ));
    }
    if path.rsplit('/').next() == Some("mod.rs") {
        problems.push(Problem::new(
            path,
            1,
            "`mod.rs` is not used; name the file after the module",
        ));
    }
    let tokens = tokens(text);
    for (pattern, message) in FORBIDDEN {
        for index in find(&tokens, pattern) {
            problems.push(Problem::new(path, line_at(&tokens, index), *message));
        }
    }
    problems.extend(check_alone(path, &tokens));
    problems
}

/// Checks that what judges by rules asks nobody.
fn check_alone(path: &str, tokens: &[Token<'_>]) -> Vec<Problem> {
    let place = path
        .strip_prefix("crates/")
        .and_then(|rest| rest.split_once("/src/"));
    if is_test_file(path) || !place.is_some_and(|(name, _)| ALONE.contains(&name)) {
        return Vec::new();
    }
    let code = tokens.get(..start_of_tests(tokens)).unwrap_or(tokens);
    let mut problems = Vec::new();
    for pattern in OTHERS {
        let message = format!(
            "`{}` reaches others, and rules ask nobody",
            pattern.concat()
        );
        for index in find(code, pattern) {
            problems.push(Problem::new(path, line_at(code, index), &*message));
        }
    }
    problems
}

/// Finds the calls of `Cleared::issue` in code that is not test code.
pub(super) fn clearances(path: &str, text: &str) -> Vec<Clearance> {
    if is_test_file(path) {
        return Vec::new();
    }
    let tokens = tokens(text);
    let code = tokens.get(..start_of_tests(&tokens)).unwrap_or(&tokens);
    let mut lines = Vec::new();
    for (index, token) in code
        .iter()
        .enumerate()
        .filter(|(_, token)| token.text == "Cleared")
    {
        if names_issue(code.get(index + 1..).unwrap_or_default()) {
            lines.push(token.line);
        }
    }
    lines
        .into_iter()
        .map(|line| Clearance {
            file: path.to_owned(),
            line,
        })
        .collect()
}

/// Checks that the engine issues clearances, in one place, and nobody else does.
pub(super) fn check_clearances(found: &[Clearance]) -> Vec<Problem> {
    let engine = |c: &Clearance| c.file.starts_with("crates/engine/");
    if !found.iter().any(engine) {
        let message = "`Cleared::issue` is called nowhere in crates/engine";
        return vec![Problem::new("crates/engine/src/lib.rs", 1, message)];
    }
    let mut seen = false;
    let mut problems = Vec::new();
    for clearance in found {
        if engine(clearance) && !std::mem::replace(&mut seen, true) {
            continue;
        }
        let message = "`Cleared::issue` may be called in one place only, in crates/engine";
        problems.push(Problem::new(&clearance.file, clearance.line, message));
    }
    problems
}

/// Says whether what follows `Cleared` is `::issue`, perhaps with type arguments between.
fn names_issue(after: &[Token<'_>]) -> bool {
    let texts: Vec<&str> = after.iter().take(32).map(|token| token.text).collect();
    match texts.as_slice() {
        [":", ":", "issue", ..] => true,
        [":", ":", "<", rest @ ..] => rest
            .windows(4)
            .find(|w| w.first() == Some(&">"))
            .is_some_and(|w| w == [">", ":", ":", "issue"]),
        _ => false,
    }
}

fn is_test_file(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/") || path.contains("/benches/")
}

/// Returns where the file's inline test module begins. Clippy sees to it that nothing follows it.
fn start_of_tests(tokens: &[Token<'_>]) -> usize {
    let opening = ["#", "[", "cfg", "(", "test", ")", "]", "mod"];
    let is_inline = |at: &usize| {
        tokens
            .get(at + opening.len() + 1)
            .is_some_and(|t| t.text == "{")
    };
    find(tokens, &opening)
        .find(is_inline)
        .unwrap_or(tokens.len())
}

fn line_at(tokens: &[Token<'_>], index: usize) -> usize {
    tokens.get(index).map_or(1, |token| token.line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, text: &str, expect: &[&str]) {
        let found: Vec<String> = super::check(path, text)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(found, expect, "{text}");
    }

    #[test]
    fn sources_are_judged_by_their_code() {
        check("a/b.rs", "//! Fine.\nfn f() {}\n", &[]);
        check(
            "a/b.rs",
            "fn f() {}",
            &["a/b.rs:1: the file does not start with a `//!` comment"],
        );
        check(
            "a/mod.rs",
            "//! X.",
            &["a/mod.rs:1: `mod.rs` is not used; name the file after the module"],
        );
        check(
            "a/b.rs",
            "//! X.\n\nfn f() { todo!() }",
            &["a/b.rs:3: `todo!` is work that was not done"],
        );
        check(
            "a/b.rs",
            "//! X.\n// todo!()\nconst A: &str = \"todo!()\";",
            &[],
        );
        check(
            "a/b.rs",
            "//! X.\n#[test]\n#[ignore = \"slow\"]\nfn f() {}",
            &["a/b.rs:3: `#[ignore]` is a test that does not run"],
        );
    }

    #[test]
    fn what_judges_by_rules_asks_nobody() {
        let text = "//! X.\nuse std::net::TcpStream;\n";
        let said = "crates/detect/src/a.rs:2: `TcpStream` reaches others, and rules ask nobody";
        check("crates/detect/src/a.rs", text, &[said]);
        check("crates/gateway/src/a.rs", text, &[]);
        check("crates/detect/src/a/tests.rs", text, &[]);
        check(
            "crates/detect/src/a.rs",
            "//! X.\nuse std::net::IpAddr;\n",
            &[],
        );
    }

    fn check_issues(files: &[(&str, &str)], expect: &[&str]) {
        let found: Vec<Clearance> = files.iter().flat_map(|(p, t)| clearances(p, t)).collect();
        let problems: Vec<String> = check_clearances(&found)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(problems, expect, "{files:?}");
    }

    #[test]
    fn clearances_are_issued_once_and_in_the_engine() {
        let call = "fn f() { Cleared::issue(x) }";
        let typed = "fn f() { Cleared::<Call>::issue(x) }";
        let tests = "#[cfg(test)]\nmod tests { fn f() { Cleared::issue(x) } }";
        let declared = "#[cfg(test)] mod tests;\nfn f() { Cleared::issue(x) }";
        let used = "fn f(c: Cleared<Call>) { c.value(); Cleared::<Call>::other() }";
        let none =
            "crates/engine/src/lib.rs:1: `Cleared::issue` is called nowhere in crates/engine";
        let one = "`Cleared::issue` may be called in one place only, in crates/engine";
        check_issues(&[("crates/engine/src/a.rs", call)], &[]);
        check_issues(
            &[
                ("crates/engine/src/a.rs", typed),
                ("crates/mcp/src/a.rs", used),
            ],
            &[],
        );
        check_issues(
            &[
                ("crates/engine/src/a.rs", call),
                ("crates/mcp/src/a.rs", tests),
            ],
            &[],
        );
        check_issues(
            &[
                ("crates/engine/src/a.rs", call),
                ("crates/mcp/src/a/tests.rs", call),
            ],
            &[],
        );
        check_issues(&[("crates/engine/src/a.rs", declared)], &[]);
        check_issues(&[("crates/engine/src/a.rs", "// Cleared::issue(")], &[none]);
        check_issues(
            &[
                ("crates/engine/src/a.rs", call),
                ("crates/mcp/src/a.rs", typed),
            ],
            &[&format!("crates/mcp/src/a.rs:1: {one}")],
        );
        check_issues(
            &[
                ("crates/engine/src/a.rs", call),
                ("crates/engine/src/b.rs", call),
            ],
            &[&format!("crates/engine/src/b.rs:1: {one}")],
        );
    }
}
