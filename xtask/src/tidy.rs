//! The rules of the repository that the compiler does not know.
//!
//! This file reads the tree and prints; each rule is a pure function over text in `tidy/`.

mod documents;
mod edges;
mod inventory;
mod lex;
mod machine;
mod requirements;
mod sources;

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{Outcome, adversary, capabilities, workspace};

const ARCHITECTURE: &str = "ARCHITECTURE.md";
const REQUIREMENTS: &str = "docs/requirements.md";

/// One broken rule, with its place.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Problem {
    file: String,
    line: usize,
    message: String,
}

impl Problem {
    fn new(file: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            line,
            message: message.into(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}

/// A text file of the repository, by its path from the root.
struct TextFile {
    path: String,
    text: String,
}

/// Checks every rule and prints every problem.
pub(crate) fn run() -> Result<Outcome> {
    let root = workspace::root()?;
    let files = read_files(&root)?;
    let mut problems = edge_problems(&root)?;
    problems.extend(source_problems(&files));
    problems.extend(document_problems(&root, &files));
    problems.extend(
        files
            .iter()
            .flat_map(|file| machine::check(&file.path, &file.text)),
    );
    problems.sort();
    for problem in &problems {
        println!("{problem}");
    }
    if problems.is_empty() {
        println!("tidy: {} files, no problem", files.len());
        return Ok(Outcome::Clean);
    }
    println!("tidy: {} problems", problems.len());
    Ok(Outcome::Failed)
}

/// Reads what git tracks and what it would track, so that a rule holds before the commit.
fn read_files(root: &Path) -> Result<Vec<TextFile>> {
    let output = Command::new("git")
        .current_dir(root)
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .output()
        .context("cannot run git")?;
    if !output.status.success() {
        bail!(
            "git ls-files failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    let listing = String::from_utf8(output.stdout).context("a file name is not UTF-8")?;
    let mut files = Vec::new();
    for path in listing.split('\0').filter(|path| !path.is_empty()) {
        let full = root.join(path);
        // A tracked file that was deleted, or a link to a folder, has no text.
        if !full.is_file() {
            continue;
        }
        let bytes = fs::read(&full).with_context(|| format!("cannot read `{path}`"))?;
        if let Ok(text) = String::from_utf8(bytes) {
            files.push(TextFile {
                path: path.to_owned(),
                text,
            });
        }
    }
    Ok(files)
}

fn edge_problems(root: &Path) -> Result<Vec<Problem>> {
    let metadata = workspace::metadata(root)?;
    let mut problems = Vec::new();
    for package in &metadata.packages {
        let manifest = fs::read_to_string(&package.manifest_path)
            .with_context(|| format!("cannot read {}", package.manifest_path.display()))?;
        problems.extend(edges::check(package, root, &manifest));
    }
    Ok(problems)
}

fn source_problems(files: &[TextFile]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut issues = Vec::new();
    for file in files.iter().filter(|file| sources::is_rust(&file.path)) {
        problems.extend(sources::check(&file.path, &file.text));
        issues.extend(sources::clearances(&file.path, &file.text));
    }
    problems.extend(sources::check_clearances(&issues));
    problems
}

fn document_problems(root: &Path, files: &[TextFile]) -> Vec<Problem> {
    let mut problems = Vec::new();
    match text_of(files, ARCHITECTURE) {
        Some(text) => {
            problems.extend(documents::check_paths(ARCHITECTURE, text, |path| {
                root.join(path).exists()
            }));
            problems.extend(documents::check_code_map(
                ARCHITECTURE,
                text,
                &crate_names(files),
            ));
        }
        None => problems.push(Problem::new(ARCHITECTURE, 1, "the file does not exist")),
    }
    match text_of(files, REQUIREMENTS) {
        Some(text) => {
            let tests =
                inventory::collect(files.iter().map(|f| (f.path.as_str(), f.text.as_str())));
            problems.extend(requirements::check(REQUIREMENTS, text, &tests));
            let named = adversary::named_tests().into_iter();
            let missing = named.filter(|name| !tests.has(name));
            problems.extend(missing.map(|name| {
                let message = format!("there is no test `{name}`");
                Problem::new("crates/adversary/standards.yaml", 1, message)
            }));
        }
        None => problems.push(Problem::new(REQUIREMENTS, 1, "the file does not exist")),
    }
    for document in [adversary::INCIDENTS, adversary::STANDARDS] {
        let text = text_of(files, document).unwrap_or_default();
        let wrong = adversary::check(document, text);
        problems.extend(wrong.map(|wrong| Problem::new(document, 1, wrong)));
    }
    let readme = text_of(files, capabilities::DOCUMENT).unwrap_or_default();
    let shown = files.iter().map(|file| (&*file.path, &*file.text));
    let shown = shown.filter(|(path, _)| path.starts_with(capabilities::FOLDER));
    let wrong = capabilities::check(readme, shown);
    problems.extend(wrong.map(|wrong| Problem::new(capabilities::DOCUMENT, 1, wrong)));
    problems
}

fn text_of<'a>(files: &'a [TextFile], path: &str) -> Option<&'a str> {
    files
        .iter()
        .find(|file| file.path == path)
        .map(|file| file.text.as_str())
}

fn crate_names(files: &[TextFile]) -> BTreeSet<&str> {
    files
        .iter()
        .filter_map(|file| {
            file.path
                .strip_prefix("crates/")?
                .strip_suffix("/Cargo.toml")
        })
        .filter(|name| !name.contains('/'))
        .collect()
}
