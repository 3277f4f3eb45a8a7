//! `cargo xtask capabilities`: writes the table of capabilities in the README from the files under
//! `tests/capabilities`. Tidy fails while the two differ.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context as _, Result, bail};

use crate::{Outcome, workspace};

/// The document that holds the table, between two marks.
pub(crate) const DOCUMENT: &str = "README.md";
/// Where the files are.
pub(crate) const FOLDER: &str = "tests/capabilities/";
const FROM: &str = "<!-- capabilities: written by `cargo xtask capabilities` -->\n";
const TO: &str = "<!-- end of capabilities -->";

/// Writes the table.
pub(crate) fn run() -> Result<Outcome> {
    let root = workspace::root()?;
    let mut files = Vec::new();
    for entry in fs::read_dir(root.join(FOLDER)).context("there are no capabilities")? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        files.push((format!("{FOLDER}{name}"), fs::read_to_string(&path)?));
    }
    let table = table(files.iter().map(|(path, text)| (&**path, &**text)))?;
    let document = root.join(DOCUMENT);
    let text = fs::read_to_string(&document)?;
    let Some(written) = replaced(&text, &table) else {
        bail!("`{DOCUMENT}` has no place for the table");
    };
    fs::write(document, written)?;
    Ok(Outcome::Clean)
}

/// Says what is wrong with the table in a document, if anything is.
pub(crate) fn check<'a>(
    document: &str,
    files: impl Iterator<Item = (&'a str, &'a str)>,
) -> Option<String> {
    let table = match table(files) {
        Ok(table) => table,
        Err(fault) => return Some(fault.to_string()),
    };
    match replaced(document, &table) {
        Some(written) if written == document => None,
        Some(_) => Some("the table is old: run `cargo xtask capabilities`".to_owned()),
        None => Some("there is no place for the table of capabilities".to_owned()),
    }
}

fn replaced(document: &str, table: &str) -> Option<String> {
    let (before, rest) = document.split_once(FROM)?;
    let (_, after) = rest.split_once(TO)?;
    Some([before, FROM, table, TO, after].concat())
}

/// One row for each file, in the order of their names.
fn table<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> Result<String> {
    let mut files: Vec<_> = files.collect();
    files.sort_unstable();
    let mut table = "\n| | capability | guard | attack that is stopped | twin that passes |\n|---|---|---|---|---|\n"
        .to_owned();
    for (path, text) in files {
        let name = path.strip_prefix(FOLDER).unwrap_or(path);
        let number = name.split('-').next().unwrap_or(name);
        let number = number.trim_start_matches('0');
        let said = |key: &str| {
            let key = format!("{key}: ");
            let heads = ["# ", "//! "];
            let head = heads.into_iter().find(|head| text.starts_with(head));
            let head = head.unwrap_or_default();
            let mut lines = text.lines().map_while(|line| line.strip_prefix(head));
            let line = lines.find_map(|line| line.strip_prefix(&key));
            line.with_context(|| format!("`{path}` does not begin with a line `{key}...`"))
        };
        let guard = said("guard")?;
        let (capability, attack, twin) = (said("capability")?, said("attack")?, said("twin")?);
        writeln!(
            table,
            "| {number} | [{capability}]({path}) | `{guard}` | {attack} | {twin} |"
        )?;
    }
    table.push('\n');
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: (&str, &str) = (
        "tests/capabilities/07-a.yaml",
        "# capability: seven\n# guard: a\n# attack: bad\n# twin: good\nname: x\n",
    );

    #[test]
    fn the_table_is_written_from_the_files() {
        let old = format!("before\n{FROM}stale\n{TO}\nafter\n");
        assert!(check(&old, [FILE].into_iter()).is_some());
        let table = table([FILE].into_iter()).unwrap();
        let new = replaced(&old, &table).unwrap();
        assert!(new.contains("| 7 | [seven](tests/capabilities/07-a.yaml) | `a` | bad | good |"));
        assert_eq!(check(&new, [FILE].into_iter()), None);
        assert!(check("nothing", [FILE].into_iter()).is_some());
        let headless = ("tests/capabilities/08-b.yaml", "name: x\n");
        assert!(check(&new, [FILE, headless].into_iter()).is_some());
    }
}
