//! The history of an audit folder: every session's calls, counted by upstream and tool.
//!
//! One pass over the files, in memory that grows with the number of tools and not of receipts.

use std::collections::BTreeMap;
use std::fs;

use crate::error::NotaryError;
use crate::json::Json;
use crate::layout::Layout;
use crate::tally::{Tally, shown, tools_json};
use crate::view::Session;

/// The most tools that are told apart; the rest is counted as one.
const MOST: usize = 10_000;

/// What a folder's history came to.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// How many sessions there were.
    pub sessions: u64,
    /// How many of them were seen to their end.
    pub complete: u64,
    /// Sessions whose file cannot be read.
    pub unreadable: u64,
    /// The first and last times that are told.
    pub times: Option<(String, String)>,
    /// All calls.
    pub all: Tally,
    /// The calls by `upstream/tool`.
    pub tools: BTreeMap<String, Tally>,
}

impl History {
    /// Reads every session of the audit folder.
    pub fn load(layout: &Layout) -> Result<Self, NotaryError> {
        let folder = layout.receipts();
        let entries = fs::read_dir(&folder).map_err(NotaryError::file("read", &folder))?;
        let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|kind| kind == "jsonl"));
        paths.sort();
        let mut history = Self::default();
        for path in paths {
            match Session::load(&path) {
                Ok(session) => history.add(session),
                // One bad file must not hide the others.
                Err(_) => history.unreadable += 1,
            }
        }
        Ok(history)
    }

    fn add(&mut self, session: Session) {
        self.sessions += 1;
        self.complete += u64::from(session.complete == Some(true));
        if let Some((from, to)) = session.times {
            let (first, last) = self
                .times
                .take()
                .unwrap_or_else(|| (from.clone(), to.clone()));
            self.times = Some((first.min(from), last.max(to)));
        }
        for call in &session.calls {
            self.all.add(call);
            let name = format!("{}/{}", session.server_id, call.tool);
            let known = self.tools.len() < MOST || self.tools.contains_key(&name);
            let name = if known { name } else { "(others)".to_owned() };
            self.tools.entry(name).or_default().add(call);
        }
    }

    /// Tells the history in words.
    pub fn text(&self) -> String {
        let mut out = format!(
            "{} sessions, {} complete, {} unreadable\n",
            self.sessions, self.complete, self.unreadable
        );
        if let Some((first, last)) = &self.times {
            out.push_str(&format_times(first, last));
        }
        let mut lines = vec![format!("In all: {}\n", self.all.text())];
        lines.extend(
            self.tools
                .iter()
                .map(|(tool, tally)| format!("  {}: {}\n", shown(tool), tally.text())),
        );
        out.push_str(&lines.concat());
        out
    }

    /// Returns the same for machines.
    pub fn json(&self) -> Json {
        let (first, last) = self.times.clone().unzip();
        Json::Object(vec![
            ("sessions", Json::Number(self.sessions)),
            ("complete", Json::Number(self.complete)),
            ("unreadable", Json::Number(self.unreadable)),
            ("first", Json::optional(first)),
            ("last", Json::optional(last)),
            ("all", self.all.json()),
            ("tools", tools_json(&self.tools)),
        ])
    }
}

fn format_times(first: &str, last: &str) -> String {
    format!("From {} to {}\n", shown(first), shown(last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::made;

    /// PEERS, notary 11: one bad line elsewhere must not cost other receipts.
    #[test]
    fn a_damaged_session_does_not_hide_the_others() {
        let made = made();
        let layout = Layout::create(made.root()).unwrap();
        fs::write(layout.session("bad"), b"\xff\n{\n{}\n").unwrap();
        let history = History::load(&layout).unwrap();
        assert_eq!(
            (history.sessions, history.complete, history.all.forwarded),
            (2, 1, 1)
        );
        assert!(
            history
                .text()
                .starts_with("2 sessions, 1 complete, 0 unreadable\n")
        );
        assert!(history.json().pretty().contains("\"forwarded\": 1"));
    }
}
