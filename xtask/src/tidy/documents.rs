//! What ARCHITECTURE.md says must be there: the paths it names, a paragraph for each crate.

use std::collections::BTreeSet;

use super::Problem;

/// How a path of the repository begins.
const PATH_STARTS: &[&str] = &["crates/", "xtask/", "docs/"];

/// Returns the paths in backticks that do not exist.
pub(super) fn check_paths(file: &str, text: &str, exists: impl Fn(&str) -> bool) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let paths = in_backticks(line).filter(|code| is_path(code));
        for path in paths.filter(|path| !exists(path)) {
            problems.push(Problem::new(
                file,
                index + 1,
                format!("`{path}` does not exist"),
            ));
        }
    }
    problems
}

/// Returns the crates without a paragraph in the section called "code map".
pub(super) fn check_code_map(file: &str, text: &str, crates: &BTreeSet<&str>) -> Vec<Problem> {
    let Some((start, lines)) = code_map(text) else {
        return vec![Problem::new(
            file,
            1,
            "there is no section called `code map`",
        )];
    };
    let named: BTreeSet<String> = lines
        .iter()
        .enumerate()
        .flat_map(|(index, line)| names(line, lines.get(index + 1..).unwrap_or_default()))
        .collect();
    crates
        .iter()
        .filter(|name| !named.contains(**name))
        .map(|name| {
            Problem::new(
                file,
                start,
                format!("crate `{name}` has no paragraph in the code map"),
            )
        })
        .collect()
}

/// Returns what stands between single backticks in one line.
pub(super) fn in_backticks(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// A path with a placeholder or a wildcard names a shape, not a file.
fn is_path(code: &str) -> bool {
    PATH_STARTS.iter().any(|start| code.starts_with(start))
        && !code.contains(['*', '<', '{', ' ', '…'])
}

/// Returns the line number of the section's heading and the lines below it.
fn code_map(text: &str) -> Option<(usize, Vec<&str>)> {
    let mut lines = text.lines().enumerate();
    let (start, heading) =
        lines.find(|(_, line)| level(line) > 0 && line.to_lowercase().contains("code map"))?;
    let own = level(heading);
    let body = lines
        .map(|(_, line)| line)
        .take_while(|line| level(line) == 0 || level(line) > own);
    Some((start + 1, body.collect()))
}

fn level(line: &str) -> usize {
    let hashes = line.len() - line.trim_start_matches('#').len();
    if line.trim_start_matches('#').starts_with(' ') {
        hashes
    } else {
        0
    }
}

/// Returns the crates that a line opens a paragraph for: a heading with text below it, or a bold
/// name with text after it. One paragraph may be for several crates.
fn names(line: &str, below: &[&str]) -> Vec<String> {
    if level(line) > 0 {
        let next = below.iter().find(|line| !line.trim().is_empty());
        let has_text = next.is_some_and(|next| level(next) == 0);
        return if has_text {
            split_names(line.trim_start_matches('#'))
        } else {
            Vec::new()
        };
    }
    let opening = line.trim_start_matches(['-', '*', '|', ' ']);
    let bold = line
        .contains("**")
        .then(|| opening.split_once("**"))
        .flatten();
    match bold {
        Some((inside, after)) if !after.trim_matches(['.', ':', '|', ' ']).is_empty() => {
            split_names(inside)
        }
        _ => Vec::new(),
    }
}

fn split_names(text: &str) -> Vec<String> {
    text.split([',', ' '])
        .map(|name| name.trim_matches(['`', '.', ':', '*', '/']))
        .map(|name| name.strip_prefix("crates/").unwrap_or(name).to_owned())
        .filter(|name| !name.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_paths(text: &str, expect: &[&str]) {
        let exists = |path: &str| path == "crates/core" || path == "docs/a.md";
        let found: Vec<String> = super::check_paths("A.md", text, exists)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(found, expect, "{text}");
    }

    #[test]
    fn paths_in_backticks_must_exist() {
        check_paths("see `crates/core` and `docs/a.md`", &[]);
        check_paths(
            "x\nsee `crates/gone/src/lib.rs`",
            &["A.md:2: `crates/gone/src/lib.rs` does not exist"],
        );
        check_paths(
            "crates/gone without ticks, `serde::Value`, `crates/<name>/src`",
            &[],
        );
    }

    fn check_map(text: &str, missing: &[&str]) {
        let crates = BTreeSet::from(["core", "hooks-wasm"]);
        let found = super::check_code_map("A.md", text, &crates);
        let names: Vec<&str> = found
            .iter()
            .filter_map(|problem| in_backticks(&problem.message).next())
            .collect();
        assert_eq!(names, missing, "{text}");
    }

    #[test]
    fn every_crate_has_a_paragraph_in_the_code_map() {
        check_map(
            "# A\n## Code map\n### core\nText.\n### `crates/hooks-wasm`\nText.",
            &[],
        );
        check_map(
            "## Code map\n**core** is small.\n- **`hooks-wasm`**: text.",
            &[],
        );
        check_map("## The code map\n**`core`, `hooks-wasm`.** Both.", &[]);
        check_map("## Code map\n### core\n### hooks-wasm\nText.", &["core"]);
        check_map("## Code map\n**core**\n\n**hooks-wasm** text", &["core"]);
        check_map(
            "## Code map\n## Next\n**core** text **hooks-wasm** text",
            &["core", "hooks-wasm"],
        );
        check_map("no such section", &["code map"]);
    }
}
