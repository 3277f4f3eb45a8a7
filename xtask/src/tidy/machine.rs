//! No file may name a place that exists on one machine only.

use super::Problem;

/// This file has the shapes and their examples in it.
const OWN: &str = "xtask/src/tidy/machine.rs";

/// Folders that name a machine's layout rather than the project's.
const FOLDERS: &[&str] = &["/root/", "/work/"];

const HOMES: &str = "/home/";

/// People of examples, whose home folders are nobody's.
const SAMPLE_PEOPLE: &[&str] = &["user", "ada", "alice", "bob"];

/// Returns the paths of one machine in a file.
pub(super) fn check(path: &str, text: &str) -> Vec<Problem> {
    if path == OWN {
        return Vec::new();
    }
    let mut problems = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for found in places(line) {
            let message = format!("`{found}` is a path of one machine");
            problems.push(Problem::new(path, index + 1, message));
        }
    }
    problems
}

fn places(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    for folder in FOLDERS {
        let hits = line
            .match_indices(folder)
            .filter(|(at, _)| starts_a_path(line, *at));
        found.extend(hits.map(|(_, hit)| hit.to_owned()));
    }
    for (at, _) in line
        .match_indices(HOMES)
        .filter(|(at, _)| starts_a_path(line, *at))
    {
        let rest = line.get(at + HOMES.len()..).unwrap_or_default();
        let person: String = rest.chars().take_while(|c| is_name(*c)).collect();
        let named = person.starts_with(char::is_alphanumeric);
        if named && !SAMPLE_PEOPLE.contains(&person.as_str()) {
            found.push(format!("{HOMES}{person}"));
        }
    }
    found
}

/// A slash in the middle of a longer path or URL does not start one.
fn starts_a_path(line: &str, at: usize) -> bool {
    let before = line.get(..at).and_then(|head| head.chars().next_back());
    before.is_none_or(|c| !is_name(c) && !matches!(c, '~' | '}' | '*' | '>' | '/'))
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

#[cfg(test)]
mod tests {
    fn check(line: &str, expect: &[&str]) {
        assert_eq!(super::places(line), expect, "{line}");
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        check("cat /root/x", &["/root/"]);
        check("`/work/main/a.rs`", &["/work/"]);
        check("dir=\"/home/carol/src\"", &["/home/carol"]);
        check("/home/user/.ssh/id_rsa and /home/alice/x", &[]);
        check("https://example.org/work/x, ~/work/x, frame/work/x", &[]);
        check("${HOME}/work/ and <dir>/root/", &[]);
        check("the /home/ folder, /home/.config", &[]);
    }
}
