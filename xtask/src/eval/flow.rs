//! `cargo xtask eval flow`: made-up conversations of agents, in some of which private data leaves.
//!
//! The same seed makes the same conversations. They are judged by the real engine, through the
//! replay that `mcpproxy policy replay` uses; no rule is written here.

mod benign;
mod carrier;
mod data;
mod disguise;
mod dojo;
mod foreign;
mod image;
mod judge;
mod known;
mod leaks;
mod report;
mod score;
mod session;
mod unseen;
mod words;

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use self::score::Score;
use self::session::Session;
use self::words::Set;
use crate::Outcome;

/// Arguments of `cargo xtask eval flow`.
#[derive(clap::Args, Debug)]
pub(super) struct Arguments {
    /// Which conversations are made
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// A folder of labelled cases with conversations of others
    #[arg(long, value_name = "DIR")]
    corpus: Option<PathBuf>,
    /// Conversations for each transformation and each harmless kind, in each set of words; with few,
    /// a single miss among secrets decides whether their aim is met
    #[arg(long, value_name = "N", default_value_t = 120)]
    sessions: usize,
    /// Writes the conversations, one JSON object a line, and judges none
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Writes the figures as JSON, too
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Most misses and false alarms that are listed of each transformation or kind
    #[arg(long, value_name = "N", default_value_t = 0)]
    misses: usize,
    /// Fails if an aim is missed
    #[arg(long)]
    strict: bool,
}

/// Makes the conversations and has them judged.
pub(super) fn run(arguments: &Arguments) -> Result<Outcome> {
    let mut sessions = sessions(arguments.seed, arguments.sessions);
    let mut sets: Vec<&'static str> = Set::ALL.map(Set::name).to_vec();
    if let Some(folder) = &arguments.corpus {
        sessions.extend(dojo::read(folder)?);
        sets.push("AgentDojo");
    }
    if let Some(file) = &arguments.write {
        write(file, &sessions)?;
        println!("{} conversations written", sessions.len());
        return Ok(Outcome::Clean);
    }
    println!("judging {} conversations ...", sessions.len());
    let mut judge = judge::Engine::new()?;
    let mut score = Score::default();
    for session in &sessions {
        score.ask(&mut judge, session)?;
    }
    let rows = score.rows(&sets);
    report::print(&score, &rows, &sets, arguments.misses);
    if let Some(file) = &arguments.json {
        let text = serde_json::to_string_pretty(&report::json(&score, &rows))?;
        fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    let missed = rows.iter().filter(|row| !row.is_met).count();
    println!("\naims missed: {missed}");
    Ok(if arguments.strict && missed > 0 {
        Outcome::Failed
    } else {
        Outcome::Clean
    })
}

/// All conversations of a seed.
fn sessions(seed: u64, each: usize) -> Vec<Session> {
    let make = |set| {
        let mut made = leaks::sessions(seed, set, each);
        made.extend(benign::sessions(seed, set, each));
        made
    };
    Set::ALL.into_iter().flat_map(make).collect()
}

fn write(file: &Path, sessions: &[Session]) -> Result<()> {
    let fault = || format!("cannot write {}", file.display());
    let mut out = BufWriter::new(File::create(file).with_context(fault)?);
    for session in sessions {
        serde_json::to_writer(&mut out, session)?;
        out.write_all(b"\n").with_context(fault)?;
    }
    out.flush().with_context(fault)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_conversations() {
        let lines = |seed| serde_json::to_string(&sessions(seed, 2)).unwrap();
        assert!(lines(1) == lines(1));
        assert!(lines(1) != lines(2));
    }

    #[test]
    fn ids_are_unique_and_leaks_point_at_calls_after_the_read() {
        let sessions = sessions(1, 3);
        let ids: BTreeSet<&str> = sessions.iter().map(|session| session.id.as_str()).collect();
        assert_eq!(ids.len(), sessions.len());
        for session in &sessions {
            let is_leak = session.label == session::Label::Leak;
            assert_eq!(session.meta.leaks.is_empty(), !is_leak, "{}", session.id);
            let inside = |index: &usize| *index > 0 && *index < session.calls.len();
            assert!(session.meta.leaks.iter().all(inside), "{}", session.id);
        }
    }
}
