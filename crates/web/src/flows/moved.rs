//! The sessions in which data moved: each with the worst that it did, and what became of that.

use maud::{Markup, html};
use mcpproxy_core::Wall;
use mcpproxy_text::url::encoded;
use serde_json::Value;

use super::link;
use super::looked::{FLOWS, Looked, is_no_closing, is_stopped, rank};
use crate::api::Api;
use crate::error::Error;
use crate::look::Look as _;
use crate::pieces;
use crate::session::Viewer;
use crate::shown::whole;

/// Pages of the log that are looked through. A session that moves data all day fills many.
const PAGES: usize = 10;
/// Sessions that are enough for a page.
const ENOUGH: usize = 50;
/// Ended sessions that are asked about one by one, where their records lie too far back.
const ASKED: usize = 25;

/// Records that are asked for to find one of a call: what closes the session, and those that are linked
/// with it, comes before.
const CLOSED: usize = 10;

/// A session in which data moved.
#[derive(Debug)]
struct Session {
    id: String,
    /// The record of the worst that it did, stopped rather than not.
    worst: Value,
    records: u64,
}

impl Session {
    fn add(&mut self, record: &Value) {
        self.records += 1;
        if weight(record) > weight(&self.worst) {
            self.worst = record.clone();
        }
    }
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Moved {
    sessions: Vec<Session>,
    /// Whether the log has more than was looked at.
    more: bool,
}

fn weight(record: &Value) -> (usize, bool) {
    let stopped = is_stopped(record.text("status"));
    (rank(record.text("risk_level")), stopped)
}

/// Looks for them, those that moved data last first.
pub(super) async fn find(api: &Api, viewer: &Viewer) -> Result<Moved, Error> {
    let enough = |records: &[Value]| sessions(records).len() >= ENOUGH;
    let looked = Looked::flows(api, viewer, "risk_level=medium", PAGES, enough).await?;
    let mut moved = Moved {
        sessions: sessions(&looked.records),
        more: looked.more,
    };
    if moved.more && moved.sessions.len() < ENOUGH {
        add_ended(api, viewer, &mut moved.sessions).await?;
    }
    Ok(moved)
}

/// Tells records apart by their sessions.
fn sessions(records: &[Value]) -> Vec<Session> {
    let mut sessions: Vec<Session> = Vec::new();
    for record in records {
        let id = record.text("session_id");
        match sessions.iter_mut().find(|one| one.id == id) {
            _ if id.is_empty() => {}
            Some(session) => session.add(record),
            None => sessions.push(Session {
                id: id.to_owned(),
                worst: record.clone(),
                records: 1,
            }),
        }
    }
    sessions
}

/// Adds ended sessions that others, with many records, stand before. What closes a session says how
/// bad it was, once.
async fn add_ended(api: &Api, viewer: &Viewer, sessions: &mut Vec<Session>) -> Result<(), Error> {
    let ended = "type=flow_summary&risk_level=medium";
    let ended = Looked::at(api, viewer, ended, 1, |_| true).await?;
    let mut asked = 0;
    for closing in &ended.records {
        let id = closing.text("session_id");
        if asked >= ASKED || sessions.iter().any(|one| one.id == id) {
            continue;
        }
        asked += 1;
        if let Some(worst) = worst_of(api, viewer, id, closing.text("risk_level")).await? {
            let levels = closing.part("summary").part("risk_levels");
            let records = ["medium", "high", "critical"].map(|level| levels.count(level));
            sessions.push(Session {
                id: id.to_owned(),
                worst,
                records: records.iter().sum(),
            });
        }
    }
    Ok(())
}

/// Finds the record for which a session has its risk, one that was stopped if there is one.
async fn worst_of(
    api: &Api,
    viewer: &Viewer,
    session: &str,
    level: &str,
) -> Result<Option<Value>, Error> {
    let session = encoded(session);
    let all = format!("/activity?session_id={session}&{FLOWS}&risk_level={level}&limit={CLOSED}");
    for narrowed in ["&status=blocked,rejected", ""] {
        let page = api.get(viewer, &format!("{all}{narrowed}")).await?;
        let mut records = page.list("activities").iter();
        if let Some(record) = records.find(|one| is_no_closing(one)) {
            return Ok(Some(record.clone()));
        }
    }
    Ok(None)
}

/// Shows them.
pub(super) fn table(moved: &Result<Moved, Error>, now: Wall) -> Markup {
    let moved = match moved {
        Ok(moved) => moved,
        Err(fault) => return pieces::problem(fault),
    };
    let heads = ["Session", "Worst flow", "To", "Outcome", "When", "Records"];
    let rows = html! { @for Session { id, worst, records } in &moved.sessions { tr {
        td { (link(id)) }
        td { (pieces::risk(worst.text("risk_level"))) " " (whole(worst.text("flow_type"))) }
        td { (pieces::tool(worst.text("server_name"), worst.text("tool_name"))) }
        td { (pieces::status(worst.text("status"))) }
        td.time { (pieces::time(worst.text("timestamp"), now)) }
        td.number { (records) }
    } } };
    html! {
        @if moved.sessions.is_empty() { (pieces::empty("No data was seen to move between servers.")) }
        @else { (pieces::table("Sessions in which data moved", &heads, &rows)) }
        @if moved.more {
            p.quiet { "Not everything on record was looked at: sessions further back may be missing. "
                a href="/ui/activity?risk_level=medium" { "All records with a risk" } }
        }
    }
}
