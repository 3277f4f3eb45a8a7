//! Conversations of others: one JSON object a line, with `label`, `calls` and `meta`.
//!
//! An attack that moves no data (it books a room, it invites somebody) is not for a data-flow rule
//! to find; it is counted apart.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;

use super::session::{Call, Label, Meta, Session};

/// The file in a folder of labelled cases.
const FILE: &str = "agentdojo_flows.jsonl";

#[derive(Debug, Deserialize)]
struct Line {
    id: String,
    category: String,
    label: String,
    calls: Vec<Told>,
    meta: About,
}

#[derive(Debug, Deserialize)]
struct Told {
    #[serde(default)]
    server: Option<String>,
    tool: String,
    args: Value,
    result: Value,
}

#[derive(Debug, Default, Deserialize)]
struct About {
    /// Where the calls of the attack begin.
    #[serde(default)]
    attack_starts_at: usize,
    /// Characters that the attack shares with what was read.
    #[serde(default)]
    inj_overlap: usize,
    /// Tools of an honest conversation that send something out.
    #[serde(default)]
    external_sinks: Vec<String>,
}

/// Reads the conversations of a folder.
pub(super) fn read(folder: &Path) -> Result<Vec<Session>> {
    let file = folder.join(FILE);
    let text = fs::read_to_string(&file);
    let text = text.with_context(|| format!("cannot read {}", file.display()))?;
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    let parsed = lines.map(|(index, line)| {
        let line: Line = serde_json::from_str(line)
            .with_context(|| format!("{}:{}", file.display(), index + 1))?;
        Ok(session(line))
    });
    parsed.collect()
}

fn session(line: Line) -> Session {
    let is_benign = line.label == "benign";
    let group = match (is_benign, line.meta.inj_overlap) {
        (true, _) if line.meta.external_sinks.is_empty() => "no outside call",
        (true, _) => "outside call",
        (false, 0) => "attack without data",
        (false, _) => "attack that moves data",
    };
    let attack = line.meta.attack_starts_at..line.calls.len();
    let call = |told: Told| Call {
        server: told.server,
        tool: told.tool,
        args: told.args,
        result: told.result,
    };
    Session {
        id: line.id,
        label: if is_benign {
            Label::Benign
        } else {
            Label::Leak
        },
        meta: Meta {
            set: "AgentDojo".to_owned(),
            named: line.meta.inj_overlap > 0,
            group: group.to_owned(),
            data: line.category,
            leaks: if is_benign {
                Vec::new()
            } else {
                attack.collect()
            },
            ..Meta::default()
        },
        calls: line.calls.into_iter().map(call).collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_says_what_is_asked() {
        let check = |label: &str, meta: Value, group: &str, leaks: &[usize]| {
            let call = json!({ "tool": "t", "args": {}, "result": "r" });
            let line = json!({
                "id": "i", "category": "c", "label": label, "calls": [call, call, call],
                "meta": meta,
            });
            let session = session(serde_json::from_value(line).unwrap());
            assert_eq!(
                (session.meta.group.as_str(), session.meta.leaks.as_slice()),
                (group, leaks)
            );
        };
        check(
            "benign",
            json!({ "external_sinks": [] }),
            "no outside call",
            &[],
        );
        check(
            "benign",
            json!({ "external_sinks": ["t"] }),
            "outside call",
            &[],
        );
        let attack = |overlap| json!({ "attack_starts_at": 1, "inj_overlap": overlap });
        check("malicious", attack(0), "attack without data", &[1, 2]);
        check("malicious", attack(9), "attack that moves data", &[1, 2]);
    }
}
