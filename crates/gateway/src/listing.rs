//! Lists over all upstreams: tools, prompts, resources and templates, in pages.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use mcpproxy_core::{OfferKind, Principal};
use mcpproxy_engine::Unasked;
use mcpproxy_mcp::Frame;
use mcpproxy_mcp::compose::quoted;
use mcpproxy_mcp::era::Era;
use mcpproxy_text::{self as text, Splice};
use mcpproxy_upstream::catalogue::Entry;
use mcpproxy_upstream::{Listed, State, ToolCard, Upstream};

use crate::downstream::Downstream;
use crate::error::Failure;
use crate::gateway::Gateway;
use crate::router::{Answer, SEPARATOR};
use crate::settings::RoutingMode;
use crate::toolbox;

/// Entries on one page.
const PAGE: usize = 1000;

/// Lists tools: those of all upstreams under prefixed names, or the gateway's own.
pub async fn tools(
    gateway: &Gateway,
    downstream: &Downstream,
    frame: &Frame,
) -> Result<Answer, Failure> {
    let era = downstream.era;
    if downstream.mode == RoutingMode::Call {
        let own = toolbox::descriptors(gateway.active().settings.management_tools);
        return page(frame, "tools", &own, era);
    }
    let entries = collect(gateway, &downstream.who, |upstream, listed, found| {
        let id = upstream.name();
        for card in &listed.tools {
            let permitted = gateway
                .access
                .permits(&downstream.who, id, || toolbox::says(card));
            if permitted.is_ok() && shows_tool(gateway, &downstream.who, upstream, card) {
                found.push(with_prefix(id.as_str(), card.name.as_str(), card.text()));
            }
        }
    })
    .await;
    page(frame, "tools", &entries, era)
}

/// Lists the tools of one upstream under their own names.
pub fn tools_of(
    gateway: &Gateway,
    upstream: &Upstream,
    frame: &Frame,
    downstream: &Downstream,
) -> Result<Answer, Failure> {
    let listed = upstream.listed();
    let shown = listed.tools.iter();
    let shown = shown.filter(|card| shows_tool(gateway, &downstream.who, upstream, card));
    let entries: Vec<_> = shown.map(|card| card.text().to_owned()).collect();
    page(frame, "tools", &entries, downstream.era)
}

/// Tells whether a tool may be shown to a caller.
pub fn shows_tool(
    gateway: &Gateway,
    who: &Principal,
    upstream: &Upstream,
    card: &ToolCard,
) -> bool {
    let name = card.name.as_str();
    gateway.shows(upstream, OfferKind::Tool, name, &card.raw)
        && gateway.may_know(who, upstream, OfferKind::Tool, name)
}

/// What may be shown of some entries to a caller.
fn shown<'a>(
    gateway: &'a Gateway,
    who: &'a Principal,
    upstream: &'a Upstream,
    kind: OfferKind,
    entries: &'a [Entry],
) -> impl Iterator<Item = &'a Entry> {
    let shows = move |entry: &&Entry| {
        gateway.shows(upstream, kind, &entry.key, &entry.raw)
            && gateway.may_know(who, upstream, kind, &entry.key)
    };
    entries.iter().filter(shows)
}

/// Lists prompts under prefixed names.
pub async fn prompts(
    gateway: &Gateway,
    downstream: &Downstream,
    frame: &Frame,
) -> Result<Answer, Failure> {
    let entries = collect(gateway, &downstream.who, |upstream, listed, found| {
        for prompt in shown(
            gateway,
            &downstream.who,
            upstream,
            OfferKind::Prompt,
            &listed.prompts,
        ) {
            found.push(with_prefix(
                upstream.name().as_str(),
                &prompt.key,
                raw(prompt),
            ));
        }
    })
    .await;
    page(frame, "prompts", &entries, downstream.era)
}

/// Lists resources. Their addresses are not changed: results refer to them.
pub async fn resources(
    gateway: &Gateway,
    downstream: &Downstream,
    frame: &Frame,
) -> Result<Answer, Failure> {
    let entries = collect(gateway, &downstream.who, |upstream, listed, found| {
        let entries = shown(
            gateway,
            &downstream.who,
            upstream,
            OfferKind::Resource,
            &listed.resources,
        );
        let entries: Vec<_> = entries.map(|entry| raw(entry).to_owned()).collect();
        remember(gateway, downstream, upstream, &entries);
        found.extend(entries);
    })
    .await;
    page(frame, "resources", &entries, downstream.era)
}

/// Has the engine remember a list whose entries are data: names of files, titles of records.
fn remember(gateway: &Gateway, downstream: &Downstream, upstream: &Upstream, entries: &[String]) {
    if entries.is_empty() {
        return;
    }
    let unasked = Unasked {
        upstream: upstream.name(),
        scope: Gateway::flow_scope(&downstream.who),
        session: downstream.conversation(),
    };
    let list = ["[", &entries.join(","), "]"].concat();
    gateway.engine.heard_aside(&unasked, &list);
}

/// Lists resource templates.
pub async fn templates(
    gateway: &Gateway,
    downstream: &Downstream,
    frame: &Frame,
) -> Result<Answer, Failure> {
    let entries = collect(gateway, &downstream.who, |upstream, listed, found| {
        let entries = shown(
            gateway,
            &downstream.who,
            upstream,
            OfferKind::Template,
            &listed.templates,
        );
        found.extend(entries.map(|entry| raw(entry).to_owned()));
    })
    .await;
    page(frame, "resourceTemplates", &entries, downstream.era)
}

/// Goes through the catalogues of the upstreams that a caller may know of, waiting briefly for those that are starting:
/// one that is slow or down never holds up the list of the others for long.
async fn collect(
    gateway: &Gateway,
    who: &Principal,
    add: impl Fn(&Upstream, &Listed, &mut Vec<String>),
) -> Vec<String> {
    let known = gateway.settled_for(who).await;
    gateway.engine.until_looked().await;
    let mut found = Vec::new();
    for upstream in &known {
        add(upstream, &upstream.listed(), &mut found);
    }
    found
}

/// How long a list waits for upstreams that are being started.
const SETTLE: std::time::Duration = std::time::Duration::from_secs(2);

/// Wakes lazy upstreams and waits for those that are starting, all at once.
pub async fn settle(upstreams: &[Arc<Upstream>]) {
    let mut waiting = Vec::new();
    for upstream in upstreams.iter().filter(|one| one.settings().enabled) {
        upstream.wake();
        if matches!(upstream.state(), State::Idle | State::Starting) {
            waiting.push(upstream.tried(SETTLE));
        }
    }
    futures_util::future::join_all(waiting).await;
}

fn raw(entry: &Entry) -> &str {
    std::str::from_utf8(&entry.raw).unwrap_or_default()
}

/// Gives a descriptor the name under which downstreams know it, everything else byte for byte.
fn with_prefix(upstream: &str, name: &str, descriptor: &str) -> String {
    let mut splice = Splice::default();
    if let Some((_, span)) = text::get(descriptor, &["name"]) {
        splice.replace(span, quoted(&format!("{upstream}{SEPARATOR}{name}")));
    }
    String::from_utf8(splice.apply(descriptor.as_bytes())).unwrap_or_default()
}

/// Cuts one page out of a list.
fn page(frame: &Frame, list: &str, entries: &[String], era: Era) -> Result<Answer, Failure> {
    let start = match frame.parameter(&["cursor"]) {
        None => 0,
        Some(cursor) => read_cursor(&cursor).ok_or_else(|| Failure::params("unknown cursor"))?,
    };
    let rest = entries
        .get(start..)
        .ok_or_else(|| Failure::params("unknown cursor"))?;
    let shown = rest
        .get(..PAGE.min(rest.len()))
        .unwrap_or_default()
        .join(",");
    let next = if rest.len() > PAGE {
        format!(
            r#","nextCursor":"{}""#,
            BASE64.encode((start + PAGE).to_string())
        )
    } else {
        String::new()
    };
    let modern = match era {
        Era::Legacy => "",
        Era::Modern => r#","resultType":"complete","ttlMs":0,"cacheScope":"private""#,
    };
    Ok(Answer::Result(format!(
        r#"{{"{list}":[{shown}]{next}{modern}}}"#
    )))
}

fn read_cursor(cursor: &str) -> Option<usize> {
    String::from_utf8(BASE64.decode(cursor).ok()?)
        .ok()?
        .parse()
        .ok()
}

/// Finds the upstream that offers the resource that a request names.
pub async fn owner_of(
    gateway: &Gateway,
    downstream: &Downstream,
    frame: &Frame,
) -> Result<Arc<Upstream>, Failure> {
    let named = frame
        .parameter(&["uri"])
        .or_else(|| frame.parameter(&["ref", "uri"]));
    let uri = named.ok_or_else(|| Failure::params("`uri` is missing"))?;
    let mut known = gateway.known_to(&downstream.who);
    // Who offers the very address already need not wait for others that are being started.
    let exact = |one: &Arc<Upstream>| fixed(gateway, &downstream.who, one, &uri) == usize::MAX;
    if !known.iter().any(exact) {
        known = gateway.settled_for(&downstream.who).await;
    }
    offering(gateway, &downstream.who, &known, &uri)
}

/// Finds the upstream that offers a resource: by its exact address first, then by the template
/// that fixes most of it. Where two fit equally well nobody can say whose is meant, and guessing
/// would send a request to the wrong one.
pub fn offering(
    gateway: &Gateway,
    who: &Principal,
    known: &[Arc<Upstream>],
    uri: &str,
) -> Result<Arc<Upstream>, Failure> {
    let mut best: Vec<&Arc<Upstream>> = Vec::new();
    let mut most = 0;
    for upstream in known {
        let fixed = fixed(gateway, who, upstream, uri);
        if fixed > most {
            best.clear();
            most = fixed;
        }
        if fixed > 0 && fixed == most {
            best.push(upstream);
        }
    }
    match best.as_slice() {
        [] => Err(unknown_resource(uri)),
        [only] => Ok(Arc::clone(only)),
        several => {
            let names: Vec<_> = several.iter().map(|one| one.name().as_str()).collect();
            let names = names.join("`, `");
            let message = format!(
                "several upstreams offer the resource `{uri}` (`{names}`); use a token for one of them"
            );
            Err(Failure::params(message))
        }
    }
}

/// Answers about a resource that nobody offers.
pub(crate) fn unknown_resource(uri: &str) -> Failure {
    Failure::params(format!("no upstream offers the resource `{uri}`"))
}

/// How much of an address an upstream's catalogue fixes: nothing, the characters outside the
/// variables of a template that it fits, or all.
fn fixed(gateway: &Gateway, who: &Principal, upstream: &Upstream, uri: &str) -> usize {
    if !gateway.may_know(who, upstream, OfferKind::Resource, uri) {
        return 0;
    }
    let listed = upstream.listed();
    let of = |kind, entries| shown(gateway, who, upstream, kind, entries);
    let mut entries = of(OfferKind::Resource, &listed.resources)
        .chain(of(OfferKind::Template, &listed.templates));
    if entries.any(|entry| entry.key == uri) {
        return usize::MAX;
    }
    let templates = of(OfferKind::Template, &listed.templates);
    let fitting = templates.filter(|one| fits(&one.key, uri));
    let lengths = fitting.map(|entry| {
        let parts = entry.key.split('{');
        let after = parts.map(|part| part.split_once('}').map_or(part, |(_, fixed)| fixed));
        after.map(str::len).sum()
    });
    lengths.max().unwrap_or(0)
}

/// Tells whether an address fits a template: the fixed parts must occur in order, and the first
/// names the scheme, since a template without one would claim every address there is.
fn fits(template: &str, uri: &str) -> bool {
    let mut rest = uri;
    let mut parts = template.split('{');
    let head = parts.next().filter(|head| head.contains(':'));
    let Some(after) = head.and_then(|head| rest.strip_prefix(head)) else {
        return false;
    };
    rest = after;
    for part in parts {
        let fixed = part.split_once('}').map_or("", |(_, fixed)| fixed);
        if fixed.is_empty() {
            continue;
        }
        let Some(at) = rest.find(fixed) else {
            return false;
        };
        rest = rest.get(at + fixed.len()..).unwrap_or_default();
    }
    template.ends_with('}') || rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_fit_templates() {
        let check = |template: &str, uri: &str, expect: bool| {
            assert_eq!(fits(template, uri), expect, "{template} {uri}");
        };
        check("memo://{id}", "memo://7", true);
        check("memo://{id}", "file:///x", false);
        check("repo://{owner}/{name}/raw", "repo://a/b/raw", true);
        check("repo://{owner}/{name}/raw", "repo://a/b/rawer", false);
        check("fixed://x", "fixed://x", true);
        check("fixed://x", "fixed://xy", false);
        check("{+anything}", "file:///x", false);
    }

    #[test]
    fn names_are_prefixed_and_nothing_else_changes() {
        assert_eq!(
            with_prefix("git", "log", r#"{"x-1":1.0, "name" : "log","name2":"log"}"#),
            r#"{"x-1":1.0, "name" : "git__log","name2":"log"}"#
        );
    }
}
