//! What the user sees of the demo: each step with what was sent and what came back.

use anyhow::Result;
use serde_json::{Value, json};

use crate::args::Format;
use crate::exit::failed;
use crate::output;

/// Lines of an answer that are shown.
const LINES: usize = 5;
/// Characters of a line that are shown.
const WIDTH: usize = 120;

/// One step: what the agent did, and what it got.
pub(super) struct Step {
    pub(super) title: &'static str,
    /// What was sent, or looked at.
    pub(super) sent: String,
    /// What came back.
    pub(super) answer: String,
    /// What should have come back.
    pub(super) wanted: &'static str,
    /// Whether it did.
    pub(super) as_wanted: bool,
}

/// Shows the steps as they happen, or all of them at the end.
pub(super) struct Narrator {
    format: Format,
    steps: Vec<Value>,
}

impl Narrator {
    pub(super) fn new(format: Format) -> Self {
        Self {
            format,
            steps: Vec::new(),
        }
    }

    /// Shows a sentence.
    pub(super) fn say(&self, text: &str) -> Result<()> {
        if self.format == Format::Table {
            output::line(text)
        } else {
            Ok(())
        }
    }

    /// Shows a step; one that did not come out as wanted is an error.
    pub(super) fn step(&mut self, step: &Step) -> Result<()> {
        let number = self.steps.len() + 1;
        self.steps.push(json!({
            "step": number,
            "title": step.title,
            "sent": step.sent,
            "answer": step.answer,
            "wanted": step.wanted,
            "as_wanted": step.as_wanted,
        }));
        self.say(&format!("\n{number}. {}", step.title))?;
        self.say(&format!("   > {}", shortened(&step.sent, 1).join("")))?;
        for line in shortened(&step.answer, LINES) {
            self.say(&format!("   < {line}"))?;
        }
        if step.as_wanted {
            return Ok(());
        }
        let message = format!(
            "step {number} did not come out as it should: {}",
            step.wanted
        );
        Err(failed(
            message,
            Some("what came back is shown above; `mcpproxy doctor` may know more"),
        ))
    }

    /// Shows what is shown at the end.
    pub(super) fn finish(&self) -> Result<()> {
        match self.format {
            Format::Table => Ok(()),
            Format::Jsonl => output::rows(self.format, &[], &self.steps),
            Format::Json | Format::Yaml | Format::Sarif => {
                output::value(self.format, &json!({ "steps": self.steps }))
            }
        }
    }
}

/// Returns the first lines of a text, each cut, with a mark where something is left out.
fn shortened(text: &str, most: usize) -> Vec<String> {
    let all: Vec<_> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let cut = |line: &&str| {
        let mut short: String = output::flat(line).chars().take(WIDTH).collect();
        if line.chars().count() > WIDTH {
            short.push('…');
        }
        short
    };
    let mut lines: Vec<_> = all.iter().take(most).map(cut).collect();
    if let (Some(last), true) = (lines.last_mut(), all.len() > most) {
        last.push_str(" …");
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_answers_are_cut_and_marked() {
        let check = |text: &str, most: usize, expect: &[&str]| {
            assert_eq!(shortened(text, most), expect);
        };
        check("one", 2, &["one"]);
        check("one\n\ntwo\n", 2, &["one", "two"]);
        check("one\ntwo\nthree", 2, &["one", "two …"]);
        check("", 2, &[]);
        let long = "é".repeat(WIDTH + 1);
        check(&long, 1, &[&format!("{}…", "é".repeat(WIDTH))]);
    }
}
