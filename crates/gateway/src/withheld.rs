//! Lists and instructions that pass from the only upstream as they are, less what may not be shown
//! to whoever asks and the tasks of others.
//! What may be shown whole stays byte for byte as it came.

use std::collections::HashSet;
use std::ops::Range;

use bytes::Bytes;
use mcpproxy_core::{OfferKind, Principal};
use mcpproxy_engine::Offered;
use mcpproxy_mcp::FrameKind;
use mcpproxy_text::{self as text, Splice};
use mcpproxy_upstream::Upstream;

use crate::gateway::Gateway;
use crate::router::Answer;

/// What a method lists: the kind, the member that holds the list, and the one that names an entry.
pub(crate) fn listed_by(method: &str) -> Option<(OfferKind, &'static str, &'static str)> {
    Some(match method {
        "tools/list" => (OfferKind::Tool, "tools", "name"),
        "prompts/list" => (OfferKind::Prompt, "prompts", "name"),
        "resources/list" => (OfferKind::Resource, "resources", "uri"),
        "resources/templates/list" => (OfferKind::Template, "resourceTemplates", "uriTemplate"),
        _ => return None,
    })
}

/// Leaves out of an answer what may not be shown, after it was judged.
pub(crate) fn filtered(
    gateway: &Gateway,
    who: &Principal,
    upstream: &Upstream,
    method: &str,
    answer: Answer,
) -> Answer {
    let (Answer::Frame(frame), Some(listed)) = (&answer, listed_by(method)) else {
        return answer;
    };
    if frame.kind() != FrameKind::Result {
        return answer;
    }
    match without_withheld(gateway, who, upstream, listed, frame.payload()) {
        Some(changed) => Answer::Result(changed),
        None => answer,
    }
}

/// Takes what may not be shown out of a list; nothing where all of it may.
fn without_withheld(
    gateway: &Gateway,
    who: &Principal,
    upstream: &Upstream,
    (kind, list, key): (OfferKind, &str, &str),
    payload: &str,
) -> Option<String> {
    let (array, span) = text::get(payload, &[list])?;
    let entries: Vec<(&str, String)> = text::elements(array)
        .filter_map(|span| array.get(span))
        .map(|raw| {
            let name = text::get(raw, &[key]).and_then(|(raw, _)| text::string(raw));
            (raw, name.unwrap_or_default().into_owned())
        })
        .collect();
    let shows = |raw: &str, name: &str| gateway.shows(upstream, kind, name, raw.as_bytes());
    if !entries.iter().all(|(raw, name)| shows(raw, name)) {
        let offers = entries.iter().map(|(raw, name)| Offered {
            kind,
            name: name.as_str().into(),
            raw: Bytes::copy_from_slice(raw.as_bytes()),
        });
        gateway.hub.judge_seen(upstream, offers.collect());
    }
    // Two entries of one name cannot be told apart when called: neither is shown unless it is the
    // one that was judged.
    let mut seen = HashSet::new();
    let kept: Vec<&str> = entries
        .iter()
        .filter(|(raw, name)| shows(raw, name) && seen.insert(name))
        .filter(|(_, name)| gateway.may_know(who, upstream, kind, name))
        .map(|(raw, _)| *raw)
        .collect();
    if kept.len() == entries.len() {
        return None;
    }
    Some(with_entries(payload, span, &kept))
}

/// Leaves the tasks out of a list that somebody else began.
pub(crate) fn own_tasks(gateway: &Gateway, who: &Principal, answer: Answer) -> Answer {
    let Answer::Frame(frame) = &answer else {
        return answer;
    };
    let Some((array, span)) = text::get(frame.payload(), &["tasks"]) else {
        return answer;
    };
    let entries = text::elements(array).filter_map(|span| array.get(span));
    let entries: Vec<&str> = entries.collect();
    let is_own = |raw: &&&str| {
        let id = text::get(raw, &["taskId"]).and_then(|(raw, _)| text::string(raw));
        id.is_some_and(|id| gateway.task_owner(who, &id).is_some())
    };
    let kept: Vec<&str> = entries.iter().filter(is_own).copied().collect();
    if kept.len() == entries.len() {
        return answer;
    }
    Answer::Result(with_entries(frame.payload(), span, &kept))
}

/// Puts other entries in the place of a list.
fn with_entries(payload: &str, list: Range<usize>, entries: &[&str]) -> String {
    let mut splice = Splice::default();
    splice.replace(list, format!("[{}]", entries.join(",")));
    String::from_utf8(splice.apply(payload.as_bytes())).unwrap_or_default()
}

/// Empties the instructions in what an upstream says about itself, if they may not be shown.
pub(crate) fn hello(gateway: &Gateway, upstream: &Upstream, result: String) -> String {
    let Some((raw, span)) = text::get(&result, &["instructions"]) else {
        return result;
    };
    let shows = || gateway.shows(upstream, OfferKind::Instructions, "", raw.as_bytes());
    if !shows() {
        let offer = Offered {
            kind: OfferKind::Instructions,
            name: "".into(),
            raw: Bytes::copy_from_slice(raw.as_bytes()),
        };
        gateway.hub.judge_seen(upstream, vec![offer]);
    }
    if shows() {
        return result;
    }
    let mut splice = Splice::default();
    splice.replace(span, r#""""#);
    String::from_utf8(splice.apply(result.as_bytes())).unwrap_or_default()
}
