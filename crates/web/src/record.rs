//! The page of one record: what was decided about a call, why, and on what evidence.

use axum::extract::{Path, State};
use axum::response::Response;
use maud::{Markup, html};
use mcpproxy_core::Wall;
use mcpproxy_text::url::encoded;
use serde_json::Value;

use crate::act::Visit;
use crate::app::Shared;
use crate::error::Error;
use crate::look::Look as _;
use crate::page::{Page, Section};
use crate::pieces::{self, facts, panel};
use crate::shown::{plain, whole};

/// Shows the page.
pub(crate) async fn show(State(site): Shared, visit: Visit, Path(id): Path<String>) -> Response {
    let path = format!("/activity/{}", encoded(&id));
    let record = site.api.get(&visit.viewer, &path).await;
    let receipts = site
        .api
        .get(&visit.viewer, &format!("{path}/receipts"))
        .await;
    let now = site.clock.wall();
    let page = record.map(|record| {
        let title = match (record.text("server_name"), record.text("tool_name")) {
            ("", "") => plain(record.text("type")),
            (server, "") => plain(server),
            (server, tool) => format!("{}:{}", plain(server), plain(tool)),
        };
        Page::new(Section::Activity, title, body(&record, &receipts, now))
    });
    site.show(&visit, Section::Activity, page).await
}

fn body(record: &Value, signed: &Result<Value, Error>, now: Wall) -> Markup {
    html! {
        p.crumbs { a href="/ui/activity" { "Activity" } " / " code { (whole(record.text("id"))) } }
        div.columns {
            (panel("Decision", &decision(record)))
            (panel("Call", &call(record, now)))
        }
        (findings(record))
        (classification(record))
        (more(record))
        (panel("Receipt and its proof", &pieces::found(signed, receipts)))
        section.panel { details { summary { "The whole record" } (pieces::json(record)) } }
    }
}

fn decision(record: &Value) -> Markup {
    let (decided, done) = (record.text("decision"), record.text("effective"));
    let why = record.text("error_message");
    let reasons = record
        .list("findings")
        .iter()
        .filter(|one| one.text("wants") != "allow");
    html! {
        (facts(&[
            ("Decided", pieces::decision(decided)),
            ("Done", pieces::decision(done)),
            ("Enforcement", html! { (whole(record.text("enforcement"))) }),
            ("Outcome", pieces::status(record.text("status"))),
            ("Risk of the flow", pieces::risk(record.text("risk_level"))),
            ("Risk score", html! { (record.count("risk_score")) " of 100" }),
        ]))
        @if !why.is_empty() { p.said { (whole(why)) } }
        @if decided != "allow" {
            h3 { "What spoke against it" }
            ol.reasons { @for one in reasons { li {
                (pieces::decision(one.text("wants"))) " " (whole(one.text("reason")))
            } } }
        } @else { p.quiet { "Nothing that was found spoke against it." } }
    }
}

fn call(record: &Value, now: Wall) -> Markup {
    let session = record.text("session_id");
    let took = record
        .get("duration_ms")
        .and_then(Value::as_f64)
        .unwrap_or_default();
    facts(&[
        (
            "Time",
            html! { (pieces::time(record.text("timestamp"), now)) " UTC" },
        ),
        ("Type", html! { (whole(record.text("type"))) }),
        ("Method", html! { code { (whole(record.text("method"))) } }),
        ("Source", html! { (whole(record.text("source"))) }),
        ("Caller", html! { (whole(record.text("principal"))) }),
        (
            "Session",
            html! { @if !session.is_empty() {
                a.code href={ "/ui/flows/" (encoded(session)) } { (whole(session)) }
            } },
        ),
        ("Flow", html! { (whole(record.text("flow_type"))) }),
        (
            "Sent and received",
            html! {
                (record.count("request_bytes")) " and " (record.count("response_bytes")) " bytes"
            },
        ),
        ("Took", html! { (pieces::duration(took)) }),
    ])
}

fn findings(record: &Value) -> Markup {
    let findings = record.list("findings");
    let heads = ["Severity", "Rule", "Wants", "Place", "What was seen"];
    let rows = html! { @for one in findings { tr {
        td { (pieces::risk(one.text("severity"))) }
        td.code { (whole(one.text("rule"))) div.quiet { (whole(one.text("source"))) } }
        td { (pieces::decision(one.text("wants"))) }
        td.code { (whole(one.text("place"))) }
        td.wide { (whole(one.text("reason"))) (evidence(one.part("evidence"))) }
    } } };
    let body = html! {
        @if findings.is_empty() { (pieces::empty("Nothing was found in this call.")) }
        @else { (pieces::table("Findings", &heads, &rows)) }
    };
    panel("Findings", &body)
}

/// Where data was read that is now about to leave.
fn evidence(evidence: &Value) -> Markup {
    if evidence.is_null() {
        return html! {};
    }
    let origin = evidence.part("origin");
    let shown = |name: &str| whole(evidence.text(name));
    html! {
        dl.facts.small {
            div { dt { "Read from" } dd {
                (pieces::tool(origin.text("upstream"), origin.text("tool")))
                @if let Some(read) = pieces::read(origin) { " " (read) }
            } }
            div { dt { "Likeness" } dd { (shown("evidence")) } }
            div { dt { "Weight" } dd { (shown("weight")) } }
            @if !evidence.list("via").is_empty() {
                div { dt { "Decoded" } dd { (pieces::words(evidence, "via")) } }
            }
            div { dt { "Shared" } dd { (evidence.count("shared")) " characters" } }
            div { dt { "Sample, masked" } dd.code { (shown("sample")) } }
        }
    }
}

fn classification(record: &Value) -> Markup {
    let declared = record.part("declared");
    let body = facts(&[
        (
            "Sensitive data",
            html! { @if record.is("has_sensitive_data") { "yes" } @else { "none seen" } },
        ),
        ("Types", pieces::words(record, "detection_types")),
        ("Worst severity", pieces::risk(record.text("max_severity"))),
        (
            "Coverage",
            html! { (whole(record.text("security_coverage"))) },
        ),
        ("Declared by the agent", pieces::inline(declared)),
    ]);
    panel("Classification", &body)
}

/// Shows the receipts of a call: what was signed, and how anybody can tell that it was.
fn receipts(found: &Value) -> Markup {
    let all = found.list("receipts");
    html! {
        @if !found.is("enabled") {
            p.quiet { "Receipts are switched off; " code { "receipts: enabled" } " has every call signed." }
        } @else if all.is_empty() {
            p.quiet { "There is no receipt of this: calls and uses of tools have one, other records have none." }
        }
        @for one in all { (receipt(one)) }
        @if all.iter().any(|one| !one.part("proof").is_null()) {
            p { "A proof can be given away: " code { "assay check-proof FILE" } " checks it without the pack." }
        }
    }
}

fn receipt(found: &Value) -> Markup {
    let (line, proof) = (found.part("receipt"), found.part("proof"));
    let outcome = match line.text("outcome") {
        "" => "about to leave",
        outcome => outcome,
    };
    let packed = |name: &str| html! { code { (whole(name)) } };
    html! {
        (facts(&[
            ("Receipt", html! { code { (whole(line.text("receipt_id"))) } }),
            ("Says", html! { (whole(outcome)) }),
            ("Line", html! { (pieces::inline(line.part("seq"))) " of " code { (whole(line.text("session_id"))) } }),
            ("Pack", match found.text("pack") {
                "" => html! { "in none yet: one is made when the gateway ends, or as " code { "receipts.pack_interval" } " says" },
                name => packed(name),
            }),
        ]))
        details { summary { "The receipt" } (pieces::json(line)) }
        @if !proof.is_null() {
            details { summary { "Its proof" } (pieces::json(proof)) }
        }
    }
}

fn more(record: &Value) -> Markup {
    let parts = [
        ("hook", "Agent hook"),
        ("hook_metadata", "Left by hooks"),
        ("quarantine", "Quarantine"),
        ("change", "Change"),
        ("approval", "Answered by a person"),
        ("summary", "What the session came to"),
    ];
    html! { @for (name, title) in parts {
        @let part = record.part(name);
        @if !part.is_null() { (panel(title, &pieces::tree(part))) }
    } }
}
