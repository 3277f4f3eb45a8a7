//! The flows page: per session who read what, and where it tried to go.

mod picture;

use axum::extract::{Path, State};
use axum::response::Response;
use maud::{Markup, html};
use mcpproxy_core::Wall;
use mcpproxy_text::url::encoded;
use serde_json::Value;

use self::picture::{Edge, Picture};
use crate::act::Visit;
use crate::activity;
use crate::app::Shared;
use crate::error::Error;
use crate::look::Look as _;
use crate::page::{Page, Section};
use crate::pieces::{self, live, panel};
use crate::shown::{id as shown_id, short, whole};

/// Shows the sessions that there are, and those that ended.
pub(crate) async fn list(State(site): Shared, visit: Visit) -> Response {
    let get = async |path: &str| site.api.get(&visit.viewer, path).await;
    let (sessions, ended) = (
        get("/sessions").await,
        get("/activity?type=flow_summary&limit=50").await,
    );
    let moved = get("/activity?risk_level=medium&limit=100").await;
    let now = site.clock.wall();
    let body = html! {
        (live("moved", "Sessions in which data moved", &pieces::found(&moved, |page| risky(page, now))))
        (live("open", "Open sessions", &pieces::found(&sessions, open)))
        (live("ended", "Ended sessions", &pieces::found(&ended, |page| over(page, now))))
    };
    let page = Page::new(Section::Flows, "Flows", body);
    site.show(&visit, Section::Flows, Ok(page)).await
}

fn link(session: &str) -> Markup {
    html! { a.code href={ "/ui/flows/" (encoded(session)) } { (shown_id(session)) } }
}

fn risky(page: &Value, now: Wall) -> Markup {
    let mut seen: Vec<(&str, &Value, usize)> = Vec::new();
    for record in page.list("activities") {
        let session = record.text("session_id");
        match seen.iter_mut().find(|(known, ..)| *known == session) {
            _ if session.is_empty() => {}
            Some((_, worst, count)) => {
                *count += 1;
                if rank(record) > rank(worst) {
                    *worst = record;
                }
            }
            None => seen.push((session, record, 1)),
        }
    }
    let heads = ["Session", "Worst flow", "To", "Outcome", "Last", "Records"];
    let rows = html! { @for (session, record, count) in &seen { tr {
        td { (link(session)) }
        td { (pieces::risk(record.text("risk_level"))) " " (whole(record.text("flow_type"))) }
        td { (pieces::tool(record.text("server_name"), record.text("tool_name"))) }
        td { (pieces::status(record.text("status"))) }
        td.time { (pieces::time(record.text("timestamp"), now)) }
        td.number { (count) }
    } } };
    html! {
        @if seen.is_empty() { (pieces::empty("No data was seen to move between servers.")) }
        @else { (pieces::table("Sessions in which data moved", &heads, &rows)) }
    }
}

/// How bad a record's risk is, for comparing.
fn rank(record: &Value) -> usize {
    let levels = ["none", "medium", "high", "critical"];
    let level = record.text("risk_level");
    levels.iter().position(|one| *one == level).unwrap_or(0)
}

fn open(page: &Value) -> Markup {
    let sessions = page.list("sessions");
    let heads = ["Session", "Client", "Caller", "Protocol"];
    let rows = html! { @for one in sessions { tr {
        td { (link(one.text("id"))) }
        td { (short(one.part("client").text("name"))) " "
             span.quiet { (short(one.part("client").text("version"))) } }
        td { (short(one.text("principal"))) }
        td { (whole(one.text("protocol_version"))) }
    } } };
    html! {
        @if sessions.is_empty() { (pieces::empty("No agent has a session open.")) }
        @else { (pieces::table("Open sessions", &heads, &rows)) }
    }
}

fn over(page: &Value, now: Wall) -> Markup {
    let records = page.list("activities");
    let heads = ["Ended", "Session", "Origins", "Movements", "Tools used"];
    let rows = html! { @for one in records {
        @let sum = one.part("summary");
        tr {
            td.time { a href={ "/ui/activity/" (encoded(one.text("id"))) } {
                (pieces::time(one.text("timestamp"), now))
            } }
            td { (link(one.text("session_id"))) }
            td { (sum.count("origins")) }
            td { (sum.count("edges")) }
            td.wide { (pieces::words(sum, "tools")) }
        }
    } };
    html! {
        @if records.is_empty() { (pieces::empty("No session has ended yet.")) }
        @else { (pieces::table("Ended sessions", &heads, &rows)) }
    }
}

/// Shows one session.
pub(crate) async fn show(State(site): Shared, visit: Visit, Path(id): Path<String>) -> Response {
    let session = encoded(&id);
    let calls = format!("/activity?session_id={session}&limit=100");
    let calls = site.api.get(&visit.viewer, &calls).await;
    let flow = site
        .api
        .get(&visit.viewer, &format!("/sessions/{session}/flow"))
        .await;
    let now = site.clock.wall();
    let page = calls.map(|calls| {
        let body = session_body(&id, &calls, &flow, now);
        Page::new(Section::Flows, "Session", body)
    });
    site.show(&visit, Section::Flows, page).await
}

fn session_body(id: &str, calls: &Value, flow: &Result<Value, Error>, now: Wall) -> Markup {
    let records = calls.list("activities");
    let edges = edges(flow.as_ref().ok(), records);
    let picture = Picture::of(records, &edges);
    let timeline = html! {
        @if records.is_empty() { (pieces::empty("Nothing is on record about this session.")) }
        @else { (activity::table("Timeline of calls", records, now)) }
        @if !calls.text("next_cursor").is_empty() {
            nav.pages aria-label="Pages" {
                a.button href={ "/ui/activity?session_id=" (encoded(id)) } { "All calls of this session" }
            }
        }
    };
    html! {
        p.crumbs { a href="/ui/flows" { "Flows" } " / " code { (whole(id)) }
            @if flow.is_err() { " · no longer open; drawn from what is on record" } }
        @if let Ok(flow) = flow { (taint(flow)) }
        (live("picture", "Where data went", &picture.draw()))
        @if !edges.is_empty() { (panel("Movements", &movements(&edges))) }
        (live("timeline", "Timeline of calls, newest first", &timeline))
    }
}

/// The legs of the lethal trifecta that the session stands on.
fn taint(flow: &Value) -> Markup {
    let seen = flow.part("seen");
    let legs = [
        ("private", "Private data read"),
        ("untrusted", "Text of strangers read"),
        ("outside", "A way outside"),
    ];
    let all = legs.iter().all(|(name, _)| seen.is(name));
    html! {
        p.legs {
            @for (name, label) in legs {
                span.tag.high[seen.is(name)] {
                    span aria-hidden="true" { @if seen.is(name) { "●" } @else { "○" } }
                    (label) ": " @if seen.is(name) { "yes" } @else { "no" }
                }
            }
            @if all { strong { "All three together can take data out." } }
        }
    }
}

/// The movements of a session: as the gateway follows them, or as they were written down.
fn edges(flow: Option<&Value>, records: &[Value]) -> Vec<Edge> {
    let of = |call: &str| records.iter().find(|one| one.text("id") == call);
    let live = flow.map_or(&[][..], |flow| flow.list("edges"));
    if !live.is_empty() {
        let made = live.iter().map(|one| {
            let call = one.text("activity_id");
            Edge::new(one.part("from"), one.text("to"), one, of(call), call)
        });
        return made.collect();
    }
    let found = records.iter().flat_map(|record| {
        let findings = record.list("findings").iter();
        let evidence = findings
            .map(|one| one.part("evidence"))
            .filter(|one| !one.is_null());
        evidence.map(move |evidence| {
            let (to, call) = (record.text("server_name"), record.text("id"));
            Edge::new(evidence.part("origin"), to, evidence, Some(record), call)
        })
    });
    let mut edges: Vec<Edge> = Vec::new();
    for edge in found {
        if !edges.contains(&edge) {
            edges.push(edge);
        }
    }
    edges
}

fn movements(edges: &[Edge]) -> Markup {
    let heads = [
        "Read from",
        "Went to",
        "Risk",
        "Outcome",
        "Recognized by",
        "Shared",
        "Call",
    ];
    let rows = html! { @for edge in edges { tr {
        td.name { (short(&edge.from)) }
        td.name { (short(&edge.to)) }
        td { (pieces::risk(&edge.risk)) }
        td { (pieces::status(&edge.status)) }
        td { (whole(&edge.how)) }
        td.number { (edge.shared) }
        td { a href={ "/ui/activity/" (encoded(&edge.call)) } { "record" } }
    } } };
    pieces::table("Movements of data", &heads, &rows)
}
