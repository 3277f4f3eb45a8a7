//! docs/requirements.md: every requirement once, with a test that exists or the word `later`.

use std::collections::BTreeMap;

use clap::CommandFactory;

use super::Problem;
use super::documents::in_backticks;
use super::inventory::Inventory;
use crate::Arguments;

const HEADER: [&str; 3] = ["id", "what", "shown by"];
const CHORE: &str = "cargo xtask ";

/// Checks the tables of the file whose header is `id | what | shown by`.
pub(super) fn check(file: &str, text: &str, tests: &Inventory) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut first_seen = BTreeMap::new();
    let mut inside = false;
    let mut rows = 0_usize;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let Some(cells) = cells(line) else {
            inside = false;
            continue;
        };
        if cells.iter().map(|cell| cell.to_lowercase()).eq(HEADER) {
            inside = true;
        } else if inside && !is_rule(&cells) {
            rows += 1;
            let messages = check_row(&cells, tests);
            problems.extend(messages.into_iter().map(|m| Problem::new(file, number, m)));
            let id = cells.first().cloned().unwrap_or_default();
            if let Some(first) = first_seen.insert(id.clone(), number) {
                let message = format!("id `{id}` was used in line {first} already");
                problems.push(Problem::new(file, number, message));
            }
        }
    }
    if rows == 0 {
        problems.push(Problem::new(
            file,
            1,
            "there is no table `| id | what | shown by |`",
        ));
    }
    problems
}

fn check_row(cells: &[String], tests: &Inventory) -> Vec<String> {
    let [id, _, shown_by] = cells else {
        return vec![format!("the row has {} cells, not 3", cells.len())];
    };
    let mut messages = Vec::new();
    if id.is_empty() {
        messages.push("the row has no id".to_owned());
    }
    let names: Vec<&str> = in_backticks(shown_by)
        .filter(|name| *name != "later")
        .collect();
    if names.is_empty() && !shown_by.replace('`', "").starts_with("later") {
        messages.push(format!("`{id}` names neither a test nor `later`"));
    }
    for name in names {
        let known = match name.strip_prefix(CHORE) {
            Some(chore) => is_chore(chore),
            None => tests.has(name),
        };
        if !known {
            messages.push(format!("`{id}` names `{name}`, which is no test"));
        }
    }
    messages
}

/// Says whether the words begin with a command of this program.
fn is_chore(words: &str) -> bool {
    let name = words.split(' ').next().unwrap_or_default();
    Arguments::command()
        .get_subcommands()
        .any(|command| command.get_name() == name)
}

/// Splits a table row at the bars that are not escaped; nothing if the line is no row.
fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    let mut cells = vec![String::new()];
    let mut escaped = false;
    for c in inner.chars() {
        match (c, cells.last_mut()) {
            ('|', _) if !escaped => cells.push(String::new()),
            (_, Some(cell)) => cell.push(c),
            (_, None) => {}
        }
        escaped = c == '\\' && !escaped;
    }
    Some(
        cells
            .into_iter()
            .map(|cell| cell.trim().to_owned())
            .collect(),
    )
}

fn is_rule(cells: &[String]) -> bool {
    cells
        .iter()
        .all(|cell| !cell.is_empty() && cell.chars().all(|c| matches!(c, '-' | ':')))
}

#[cfg(test)]
mod tests {
    use super::super::inventory;

    fn check(rows: &str, expect: &[&str]) {
        let source = "#[test] fn good() {}";
        let tests = inventory::collect([("crates/core/src/a.rs", source)].into_iter());
        let text = format!("| id | what | shown by |\n|---|:--|---|\n{rows}");
        let found: Vec<String> = super::check("r.md", &text, &tests)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(found, expect, "{rows}");
    }

    #[test]
    fn rows_name_tests_that_exist_or_say_later() {
        check("| FR-1 | a \\| b | `core::a::good` |", &[]);
        check(
            "| FR-1 | a | later |\n| FR-2 | b | `later` |\n| FR-3 | c | later: issue 4 |",
            &[],
        );
        check("| FR-1 | a | `cargo xtask bench gateway` |", &[]);
        check(
            "| FR-1 | a | `cargo xtask gone` |",
            &["r.md:3: `FR-1` names `cargo xtask gone`, which is no test"],
        );
        check(
            "| FR-1 | a | `core::a::good`, `core::a::bad` |",
            &["r.md:3: `FR-1` names `core::a::bad`, which is no test"],
        );
        check(
            "| FR-1 | a | soon |",
            &["r.md:3: `FR-1` names neither a test nor `later`"],
        );
        check(
            "| FR-1 | a | |",
            &["r.md:3: `FR-1` names neither a test nor `later`"],
        );
        check("| FR-1 | later |", &["r.md:3: the row has 2 cells, not 3"]);
        check("|  | a | later |", &["r.md:3: the row has no id"]);
    }

    #[test]
    fn ids_are_unique_and_other_tables_are_left_alone() {
        check(
            "| FR-1 | a | later |\n| FR-1 | b | later |",
            &["r.md:4: id `FR-1` was used in line 3 already"],
        );
        check(
            "| FR-1 | a | later |\n\n| term | meaning |\n|---|---|\n| x | y |",
            &[],
        );
        check(
            "",
            &["r.md:1: there is no table `| id | what | shown by |`"],
        );
    }
}
