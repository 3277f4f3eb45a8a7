//! The real engine as judge, through the replay that `mcpproxy policy replay` uses.

use std::time::Instant;

use anyhow::{Context, Result};
use mcpproxy_core::{Action, Askable, Verdict};
use mcpproxy_engine::EngineSettings;
use mcpproxy_engine::replay::{Replay, Session as Replayed};
use tokio::runtime::{Builder, Runtime};

use super::session::{Judge, Judged, Session, Wanted};

/// An engine with the settings it comes with, and somebody who can be asked.
#[derive(Debug)]
pub(super) struct Engine {
    replay: Replay,
    runtime: Runtime,
}

impl Engine {
    /// Starts one.
    pub(super) fn new() -> Result<Self> {
        let replay = Replay::new(EngineSettings::default(), Askable::Elicit);
        Ok(Self {
            replay: replay.context("cannot start the engine")?,
            runtime: Builder::new_current_thread().enable_all().build()?,
        })
    }
}

impl Judge for Engine {
    fn session(&mut self, session: &Session) -> Result<Vec<Judged>> {
        let replayed: Replayed = serde_json::from_str(&serde_json::to_string(session)?)?;
        let start = Instant::now();
        let verdicts = self.runtime.block_on(self.replay.run(&replayed));
        let calls = u32::try_from(session.calls.len().max(1)).unwrap_or(u32::MAX);
        let took = start.elapsed() / calls;
        let verdicts = verdicts.with_context(|| format!("cannot replay {}", session.id))?;
        let judged = verdicts.iter().map(|ran| Judged {
            took,
            ..judged(&ran.verdict)
        });
        Ok(judged.collect())
    }
}

fn judged(verdict: &Verdict) -> Judged {
    let decided = verdict.decided_by.and_then(|at| verdict.findings.get(at));
    let evidence = decided.map(|finding| match &finding.evidence {
        Some(found) => format!("{:?}", found.how).to_lowercase(),
        None => finding.rule.to_string(),
    });
    let reason = decided.map_or_else(String::new, |finding| {
        format!("{} ({:?})", finding.rule, verdict.wanted)
    });
    Judged {
        wanted: match verdict.wanted {
            Action::Allow => Wanted::Allow,
            Action::Warn => Wanted::Warn,
            Action::Ask => Wanted::Ask,
            Action::Deny => Wanted::Deny,
        },
        evidence: evidence.into_iter().collect(),
        reason,
        ..Judged::default()
    }
}
