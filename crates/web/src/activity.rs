//! The activity page: the log, newest first, as it grows.

use axum::extract::{Query, State};
use axum::response::Response;
use maud::{Markup, html};
use mcpproxy_core::Wall;
use mcpproxy_text::url::encoded;
use serde_json::Value;

use crate::act::Visit;
use crate::app::Shared;
use crate::filters::Filters;
use crate::look::Look as _;
use crate::page::{Page, Section};
use crate::pieces;
use crate::shown::{id, short, whole};

const HEADS: [&str; 8] = [
    "Began (UTC)",
    "Type",
    "Server and tool",
    "Status",
    "Decision",
    "Risk",
    "Session",
    "Took",
];

/// Shows the page.
pub(crate) async fn show(
    State(site): Shared,
    visit: Visit,
    Query(query): Query<Vec<(String, String)>>,
) -> Response {
    let filters = Filters::of(query);
    let path = format!("/activity?{}", filters.query(None));
    let found = site.api.get(&visit.viewer, &path).await;
    let now = site.clock.wall();
    let body = html! {
        (filters.form())
        div.panel #records data-live[filters.is_newest()] {
            (pieces::found(&found, |page| records(page, &filters, now)))
        }
    };
    let page = Page::new(Section::Activity, "Activity", body);
    site.show(&visit, Section::Activity, Ok(page)).await
}

fn records(page: &Value, filters: &Filters, now: Wall) -> Markup {
    let records = page.list("activities");
    let next = page.text("next_cursor");
    html! {
        @if page.count("lost") > 0 {
            p.problem { (page.count("lost")) " records could not be written." }
        }
        @if records.is_empty() {
            // A page ends early where much was looked through for little.
            @if !next.is_empty() { (pieces::empty("Of the records that were looked through none fits.")) }
            @else if filters.is_narrow() { (pieces::empty("No record fits these filters.")) }
            @else { (pieces::empty("Nothing is on record yet. Calls appear here as agents make them.")) }
        } @else {
            p.quiet { "Newest first by when they were written: a call that took long, or waited for an \
                answer, stands above others that began after it." }
            (table("Records", records, now))
        }
        @if !records.is_empty() || !next.is_empty() {
            nav.pages aria-label="Pages" {
                @if !filters.is_newest() {
                    a.button href={ "/ui/activity?" (filters.query(Some(""))) } { "Newest" }
                }
                @if !next.is_empty() {
                    a.button href={ "/ui/activity?" (filters.query(Some(next))) } { "Older" }
                }
            }
        }
    }
}

/// The table of some records.
pub(crate) fn table(label: &str, records: &[Value], now: Wall) -> Markup {
    let rows = html! { @for record in records { (row(record, now)) } };
    pieces::table(label, &HEADS, &rows)
}

fn row(record: &Value, now: Wall) -> Markup {
    let session = record.text("session_id");
    let took = record.get("duration_ms").and_then(Value::as_f64);
    html! {
        tr {
            td.time { a href={ "/ui/activity/" (encoded(record.text("id"))) } {
                (pieces::time(record.text("timestamp"), now))
            } }
            td { (whole(record.text("type"))) }
            td.wide {
                (pieces::tool(record.text("server_name"), record.text("tool_name")))
                @if record.is("has_sensitive_data") {
                    " " span.tag.medium { span aria-hidden="true" { "§" } "sensitive" }
                }
                @let why = record.text("error_message");
                @if !why.is_empty() { div.quiet { (short(why)) } }
            }
            td { (pieces::status(record.text("status"))) }
            td { (pieces::decision(record.text("decision"))) }
            td { (pieces::risk(record.text("risk_level"))) }
            td.code { @if !session.is_empty() {
                a href={ "/ui/flows/" (encoded(session)) } { (id(session)) }
            } }
            td.number { @if let Some(took) = took { (pieces::duration(took)) } }
        }
    }
}

/// Why something was stopped, in one sentence.
pub(crate) fn why(record: &Value) -> &str {
    let findings = record.list("findings").iter();
    let mut reasons = findings.filter(|one| one.text("wants") == record.text("decision"));
    match record.text("error_message") {
        "" => {
            let found = reasons.next().map(|one| one.text("reason"));
            found.unwrap_or_else(|| record.part("quarantine").text("reason"))
        }
        said => said,
    }
}
