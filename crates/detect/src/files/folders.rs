//! Folders and patterns that take in files which hold credentials: `~/.aws`, `~/.aws/c*`, and a
//! whole home.

use mcpproxy_core::Severity;
use mcpproxy_text::glob;

use super::FileRule;

/// What a path takes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held<'a> {
    /// The kind of file, as `aws_credentials`.
    pub kind: &'a str,
    /// How bad it is when it is read.
    pub severity: Severity,
}

/// One file of one rule, by the parts of its path.
#[derive(Debug)]
struct Known {
    kind: Box<str>,
    severity: Severity,
    parts: Vec<Box<str>>,
    /// Whether the path is whole, from the root on.
    rooted: bool,
}

/// Where files with credentials are kept.
#[derive(Debug, Default)]
pub(crate) struct Folders {
    known: Vec<Known>,
}

/// A path of a command, in parts.
struct Asked<'a> {
    parts: Vec<&'a str>,
    rooted: bool,
}

impl Folders {
    pub(crate) fn new(rules: &[FileRule]) -> Self {
        let known = rules.iter().flat_map(|rule| {
            rule.any.iter().map(|path| Known {
                kind: rule.kind.as_str().into(),
                severity: rule.severity.into(),
                parts: parts(path).map(Into::into).collect(),
                rooted: path.starts_with('/'),
            })
        });
        Self {
            known: known.collect(),
        }
    }

    /// Returns the worst of what a path takes in: a folder all that is below it, a pattern all that
    /// it stands for. Nothing for the path of one file, which the rules themselves know.
    pub(crate) fn held(&self, path: &str) -> Option<Held<'_>> {
        let path = path.replace('\\', "/").to_lowercase();
        let asked = Asked::new(&path);
        if asked.is_home() {
            return Some(Held {
                kind: "home_folder",
                severity: Severity::High,
            });
        }
        let taken = self.known.iter().filter(|known| asked.takes(known));
        let worst = taken.max_by_key(|known| known.severity)?;
        Some(Held {
            kind: &worst.kind,
            severity: worst.severity,
        })
    }
}

impl<'a> Asked<'a> {
    fn new(path: &'a str) -> Self {
        let mut asked = Self {
            parts: parts(path).collect(),
            rooted: path.starts_with('/'),
        };
        // All that is in a folder is the folder.
        while let Some("*" | "**" | ".*" | "*.*") = asked.parts.last().copied() {
            asked.parts.pop();
        }
        asked
    }

    /// Tells whether it is all that a person has, or more.
    fn is_home(&self) -> bool {
        match self.parts.as_slice() {
            [] => self.rooted,
            parts => home(parts, self.rooted) == Some(parts.len()),
        }
    }

    fn takes(&self, known: &Known) -> bool {
        self.is_folder_of(known) || self.stands_for(known)
    }

    /// A folder counts if it is that of a person or the machine: a project may have one of the name.
    fn is_folder_of(&self, known: &Known) -> bool {
        let below = match (known.rooted, home(&self.parts, self.rooted)) {
            (true, _) if self.rooted => self.parts.as_slice(),
            (false, Some(home)) => self.parts.get(home..).unwrap_or_default(),
            _ => return false,
        };
        let depth = below.len();
        depth > 0 && depth < known.parts.len() && agree(below, &known.parts)
    }

    fn stands_for(&self, known: &Known) -> bool {
        let length = known.parts.len();
        let Some(start) = self.parts.len().checked_sub(length) else {
            return false;
        };
        let tail = self.parts.get(start..).unwrap_or_default();
        tail.iter().any(|part| glob::is_pattern(part))
            && tail.iter().any(|part| says_something(part))
            && agree(tail, &known.parts)
    }
}

/// How many parts of a path lead to somebody's home.
fn home(parts: &[&str], rooted: bool) -> Option<usize> {
    match parts {
        ["home" | "users", _, ..] if rooted => Some(2),
        [first, ..] if is_home(first, rooted) => Some(1),
        [drive, "users", _, ..] if drive.ends_with(':') => Some(3),
        _ => None,
    }
}

fn is_home(first: &str, rooted: bool) -> bool {
    let named = ["$home", "${home}", "%userprofile%"];
    let above = ["root", "home", "users"];
    first.starts_with('~') || named.contains(&first) || (rooted && above.contains(&first))
}

/// Tells whether a part says enough of a name: `*.json` may be any.
fn says_something(part: &str) -> bool {
    let letters = part.chars().filter(|letter| !"*?[]".contains(*letter));
    letters.count() >= 3 && !part.starts_with('*')
}

/// Compares parts; a star does not stand for names that begin with a dot.
fn agree(asked: &[&str], known: &[Box<str>]) -> bool {
    asked.iter().zip(known).all(|(asked, known)| {
        let hidden = known.starts_with('.') && !asked.starts_with(['.', '[', '?']);
        !hidden && (**asked == **known || glob::matches(asked, known))
    })
}

fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.split('/')
        .filter(|part| !part.is_empty() && *part != ".")
}

#[cfg(test)]
mod tests {
    use super::super::Files;
    use super::*;

    fn held(path: &str) -> Option<String> {
        let files = Files::new().unwrap();
        let folders = Folders::new(files.rules());
        folders.held(path).map(|held| held.kind.to_owned())
    }

    #[test]
    fn folders_and_patterns_are_what_they_take_in() {
        let check = |path: &str, expect: Option<&str>| {
            assert_eq!(held(path).as_deref(), expect, "{path}");
        };
        check("~/.aws", Some("aws_credentials"));
        check("~/.aws/", Some("aws_credentials"));
        check("/home/alice/.aws/*", Some("aws_credentials"));
        check("~/.aws/c*", Some("aws_credentials"));
        check("~/.a?s/cred*", Some("aws_credentials"));
        check("C:\\Users\\me\\.aws", Some("aws_credentials"));
        check("~/.kube", Some("kubeconfig"));
        check(".en*", Some("env_file"));
        check("~", Some("home_folder"));
        check("/home/alice/*", Some("home_folder"));
        check("/", Some("home_folder"));
        check("/root", Some("home_folder"));
        check("/etc/kubernetes", Some("kubeconfig"));
        check(".aws", None);
        check("project/.cursor", None);
        check("src/*.json", None);
        check("src", None);
        check("~/project/src", None);
        check("*", None);
        check("/tmp/x", None);
        check("", None);
        check(".", None);
    }
}
