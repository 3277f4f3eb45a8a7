//! `policy replay`: sessions that went by, under the policy in force.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use mcpproxy_core::{Action, Verdict};
use mcpproxy_engine::replay::{Replay, Session};
use serde_json::{Value, json};

use super::{block_on, engine, settings};
use crate::args::{Format, Global};
use crate::exit::{Exit, bad_input};
use crate::output;

/// Judges every session of a file, one JSON object a line.
pub(crate) fn run(global: &Global, file: &Path) -> Result<Exit> {
    let replay = engine(settings(global)?)?;
    let input: Box<dyn BufRead> = if file == Path::new("-") {
        Box::new(std::io::stdin().lock())
    } else {
        let opened = std::fs::File::open(file);
        let opened = opened.with_context(|| format!("cannot read `{}`", file.display()))?;
        Box::new(BufReader::new(opened))
    };
    let mut stopped = 0_usize;
    for (number, line) in input.lines().enumerate() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let session: Session = serde_json::from_str(&line).map_err(|fault| {
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
    let verdicts = block_on(replay.run(session))??;
    let stopped = verdicts.iter().filter(|one| one.wanted >= Action::Ask);
    let stopped = stopped.count();
    let calls = session.calls.iter().zip(&verdicts);
    if global.format() == Format::Table {
        output::line(&format!("session {}", session.id))?;
        for (step, verdict) in calls {
            let server = step.server.as_deref().unwrap_or("");
            let tool = [server, ":", &step.tool].concat();
            let decision = format!("{:?}", verdict.wanted).to_lowercase();
            let reason = verdict.reason().unwrap_or("");
            output::line(&format!("  {decision:5}  {tool:32}  {reason}"))?;
        }
        return Ok(stopped);
    }
    let calls: Vec<_> = calls
        .map(|(step, verdict)| judged(step.server.as_deref(), &step.tool, verdict))
        .collect();
    let session = json!({ "id": session.id, "calls": calls });
    output::line(&session.to_string())?;
    Ok(stopped)
}

fn judged(server: Option<&str>, tool: &str, verdict: &Arc<Verdict>) -> Value {
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
        "evidence": evidence,
        "findings": verdict.findings.iter().map(|one| &*one.rule).collect::<Vec<_>>(),
    })
}
