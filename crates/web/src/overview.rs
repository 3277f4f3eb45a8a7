//! The first page: what was stopped, how risk developed, where data went, and how everything is
//! doing.

use axum::extract::{Query, State};
use axum::response::Response;
use maud::{Markup, html};
use mcpproxy_core::Wall;
use mcpproxy_text::url::encoded;
use serde_json::Value;

use crate::act::Visit;
use crate::app::{Shared, Site};
use crate::look::Look as _;
use crate::page::{Page, Section};
use crate::pieces::{self, live};
use crate::shown::{plain, short, whole};
use crate::{activity, chart};

/// The times that can be looked at.
const PERIODS: [(&str, &str); 4] = [
    ("1h", "Last hour"),
    ("24h", "Last day"),
    ("7d", "Last week"),
    ("30d", "Last month"),
];

/// The records of calls that were stopped: what a person withholds or refuses is on record, too.
const STOPPED: &str =
    "status=blocked,rejected&type=tool_call,policy_decision,message,hook_evaluation";

/// Shows the page.
pub(crate) async fn show(
    State(site): Shared,
    visit: Visit,
    Query(query): Query<Vec<(String, String)>>,
) -> Response {
    let asked = query.iter().find(|(name, _)| name == "period");
    let asked = asked.map(|(_, value)| value.as_str());
    let known = PERIODS.iter().find(|(name, _)| Some(*name) == asked);
    let (period, _) = known.copied().unwrap_or(PERIODS[1]);
    let body = body(&site, &visit, period).await;
    let page = Page::new(Section::Overview, "Overview", body);
    site.show(&visit, Section::Overview, Ok(page)).await
}

async fn body(site: &Site, visit: &Visit, period: &str) -> Markup {
    let get = async |path: &str| site.api.get(&visit.viewer, path).await;
    let summary = get(&format!("/activity/summary?period={period}")).await;
    let (status, servers) = (get("/status").await, get("/servers").await);
    let (hooks, tools) = (get("/hooks").await, get("/tools").await);
    let stopped = get(&format!("/activity?{STOPPED}&limit=6")).await;
    let now = site.clock.wall();
    html! {
        nav.periods aria-label="Period" { @for (name, label) in PERIODS {
            a href={ "/ui/?period=" (name) } aria-current=[(name == period).then_some("true")] { (label) }
        } }
        section #tiles .glance data-live aria-label="At a glance" {
            div.tiles { (tiles(summary.as_ref().ok(), status.as_ref().ok(), tools.as_ref().ok())) }
            @if let Ok(summary) = &summary { (counted(summary, now)) }
        }
        (live("risk", "Risk over time", &pieces::found(&summary, |summary| {
            chart::risk(summary.list("buckets"), period)
        })))
        div.columns {
            (live("stopped", "Stopped last", &pieces::found(&stopped, |page| latest(page, now))))
            (live("flows", "Top flows", &pieces::found(&summary, flows)))
        }
        div.columns {
            (live("servers", "Upstream servers", &pieces::found(&servers, upstreams)))
            (live("hooks", "Guards and hooks", &pieces::found(&hooks, pipeline)))
        }
    }
}

/// Says so where a summary did not get to the beginning of its time.
fn counted(summary: &Value, now: Wall) -> Markup {
    let partly = summary.get("complete").and_then(Value::as_bool) == Some(false);
    html! {
        @if partly {
            p.notice {
                "There is more on record than is counted at once: flows, and calls that nothing followed, \
                 are those since " (pieces::time(summary.text("counted_from"), now))
                ". Choose a shorter period, or look at the "
                a href="/ui/activity" { "activity" } "."
            }
        }
    }
}

fn tiles(summary: Option<&Value>, status: Option<&Value>, tools: Option<&Value>) -> Markup {
    let nothing = Value::Null;
    let (sum, status) = (summary.unwrap_or(&nothing), status.unwrap_or(&nothing));
    let stopped = sum.count("blocked");
    let approvals = sum.part("approvals");
    let share = approvals.get("approved_share").and_then(Value::as_f64);
    // Whom nobody answered is in no share: it says of how many it is one.
    let answered = approvals.count("approved") + approvals.count("denied");
    let share =
        share.map(|share| format!("{:.0} % of {answered} answered approved", share * 100.0));
    let upstreams = status.part("upstreams");
    let held = tools.and_then(Value::as_array);
    let held = held.map(|all| {
        all.iter()
            .filter(|one| one.text("state") != "approved")
            .count()
    });
    let known = |value: u64| summary.map_or_else(|| "–".to_owned(), |_| value.to_string());
    html! {
        (tile("Calls", &known(sum.count("calls")), "on record", "/ui/activity", false))
        (tile("Stopped", &known(stopped), "blocked or rejected", &format!("/ui/activity?{STOPPED}"),
            stopped > 0))
        (tile("Asked", &known(approvals.count("asked")), share.as_deref().unwrap_or("of a person"),
            "/ui/approvals", false))
        (tile("Waiting", &status.count("approvals").to_string(), "for an answer", "/ui/approvals",
            status.count("approvals") > 0))
        (tile("Withheld tools", &held.map_or_else(|| "–".to_owned(), |held| held.to_string()),
            "in quarantine", "/ui/tools", held.is_some_and(|held| held > 0)))
        (tile("Upstreams up", &format!("{} / {}", upstreams.count("up"), upstreams.count("total")),
            "of those configured", "/ui/tools#servers", upstreams.count("up") < upstreams.count("total")))
    }
}

fn tile(name: &str, value: &str, note: &str, link: &str, alert: bool) -> Markup {
    html! {
        a.tile.alert[alert] href=(link) {
            span.label { (name) }
            span.value { (value) }
            span.quiet { (note) }
        }
    }
}

fn latest(page: &Value, now: Wall) -> Markup {
    let records = page.list("activities");
    html! {
        @if records.is_empty() { (pieces::empty("Nothing was stopped so far.")) }
        @else { ul.entries { @for one in records { li {
            span.quiet { "Began " }
            a href={ "/ui/activity/" (encoded(one.text("id"))) } {
                (pieces::time(one.text("timestamp"), now)) " "
                (pieces::tool(one.text("server_name"), one.text("tool_name")))
            }
            " " (pieces::risk(one.text("risk_level")))
            div.quiet { (whole(activity::why(one))) }
        } } } }
    }
}

fn flows(summary: &Value) -> Markup {
    let flows = summary.list("flows");
    let heads = ["From", "To", "Direction", "Risk", "Calls"];
    let rows = html! { @for one in flows { tr {
        td.place { (place(one.text("source"))) }
        td.place { (place(one.text("destination"))) }
        td { (whole(one.text("flow_type"))) }
        td { (pieces::risk(one.text("risk_level"))) }
        td.number { (one.count("count")) }
    } } };
    html! {
        @if flows.is_empty() { (pieces::empty("No data was seen to move in this time.")) }
        @else { (pieces::table("Top flows", &heads, &rows)) }
    }
}

/// A tool with its upstream, which may stand above it where there is little room.
fn place(name: &str) -> Markup {
    let (upstream, tool) = name.split_once(':').unwrap_or((name, ""));
    html! { (short(upstream)) @if !tool.is_empty() { ":" wbr; (short(tool)) } }
}

fn upstreams(servers: &Value) -> Markup {
    let servers = servers.as_array().map_or(&[][..], Vec::as_slice);
    let heads = ["Server", "State", "Class", "Tools"];
    let rows = html! { @for one in servers { tr {
        td { a href={ "/ui/tools/" (encoded(one.text("name"))) } { (short(one.text("name"))) } }
        td { (pieces::health(one.text("status"))) }
        td { (whole(one.part("class").text("classification"))) }
        td.number { (one.count("tools")) }
    } } };
    html! {
        @if servers.is_empty() { (pieces::empty("No server is configured: `mcpproxy upstream add` adds one.")) }
        @else { (pieces::table("Upstream servers", &heads, &rows)) }
    }
}

fn pipeline(hooks: &Value) -> Markup {
    let hooks = hooks.list("hooks");
    let heads = ["Guard or hook", "State", "Denied", "Mean"];
    let rows = html! { @for one in hooks {
        @let state = if one.is("healthy") { "healthy" } else { one.text("message") };
        tr {
            td { span title=(plain(one.text("description"))) { (short(one.text("name"))) } }
            td { (pieces::health(state)) }
            td.number { (one.part("decisions").count("deny")) }
            td.number { (one.count("mean_micros")) " µs" }
        }
    } };
    html! {
        @if hooks.is_empty() { (pieces::empty("No guard is switched on.")) }
        @else { (pieces::table("Guards and hooks", &heads, &rows)) }
    }
}
