//! Uses of tools about which hooks could not ask: as the gateway counts them, or as they stand in the
//! file that it takes over.

use std::path::Path;

use mcpproxy_core::{GAPS, GAPS_FULL, Gap, Wall};
use serde_json::{Value, json};

/// What was missed, of which there is something.
#[derive(Debug)]
pub(crate) struct Missed {
    pub(crate) count: u64,
    /// Whether there were more than can be told.
    is_more: bool,
    at: String,
    agent: String,
    /// Whether the gateway has them on record already.
    pub(crate) is_recorded: bool,
}

impl Missed {
    /// Looks for it in what the gateway says of itself, or in the data folder where it says nothing.
    pub(crate) fn found(status: Option<&Value>, folder: Option<&Path>) -> Option<Self> {
        match status.and_then(|status| status.pointer("/hooks/gaps")) {
            Some(told) => Self::told(told),
            None => Self::left(folder?),
        }
    }

    fn told(told: &Value) -> Option<Self> {
        let text = |name: &str| {
            let found = told.pointer(&format!("/last/{name}"))?;
            found.as_str().map(str::to_owned)
        };
        let count = told.get("count").and_then(Value::as_u64).unwrap_or(0);
        (count > 0).then(|| Self {
            count,
            is_more: false,
            at: text("at").unwrap_or_else(unknown),
            agent: text("agent").unwrap_or_else(unknown),
            is_recorded: true,
        })
    }

    fn left(folder: &Path) -> Option<Self> {
        let text = std::fs::read(folder.join(GAPS)).ok()?;
        let is_more = u64::try_from(text.len()).unwrap_or(u64::MAX) >= GAPS_FULL;
        let text = String::from_utf8_lossy(&text);
        let last = text.lines().rev().find_map(|line| {
            let gap: Gap = serde_json::from_str(line).ok()?;
            Some((Wall(gap.at).rfc3339(), gap.agent))
        });
        let (at, agent) = last.unwrap_or_else(|| (unknown(), unknown()));
        // A line that cannot be read tells of a use all the same.
        let count = u64::try_from(text.lines().count()).unwrap_or(u64::MAX);
        (count > 0).then_some(Self {
            count,
            is_more,
            at,
            agent,
            is_recorded: false,
        })
    }

    /// Says it to people.
    pub(crate) fn sentence(&self) -> String {
        let Self {
            count, at, agent, ..
        } = self;
        let more = if self.is_more { " or more" } else { "" };
        format!("{count}{more} uses of tools could not be asked about, last {at} ({agent})")
    }

    /// Says what can be done about it.
    pub(crate) fn hint(&self) -> &'static str {
        if self.is_recorded {
            "look at them with `mcpproxy activity list --type hook_evaluation --status error`"
        } else {
            "start the gateway with `mcpproxy serve`; it takes them over"
        }
    }

    /// Says it to programs.
    pub(crate) fn json(&self) -> Value {
        json!({ "count": self.count, "more": self.is_more, "last_at": self.at, "last_agent": self.agent })
    }
}

fn unknown() -> String {
    "unknown".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_the_folder_is_told_also_where_a_line_is_broken() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Missed::found(None, Some(folder.path())).is_none());
        let gap = r#"{"at":0,"agent":"codex","event":"PreToolUse","tool":"t","cause":"slow","decision":"allow"}"#;
        let check = |text: &str, expect: &str| {
            std::fs::write(folder.path().join(GAPS), text).unwrap();
            let found = Missed::found(None, Some(folder.path())).unwrap();
            assert!(found.sentence().starts_with(expect), "{}", found.sentence());
        };
        let one = "uses of tools could not be asked about, last 1970-01-01T00:00:00.000Z (codex)";
        check(&format!("{gap}\n"), &format!("1 {one}"));
        check(&format!("{gap}\n{{\"at\":"), &format!("2 {one}"));
        check(
            "broken",
            "1 uses of tools could not be asked about, last unknown (unknown)",
        );
    }
}
