//! The methods that every sample knows, era by era.

use std::sync::Arc;

use mcpproxy_mcp::era::{
    Era, INTERNAL_ERROR, META_SERVER_INFO, META_SUBSCRIPTION, MODERN_VERSIONS, negotiate,
};
use mcpproxy_text as text;
use serde_json::{Value, json};

use super::exchange::{Answer, Exchange, Fault, Outcome};
use super::listeners::{Listener, MOST_RESOURCES, Wants};
use super::tool::Card;
use super::{Sample, Service, echo, github, slack};

/// How many tools a page of the list has.
const PAGE: usize = 100;
/// How long a modern downstream may keep a list, in milliseconds.
const TTL: u32 = 1_000;

/// Answers a request.
pub(crate) fn answer(exchange: &Exchange) -> Outcome {
    let method = &**exchange.frame.method();
    match (method, exchange.era) {
        ("initialize", Era::Legacy) => initialize(exchange).into(),
        ("ping", Era::Legacy) => Ok(json!({})).into(),
        ("server/discover", Era::Modern) => Ok(discover(exchange)).into(),
        ("subscriptions/listen", Era::Modern) => listen(exchange),
        ("tools/list", _) => tools(exchange).map(|list| cacheable(exchange, list)).into(),
        ("tools/call", _) => match exchange.string(&["name"]) {
            Ok(name) => call(exchange, &name),
            Err(fault) => Err(fault).into(),
        },
        _ => more(exchange)
            .unwrap_or_else(|| Err(Fault::unknown_method(method)))
            .into(),
    }
}

/// Answers what only the sample with everything knows.
fn more(exchange: &Exchange) -> Option<Answer> {
    match exchange.conversation.service.sample {
        Sample::Github | Sample::Slack => None,
        Sample::Echo => echo::library::answer(exchange),
        Sample::Script => {
            let answer = exchange
                .conversation
                .service
                .script
                .answer(exchange.frame.method());
            answer.map(|answer| Ok(cacheable(exchange, answer)))
        }
    }
}

fn call(exchange: &Exchange, name: &str) -> Outcome {
    let found = match exchange.conversation.service.sample {
        Sample::Github => github::call(exchange, name).map(Into::into),
        Sample::Slack => slack::call(exchange, name).map(Into::into),
        Sample::Echo => echo::call(exchange, name),
        Sample::Script => {
            let played = exchange.conversation.service.script.call(name);
            played.map(|result| Ok(result).into())
        }
    };
    found.unwrap_or_else(|| Err(Fault::params(format!("unknown tool `{name}`"))).into())
}

fn initialize(exchange: &Exchange) -> Answer {
    let proposed = exchange.string(&["protocolVersion"])?;
    let conversation = &exchange.conversation;
    let declared = text::get(exchange.frame.params(), &["capabilities"]);
    conversation.opened(declared.map_or("{}", |(raw, _)| raw));
    let service = &conversation.service;
    let listener = Listener {
        conversation: conversation.number,
        subscription: None,
        wants: Wants {
            tools: true,
            ..Wants::default()
        },
        outlet: Arc::clone(&conversation.home),
    };
    // A second handshake takes the place of the first.
    service.listeners.remove_all(conversation.number);
    if !service.listeners.add(listener) {
        return Err(Fault::protocol(INTERNAL_ERROR, "too many conversations"));
    }
    Ok(json!({
        "protocolVersion": negotiate(&proposed),
        "capabilities": service.capabilities(),
        "serverInfo": service.info(),
        "instructions": instructions(service),
    }))
}

fn discover(exchange: &Exchange) -> Value {
    let service = &exchange.conversation.service;
    let result = json!({
        "supportedVersions": MODERN_VERSIONS,
        "capabilities": service.capabilities(),
        "instructions": instructions(service),
        "_meta": { META_SERVER_INFO: service.info() },
    });
    cacheable(exchange, result)
}

fn instructions(service: &Service) -> &str {
    match service.sample {
        Sample::Github => "Files and issues of the private repository acme/billing.",
        Sample::Slack => "Posts to channels that people outside the company read.",
        Sample::Echo => "One tool for each thing that the protocol can do.",
        Sample::Script => service.script.instructions(),
    }
}

/// Adds how long a modern downstream may keep a result, and whom it may be shown to.
pub(crate) fn cacheable(exchange: &Exchange, mut result: Value) -> Value {
    if let (Era::Modern, Some(members)) = (exchange.era, result.as_object_mut()) {
        let scope = match exchange.conversation.service.sample {
            Sample::Github | Sample::Script => "private",
            Sample::Slack | Sample::Echo => "public",
        };
        members.insert("ttlMs".to_owned(), TTL.into());
        members.insert("cacheScope".to_owned(), scope.into());
    }
    result
}

fn tools(exchange: &Exchange) -> Answer {
    let page = match exchange.frame.parameter(&["cursor"]) {
        None => 0,
        Some(cursor) => cursor
            .strip_prefix("page-")
            .and_then(|page| page.parse::<usize>().ok())
            .ok_or_else(|| Fault::params(format!("unknown cursor `{cursor}`")))?,
    };
    let mut tools = exchange.conversation.service.tools();
    let from = page.saturating_mul(PAGE);
    let cards = tools.by_ref().skip(from).take(PAGE);
    let listed: Vec<_> = cards.map(Card::descriptor).collect();
    let mut result = json!({ "tools": listed });
    if let (Some(_), Some(members)) = (tools.next(), result.as_object_mut()) {
        members.insert("nextCursor".to_owned(), format!("page-{}", page + 1).into());
    }
    Ok(result)
}

/// Opens a subscription: acknowledged first, then open until it is cancelled.
fn listen(exchange: &Exchange) -> Outcome {
    let Some(asked) = exchange.parameter(&["notifications"]) else {
        return Err(Fault::params("`notifications` must be an object")).into();
    };
    let full = exchange.conversation.service.sample == Sample::Echo;
    let mut wants = Wants::default();
    if full {
        wants.tools = asked.get("toolsListChanged") == Some(&Value::Bool(true));
        let named = asked.get("resourceSubscriptions").and_then(Value::as_array);
        let uris = named.into_iter().flatten().filter_map(Value::as_str);
        wants.resources = uris.take(MOST_RESOURCES).map(str::to_owned).collect();
    }
    // Acknowledged is what was asked for and will be honoured, nothing else.
    let mut honoured = json!({});
    if wants.tools {
        honoured = json!({ "toolsListChanged": true });
    }
    if let (false, Some(members)) = (wants.resources.is_empty(), honoured.as_object_mut()) {
        members.insert("resourceSubscriptions".to_owned(), json!(wants.resources));
    }
    let id = exchange.id_value();
    let acknowledged = json!({ "notifications": honoured, "_meta": { META_SUBSCRIPTION: id } });
    exchange.notify("notifications/subscriptions/acknowledged", &acknowledged);
    let added = exchange.conversation.service.listeners.add(Listener {
        conversation: exchange.conversation.number,
        subscription: Some(id),
        wants,
        outlet: Arc::clone(&exchange.outlet),
    });
    if added {
        Outcome::Never
    } else {
        Err(Fault::protocol(INTERNAL_ERROR, "too many subscriptions")).into()
    }
}
