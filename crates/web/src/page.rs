//! The frame around every page: landmarks, navigation, the coverage banner, and word of what was
//! just done.

use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, StatusCode};
use maud::{DOCTYPE, Markup, html};
use serde_json::Value;

use crate::act::{THEME, TOKEN, Visit, cookie};
use crate::app::Site;
use crate::error::Error;
use crate::login::key_form;
use crate::look::Look as _;
use crate::pieces;
use crate::session::Notice;
use crate::shown::whole;

/// The colours of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Theme {
    /// As the system has them.
    System,
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

impl Theme {
    /// The one that a browser chose.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        Self::named(cookie(headers, THEME).unwrap_or_default())
    }

    /// The one with this name; the system's for a name that nobody has.
    pub(crate) fn named(name: &str) -> Self {
        match name {
            "light" => Self::Light,
            "dark" => Self::Dark,
            _ => Self::System,
        }
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

/// The parts of the dashboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    Overview,
    Activity,
    Flows,
    Approvals,
    Tools,
    Policy,
}

impl Section {
    const ALL: [Self; 6] = [
        Self::Overview,
        Self::Activity,
        Self::Flows,
        Self::Approvals,
        Self::Tools,
        Self::Policy,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Activity => "Activity",
            Self::Flows => "Flows",
            Self::Approvals => "Approvals",
            Self::Tools => "Tools",
            Self::Policy => "Policy",
        }
    }

    fn path(self) -> &'static str {
        match self {
            Self::Overview => "/ui/",
            Self::Activity => "/ui/activity",
            Self::Flows => "/ui/flows",
            Self::Approvals => "/ui/approvals",
            Self::Tools => "/ui/tools",
            Self::Policy => "/ui/policy",
        }
    }

    /// The strokes of its sign, in a box of 16 by 16.
    fn strokes(self) -> &'static str {
        match self {
            Self::Overview => "M2 13V8M6 13V3M10 13V6M14 13V9",
            Self::Activity => "M2 4h12M2 8h12M2 12h8",
            Self::Flows => "M3 4h3c4 0 4 8 8 8M3 12h3c2 0 3-2 3.5-4M11 10l3 2-3 2",
            Self::Approvals => "M8 2a6 6 0 1 0 6 6M8 4.5V8l2.5 1.5M11 3l1.5 1.5L15 2",
            Self::Tools => "M8 2l5.5 2v4c0 3-2.5 5-5.5 6-3-1-5.5-3-5.5-6V4zM8 5.5v3M8 10.5v.5",
            Self::Policy => "M3 2h7l3 3v9H3zM5.5 7h5M5.5 10h5",
        }
    }
}

/// A page of the dashboard.
#[derive(Debug)]
pub(crate) struct Page {
    /// Where it belongs.
    pub(crate) section: Section,
    /// What it is about, safe to show as it is.
    pub(crate) title: String,
    /// What it shows.
    pub(crate) body: Markup,
}

impl Page {
    /// Makes a page.
    pub(crate) fn new(section: Section, title: impl Into<String>, body: Markup) -> Self {
        let title = title.into();
        Self {
            section,
            title,
            body,
        }
    }
}

impl Site {
    /// Puts the frame around a page; one that cannot be shown says why.
    pub(crate) async fn show(
        &self,
        visit: &Visit,
        section: Section,
        page: Result<Page, Error>,
    ) -> Response {
        let (status, page) = match page {
            Ok(page) => (StatusCode::OK, page),
            Err(fault) => {
                let body = html! { section.panel { (pieces::problem(&fault)) } };
                (fault.status(), Page::new(section, section.name(), body))
            }
        };
        // What the frame shows of it may be missing; the page is not.
        let standing = self.api.get(&visit.viewer, "/status").await;
        let notice = self.sessions.notice(&visit.viewer).await;
        let framed = frame(visit, &standing.unwrap_or_default(), notice.as_ref(), &page);
        (status, framed).into_response()
    }
}

fn frame(visit: &Visit, standing: &Value, notice: Option<&Notice>, page: &Page) -> Markup {
    let body = html! {
        a.skip href="#main" { "Skip to the content" }
        header.top {
            a.brand href="/ui/" { img src="/ui/assets/mark.svg" alt="" width="24" height="24"; "mcpproxy" }
            nav aria-label="Dashboard" { ul {
                @for section in Section::ALL { li { (entry(section, page.section, standing)) } }
            } }
            div.tools {
                (themes(visit))
                form method="post" action="/ui/logout" {
                    (hidden(visit))
                    button.plain type="submit" { "Log out" }
                }
                p.version { "Version " (whole(standing.text("version"))) }
            }
        }
        main #main tabindex="-1" {
            @if !visit.banner_read { (banner(visit, standing)) }
            (troubles(standing))
            @if let Some(notice) = notice { (told(visit, notice)) }
            div.heading {
                h1 { (page.title) }
                p.live data-live-state hidden {
                    span.dot aria-hidden="true" {} span data-live-text { "Live" }
                    button.plain type="button" data-live-pause aria-pressed="false" { "Pause" }
                    a data-live-login hidden href="/ui/login" { "Log in" }
                }
            }
            (page.body)
            p.sr role="status" aria-live="polite" data-live-said {}
        }
    };
    document(visit.theme, &page.title, &body)
}

fn entry(section: Section, current: Section, standing: &Value) -> Markup {
    let waiting = match section {
        Section::Approvals => standing.count("approvals"),
        _ => 0,
    };
    html! {
        a href=(section.path()) aria-current=[(section == current).then_some("page")] {
            svg viewBox="0 0 16 16" aria-hidden="true" { path d=(section.strokes()) {} }
            (section.name())
            // It is there without a number as well, so that one can come while the page is open.
            @if section == Section::Approvals {
                span #waiting data-live {
                    @if waiting > 0 { span.count { (waiting) span.sr { " waiting" } } }
                }
            }
        }
    }
}

fn themes(visit: &Visit) -> Markup {
    html! {
        form method="post" action="/ui/theme" {
            (hidden(visit))
            div.themes role="group" aria-label="Colours" {
                @for theme in [Theme::System, Theme::Light, Theme::Dark] {
                    button.plain type="submit" name="theme" value=(theme.name())
                        aria-pressed=(theme == visit.theme) { (theme.name()) }
                }
            }
        }
    }
}

/// The fields that every form of a page has.
pub(crate) fn hidden(visit: &Visit) -> Markup {
    html! {
        input type="hidden" name=(TOKEN) value=(visit.viewer.token());
        input type="hidden" name="next" value=(visit.path);
    }
}

/// Says how much can be seen, while that is not everything.
fn banner(visit: &Visit, standing: &Value) -> Markup {
    let partly = standing.text("security_coverage") == "proxy_only";
    html! { @if partly {
        aside.banner aria-label="Security coverage" {
            div {
                p { "Security coverage: MCP proxy only. Install hooks for full agent tool visibility." }
                details {
                    summary { "How to install hooks" }
                    p { "Hooks provide visibility into agent-internal tools like Read, Bash, WebFetch. \
                         Without hooks, flow detection is limited to MCP-proxied tool calls." }
                    ol {
                        li { "Run " code { "mcpproxy hook install --agent claude-code" }
                             ", or name another agent: " code { "mcpproxy hook install --help" }
                             " lists them." }
                        li { "Start the agent anew." }
                        li { "Run " code { "mcpproxy hook status" } " to see that its events arrive." }
                    }
                }
            }
            form method="post" action="/ui/banner" {
                (hidden(visit))
                button.plain type="submit" { "Dismiss" }
            }
        }
    } }
}

/// What is wrong with the gateway itself.
fn troubles(standing: &Value) -> Markup {
    let kinds = [
        (
            "config_problem",
            "The configuration file is wrong, and the last good one is in force: ",
        ),
        ("activity_problem", "Records are being lost: "),
        ("live_problem", "What other gateways know cannot be asked: "),
    ];
    html! {
        @for (name, what) in kinds {
            @let problem = standing.text(name);
            @if !problem.is_empty() { p.notice.bad role="alert" { (what) (whole(problem)) } }
        }
        @let stopped = standing.list("stopped");
        @if !stopped.is_empty() {
            p.notice.bad role="alert" { "Calls are stopped: "
                @for (at, one) in stopped.iter().enumerate() {
                    @if at > 0 { ", " }
                    code { (whole(one.as_str().unwrap_or_default())) }
                }
            }
        }
    }
}

fn told(visit: &Visit, notice: &Notice) -> Markup {
    match notice {
        Notice::Done(what) => html! { p.notice.good role="status" { (whole(what)) } },
        Notice::Failed(fault) => html! {
            div.notice.bad role="alert" {
                (pieces::problem(fault))
                @if fault.needs_key() && visit.viewer.key().is_none() {
                    p { "This session was opened without the API key. Show it to go on:" }
                    (key_form(visit))
                }
            }
        },
    }
}

fn document(theme: Theme, title: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" data-theme=(theme.name()) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · mcpproxy" }
                link rel="icon" href="/ui/assets/mark.svg" type="image/svg+xml";
                link rel="stylesheet" href="/ui/assets/style.css";
                script src="/ui/assets/live.js" defer {}
            }
            body { (body) }
        }
    }
}

/// A page for somebody who is not logged in.
pub(crate) fn door(theme: Theme, status: StatusCode, title: &str, body: &Markup) -> Response {
    let body = html! {
        main.door #main {
            img src="/ui/assets/mark.svg" alt="" width="48" height="48";
            h1 { (title) }
            (body)
        }
    };
    (status, document(theme, title, &body)).into_response()
}

/// A page that says one thing.
pub(crate) fn bare(theme: Theme, status: StatusCode, why: &str) -> Response {
    let title = status.canonical_reason().unwrap_or("Not possible");
    let body = html! {
        p { (whole(why)) }
        p { a href="/ui/" { "To the dashboard" } }
    };
    door(theme, status, title, &body)
}
