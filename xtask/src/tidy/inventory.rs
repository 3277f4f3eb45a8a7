//! Finds the tests of the repository by reading their sources.
//!
//! A test's name here is the crate's folder, the module path and the function; a module called
//! `tests` is left out, so that moving tests to a file of their own renames nothing.

use std::collections::BTreeSet;

use super::lex::{Token, tokens};
use super::sources::is_rust;

/// The names of all tests.
#[derive(Default, Debug)]
pub(super) struct Inventory {
    names: BTreeSet<String>,
}

impl Inventory {
    /// Says whether a test of this name exists.
    pub(super) fn has(&self, name: &str) -> bool {
        self.names.contains(&canonical(name))
    }
}

/// Reads every source file for its tests.
pub(super) fn collect<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> Inventory {
    let mut inventory = Inventory::default();
    for (path, text) in files.filter(|(path, _)| is_rust(path)) {
        let Some(prefix) = module_path(path) else {
            continue;
        };
        for name in tests_in(&tokens(text)) {
            inventory
                .names
                .insert(canonical(&format!("{prefix}::{name}")));
        }
    }
    inventory
}

fn canonical(name: &str) -> String {
    let parts: Vec<&str> = name.split("::").filter(|part| *part != "tests").collect();
    parts.join("::")
}

/// Turns a path into a module path: `crates/text/src/json/scan.rs` is `text::json::scan`, and
/// `crates/cli/tests/it/serve.rs` is `cli::it::serve`.
fn module_path(path: &str) -> Option<String> {
    let path = path
        .strip_prefix("crates/")
        .unwrap_or(path)
        .strip_suffix(".rs")?;
    let mut parts: Vec<&str> = path.split('/').collect();
    let place = parts.get(1).copied()?;
    if !matches!(place, "src" | "tests") {
        return None;
    }
    parts.remove(1);
    if matches!(parts.last().copied(), Some("lib" | "main")) {
        parts.pop();
    }
    Some(parts.join("::"))
}

/// Returns the tests of one file, each with the modules inside the file that it stands in.
fn tests_in(tokens: &[Token<'_>]) -> Vec<String> {
    let mut modules: Vec<(&str, usize)> = Vec::new();
    let mut depth = 0_usize;
    let mut marked = false;
    let mut found = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        let ahead = |offset: usize| tokens.get(index + offset).map_or("", |token| token.text);
        match token.text {
            "{" => depth += 1,
            "}" => {
                depth = depth.saturating_sub(1);
                modules.retain(|(_, opened)| *opened < depth + 1);
            }
            "mod" if ahead(2) == "{" => modules.push((ahead(1), depth + 1)),
            "#" if is_test_attribute(&ahead) => marked = true,
            // A macro writes `fn $name`; such a test has no name that could be read here.
            "fn" if std::mem::take(&mut marked) && ahead(1) != "$" => {
                let mut parts: Vec<&str> = modules.iter().map(|(name, _)| *name).collect();
                parts.push(ahead(1));
                found.push(parts.join("::"));
            }
            _ => {}
        }
    }
    found
}

fn is_test_attribute<'a>(ahead: &impl Fn(usize) -> &'a str) -> bool {
    let plain = ahead(1) == "[" && ahead(2) == "test" && ahead(3) == "]";
    let tokio = ahead(1) == "[" && ahead(2) == "tokio" && ahead(5) == "test";
    plain || tokio
}

#[cfg(test)]
mod tests {
    fn check(path: &str, source: &str, expect: &[&str]) {
        let inventory = super::collect([(path, source)].into_iter());
        let names: Vec<&str> = inventory.names.iter().map(String::as_str).collect();
        assert_eq!(names, expect, "{path}");
        assert!(expect.iter().all(|name| inventory.has(name)), "{path}");
    }

    #[test]
    fn tests_are_named_by_crate_module_and_function() {
        let inline = "#[cfg(test)]\nmod tests { #[test]\n fn a() { x } fn helper() {} }";
        check("crates/text/src/json.rs", inline, &["text::json::a"]);
        check(
            "crates/text/src/json/tests.rs",
            "#[test] fn a() {}",
            &["text::json::a"],
        );
        check(
            "crates/core/src/lib.rs",
            "#[tokio::test] async fn b() {}",
            &["core::b"],
        );
        let flavour = "#[tokio::test(flavor = \"current_thread\")] #[expect(x)] async fn c() {}";
        check(
            "crates/cli/tests/it/serve.rs",
            flavour,
            &["cli::it::serve::c"],
        );
        check(
            "crates/cli/tests/it/main.rs",
            "#[test] fn d() {}",
            &["cli::it::d"],
        );
        check("xtask/src/tidy/lex.rs", inline, &["xtask::tidy::lex::a"]);
        let property = "proptest! { #![c] #[test] fn e(x in 0..9) { } }";
        check("crates/text/src/fold.rs", property, &["text::fold::e"]);
        let nested = "mod a { mod b { #[test] fn f() {} } #[test] fn g() {} } #[test] fn h() {}";
        check(
            "crates/x/src/y.rs",
            nested,
            &["x::y::a::b::f", "x::y::a::g", "x::y::h"],
        );
    }

    #[test]
    fn what_is_not_a_test_is_not_found() {
        check("crates/x/src/y.rs", "// #[test] fn a() {}\nfn b() {}", &[]);
        check(
            "crates/x/src/y.rs",
            "const T: &str = \"#[test] fn a() {}\";",
            &[],
        );
        check(
            "crates/x/src/y.rs",
            "macro_rules! m { () => { #[test] fn $n() {} } }",
            &[],
        );
        check("crates/x/benches/y.rs", "#[test] fn a() {}", &[]);
    }

    #[test]
    fn the_segment_tests_may_be_written_or_left_out() {
        let inventory =
            super::collect([("crates/x/src/y/tests.rs", "#[test] fn a() {}")].into_iter());
        assert!(inventory.has("x::y::tests::a"));
        assert!(inventory.has("x::y::a"));
        assert!(!inventory.has("x::a"));
    }
}
