//! The tools page: what is withheld and why, what changed, which servers there are, what they count
//! as and why, and the owner's word on each.

mod diff;

use std::collections::BTreeSet;

use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use http::StatusCode;
use maud::{Markup, html};
use mcpproxy_core::Wall;
use mcpproxy_text::url::encoded;
use serde_json::{Value, json};

use crate::act::{Act, Form, Visit};
use crate::app::{Shared, Site};
use crate::error::Error;
use crate::look::Look as _;
use crate::page::{Page, Section, hidden};
use crate::pieces::{self, facts, live, panel};
use crate::session::Notice;
use crate::shown::{plain, short, whole};

/// Servers whose withheld things are looked for; there are rarely more than a few.
const SERVERS: usize = 100;
/// What a server can count as.
const CLASSES: [&str; 4] = ["internal", "external", "hybrid", "unknown"];

/// Shows the page.
pub(crate) async fn show(State(site): Shared, visit: Visit) -> Response {
    let get = async |path: &str| site.api.get(&visit.viewer, path).await;
    let (servers, tools) = (get("/servers").await, get("/tools").await);
    let withheld = withheld(&site, &visit).await;
    let now = site.clock.wall();
    let body = html! {
        (live("withheld", "Withheld from agents", &held(&visit, &withheld, now)))
        (live("servers", "Servers", &pieces::found(&servers, list)))
        (live("all", "All tools", &pieces::found(&tools, all)))
    };
    let page = Page::new(Section::Tools, "Tools", body);
    site.show(&visit, Section::Tools, Ok(page)).await
}

/// Finds everything that is withheld, of the servers that have something to complain about.
async fn withheld(site: &Site, visit: &Visit) -> Vec<Value> {
    let problems = site.api.get(&visit.viewer, "/diagnostics").await;
    let problems = problems.unwrap_or_default();
    let areas = problems.list("problems").iter().map(|one| one.text("area"));
    let areas: BTreeSet<&str> = areas.collect();
    let mut withheld = Vec::new();
    for server in areas.into_iter().take(SERVERS) {
        let path = format!("/servers/{}/tools", encoded(server));
        // An area need not be a server.
        let Ok(offers) = site.api.get(&visit.viewer, &path).await else {
            continue;
        };
        let offers = offers.list("quarantine").iter();
        withheld.extend(
            offers
                .filter(|one| one.text("state") != "approved")
                .cloned(),
        );
    }
    withheld
}

fn held(visit: &Visit, offers: &[Value], now: Wall) -> Markup {
    let heads = ["Name", "Kind", "State", "Why", "Since (UTC)", "Your word"];
    let rows = html! { @for one in offers {
        @let (server, name) = (one.text("server_name"), one.text("name"));
        tr {
            td { @if one.text("kind") == "server" {
                a href={ "/ui/tools/" (encoded(server)) } { (pieces::tool(server, "")) }
            } @else {
                a href={ "/ui/tools/" (encoded(server)) "/" (encoded(name)) } { (pieces::full_tool(server, name)) }
            } }
            td { (whole(one.text("kind"))) }
            td { (pieces::health(one.text("state"))) }
            td.wide { (whole(one.text("reason"))) div.quiet { "by " (whole(one.text("by"))) } }
            td.time { (pieces::time(one.text("since"), now)) }
            td.act { (word(visit, one)) }
        }
    } };
    html! {
        @if offers.is_empty() { (pieces::empty("Nothing is withheld: agents see everything that servers offer.")) }
        @else { (pieces::table("Withheld from agents", &heads, &rows)) }
    }
}

/// The buttons with which the owner decides about something that is withheld.
fn word(visit: &Visit, one: &Value) -> Markup {
    let (server, name) = (one.text("server_name"), one.text("name"));
    if one.text("kind") == "server" {
        return html! { form method="post" action={ "/ui/tools/" (encoded(server)) } {
            (hidden(visit))
            button type="submit" name="act" value="unquarantine" { "Let out" }
        } };
    }
    html! {
        form method="post" action={ "/ui/tools/" (encoded(server)) "/" (encoded(name)) } {
            (hidden(visit))
            div.buttons {
                a.button href={ "/ui/tools/" (encoded(server)) "/" (encoded(name)) } {
                    "Review" span.sr { " " (plain(name)) }
                }
                @if one.text("state") != "blocked" {
                    button.danger type="submit" name="act" value="block" {
                        "Block" span.sr { " " (plain(name)) }
                    }
                }
            }
        }
    }
}

fn list(servers: &Value) -> Markup {
    let servers = servers.as_array().map_or(&[][..], Vec::as_slice);
    let heads = ["Server", "State", "Counts as", "Why", "Transport", "Tools"];
    let rows = html! { @for one in servers {
        @let class = one.part("class");
        tr {
            td { a href={ "/ui/tools/" (encoded(one.text("name"))) } { (short(one.text("name"))) } }
            td { (pieces::health(one.text("status"))) }
            td { (whole(class.text("classification"))) }
            td.wide { (whole(class.text("reason"))) " " span.quiet { "(" (sure(class)) ")" } }
            td { (whole(one.text("transport"))) }
            td.number { (one.count("tools")) }
        }
    } };
    html! {
        @if servers.is_empty() { (pieces::empty("No server is configured: `mcpproxy upstream add` adds one.")) }
        @else { (pieces::table("Servers", &heads, &rows)) }
    }
}

/// How a class came about, and how sure it is.
fn sure(class: &Value) -> String {
    let confidence = class
        .get("confidence")
        .and_then(Value::as_f64)
        .unwrap_or_default();
    format!(
        "{}, {:.0} % sure",
        plain(class.text("method")),
        confidence * 100.0
    )
}

fn all(tools: &Value) -> Markup {
    let tools = tools.as_array().map_or(&[][..], Vec::as_slice);
    let heads = ["Tool", "State", "Description"];
    let rows = html! { @for one in tools {
        @let (server, tool) = one.text("name").split_once(':').unwrap_or(("", one.text("name")));
        tr {
            td { a href={ "/ui/tools/" (encoded(server)) "/" (encoded(tool)) } { (pieces::full_tool(server, tool)) } }
            td { (pieces::health(one.text("state"))) }
            td.wide { (pieces::description(one.text("description"))) }
        }
    } };
    html! {
        @if tools.is_empty() { (pieces::empty("No tool is offered.")) }
        @else { (pieces::table("All tools", &heads, &rows)) }
    }
}

/// The tools of one server.
fn of(server: &str, tools: &Value) -> Value {
    let tools = tools.as_array().into_iter().flatten();
    let own = tools.filter(|one| {
        let name = one.text("name").strip_prefix(server);
        name.is_some_and(|rest| rest.starts_with(':'))
    });
    own.cloned().collect()
}

/// Shows one server: what it counts as and why, and what can be done about it.
pub(crate) async fn server(
    State(site): Shared,
    visit: Visit,
    Path(name): Path<String>,
) -> Response {
    let path = format!("/servers/{}", encoded(&name));
    let server = site.api.get(&visit.viewer, &path).await;
    let logs = site.api.get(&visit.viewer, &format!("{path}/logs")).await;
    let offers = site.api.get(&visit.viewer, &format!("{path}/tools")).await;
    let withheld = is_withheld(&offers.unwrap_or_default());
    let tools = site.api.get(&visit.viewer, "/tools").await;
    let tools = tools.map(|tools| of(&name, &tools));
    let page = server.map(|server| {
        let body = html! {
            p.crumbs { a href="/ui/tools" { "Tools" } " / " (whole(&name)) }
            div.columns { (class_panel(&visit, &server)) (state_panel(&visit, &server, withheld)) }
            (panel("Its tools", &pieces::found(&tools, all)))
            (panel("What it said on standard error", &pieces::found(&logs, log)))
        };
        Page::new(Section::Tools, plain(&name), body)
    });
    site.show(&visit, Section::Tools, page).await
}

fn class_panel(visit: &Visit, server: &Value) -> Markup {
    let class = server.part("class");
    let yes = |name: &str| if class.is(name) { "yes" } else { "no" };
    let body = html! {
        (facts(&[
            ("Counts as", html! { strong { (whole(class.text("classification"))) } }),
            ("Decided by", html! { (sure(class)) }),
            ("Why", html! { (whole(class.text("reason"))) }),
            ("Can read private data", html! { (yes("can_read_data")) }),
            ("Can send data outside", html! { (yes("can_exfiltrate")) }),
        ]))
        form.unlock method="post" action={ "/ui/tools/" (encoded(server.text("name"))) } {
            (hidden(visit))
            input type="hidden" name="act" value="class";
            div {
                label for="class" { "Count it as" }
                select #class name="class" { @for one in CLASSES {
                    option value=(one) selected[one == class.text("classification")] { (one) }
                } }
            }
            button type="submit" { "Override" }
        }
        p.quiet { "An override is written into the configuration and holds from the next call on." }
    };
    panel("Classification", &body)
}

/// Tells whether a server as a whole is in quarantine. Its status does not, where it is down as well.
fn is_withheld(offers: &Value) -> bool {
    let mut known = offers.list("quarantine").iter();
    known.any(|one| one.text("kind") == "server" && one.text("state") != "approved")
}

fn state_panel(visit: &Visit, server: &Value, withheld: bool) -> Markup {
    let acts = [
        ("restart", "Restart"),
        ("refresh", "Read its lists again"),
        if server.is("enabled") {
            ("disable", "Disable")
        } else {
            ("enable", "Enable")
        },
        if withheld {
            ("unquarantine", "Let out of quarantine")
        } else {
            ("quarantine", "Quarantine")
        },
    ];
    let body = html! {
        (facts(&[
            ("State", pieces::health(server.text("status"))),
            ("Transport", html! { (whole(server.text("transport"))) }),
            ("Scope", html! { (whole(server.text("scope"))) }),
            ("Command", html! { code { (whole(server.text("command"))) } }),
            ("Protocol", html! { (whole(server.text("protocol_version"))) }),
            ("Offers", html! {
                (server.count("tools")) " tools, " (server.count("prompts")) " prompts, "
                (server.count("resources")) " resources"
            }),
            ("Problems", pieces::words(server, "problems")),
        ]))
        form method="post" action={ "/ui/tools/" (encoded(server.text("name"))) } {
            (hidden(visit))
            div.buttons { @for (act, label) in acts {
                button type="submit" name="act" value=(act) { (label) }
            } }
        }
    };
    panel("State", &body)
}

fn log(logs: &Value) -> Markup {
    let lines = logs.list("lines").iter().filter_map(Value::as_str);
    let text = lines.collect::<Vec<_>>().join("\n");
    html! {
        @if text.is_empty() { (pieces::empty("Nothing.")) }
        @else { pre.code tabindex="0" { code { (whole(&text)) } } }
    }
}

/// Does something with a server.
pub(crate) async fn act(
    State(site): Shared,
    Path(name): Path<String>,
    Act { visit, form }: Act,
) -> Response {
    let notice = acted(&site, &visit, &name, &form).await;
    let notice = notice.map_or_else(Notice::Failed, Notice::Done);
    site.sessions.tell(&visit.viewer, notice).await;
    Redirect::to(form.next()).into_response()
}

async fn acted(site: &Site, visit: &Visit, name: &str, form: &Form) -> Result<String, Error> {
    let act = form.get("act");
    if act == "class" {
        let class = form.get("class");
        let overrides = json!({ "server_overrides": { name: class } });
        let change = json!({ "patch": { "security": { "classification": overrides } } });
        site.api
            .post(&visit.viewer, "/config/apply", &change)
            .await?;
        return Ok(format!("`{name}` now counts as {class}."));
    }
    let path = format!("/servers/{}/{}", encoded(name), encoded(act));
    let done = site.api.post(&visit.viewer, &path, &json!({})).await?;
    Ok(how_it_is(act, name).unwrap_or_else(|| done.text("done").to_owned()))
}

/// How a server is after something was done with it, also where it was so before.
fn how_it_is(act: &str, name: &str) -> Option<String> {
    Some(match act {
        "restart" => format!("`{name}` is started anew."),
        "refresh" => format!("The lists of `{name}` are read again."),
        "enable" => format!("`{name}` is enabled."),
        "disable" => format!("`{name}` is disabled."),
        "quarantine" => format!("`{name}` is in quarantine."),
        "unquarantine" => format!("`{name}` is out of quarantine."),
        _ => return None,
    })
}

/// Shows a tool: what it says about itself, and what changed in it since it was approved.
pub(crate) async fn diff(
    State(site): Shared,
    visit: Visit,
    Path((server, tool)): Path<(String, String)>,
) -> Response {
    let path = format!(
        "/servers/{}/tools/{}/diff",
        encoded(&server),
        encoded(&tool)
    );
    let found = site.api.get(&visit.viewer, &path).await;
    let tools = site.api.get(&visit.viewer, "/tools").await;
    let now = site.clock.wall();
    let page = found.map(|found| {
        let title = format!("{}:{}", plain(&server), plain(&tool));
        let said = described(tools.as_ref().ok(), &format!("{server}:{tool}"));
        Page::new(Section::Tools, title, diff::body(&visit, &found, said, now))
    });
    site.show(&visit, Section::Tools, page).await
}

/// Finds what a tool says about itself now; nothing for what is no tool, or is not offered.
fn described<'a>(tools: Option<&'a Value>, name: &str) -> Option<&'a str> {
    let tools = tools.and_then(Value::as_array)?;
    let found = tools.iter().find(|one| one.text("name") == name)?;
    Some(found.text("description"))
}

/// Takes the owner's word on a tool.
pub(crate) async fn judge(
    State(site): Shared,
    Path((server, tool)): Path<(String, String)>,
    Act { visit, form }: Act,
) -> Response {
    let notice = judged(&site, &visit, (&server, &tool), &form).await;
    let notice = notice.map_or_else(Notice::Failed, Notice::Done);
    site.sessions.tell(&visit.viewer, notice).await;
    Redirect::to("/ui/tools").into_response()
}

async fn judged(
    site: &Site,
    visit: &Visit,
    (server, tool): (&str, &str),
    form: &Form,
) -> Result<String, Error> {
    let (act, body) = match (form.get("act"), form.get("hash")) {
        ("block", _) => ("block", json!({ "tools": [tool] })),
        // What is approved is what was looked at, not what it may have become since.
        ("approve", hash) if !hash.is_empty() => {
            ("approve", json!({ "tools": [tool], "hash": hash }))
        }
        _ => {
            return Err(Error::Refused {
                status: StatusCode::BAD_REQUEST,
                message: "say `approve` with the version that was looked at, or `block`".to_owned(),
                hint: None,
            });
        }
    };
    let path = format!("/servers/{}/tools/{act}", encoded(server));
    site.api.post(&visit.viewer, &path, &body).await?;
    Ok(format!(
        "`{server}:{tool}` is {}.",
        if act == "block" {
            "blocked"
        } else {
            "approved"
        }
    ))
}
