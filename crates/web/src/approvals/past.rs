//! What was asked before, and how each question was answered: two records of the log are one row.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use mcpproxy_core::Wall;
use mcpproxy_text::url::encoded;
use serde_json::Value;

use crate::look::Look as _;
use crate::pieces;
use crate::shown::{id, whole};

const HEADS: [&str; 6] = [
    "Asked (UTC)",
    "Server and tool",
    "Answer",
    "Ended (UTC)",
    "By",
    "Session",
];

/// A question, of which the log may have either part.
#[derive(Clone, Copy, Default)]
struct Row<'a> {
    asked: Option<&'a Value>,
    answered: Option<&'a Value>,
}

/// The table of some records of questions and answers, newest first; `waiting` are the questions that
/// can still be answered.
pub(super) fn table(records: &[Value], waiting: &BTreeSet<&str>, now: Wall) -> Markup {
    let mut order = Vec::new();
    let mut rows: BTreeMap<&str, Row<'_>> = BTreeMap::new();
    for record in records {
        let about = record.text("parent_id");
        let row = rows.entry(about).or_insert_with(|| {
            order.push(about);
            Row::default()
        });
        let part = match record.text("method") {
            "requested" => &mut row.asked,
            _ => &mut row.answered,
        };
        // The last word counts.
        part.get_or_insert(record);
    }
    let rows = order
        .iter()
        .filter_map(|about| Some((about, rows.get(about)?)));
    let rows = html! { @for (about, one) in rows { (row(*one, waiting.contains(about), now)) } };
    pieces::table("Asked before", &HEADS, &rows)
}

fn row(Row { asked, answered }: Row<'_>, waits: bool, now: Wall) -> Markup {
    let Some(either) = asked.or(answered) else {
        return html! {};
    };
    let session = either.text("session_id");
    // A question that lapsed is on record in the name of who asked: nobody answered it.
    let by = answered.filter(|one| one.text("method") != "lapsed");
    let time = |one: Option<&Value>| {
        html! {
            @if let Some(one) = one {
                a href={ "/ui/activity/" (encoded(one.text("id"))) } {
                    (pieces::time(one.text("timestamp"), now))
                }
            }
        }
    };
    html! {
        tr {
            td.time { (time(asked)) }
            td.wide { (pieces::tool(either.text("server_name"), either.text("tool_name"))) }
            td {
                (pieces::answer(answered.map(|one| one.text("method")), waits))
                @if answered.is_some_and(|one| one.part("approval").text("term") == "session") {
                    " for the session"
                }
            }
            td.time { (time(answered)) }
            td { @if let Some(one) = by { (whole(one.text("principal"))) } }
            td.code { @if !session.is_empty() {
                a href={ "/ui/flows/" (encoded(session)) } { (id(session)) }
            } }
        }
    }
}
