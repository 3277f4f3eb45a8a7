//! The approvals page: calls that wait for a person, what would leave and where to, and the
//! person's answer: once, for the session, or as a rule whose effect is shown before it is kept.

use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use http::StatusCode;
use maud::{Markup, html};
use mcpproxy_core::Wall;
use mcpproxy_text::url::encoded;
use serde_json::{Value, json};

use crate::act::{Act, Visit};
use crate::app::{Shared, Site};
use crate::error::Error;
use crate::login::key_form;
use crate::look::Look as _;
use crate::page::{Page, Section, hidden};
use crate::pieces::{self, facts, live, panel};
use crate::policy::effect;
use crate::session::Notice;
use crate::shown::{plain, whole};

mod past;

/// What a rule may say about a tool.
const ACTIONS: [(&str, &str); 3] = [
    ("allow", "Let every call of this tool pass"),
    ("warn", "Let every call pass and mark it in the log"),
    ("deny", "Stop every call of this tool"),
];

/// Shows what waits.
pub(crate) async fn show(State(site): Shared, visit: Visit) -> Response {
    let waiting = site.api.get(&visit.viewer, "/approvals").await;
    let past = site
        .api
        .get(&visit.viewer, "/activity?type=approval&limit=50")
        .await;
    let now = site.clock.wall();
    let open = waiting
        .as_ref()
        .map_or(&[][..], |page| page.list("approvals"));
    let open = open.iter().map(|one| one.text("id")).collect();
    let body = html! {
        @if visit.viewer.key().is_none() {
            section.panel {
                p { "This session was opened without the API key. Answering for a person needs it:" }
                (key_form(&visit))
            }
        }
        div #questions data-live {
            (pieces::found(&waiting, |page| questions(&visit, page.list("approvals"), now)))
        }
        (live("asked", "Asked before", &pieces::found(&past, |page| {
            let records = page.list("activities");
            html! {
                @if records.is_empty() { (pieces::empty("Nobody was asked so far.")) }
                @else { (past::table(records, &open, now)) }
            }
        })))
    };
    let page = Page::new(Section::Approvals, "Approvals", body);
    site.show(&visit, Section::Approvals, Ok(page)).await
}

fn questions(visit: &Visit, waiting: &[Value], now: Wall) -> Markup {
    html! {
        @if waiting.is_empty() {
            section.panel { (pieces::empty(
                "Nothing waits for you. Calls that the policy asks about are held here where \
                    `security.approvals.mode` is `queue`.",
            )) }
        }
        @for one in waiting { (question(visit, one, now)) }
    }
}

fn question(visit: &Visit, one: &Value, now: Wall) -> Markup {
    let id = one.text("id");
    let action = format!("/ui/approvals/{}", encoded(id));
    html! {
        article.panel.question id={ "question-" (plain(id)) } aria-labelledby={ "q-" (plain(id)) } {
            h2 id={ "q-" (plain(id)) } {
                (pieces::full_tool(one.text("server_name"), one.text("tool_name"))) " "
                (pieces::risk(one.text("risk_level")))
            }
            p.said { (whole(one.text("reason"))) }
            (places(one))
            (about(one, now))
            form method="post" action=(action) {
                (hidden(visit))
                div.buttons {
                    button.primary type="submit" name="decision" value="approve" { "Approve once" }
                    button type="submit" name="decision" value="approve_for_session" {
                        "Approve for the session"
                    }
                    a.button href={ (action) "/rule" } { "Make a rule…" }
                    button.danger type="submit" name="decision" value="deny" { "Deny" }
                }
            }
        }
    }
}

/// Where in the call something stands that speaks against it, for what is no data that was read before:
/// that has a list of its own.
fn places(one: &Value) -> Markup {
    let found = one.list("findings").iter();
    let placed =
        found.filter(|one| one.part("evidence").is_null() && !one.text("place").is_empty());
    let placed: Vec<_> = placed.collect();
    html! { @if !placed.is_empty() { ul.entries { @for one in placed { li {
        @let place = one.text("place");
        (whole(one.text("reason"))) " It stands in " code { (whole(place)) }
        @if place == "params.name" { ", the name of the tool itself" }
        "."
    } } } } }
}

/// What would leave, and where to.
fn about(one: &Value, now: Wall) -> Markup {
    let evidence = one
        .list("findings")
        .iter()
        .map(|finding| finding.part("evidence"));
    let evidence: Vec<_> = evidence.filter(|evidence| !evidence.is_null()).collect();
    let session = one.text("session_id");
    html! {
        (facts(&[
            ("Goes to", html! { (whole(one.text("server_name"))) }),
            ("Flow", html! { (whole(one.text("flow_type"))) }),
            ("Risk score", html! { (one.count("risk_score")) " of 100" }),
            ("Caller", html! { (whole(one.text("principal"))) }),
            ("Session", html! { a.code href={ "/ui/flows/" (encoded(session)) } { (whole(session)) } }),
            ("Asked", html! { (pieces::time(one.text("requested_at"), now)) " UTC" }),
            ("Lapses", html! { (pieces::time(one.text("expires_at"), now)) " UTC" }),
        ]))
        @if !evidence.is_empty() {
            h3 { "What would leave" }
            ul.entries { @for one in evidence { li { (leaves(one)) } } }
        }
        @let arguments = one.text("arguments");
        @if !arguments.is_empty() {
            h3 { "Arguments of the call, masked" }
            pre.code tabindex="0" { code { (whole(arguments)) }
                @if one.is("arguments_truncated") { span.quiet { " … cut" } } }
            @if one.is("arguments_truncated") { (unseen(arguments)) }
        }
    }
}

/// Says so where an answer would be about more than what is shown.
fn unseen(shown: &str) -> Markup {
    html! {
        p.problem { "These are only the first " (shown.len()) " bytes. The rest would leave as well, is not \
            kept here, and cannot be looked at: only the agent has it. Deny the call where the answer \
            depends on it." }
    }
}

fn leaves(evidence: &Value) -> Markup {
    let origin = evidence.part("origin");
    let label = evidence.part("label").text("kind");
    html! {
        (evidence.count("shared")) " characters read from "
        (pieces::tool(origin.text("upstream"), origin.text("tool")))
        @if let Some(read) = pieces::read(origin) { " (" (read) ")" }
        ", in " code { (whole(evidence.text("place"))) }
        ", recognized by " (whole(evidence.text("evidence")))
        @if !label.is_empty() { ": " strong { (whole(label)) } }
        @let sample = evidence.text("sample");
        @if !sample.is_empty() { div.quiet { "Masked sample: " code { (whole(sample)) } } }
    }
}

/// Passes the answer on.
pub(crate) async fn answer(
    State(site): Shared,
    Path(id): Path<String>,
    Act { visit, form }: Act,
) -> Response {
    let decision = form.get("decision");
    let notice = match decide(&site, &visit, &id, decision).await {
        Ok(outcome) => Notice::Done(outcome),
        Err(fault) => Notice::Failed(fault),
    };
    site.sessions.tell(&visit.viewer, notice).await;
    Redirect::to("/ui/approvals").into_response()
}

async fn decide(site: &Site, visit: &Visit, id: &str, decision: &str) -> Result<String, Error> {
    let path = format!("/approvals/{}", encoded(id));
    let body = json!({ "decision": decision });
    let done = site.api.post(&visit.viewer, &path, &body).await?;
    let term = if decision == "approve_for_session" {
        " for the session"
    } else {
        ""
    };
    Ok(format!("The call was {}{term}.", done.text("outcome")))
}

/// Finds what waits under an id.
async fn find(site: &Site, visit: &Visit, id: &str) -> Result<Value, Error> {
    let waiting = site.api.get(&visit.viewer, "/approvals").await?;
    let found = waiting
        .list("approvals")
        .iter()
        .find(|one| one.text("id") == id);
    found.cloned().ok_or_else(|| Error::Refused {
        status: StatusCode::NOT_FOUND,
        message: "no such question waits; it was answered or has lapsed".to_owned(),
        hint: None,
    })
}

fn patch(question: &Value, action: &str) -> Value {
    let tool = format!(
        "{}:{}",
        question.text("server_name"),
        question.text("tool_name")
    );
    json!({ "security": { "flow_policy": { "tool_overrides": { tool: action } } } })
}

fn chosen(action: &str) -> &'static str {
    let found = ACTIONS.iter().find(|(name, _)| *name == action);
    found.map_or("allow", |(name, _)| name)
}

/// Shows what a rule would have done in the last week.
pub(crate) async fn rule(
    State(site): Shared,
    visit: Visit,
    Path(id): Path<String>,
    Query(query): Query<Vec<(String, String)>>,
) -> Response {
    let asked = query.iter().find(|(name, _)| name == "action");
    let action = chosen(asked.map_or("", |(_, value)| value.as_str()));
    let page = match find(&site, &visit, &id).await {
        Ok(question) => {
            let change = json!({ "patch": patch(&question, action), "since": "168h" });
            let effect = site
                .api
                .post(&visit.viewer, "/policy/replay", &change)
                .await;
            let body = rule_body(&visit, &question, action, &effect);
            Ok(Page::new(Section::Approvals, "Make a rule", body))
        }
        Err(fault) => Err(fault),
    };
    site.show(&visit, Section::Approvals, page).await
}

fn rule_body(
    visit: &Visit,
    question: &Value,
    action: &str,
    replayed: &Result<Value, Error>,
) -> Markup {
    let (server, tool) = (question.text("server_name"), question.text("tool_name"));
    let yaml = format!(
        "security:\n  flow_policy:\n    tool_overrides:\n      \"{}:{}\": {action}",
        plain(server),
        plain(tool)
    );
    let path = format!("/ui/approvals/{}/rule", encoded(question.text("id")));
    html! {
        p.crumbs { a href="/ui/approvals" { "Approvals" } " / " (pieces::full_tool(server, tool)) }
        nav.tabs aria-label="What the rule says" { @for (name, label) in ACTIONS {
            a href={ (path) "?action=" (name) } aria-current=[(name == action).then_some("true")] { (label) }
        } }
        div.columns {
            section.panel {
                h2 { "The rule" }
                pre.code { code { (yaml) } }
                @if action != "deny" {
                    p.problem { "It stands above the rules about flows: calls of this tool pass also when \
                        they carry secrets that were read inside." }
                }
                form.stack method="post" action=(path) {
                    (hidden(visit))
                    input type="hidden" name="action" value=(action);
                    div.buttons {
                        button.primary type="submit" {
                            @if action == "deny" { "Keep the rule and deny this call" }
                            @else { "Keep the rule and approve this call" }
                        }
                        a.button href="/ui/approvals" { "Back" }
                    }
                }
            }
            (panel("Its effect on the last week", &pieces::found(replayed, effect)))
        }
    }
}

/// Writes a rule into the configuration, then answers the call that led to it.
pub(crate) async fn keep_rule(
    State(site): Shared,
    Path(id): Path<String>,
    Act { visit, form }: Act,
) -> Response {
    let action = chosen(form.get("action"));
    let kept = async {
        let question = find(&site, &visit, &id).await?;
        let change = json!({ "patch": patch(&question, action) });
        site.api
            .post(&visit.viewer, "/config/apply", &change)
            .await?;
        let decision = if action == "deny" { "deny" } else { "approve" };
        let said = decide(&site, &visit, &id, decision).await?;
        Ok(format!("The rule is in force. {said}"))
    };
    let notice = kept.await.map_or_else(Notice::Failed, Notice::Done);
    site.sessions.tell(&visit.viewer, notice).await;
    Redirect::to("/ui/approvals").into_response()
}
