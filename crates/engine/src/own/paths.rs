//! The paths that a tool for files is given: as arguments, or as the lines of a patch that name
//! them.

use std::borrow::Cow;
use std::ops::ControlFlow;

use mcpproxy_text as text;

/// Arguments that hold the path of a file or folder.
const NAMED: [&str; 8] = [
    "file_path",
    "filePath",
    "path",
    "absolute_path",
    "notebook_path",
    "target_file",
    "dir_path",
    "directory",
];
/// How the lines of a patch begin that name a file.
const PATCHED: [&str; 6] = [
    "*** Add File: ",
    "*** Update File: ",
    "*** Delete File: ",
    "*** Move to: ",
    "+++ b/",
    "+++ ",
];
/// Files of one patch that are looked at.
const MOST: usize = 256;

/// Returns the paths that a tool for files is given.
pub(super) fn given(arguments: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let each = |name: &&str| text::get(arguments, &[name]).and_then(|(raw, _)| text::string(raw));
    NAMED.iter().filter_map(each)
}

/// Returns all paths that a tool for files is given, those that a patch names among them.
pub fn all(arguments: &str) -> Vec<String> {
    let given = given(arguments).map(Cow::into_owned);
    given.chain(patched(arguments)).collect()
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
