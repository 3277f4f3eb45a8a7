//! One session: who read what, where it tried to go, and its calls by when they began.

use axum::extract::{Path, State};
use axum::response::Response;
use maud::{Markup, html};
use mcpproxy_core::Wall;
use mcpproxy_text::url::encoded;
use serde_json::Value;

use super::edges::{Edge, edges};
use super::looked::Looked;
use super::picture::Picture;
use crate::act::Visit;
use crate::activity;
use crate::api::Api;
use crate::app::Shared;
use crate::error::Error;
use crate::look::Look as _;
use crate::page::{Page, Section};
use crate::pieces::{self, live};
use crate::session::Viewer;
use crate::shown::{short, whole};

/// Pages of the log that are looked through for one question about what moved.
const PAGES: usize = 3;
/// Movements that are listed, worst first.
const LISTED: usize = 200;

/// What is known of what a session moved.
struct Known {
    /// As the gateway follows it; nothing of a session that is no longer open.
    flow: Option<Value>,
    /// Records of what it does not follow any more.
    logged: Looked,
    /// Movements that were counted.
    total: u64,
}

/// Shows the page.
pub(crate) async fn show(State(site): Shared, visit: Visit, Path(id): Path<String>) -> Response {
    let (api, viewer) = (&site.api, &visit.viewer);
    let session = encoded(&id);
    let calls = format!("/activity?session_id={session}&limit=100");
    let calls = api.get(viewer, &calls).await;
    let known = Known::of(api, viewer, &session).await;
    let now = site.clock.wall();
    let page = calls.and_then(|calls| {
        let body = body(&id, &calls, &known?, now);
        Ok(Page::new(Section::Flows, "Session", body))
    });
    site.show(&visit, Section::Flows, page).await
}

impl Known {
    /// Asks for it. The gateway keeps the latest movements of a session while that lasts; what it
    /// does not keep is looked up in the log.
    async fn of(api: &Api, viewer: &Viewer, session: &str) -> Result<Self, Error> {
        let flow = api.get(viewer, &format!("/sessions/{session}/flow")).await;
        let Ok(flow) = flow else {
            let closed = format!("session_id={session}&type=flow_summary");
            let closed = Looked::at(api, viewer, &closed, 1, |_| true).await?;
            let counted = closed.records.iter();
            let counted = counted.map(|one| one.part("summary").count("edges"));
            return Ok(Self {
                flow: None,
                logged: logged(api, viewer, session).await?,
                total: counted.sum(),
            });
        };
        let total = flow.count("edges_total");
        let followed = u64::try_from(flow.list("edges").len()).unwrap_or(u64::MAX);
        let logged = if total > followed {
            logged(api, viewer, session).await?
        } else {
            Looked::default()
        };
        Ok(Self {
            flow: Some(flow),
            logged,
            total,
        })
    }
}

/// Looks for the records of what a session moved. Where they are too many, those are looked for
/// beside the latest that matter most.
async fn logged(api: &Api, viewer: &Viewer, session: &str) -> Result<Looked, Error> {
    let all = format!("session_id={session}");
    let mut looked = Looked::flows(api, viewer, &all, PAGES, |_| false).await?;
    if looked.more {
        for narrowed in ["&risk_level=critical", "&status=blocked,rejected"] {
            let question = format!("{all}{narrowed}");
            looked.add(Looked::flows(api, viewer, &question, PAGES, |_| false).await?);
        }
    }
    Ok(looked)
}

fn body(id: &str, calls: &Value, known: &Known, now: Wall) -> Markup {
    let records = calls.list("activities");
    let edges = edges(known.flow.as_ref(), &known.logged.records);
    let picture = Picture::of(records, &edges, known.total);
    let drawn = html! { (picture.draw()) (left_out(id, edges.len(), known)) };
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
            @if known.flow.is_none() { " · no longer open; drawn from what is on record" } }
        @if let Some(flow) = &known.flow { (taint(flow)) }
        (live("picture", "Where data went", &drawn))
        @if !edges.is_empty() { (live("movements", "Movements, worst first", &movements(&edges))) }
        (live("timeline", "Timeline of calls, newest first", &timeline))
    }
}

/// Says what is not shown.
fn left_out(id: &str, shown: usize, known: &Known) -> Markup {
    let shown = u64::try_from(shown).unwrap_or(u64::MAX);
    html! {
        @if known.total > shown {
            p.quiet { (shown) " of " (known.total) " movements are shown. Those that the gateway no \
                longer follows are on record one by one only where something spoke against them." }
        }
        @if known.logged.more {
            p.quiet { "Not every record of this session was looked at. "
                a href={ "/ui/activity?risk_level=medium&session_id=" (encoded(id)) } {
                    "All with a risk" } }
        }
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
    let rows = html! { @for edge in edges.iter().take(LISTED) { tr {
        td.name { (short(&edge.from)) }
        td.name { (short(&edge.to)) }
        td { (pieces::risk(&edge.risk)) }
        td { (pieces::status(&edge.status)) }
        td { (whole(&edge.how)) }
        td.number { (edge.shared) }
        td { a href={ "/ui/activity/" (encoded(&edge.call)) } { "record" } }
    } } };
    html! {
        (pieces::table("Movements of data", &heads, &rows))
        @if edges.len() > LISTED { p.quiet { (edges.len() - LISTED) " more are not listed." } }
    }
}
