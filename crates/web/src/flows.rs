//! The flows page: the sessions in which data moved, those that are open, and those that ended. One
//! of them is shown by `conversation`.

mod conversation;
mod edges;
mod looked;
mod moved;
mod picture;

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use mcpproxy_core::Wall;
use mcpproxy_text::url::encoded;
use serde_json::Value;

pub(crate) use self::conversation::show;
use crate::act::Visit;
use crate::app::Shared;
use crate::look::Look as _;
use crate::page::{Page, Section};
use crate::pieces::{self, live};
use crate::shown::{id as shown_id, short, whole};

/// Shows the sessions that there are, and those that ended.
pub(crate) async fn list(State(site): Shared, visit: Visit) -> Response {
    let get = async |path: &str| site.api.get(&visit.viewer, path).await;
    let (sessions, ended) = (
        get("/sessions").await,
        get("/activity?type=flow_summary&limit=50").await,
    );
    let moved = moved::find(&site.api, &visit.viewer).await;
    let now = site.clock.wall();
    let body = html! {
        (live("moved", "Sessions in which data moved", &moved::table(&moved, now)))
        (live("open", "Open sessions", &pieces::found(&sessions, open)))
        (live("ended", "Ended sessions", &pieces::found(&ended, |page| over(page, now))))
    };
    let page = Page::new(Section::Flows, "Flows", body);
    site.show(&visit, Section::Flows, Ok(page)).await
}

fn link(session: &str) -> Markup {
    html! { a.code href={ "/ui/flows/" (encoded(session)) } { (shown_id(session)) } }
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
