//! The floor of the stdio bench: a relay that starts the echo upstream and does nothing with a line
//! but parse the JSON in it and pass it on.

use std::env;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context, Result};

use super::bare::check_envelope;
use crate::Outcome;

/// Relays between its own standard streams and those of the echo upstream until stdin closes.
pub(crate) fn run() -> Result<Outcome> {
    let program = env::current_exe().context("cannot find the program itself")?;
    let mut child = Command::new(program)
        .arg("echo-stdio")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start the echo upstream")?;
    let input = child.stdin.take().context("no way to the upstream")?;
    let output = child.stdout.take().context("no way from the upstream")?;
    let back = thread::spawn(move || pass(output, io::stdout()));
    pass(io::stdin(), input)?;
    child.wait().context("cannot wait for the upstream")?;
    back.join().unwrap_or(Ok(()))?;
    Ok(Outcome::Clean)
}

/// Passes lines on, each as soon as it is there; the output closes with the input.
fn pass(input: impl Read, mut output: impl Write) -> Result<()> {
    let mut input = BufReader::new(input);
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        check_envelope(&line)?;
        output.write_all(&line)?;
        output.flush()?;
        line.clear();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    fn check(input: &str, expect: Option<&str>) {
        let mut output = Vec::new();
        let passed = super::pass(input.as_bytes(), &mut output).is_ok();
        let found = passed.then(|| String::from_utf8(output).unwrap());
        assert_eq!(found.as_deref(), expect, "{input}");
    }

    #[test]
    fn only_messages_are_passed_on() {
        let two = "{\"id\":1,\"method\":\"x\"}\n{\"method\":\"y\"}\n";
        check(two, Some(two));
        check("", Some(""));
        check("{}\n", None);
    }
}
