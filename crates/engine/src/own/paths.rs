//! The paths that a tool for files is given: as arguments, or as the lines of a patch that name
//! them.

use std::ops::ControlFlow;

use mcpproxy_classify::words::Words;
use mcpproxy_text::{self as text, LeafKind};

/// Words of which one is in the name of every argument that holds the path of a file or folder, at
/// any depth: `file_path`, `targetFile`, `paths`, `include_pattern`.
const NAMED: [&str; 26] = [
    "path",
    "paths",
    "filepath",
    "filepaths",
    "filename",
    "filenames",
    "file",
    "files",
    "folder",
    "folders",
    "dir",
    "dirs",
    "directory",
    "directories",
    "notebook",
    "uri",
    "uris",
    "glob",
    "globs",
    "include",
    "includes",
    "root",
    "source",
    "destination",
    "src",
    "dest",
];
/// What may be a path or an expression to look for; one that begins like a path is one.
const PATTERNS: [&str; 2] = ["pattern", "query"];
/// How the lines of a patch begin that name a file.
const PATCHED: [&str; 6] = [
    "*** Add File: ",
    "*** Update File: ",
    "*** Delete File: ",
    "*** Move to: ",
    "+++ b/",
    "+++ ",
];
/// Files of one call that are looked at.
const MOST: usize = 256;
/// The longest text that is a path.
const LONGEST: usize = 4096;

/// Returns the paths that a tool is given, wherever they stand among its arguments: agents have
/// tools for many files at once, each with a shape of its own.
pub(super) fn given(arguments: &str) -> Vec<String> {
    let mut found = Vec::new();
    text::visit(arguments, |leaf| {
        let name = leaf.path.name().unwrap_or_default();
        let is_path = leaf.kind == LeafKind::Text
            && leaf.text.len() <= LONGEST
            && (holds_path(&name, &NAMED)
                || (holds_path(&name, &PATTERNS) && leaf.text.starts_with(['/', '~', '.'])));
        if is_path {
            found.push(leaf.text.into_owned());
        }
        if found.len() < MOST {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
    found
}

fn holds_path(name: &str, any: &[&str]) -> bool {
    Words::of(name).iter().any(|word| any.contains(&word))
}

/// Returns all paths that a tool for files is given, those that a patch names among them.
pub fn all(arguments: &str) -> Vec<String> {
    given(arguments)
        .into_iter()
        .chain(patched(arguments))
        .collect()
}

/// Returns the files that a patch among the arguments names.
pub(super) fn patched(arguments: &str) -> Vec<String> {
    let mut found = Vec::new();
    if !PATCHED.iter().any(|start| arguments.contains(start)) {
        return found;
    }
    text::visit(arguments, |leaf| {
        let names = leaf.text.lines().filter_map(|line| {
            let mut starts = PATCHED.iter();
            starts.find_map(|start| line.strip_prefix(start))
        });
        let room = MOST - found.len();
        found.extend(names.map(|name| name.trim().to_owned()).take(room));
        ControlFlow::Continue(())
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_wherever_they_stand() {
        let check = |arguments: &str, expect: &[&str]| {
            assert_eq!(given(arguments), expect, "{arguments}");
        };
        check(r#"{"file_path":"/a"}"#, &["/a"]);
        check(r#"{"operations":[{"mode":"Line","path":"/a"}]}"#, &["/a"]);
        check(r#"{"paths":["/a","/b"]}"#, &["/a", "/b"]);
        check(r#"{"targetFile":"/a","explanation":"/x"}"#, &["/a"]);
        check(
            r#"{"replacements":[{"filePath":"/a","newString":"/x"}]}"#,
            &["/a"],
        );
        check(r#"{"include_pattern":"~/.x/*"}"#, &["~/.x/*"]);
        check(r#"{"path":"~","glob":".x/**"}"#, &["~", ".x/**"]);
        check(r#"{"pattern":"~/.x/**"}"#, &["~/.x/**"]);
        check(r#"{"pattern":"fn main","target_notebook":"n"}"#, &["n"]);
        check(
            r#"{"tool_calls":[{"tool":"read","parameters":{"filePath":"/a"}}]}"#,
            &["/a"],
        );
        check(r#"{"content":"/a","text":"~/.x"}"#, &[]);
        check("", &[]);
        // Past the bound nothing is looked at, and no tool takes as many.
        let many = vec!["/a"; MOST + 1].join("\",\"");
        assert_eq!(given(&format!(r#"{{"paths":["{many}"]}}"#)).len(), MOST);
    }

    #[test]
    fn files_of_a_patch_are_read() {
        let check = |arguments: &str, expect: &[&str]| {
            assert_eq!(patched(arguments), expect, "{arguments}");
        };
        check(
            r#"{"input":"*** Begin Patch\n*** Add File: .mcp.json\n+{}\n*** Move to: b.rs\n"}"#,
            &[".mcp.json", "b.rs"],
        );
        check(
            r#"{"command":["apply_patch","+++ b/src/a.rs\n+x"]}"#,
            &["src/a.rs"],
        );
        check(r#"{"file_path":".mcp.json"}"#, &[]);
        check("", &[]);
    }
}
