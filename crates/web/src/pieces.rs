//! Small things that pages are made of. Colour is never the only sign: each mark has a shape and a
//! word.

use maud::{Markup, PreEscaped, html};
use mcpproxy_core::{CallId, Wall};
use serde_json::Value;

use crate::error::Error;
use crate::look::Look as _;
use crate::shown::{line, plain, short, whole};

/// Heads of columns that hold numbers.
const NUMBERS: [&str; 11] = [
    "Calls", "Critical", "Denied", "High", "Mean", "Medium", "Records", "Shared", "Stopped",
    "Took", "Tools",
];

/// A part of a page with a heading.
pub(crate) fn panel(title: &str, body: &Markup) -> Markup {
    html! { section.panel { h2 { (title) } (body) } }
}

/// The same with a name that the script finds again.
pub(crate) fn live(id: &str, title: &str, body: &Markup) -> Markup {
    html! { section.panel id=(id) data-live { h2 { (title) } (body) } }
}

/// Shows what came of a question to the interface, or why nothing did.
pub(crate) fn found(answer: &Result<Value, Error>, show: impl FnOnce(&Value) -> Markup) -> Markup {
    match answer {
        Ok(value) => show(value),
        Err(fault) => problem(fault),
    }
}

/// Says why something is not there.
pub(crate) fn problem(fault: &Error) -> Markup {
    html! {
        p.problem { (whole(&fault.to_string())) }
        @if let Some(hint) = fault.hint() { p.quiet { (whole(hint)) } }
    }
}

/// Says that there is nothing, and when there would be.
pub(crate) fn empty(what: &str) -> Markup {
    html! { p.empty { (what) } }
}

/// A mark with its shape.
fn tag(class: &str, shape: &str, word: &str) -> Markup {
    html! { span class={ "tag " (class) } { span aria-hidden="true" { (shape) } (whole(word)) } }
}

/// How risky it is.
pub(crate) fn risk(level: &str) -> Markup {
    match level {
        "critical" => tag("critical", "▲", level),
        "high" => tag("high", "◆", level),
        "medium" => tag("medium", "●", level),
        "low" => tag("low", "◐", level),
        "" | "none" => tag("none", "○", "none"),
        other => tag("none", "?", other),
    }
}

/// How it ended.
pub(crate) fn status(status: &str) -> Markup {
    match status {
        "success" => tag("good", "✓", status),
        "blocked" | "rejected" => tag("critical", "✕", status),
        "error" => tag("high", "!", status),
        other => tag("none", "·", other),
    }
}

/// What was answered to a question; nothing was where it waits, or where a restart ended it.
pub(crate) fn answer(word: Option<&str>, waits: bool) -> Markup {
    match word {
        None if waits => tag("high", "?", "waits"),
        None => tag("none", "·", "no answer"),
        Some("approved") => tag("good", "✓", "approved"),
        Some("denied") => tag("critical", "✕", "denied"),
        Some(other) => tag("none", "·", other),
    }
}

/// What was decided.
pub(crate) fn decision(action: &str) -> Markup {
    match action {
        "allow" => tag("good", "✓", action),
        "warn" => tag("medium", "!", action),
        "ask" => tag("high", "?", action),
        "deny" => tag("critical", "✕", action),
        other => tag("none", "·", other),
    }
}

/// How something is doing, by a word of the interface.
pub(crate) fn health(word: &str) -> Markup {
    let first = word.split([' ', ':', ';']).next().unwrap_or_default();
    match first {
        "up" | "healthy" | "ok" | "approved" | "ready" | "closed" => tag("good", "✓", word),
        "idle" | "starting" | "disabled" | "stopped" => tag("none", "○", word),
        "pending" | "changed" | "degraded" | "half_open" => tag("high", "!", word),
        "" => tag("none", "·", "unknown"),
        _ => tag("critical", "✕", word),
    }
}

/// A time, short where it is of today; the whole of it for whoever points at it.
pub(crate) fn time(text: &str, now: Wall) -> Markup {
    let today = now.rfc3339();
    let (date, clock) = text.split_once('T').unwrap_or((text, ""));
    let clock = clock.get(..8).unwrap_or(clock);
    let is_today = today.starts_with(date) && !date.is_empty();
    html! {
        time datetime=(plain(text)) title=(plain(text)) {
            @if is_today { (whole(clock)) }
            @else { (whole(date.get(5..).unwrap_or(date))) " " (whole(clock)) }
        }
    }
}

/// How long something took.
pub(crate) fn duration(milliseconds: f64) -> String {
    if milliseconds >= 1000.0 {
        format!("{:.1} s", milliseconds / 1000.0)
    } else if milliseconds >= 10.0 {
        format!("{milliseconds:.0} ms")
    } else {
        format!("{milliseconds:.1} ms")
    }
}

/// A tool with its upstream.
pub(crate) fn tool(server: &str, tool: &str) -> Markup {
    html! { span.name {
        (short(server)) @if !server.is_empty() && !tool.is_empty() { span.quiet { ":" } } (short(tool))
    } }
}

/// The same whole, where a person decides about it: two names may differ at their ends only.
pub(crate) fn full_tool(server: &str, tool: &str) -> Markup {
    html! { span.name {
        (whole(server)) @if !server.is_empty() && !tool.is_empty() { span.quiet { ":" } } (whole(tool))
    } }
}

/// What a tool says about itself: its first line, and all of it for whoever opens that.
pub(crate) fn description(text: &str) -> Markup {
    html! {
        @if line(text).is_cut() {
            details { summary { (line(text)) } p.wrapped { (whole(text)) } }
        } @else { (whole(text)) }
    }
}

/// A link to the record of a read; nothing where it has none, as what an upstream said unasked.
pub(crate) fn read(origin: &Value) -> Option<Markup> {
    let call = CallId::parse(origin.text("call"))?;
    let link = html! { a href={ "/ui/activity/" (call.to_string()) } { "the read" } };
    call.is_recorded().then_some(link)
}

/// Names with what stands for them, as a list of definitions.
pub(crate) fn facts(rows: &[(&str, Markup)]) -> Markup {
    html! { dl.facts { @for (name, value) in rows { div { dt { (name) } dd { (value) } } } } }
}

/// Something that scrolls by itself where it is too wide, also with the keyboard.
pub(crate) fn scroll(label: &str, body: &Markup) -> Markup {
    html! { div.scroll tabindex="0" role="region" aria-label=(label) { (body) } }
}

/// A table. On a narrow screen its rows are shown as cards, which takes their roles from browsers'
/// tables: they are said.
pub(crate) fn table(label: &str, heads: &[&str], rows: &Markup) -> Markup {
    let body = html! {
        table role="table" {
            thead role="rowgroup" { tr role="row" { @for head in heads {
                th.number[NUMBERS.contains(head)] scope="col" role="columnheader" { (head) }
            } } }
            tbody role="rowgroup" { (PreEscaped(named(heads, &rows.0))) }
        }
    };
    scroll(label, &body)
}

/// Writes the name of its column into every cell, for cards to show. Texts in rows are escaped: a tag
/// there is one of ours.
fn named(heads: &[&str], rows: &str) -> String {
    let mut named = String::with_capacity(rows.len() * 2);
    for (at, row) in rows.split("<tr").enumerate() {
        let mut cells = row.split("<td");
        named.push_str(if at > 0 { "<tr role=\"row\"" } else { "" });
        named.extend(cells.next());
        let heads = heads.iter().chain(std::iter::repeat(&""));
        for (cell, head) in cells.zip(heads) {
            named.extend(["<td role=\"cell\" data-label=\"", head, "\"", cell]);
        }
    }
    named
}

/// A value as it is in the answer, for whoever wants to see everything.
pub(crate) fn json(value: &Value) -> Markup {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    html! { pre.code tabindex="0" { code { (whole(&text)) } } }
}

/// The words of a list, or a dash.
pub(crate) fn words(value: &Value, name: &str) -> Markup {
    let words = value.list(name);
    html! {
        @if words.is_empty() { span.quiet { "–" } }
        @for (at, word) in words.iter().enumerate() {
            @if at > 0 { ", " }
            (short(word.as_str().unwrap_or_default()))
        }
    }
}

/// A value on one line, by its names.
pub(crate) fn inline(value: &Value) -> Markup {
    html! { @match value {
        Value::Null => span.quiet { "–" },
        Value::String(text) => (whole(text)),
        Value::Object(members) => {
            @let named: Vec<_> = members.iter().filter(|(_, value)| !value.is_null()).collect();
            @if named.is_empty() { span.quiet { "–" } }
            @for (at, (name, value)) in named.iter().enumerate() {
                @if at > 0 { ", " }
                (whole(name)) ": " (inline(value))
            }
        },
        Value::Array(items) => @for (at, item) in items.iter().enumerate() {
            @if at > 0 { ", " }
            (inline(item))
        },
        other => (whole(&other.to_string())),
    } }
}

/// A value as names and what stands for them.
pub(crate) fn tree(value: &Value) -> Markup {
    html! { @match value {
        Value::Object(members) => dl.facts {
            @for (name, value) in members { div { dt { (whole(name)) } dd { (inline(value)) } } }
        },
        Value::Array(items) => @for item in items { (tree(item)) },
        other => p { (inline(other)) },
    } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_says_which_column_it_is_in() {
        let text = "<td> & <tr>";
        let rows =
            html! { @for _ in 0..2 { tr { td { (text) } td.number { "1" } td { "more" } } } };
        let drawn = table("Things", &["Name", "Calls"], &rows).into_string();
        let row = "<tr role=\"row\"><td role=\"cell\" data-label=\"Name\">&lt;td&gt; &amp; &lt;tr&gt;</td>\
                   <td role=\"cell\" data-label=\"Calls\" class=\"number\">1</td>\
                   <td role=\"cell\" data-label=\"\">more</td></tr>";
        assert!(drawn.contains(&[row, row].concat()), "{drawn}");
    }
}
