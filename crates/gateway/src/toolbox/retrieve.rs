//! Finding and describing tools.

use std::sync::Arc;

use mcpproxy_core::{OfferKind, Operation, Principal, Taint, ToolRef, UpstreamId};
use mcpproxy_mcp::era;
use mcpproxy_upstream::{State, ToolCard, Upstream};
use serde_json::{Map, Value, json};

use crate::downstream::Downstream;
use crate::error::Failure;
use crate::gateway::Gateway;
use crate::listing::shows_tool;

const USAGE: &str = "Call a tool with the call_tool_* variant in `call_with`, giving its `name` and its arguments as `args`. Results marked `available: false` say why.";

/// What an agent wants to find.
struct Wanted<'a> {
    query: &'a str,
    limit: usize,
    arguments: &'a Value,
}

impl<'a> Wanted<'a> {
    fn read(arguments: &'a Value) -> Result<Self, Failure> {
        let query = arguments.get("query").and_then(Value::as_str);
        let query = query.ok_or_else(|| Failure::params("`query` is missing"))?;
        let limit = arguments
            .get("limit")
            .and_then(Value::as_u64)
            .unwrap_or(15)
            .clamp(1, 100);
        let limit = usize::try_from(limit).unwrap_or(15);
        Ok(Self {
            query,
            limit,
            arguments,
        })
    }

    fn flag(&self, name: &str) -> bool {
        self.arguments
            .get(name)
            .and_then(Value::as_bool)
            .unwrap_or(false)
    }

    fn text(&self, name: &str) -> Option<&'a str> {
        self.arguments.get(name).and_then(Value::as_str)
    }

    fn admits(&self, card: &ToolCard) -> bool {
        let read_only = card.hint("readOnlyHint") == Some(true);
        // The protocol's defaults: what does not say otherwise may destroy and reaches outside.
        let destructive = !read_only && card.hint("destructiveHint").unwrap_or(true);
        let open_world = card.hint("openWorldHint").unwrap_or(true);
        !(self.flag("read_only_only") && !read_only
            || self.flag("exclude_destructive") && destructive
            || self.flag("exclude_open_world") && open_world)
    }
}

/// Answers `retrieve_tools`.
pub(super) async fn retrieve(
    gateway: &Gateway,
    downstream: &Downstream,
    arguments: &Value,
) -> Result<Value, Failure> {
    let who = &downstream.who;
    let wanted = Wanted::read(arguments)?;
    let known = gateway.settled_for(who).await;
    let card = |upstream: &str, name: &str| named(&known, upstream)?.listed().tool(name).cloned();
    let admitted = |upstream: &str, name: &str| {
        let id = UpstreamId::new(upstream);
        let may = |card: &ToolCard| gateway.access.permits(who, &id, || says(card)).is_ok();
        let shown = |card: &ToolCard| {
            let upstream = named(&known, upstream);
            upstream.is_some_and(|upstream| shows_tool(gateway, who, upstream, card))
        };
        card(upstream, name).is_some_and(|card| wanted.admits(&card) && may(&card) && shown(&card))
    };
    let (tools, total, ignored) = gateway.hub.search(|index| {
        let found = index.search_where(wanted.query, wanted.limit, admitted);
        let entries: Vec<_> = found
            .hits
            .iter()
            .filter_map(|hit| {
                let card = card(hit.upstream, hit.name)?;
                let mut entry = entry(
                    gateway,
                    hit.upstream,
                    &card,
                    wanted.text("detail") == Some("compact"),
                );
                entry.insert("score".into(), json!(hit.score));
                if wanted.flag("debug") {
                    entry.insert("matched".into(), json!(format!("{:?}", hit.matched)));
                }
                Some(Value::Object(entry))
            })
            .collect();
        (
            entries,
            found.total,
            found.ignored.terms + found.ignored.characters,
        )
    });
    let mut answer = Map::new();
    answer.insert("tools".into(), Value::Array(tools));
    answer.insert("total".into(), json!(total));
    answer.insert("usage_instructions".into(), json!(USAGE));
    answer.insert(
        "session_risk".into(),
        risk(gateway, who, &known, taint(gateway, downstream)),
    );
    if ignored > 0 {
        answer.insert(
            "notice".into(),
            json!("the query was too long; its end was ignored"),
        );
    }
    if let Some(explained) = wanted.text("explain_tool") {
        answer.insert(
            "explanation".into(),
            explain(gateway, who, &known, wanted.query, explained),
        );
    }
    if total == 0 || wanted.flag("include_disabled") {
        answer.insert("unavailable".into(), unavailable(gateway, who, &known));
    }
    Ok(Value::Object(answer))
}

/// Answers `describe_tool`.
pub(super) async fn describe(
    gateway: &Gateway,
    who: &Principal,
    arguments: &Value,
) -> Result<Value, Failure> {
    let full = arguments
        .get("name")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let Some((upstream, tool)) = full.split_once(':') else {
        return Err(Failure::params(format!(
            "`{full}` is not of the form `server:tool`"
        )));
    };
    let known = gateway.settled_for(who).await;
    let found = named(&known, upstream)
        .ok_or_else(|| mcpproxy_upstream::Error::Unknown(UpstreamId::new(upstream)))?;
    let listed = found.listed();
    let may_know = gateway.may_know(who, found, OfferKind::Tool, tool);
    let card = listed.tool(tool).filter(|_| may_know).ok_or_else(|| {
        let filtered = listed.filtered.iter().any(|name| name.as_str() == tool);
        let filtered = filtered && may_know;
        let why = if filtered {
            "it is filtered by the configuration"
        } else {
            "it is not listed"
        };
        Failure::params(format!(
            "`{full}` is not available: {why} ({})",
            describe_state(found)
        ))
    })?;
    if !shows_tool(gateway, who, found, card) {
        let held = gateway.engine.held(found.name(), OfferKind::Tool, tool);
        let why = held.map_or_else(
            || format!("`{full}` is being judged; try again"),
            |held| held.sentence(found.name(), OfferKind::Tool, tool),
        );
        return Err(Failure::downstream(era::DENIED, "denied", why));
    }
    Ok(Value::Object(entry(gateway, upstream, card, false)))
}

fn named<'a>(known: &'a [Arc<Upstream>], name: &str) -> Option<&'a Arc<Upstream>> {
    known
        .iter()
        .find(|upstream| upstream.name().as_str() == name)
}

fn entry(gateway: &Gateway, upstream: &str, card: &ToolCard, compact: bool) -> Map<String, Value> {
    let descriptor: Value = serde_json::from_str(card.text()).unwrap_or_default();
    let mut entry = Map::new();
    entry.insert("name".into(), json!(format!("{upstream}:{}", card.name)));
    entry.insert("server".into(), json!(upstream));
    entry.insert(
        "call_with".into(),
        json!(call_with(gateway, upstream, card)),
    );
    let shown: &[&str] = if compact {
        &["description"]
    } else {
        &[
            "title",
            "description",
            "inputSchema",
            "outputSchema",
            "annotations",
        ]
    };
    for key in shown {
        if let Some(value) = descriptor.get(key) {
            entry.insert((*key).into(), value.clone());
        }
    }
    entry
}

/// The variant to call a tool with: as it says of itself, unless it says nothing and its name says
/// that it destroys, since the other variants would then be denied.
fn call_with(gateway: &Gateway, upstream: &str, card: &ToolCard) -> &'static str {
    let tool = ToolRef {
        upstream: UpstreamId::new(upstream),
        tool: card.name.clone(),
    };
    let operation = match says(card) {
        Operation::Write => gateway.engine.operation(&tool).max(Operation::Write),
        said @ (Operation::Read | Operation::Destructive) => said,
    };
    match operation {
        Operation::Read => "call_tool_read",
        Operation::Write => "call_tool_write",
        Operation::Destructive => "call_tool_destructive",
    }
}

/// What a tool says about itself that it does.
pub(crate) fn says(card: &ToolCard) -> Operation {
    if card.hint("readOnlyHint") == Some(true) {
        Operation::Read
    } else if card.hint("destructiveHint") == Some(true) {
        Operation::Destructive
    } else {
        Operation::Write
    }
}

/// What the session has seen so far.
fn taint(gateway: &Gateway, downstream: &Downstream) -> Taint {
    let scope = Gateway::flow_scope(&downstream.who);
    gateway.engine.taint(scope, downstream.conversation())
}

fn risk(gateway: &Gateway, who: &Principal, known: &[Arc<Upstream>], taint: Taint) -> Value {
    let (mut open_world, mut destructive, mut write) = (false, false, false);
    for upstream in known {
        let listed = upstream.listed();
        let known = |card: &&Arc<ToolCard>| {
            gateway.may_know(who, upstream, OfferKind::Tool, card.name.as_str())
        };
        for card in listed.tools.iter().filter(known) {
            let read_only = card.hint("readOnlyHint") == Some(true);
            open_world |= card.hint("openWorldHint").unwrap_or(true);
            write |= !read_only;
            destructive |= !read_only && card.hint("destructiveHint").unwrap_or(true);
        }
    }
    let count = [open_world, destructive, write]
        .into_iter()
        .filter(|&present| present)
        .count();
    let level = ["low", "low", "medium", "high"]
        .get(count)
        .copied()
        .unwrap_or("high");
    json!({
        "level": level,
        "has_open_world_tools": open_world,
        "has_destructive_tools": destructive,
        "has_write_tools": write,
        "lethal_trifecta": count == 3 || taint.is_lethal(),
        "seen": taint,
    })
}

fn explain(
    gateway: &Gateway,
    who: &Principal,
    known: &[Arc<Upstream>],
    query: &str,
    full: &str,
) -> Value {
    let Some((upstream, tool)) = full.split_once(':') else {
        return json!(format!("`{full}` is not of the form `server:tool`"));
    };
    let may_know = |upstream: &str, tool: &str| {
        named(known, upstream).is_some_and(|one| gateway.may_know(who, one, OfferKind::Tool, tool))
    };
    gateway.hub.search(
        |index| match index.explain_where(query, upstream, tool, may_know) {
            Some(explanation) => json!({
                "rank": explanation.rank,
                "of": explanation.total,
                "score": explanation.hit.score,
                "matched": format!("{:?}", explanation.hit.matched),
                "missed": explanation.missed,
            }),
            None => json!(format!("`{full}` is not indexed")),
        },
    )
}

/// Says which tools are missing and why: filtered, quarantined, or their server is down.
fn unavailable(gateway: &Gateway, who: &Principal, known: &[Arc<Upstream>]) -> Value {
    let mut reasons = Vec::new();
    for upstream in known {
        let name = upstream.name();
        let may_know = |tool: &str| gateway.may_know(who, upstream, OfferKind::Tool, tool);
        if !matches!(upstream.state(), State::Up { .. }) {
            reasons.push(json!({ "server": name.as_str(), "reason": describe_state(upstream) }));
        }
        let listed = upstream.listed();
        for tool in listed
            .filtered
            .iter()
            .filter(|tool| may_know(tool.as_str()))
        {
            let tool = format!("{name}:{tool}");
            reasons.push(json!({ "tool": tool, "reason": "filtered by the configuration" }));
        }
        for card in listed
            .tools
            .iter()
            .filter(|card| may_know(card.name.as_str()))
        {
            let held = gateway
                .engine
                .held(name, OfferKind::Tool, card.name.as_str());
            if let Some(held) = held {
                let (tool, state) = (format!("{name}:{}", card.name), held.state);
                let reason = format!("quarantined ({state}): {}", held.reason);
                reasons.push(json!({ "tool": tool, "reason": reason }));
            }
        }
    }
    Value::Array(reasons)
}

/// How an upstream is doing, in a word or two.
pub(crate) fn describe_state(upstream: &Upstream) -> String {
    match upstream.state() {
        State::Idle => "not started yet".to_owned(),
        State::Starting => "starting".to_owned(),
        State::Up { .. } => "up".to_owned(),
        State::Down { why, .. } => format!("down: {why}"),
        State::Stopped { why } => format!("stopped: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_shows_fifteen_unless_told_and_never_more_than_a_hundred() {
        let check = |limit: Value, expect: usize| {
            let arguments = json!({ "query": "x", "limit": limit });
            assert_eq!(Wanted::read(&arguments).unwrap().limit, expect);
        };
        check(Value::Null, 15);
        check(json!(7), 7);
        check(json!(0), 1);
        check(json!(100_000), 100);
        assert!(Wanted::read(&json!({})).is_err());
    }
}
