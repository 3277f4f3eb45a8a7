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
    let config = site.api.get(&visit.viewer, "/config").await;
    let now = site.clock.wall();
    let page = record.map(|record| {
        let title = match (record.text("server_name"), record.text("tool_name")) {
            ("", "") => plain(record.text("type")),
            (server, "") => plain(server),
            (server, tool) => format!("{}:{}", plain(server), plain(tool)),
        };
        Page::new(Section::Activity, title, body(&record, &config, now))
    });
    site.show(&visit, Section::Activity, page).await
}

fn body(record: &Value, config: &Result<Value, Error>, now: Wall) -> Markup {
    html! {
        p.crumbs { a href="/ui/activity" { "Activity" } " / " code { (whole(record.text("id"))) } }
        div.columns {
            (panel("Decision", &decision(record)))
            (panel("Call", &call(record, now)))
        }
        (findings(record))
        (classification(record))
        (more(record))
        (panel("Receipt and its proof", &pieces::found(config, |config| receipt(record, config))))
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
                @let call = origin.text("call");
                @if !call.is_empty() { " " a href={ "/ui/activity/" (encoded(call)) } { "the read" } }
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

/// Says where the receipt of a call is and how it is proved: the notary's files are not read here.
fn receipt(record: &Value, config: &Value) -> Markup {
    let set = |key: &str| {
        let found = config
            .list("values")
            .iter()
            .find(|one| one.text("key") == key);
        found.map_or("", |one| one.text("value"))
    };
    html! {
        @if set("receipts.enabled") == "true" {
            p { "The receipt of this call is the one whose " code { "activity_id" } " is "
                code { (whole(record.text("id"))) } ", in the ledger and the packs below "
                @match set("receipts.audit_dir") {
                    "" => { code { "receipts" } " in the data folder" },
                    folder => code { (whole(folder)) },
                } "." }
            p { code { "assay prove PACK RECEIPT_ID" } " shows it to others with its proof; "
                code { "assay verify-pack PACK" } " checks the whole." }
        } @else {
            p.quiet { "Receipts are switched off; " code { "receipts: enabled" } " has every call signed." }
        }
    }
}

fn more(record: &Value) -> Markup {
    let parts = [
        ("hook", "Agent hook"),
        ("hook_metadata", "Left by hooks"),
        ("quarantine", "Quarantine"),
        ("summary", "What the session came to"),
    ];
    html! { @for (name, title) in parts {
        @let part = record.part(name);
        @if !part.is_null() { (panel(title, &pieces::tree(part))) }
    } }
}
