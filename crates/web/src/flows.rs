//! The flows page: the sessions in which data moved, those that are open, and those that ended. One
//! of them is shown by `conversation`.

mod conversation;
mod edges;
mod looked;
mod moved;
mod picture;

use axum::extract::{Query, State};
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

/// Asks for sessions that ended.
const ENDED: &str = "/activity?type=flow_summary&limit=50";

/// Shows the sessions that there are, and those that ended, a page of them at a time.
pub(crate) async fn list(
    State(site): Shared,
    visit: Visit,
    Query(query): Query<Vec<(String, String)>>,
) -> Response {
    let get = async |path: &str| site.api.get(&visit.viewer, path).await;
    // Where the list of ended sessions goes on, by the cursor of the log.
    let cursor = query.iter().find(|(name, _)| name == "ended");
    let cursor = cursor.map_or("", |(_, cursor)| cursor);
    let asked = match cursor {
        "" => ENDED.to_owned(),
        cursor => format!("{ENDED}&cursor={}", encoded(cursor)),
    };
    let (sessions, ended) = (get("/sessions").await, get(&asked).await);
    let moved = moved::find(&site.api, &visit.viewer).await;
    let now = site.clock.wall();
    let is_newest = cursor.is_empty();
    let ended = pieces::found(&ended, |page| over(page, is_newest, now));
    let body = html! {
        (live("moved", "Sessions in which data moved", &moved::table(&moved, now)))
        (live("open", "Open sessions", &pieces::found(&sessions, open)))
        (live("ended", "Ended sessions", &ended))
    };
    let page = Page::new(Section::Flows, "Flows", body);
    site.show(&visit, Section::Flows, Ok(page)).await
}

fn link(session: &str) -> Markup {
    html! { a.code href={ "/ui/flows/" (encoded(session)) } { (shown_id(session)) } }
}

fn open(page: &Value) -> Markup {
    let (sessions, incomplete) = (page.list("sessions"), page.text("incomplete"));
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
        @if !incomplete.is_empty() { p.quiet { "Not all of them: " (whole(incomplete)) } }
    }
}

/// Shows a page of ended sessions, and whether there are more.
fn over(page: &Value, is_newest: bool, now: Wall) -> Markup {
    let records = page.list("activities");
    let next = page.text("next_cursor");
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
        @if !next.is_empty() {
            p.quiet { "Older sessions are on record: these are the " (records.len())
                @if is_newest { " that ended last." } @else { " that come next." } }
        }
        @if !next.is_empty() || !is_newest {
            nav.pages aria-label="Pages of ended sessions" {
                @if !is_newest { a.button href="/ui/flows" { "Newest" } }
                @if !next.is_empty() {
                    a.button href={ "/ui/flows?ended=" (encoded(next)) } { "Older" }
                }
            }
        }
    }
}
