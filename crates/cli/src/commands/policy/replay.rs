//! `policy replay`: sessions that went by, under the policy in force.

use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context as _, Result};
use mcpproxy_core::Action;
use mcpproxy_engine::replay::{Ran, Replay, Session};
use mcpproxy_policy::scenario::AnswerName;
use serde_json::{Value, json};

use super::{block_on, engine};
use crate::args::{Format, Global};
use crate::daemon::{configuration, flags};
use crate::exit::{Exit, bad_input};
use crate::output;

/// Judges every session of a file, one JSON object a line.
pub(crate) fn run(global: &Global, file: &Path) -> Result<Exit> {
    let replay = engine(&configuration(&flags(global, None))?)?;
    let input: Box<dyn BufRead> = if file == Path::new("-") {
        Box::new(std::io::stdin().lock())
    } else {
        let opened = std::fs::File::open(file);
        let opened = opened.with_context(|| format!("cannot read `{}`", file.display()))?;
        Box::new(BufReader::new(opened))
    };
    let mut stopped = 0_usize;
    for (number, line) in input.lines().enumerate() {
        let line = line.with_context(|| format!("cannot read `{}`", file.display()))?;
        if line.trim().is_empty() {
            continue;
        }
        let session = Session::read(&line).map_err(|fault| {
            let place = format!("`{}`, line {}: {fault}", file.display(), number + 1);
            bad_input(
                place,
                Some("a session is {id, calls: [{server, tool, args, result}]}"),
            )
        })?;
        stopped += print(global, &replay, &session)?;
    }
    output::note(&format!("{stopped} calls would be denied or asked about"));
    Ok(if stopped == 0 {
        Exit::Fine
    } else {
        Exit::Findings
    })
}

/// Prints what would happen to a session; returns how many of its calls would not just pass.
fn print(global: &Global, replay: &Replay, session: &Session) -> Result<usize> {
    let ran = block_on(replay.run(session))??;
    let stopped = ran.iter().filter(|one| one.verdict.wanted >= Action::Ask);
    let stopped = stopped.count();
    let calls = session.calls.iter().zip(&ran);
    if global.format() == Format::Table {
        output::line(&format!("session {}", session.id))?;
        for (step, Ran { verdict, answer }) in calls {
            let server = step.server.as_deref().unwrap_or("");
            let tool = [server, ":", &step.tool].concat();
            let decision = format!("{:?}", verdict.wanted).to_lowercase();
            let reason = verdict.reason().unwrap_or("");
            output::line(&format!("  {decision:5}  {tool:32}  {reason}"))?;
            if matches!(answer, AnswerName::Changed | AnswerName::Withheld) {
                output::line(&format!("         its answer is {}", answer.name()))?;
            }
        }
        return Ok(stopped);
    }
    let calls: Vec<_> = calls
        .map(|(step, ran)| judged(step.server.as_deref(), &step.tool, ran))
        .collect();
    let session = json!({ "id": session.id, "calls": calls });
    output::line(&session.to_string())?;
    Ok(stopped)
}

fn judged(server: Option<&str>, tool: &str, ran: &Ran) -> Value {
    let verdict = &ran.verdict;
    let evidence: Vec<_> = verdict
        .findings
        .iter()
        .filter_map(|finding| finding.evidence.as_deref())
        .collect();
    json!({
        "server": server,
        "tool": tool,
        "decision": verdict.wanted,
        "effective": verdict.action,
        "risk_level": verdict.risk.level,
        "risk_score": verdict.risk.score,
        "flow_type": verdict.flow,
        "reason": verdict.reason(),
        "answer": ran.answer,
        "evidence": evidence,
        "findings": verdict.findings.iter().map(|one| &*one.rule).collect::<Vec<_>>(),
    })
}
