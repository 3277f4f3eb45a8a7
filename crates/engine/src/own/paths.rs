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
/// Files of one call that are looked at; of more than that it is not seen where they lead.
pub const MOST: usize = 1024;
/// The longest text that is a path.
const LONGEST: usize = 4096;

/// Arguments that say in which folder a command runs.
const FOLDERS: [&str; 7] = [
    "cwd",
    "workdir",
    "working_dir",
    "working_directory",
    "workingDirectory",
    "directory",
    "dir_path",
];

/// Returns the folder in which a command runs: where its arguments say, from where the agent works.
pub(super) fn works_in(arguments: &str, agent: Option<&str>) -> Option<String> {
    let mut said = FOLDERS.iter().filter_map(|name| {
        let (raw, _) = text::get(arguments, &[name])?;
        text::string(raw).map(std::borrow::Cow::into_owned)
    });
    let said = said.find(|said| !said.is_empty());
    match (said, agent) {
        (Some(said), Some(agent)) if !said.starts_with(['/', '~', '$']) => {
            Some([agent, "/", &said].concat())
        }
        (Some(said), _) => Some(said),
        (None, agent) => agent.map(str::to_owned),
    }
}

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
    found.extend(below(arguments));
    found
}

/// A tool that searches is told where, and which files there.
fn below(arguments: &str) -> Option<String> {
    let said = |name: &str| {
        let (raw, _) = text::get(arguments, &[name])?;
        text::string(raw).map(std::borrow::Cow::into_owned)
    };
    let (place, files) = (said("path")?, said("glob")?);
    let whole = !files.starts_with(['/', '~', '!']);
    whole.then(|| [place.trim_end_matches('/'), "/", &files].concat())
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
        check(r#"{"path":"~","glob":".x/**"}"#, &["~", ".x/**", "~/.x/**"]);
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
    fn a_command_runs_where_it_is_told_or_where_the_agent_works() {
        let check = |arguments: &str, agent: Option<&str>, expect: Option<&str>| {
            assert_eq!(works_in(arguments, agent).as_deref(), expect, "{arguments}");
        };
        check(r#"{"command":"ls"}"#, Some("/a"), Some("/a"));
        check(r#"{"command":"ls"}"#, None, None);
        check(r#"{"workdir":"/b"}"#, Some("/a"), Some("/b"));
        check(r#"{"workdir":"b"}"#, Some("/a"), Some("/a/b"));
        check(r#"{"directory":"~/b"}"#, None, Some("~/b"));
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
