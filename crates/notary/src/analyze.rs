//! The history of an audit folder: every session's calls, counted by upstream and tool.
//!
//! One pass over the files, in memory that grows with the number of tools and not of receipts.

use std::collections::{BTreeMap, BTreeSet};
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
    /// Packs that a later session names, and which are not there.
    pub missing: BTreeSet<String>,
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
                // A file in which no line names a session is none.
                Ok(session) if session.session_id.is_empty() => history.unreadable += 1,
                Ok(session) => {
                    let named = session.previous.clone();
                    history
                        .missing
                        .extend(named.filter(|name| !is_there(layout, name)));
                    history.add(session);
                }
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
            let name = match &call.server {
                Some(_) => call.tool.clone(),
                None => format!("{}/{}", session.server_id, call.tool),
            };
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
        for pack in &self.missing {
            out.push_str("MISSING: ");
            out.push_str(&shown(pack));
            out.push_str(", which a later session names\n");
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
            ("missing_packs", Json::texts(self.missing.clone())),
            ("first", Json::optional(first)),
            ("last", Json::optional(last)),
            ("all", self.all.json()),
            ("tools", tools_json(&self.tools)),
        ])
    }
}

/// Looks for a pack by the name of its folder, and for nothing outside of where packs are.
fn is_there(layout: &Layout, name: &str) -> bool {
    !name.contains(['/', '\\']) && layout.packs().join(name).is_dir()
}

fn format_times(first: &str, last: &str) -> String {
    format!("From {} to {}\n", shown(first), shown(last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::made;

    #[test]
    fn a_pack_that_vanished_is_missed() {
        let made = made();
        let layout = Layout::create(made.root()).unwrap();
        let text = format!(
            r#"{{"type":"mcp.session_start","session_id":"s","previous_pack":"{}"}}"#,
            layout.recall().unwrap().pack
        );
        fs::write(layout.session("next"), text).unwrap();
        assert!(History::load(&layout).unwrap().missing.is_empty());
        fs::rename(&made.path, made.root().join("elsewhere")).unwrap();
        let history = History::load(&layout).unwrap();
        assert_eq!(history.missing.len(), 1);
        assert!(history.text().contains("MISSING: proof_pack_"));
    }

    /// PEERS, notary 11: one bad line elsewhere must not cost other receipts.
    #[test]
    fn a_damaged_session_does_not_hide_the_others() {
        let made = made();
        let layout = Layout::create(made.root()).unwrap();
        fs::write(layout.session("bad"), b"\xff\n{\n{}\n").unwrap();
        crate::sample::pipe(&layout.session("pipe"));
        let history = History::load(&layout).unwrap();
        assert_eq!(
            (history.sessions, history.complete, history.all.forwarded),
            (1, 1, 1)
        );
        assert!(
            history
                .text()
                .starts_with("1 sessions, 1 complete, 2 unreadable\n")
        );
        assert!(history.json().pretty().contains("\"forwarded\": 1"));
    }
}
