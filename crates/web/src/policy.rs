//! The policy page: the configuration in force with where each value comes from, a call that is
//! tried and not made, and a change whose effect on what is on record is seen before it is saved.

use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use http::StatusCode;
use maud::{Markup, html};
use mcpproxy_text::url::encoded;
use serde_json::{Value, json};

use crate::act::{Act, Form, Visit};
use crate::app::{Shared, Site};
use crate::error::Error;
use crate::look::Look as _;
use crate::page::{Page, Section, hidden};
use crate::pieces::{self, facts, panel};
use crate::session::Notice;
use crate::shown::{id, plain, short, whole};

/// The parts of the page.
const TABS: [(&str, &str); 3] = [
    ("/ui/policy", "In force"),
    ("/ui/policy/try", "Try a call"),
    ("/ui/policy/change", "Change and replay"),
];
/// How far back calls can be judged again.
const SPANS: [(&str, &str); 3] = [("24h", "day"), ("168h", "week"), ("720h", "month")];
/// Calls that are listed by name whose verdict would change.
const LISTED: usize = 200;

fn tabs(current: &str) -> Markup {
    html! { nav.tabs aria-label="Policy" { @for (path, label) in TABS {
        a href=(path) aria-current=[(path == current).then_some("page")] { (label) }
    } } }
}

/// Shows the configuration in force.
pub(crate) async fn show(
    State(site): Shared,
    visit: Visit,
    Query(query): Query<Vec<(String, String)>>,
) -> Response {
    let asked = |name: &str| {
        let found = query.iter().find(|(key, _)| key == name);
        found.map_or("", |(_, value)| value.as_str())
    };
    let (wanted, all) = (asked("q"), asked("show") == "all");
    let config = site.api.get(&visit.viewer, "/config").await;
    let body = html! {
        (tabs("/ui/policy"))
        form.filters method="get" action="/ui/policy" role="search" {
            div.fields { div.field {
                label for="q" { "Keys that contain" }
                input #q name="q" value=(wanted) spellcheck="false" autocomplete="off";
            }
            div.field {
                label for="show" { "Show" }
                select #show name="show" {
                    option value="set" selected[!all] { "what was set" }
                    option value="all" selected[all] { "defaults, too" }
                }
            } }
            div.buttons { button.primary type="submit" { "Filter" } }
        }
        section.panel { (pieces::found(&config, |config| values(config, wanted, all))) }
    };
    let page = Page::new(Section::Policy, "Policy", body);
    site.show(&visit, Section::Policy, Ok(page)).await
}

fn values(config: &Value, wanted: &str, all: bool) -> Markup {
    let fits =
        |one: &&Value| one.text("key").contains(wanted) && (all || one.text("origin") != "default");
    let shown: Vec<_> = config.list("values").iter().filter(fits).collect();
    let heads = ["Key", "Value", "From"];
    let rows = html! { @for one in &shown {
        @let given = one.text("origin") != "default";
        tr {
            td.code { @if given { strong { (whole(one.text("key"))) } } @else { (whole(one.text("key"))) } }
            td.wide.code { (pieces::inline(one.part("value"))) }
            td { @if given { (origin(one.text("origin"))) } @else { span.quiet { "default" } } }
        }
    } };
    html! {
        p.quiet { "Files, the strongest first: " (pieces::words(config, "files"))
            ". Changes are written to " code { (whole(config.text("target"))) } "." }
        @for notice in config.list("notices") { p.problem { (pieces::inline(notice)) } }
        @if shown.is_empty() { (pieces::empty("No key fits.")) }
        @else { (pieces::table("Configuration in force", &heads, &rows)) }
    }
}

/// Where a value comes from: of a file its name and line, and the whole path for whoever points at it.
fn origin(text: &str) -> Markup {
    let name = text.rsplit_once('/').map_or(text, |(_, name)| name);
    html! { span title=(plain(text)) { (whole(name)) } }
}

/// Asks for a call to try.
pub(crate) async fn try_page(State(site): Shared, visit: Visit) -> Response {
    tried(&site, &visit, &Form::default(), None).await
}

/// Tries a call: it is judged, and not made.
pub(crate) async fn try_call(State(site): Shared, Act { visit, form }: Act) -> Response {
    let explained = match serde_json::from_str::<Value>(or(form.get("args"), "{}")) {
        Ok(args) => {
            let call = json!({
                "server": form.get("server").trim(), "tool": form.get("tool").trim(), "args": args,
            });
            site.api.post(&visit.viewer, "/policy/explain", &call).await
        }
        Err(fault) => Err(wrong(format!("the arguments are not JSON: {fault}"))),
    };
    let barred = barred(&site, &visit, form.get("server").trim()).await;
    tried(&site, &visit, &form, Some((explained, barred))).await
}

/// Why a real call would be refused before the policy is asked, if it would be: the policy judges
/// calls to upstreams that do not exist as well, and knows of no order to stop.
async fn barred(site: &Site, visit: &Visit, server: &str) -> Option<String> {
    let get = async |path: &str| site.api.get(&visit.viewer, path).await;
    let known = get(&format!("/servers/{}", encoded(server))).await;
    let stops = get("/stops").await.unwrap_or_default();
    let covers = [String::from("all"), format!("upstream:{server}")];
    let mut stops = stops.as_array().into_iter().flatten();
    let stopped = stops.find_map(|one| covers.iter().find(|scope| *one == **scope));
    match (known, stopped) {
        (Err(Error::Refused { status, .. }), _) if status == StatusCode::NOT_FOUND => {
            Some(format!("no server is named `{server}`"))
        }
        (Ok(known), _) if known.get("enabled") == Some(&Value::Bool(false)) => {
            Some(format!("`{server}` is disabled"))
        }
        (_, Some(scope)) => Some(format!("calls are stopped (`{scope}`)")),
        _ => None,
    }
}

fn or<'a>(text: &'a str, otherwise: &'a str) -> &'a str {
    if text.trim().is_empty() {
        otherwise
    } else {
        text
    }
}

fn wrong(message: String) -> Error {
    Error::Refused {
        status: StatusCode::BAD_REQUEST,
        message,
        hint: None,
    }
}

async fn tried(
    site: &Site,
    visit: &Visit,
    form: &Form,
    explained: Option<(Result<Value, Error>, Option<String>)>,
) -> Response {
    let body = html! {
        (tabs("/ui/policy/try"))
        section.panel {
            h2 { "A call that is judged and not made" }
            form.stack method="post" action="/ui/policy/try" {
                (hidden(visit))
                div.fields {
                    div.field {
                        label for="server" { "Server" }
                        input #server name="server" required value=(form.get("server")) spellcheck="false";
                    }
                    div.field {
                        label for="tool" { "Tool" }
                        input #tool name="tool" required value=(form.get("tool")) spellcheck="false";
                    }
                }
                div {
                    label for="args" { "Arguments, as JSON" }
                    textarea.short #args name="args" spellcheck="false" { (or(form.get("args"), "{}")) }
                }
                div.buttons { button.primary type="submit" { "Try it" } }
            }
        }
        @if let Some((explained, barred)) = &explained {
            @if let Some(why) = barred {
                p.notice.bad role="alert" { "A real call would be refused: " (whole(why))
                    ". What stands below is what the policy alone says." }
            }
            (panel("What would happen", &pieces::found(explained, explanation)))
        }
    };
    let page = Page::new(Section::Policy, "Policy", body);
    site.show(visit, Section::Policy, Ok(page)).await
}

fn explanation(told: &Value) -> Markup {
    let heads = ["Tier, strongest first", "Wants", "Why"];
    let rows = html! { @for tier in told.list("tiers") {
        @let findings = tier.list("findings");
        @if findings.is_empty() {
            tr { td { (whole(tier.text("tier"))) } td { span.quiet { "no opinion" } } td {} }
        }
        @for one in findings { tr {
            td { (whole(tier.text("tier"))) }
            td { (pieces::decision(one.text("wants"))) @if one.is("decided") { " " strong { "decided" } } }
            td.wide { (whole(one.text("reason"))) " " code { (whole(one.text("rule"))) } }
        } }
    } };
    html! {
        (facts(&[
            ("Decision", pieces::decision(told.text("decision"))),
            ("Done", pieces::decision(told.text("effective"))),
            ("Flow", html! { (whole(told.text("flow_type"))) }),
            ("Risk of the flow", html! {
                (pieces::risk(told.text("risk_level"))) div.quiet { (whole(told.text("risk_reason"))) }
            }),
            ("Risk score", html! { (told.count("risk_score")) " of 100" }),
        ]))
        p.said { (whole(told.text("why"))) }
        (pieces::table("What each tier says", &heads, &rows))
    }
}

/// Asks for a change.
pub(crate) async fn change_page(State(site): Shared, visit: Visit) -> Response {
    changing(&site, &visit, &Form::default(), None).await
}

/// Shows what a change would have done, or saves it.
pub(crate) async fn change(State(site): Shared, Act { visit, form }: Act) -> Response {
    let patch = match serde_json::from_str::<Value>(form.get("patch")) {
        Ok(patch @ Value::Object(_)) => patch,
        Ok(_) => {
            let fault = wrong("a change is an object".to_owned());
            return changing(&site, &visit, &form, Some(Err(fault))).await;
        }
        Err(fault) => {
            let fault = wrong(format!("the change is not JSON: {fault}"));
            return changing(&site, &visit, &form, Some(Err(fault))).await;
        }
    };
    if form.get("act") == "save" && was_shown(&form, &patch) {
        return save(&site, &visit, &form, &patch).await;
    }
    let shown = preview(&site, &visit, &form, &patch).await;
    changing(&site, &visit, &form, Some(shown)).await
}

/// Tells whether a change is the one whose effect stood beside the button: the text may have been
/// edited since.
fn was_shown(form: &Form, patch: &Value) -> bool {
    serde_json::from_str::<Value>(form.get("shown")).is_ok_and(|shown| shown == *patch)
}

async fn preview(site: &Site, visit: &Visit, form: &Form, patch: &Value) -> Result<Value, Error> {
    let change = json!({ "patch": patch });
    let checked = site
        .api
        .post(&visit.viewer, "/config/validate", &change)
        .await?;
    if !checked.is("valid") {
        let problems = checked.list("problems").iter().filter_map(Value::as_str);
        return Err(wrong(problems.collect::<Vec<_>>().join("; ")));
    }
    let since = SPANS.iter().find(|(name, _)| *name == form.get("since"));
    let since = since.map_or("168h", |(name, _)| name);
    let replay = json!({ "patch": patch, "since": since });
    site.api
        .post(&visit.viewer, "/policy/replay", &replay)
        .await
}

async fn save(site: &Site, visit: &Visit, form: &Form, patch: &Value) -> Response {
    let change = json!({ "patch": patch });
    match site.api.post(&visit.viewer, "/config/apply", &change).await {
        Ok(applied) => {
            let said = match applied.text("backup") {
                "" => "The change is in force.".to_owned(),
                backup => format!("The change is in force. The file as it was is at `{backup}`."),
            };
            let notice = Notice::Done(said);
            site.sessions.tell(&visit.viewer, notice).await;
            Redirect::to("/ui/policy").into_response()
        }
        Err(fault) => {
            let notice = Notice::Failed(fault);
            site.sessions.tell(&visit.viewer, notice).await;
            changing(site, visit, form, None).await
        }
    }
}

async fn changing(
    site: &Site,
    visit: &Visit,
    form: &Form,
    shown: Option<Result<Value, Error>>,
) -> Response {
    let example =
        "{\n  \"security\": {\n    \"flow_policy\": { \"internal_to_external\": \"deny\" }\n  }\n}";
    let since = or(form.get("since"), "168h");
    let unsaved = form.get("act") == "save" && matches!(shown, Some(Ok(_)));
    let body = html! {
        (tabs("/ui/policy/change"))
        @if unsaved {
            p.notice.bad role="alert" { "The effect of this text was not shown before, so nothing was saved: \
                look at it below, and save again." }
        }
        section.panel {
            h2 { "A change of the configuration" }
            p.quiet { "What is laid over the file, as JSON: maps are merged, " code { "null" }
                " takes a key out. Nothing is written before you save." }
            form.stack method="post" action="/ui/policy/change" {
                (hidden(visit))
                div {
                    label for="patch" { "The change" }
                    textarea #patch name="patch" required spellcheck="false" {
                        (or(form.get("patch"), example))
                    }
                }
                div.buttons {
                    div {
                        label for="since" { "Replay the last" }
                        select #since name="since" { @for (name, label) in SPANS {
                            option value=(name) selected[name == since] { (label) }
                        } }
                    }
                    button.primary type="submit" name="act" value="preview" { "Show the effect" }
                    @if matches!(shown, Some(Ok(_))) {
                        input type="hidden" name="shown" value=(form.get("patch"));
                        button.danger type="submit" name="act" value="save" { "Save and put in force" }
                    }
                }
            }
        }
        @if let Some(shown) = &shown {
            (panel("What it would have changed", &pieces::found(shown, effect)))
        }
    };
    let page = Page::new(Section::Policy, "Policy", body);
    site.show(visit, Section::Policy, Ok(page)).await
}

/// Shows which calls on record would have been judged otherwise.
pub(crate) fn effect(replayed: &Value) -> Markup {
    let changed = replayed.list("changed");
    let total = replayed.count("changed_total");
    let heads = ["Call", "Tool", "Was", "Would be"];
    let rows = html! { @for one in changed.iter().take(LISTED) {
        @let call = one.text("activity_id");
        tr {
            td { a.code href={ "/ui/activity/" (encoded(call)) } { (id(call)) } }
            td.name { (short(one.text("tool_name"))) }
            td { (pieces::decision(one.text("before"))) }
            td { (pieces::decision(one.text("after"))) }
        }
    } };
    html! {
        p { strong { (total) } " would have been judged otherwise, "
            (replayed.count("unchanged")) " the same." }
        (skipped(replayed))
        @if !changed.is_empty() { (pieces::table("Calls that change", &heads, &rows)) }
    }
}

/// What could not be judged again, so that nobody takes silence for consent.
fn skipped(replayed: &Value) -> Markup {
    let because = replayed.part("skipped_because").as_object();
    html! {
        @if replayed.count("skipped") > 0 {
            p.quiet { (replayed.count("skipped")) " cannot be judged again from what is on record"
                @for (at, (why, count)) in because.into_iter().flatten().enumerate() {
                    @if at == 0 { ": " } @else { "; " }
                    (whole(why)) " (" (pieces::inline(count)) ")"
                }
                "." }
        }
        @if !replayed.is("complete") { p.quiet { "Only the newest calls were looked at." } }
    }
}
