//! The way in: `mcpproxy detect`, one line in, one line out.

use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::case::{Answer, Case};

/// Asks the program about every case and returns the answers in the same order.
pub(super) fn ask(program: &Path, cases: &[Case]) -> Result<Vec<Answer>> {
    let mut child = Command::new(program)
        .arg("detect")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let input = child.stdin.take().context("the program has no input")?;
    let output = child.stdout.take().context("the program has no output")?;
    let questions: Vec<String> = cases.iter().enumerate().map(line).collect();
    let writer = thread::spawn(move || {
        let mut input = BufWriter::new(input);
        for question in questions {
            writeln!(input, "{question}")?;
        }
        input.flush()
    });
    let lines = BufReader::new(output).lines();
    let answers: Result<Vec<Answer>> = lines.enumerate().map(|(at, line)| read(at, line)).collect();
    let answers = answers?;
    let written = writer.join();
    child.wait().context("cannot wait for the program")?;
    match written {
        Ok(written) => written.context("cannot write to the program")?,
        Err(_) => bail!("writing to the program broke off"),
    }
    if answers.len() != cases.len() {
        bail!("{} cases, but {} answers", cases.len(), answers.len());
    }
    Ok(answers)
}

/// The question with its number as the id, since ids of others need not be unique.
fn line((number, case): (usize, &Case)) -> String {
    let mut question = case.question.clone();
    if let Some(fields) = question.as_object_mut() {
        fields.insert("id".to_owned(), json!(number));
    }
    question.to_string()
}

fn read(number: usize, line: std::io::Result<String>) -> Result<Answer> {
    let line = line.context("cannot read from the program")?;
    let answer: Value = serde_json::from_str(&line).context("the answer is no JSON")?;
    let id = answer.get("id").filter(|id| !id.is_null());
    if id.is_some_and(|id| *id != json!(number)) {
        bail!("answer {number} has the id of another case");
    }
    serde_json::from_value(answer).context("the answer has another form")
}
