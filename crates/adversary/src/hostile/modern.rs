//! What is other in the era without sessions: what a request says about its sender, what a result has
//! beside its content, questions that are results, and news for those who asked for them.

use std::time::Duration;

use bytes::Bytes;
use mcpproxy_mcp::compose;
use mcpproxy_mcp::era::{
    META_CLIENT_INFO, META_SERVER_INFO, META_SUBSCRIPTION, META_VERSION, MODERN, MODERN_VERSIONS,
};
use serde_json::{Map, Value, json};
use tokio::sync::broadcast;

use super::{Outlet, say};
use crate::scenario::Era;

/// The state that stands for a call in the middle of which the agent was asked something.
const ASKED: &str = "asked";
/// For how long lists may be kept: not at all, so that a role can turn at any time.
const TTL: u64 = 0;
/// How often is looked whether a listener has gone away.
const GLANCE: Duration = Duration::from_millis(200);

/// Returns the era of a request.
pub(super) fn era(params: &Value) -> Era {
    match meta(params, META_VERSION).and_then(Value::as_str) {
        Some(_) => Era::Modern,
        None => Era::Legacy,
    }
}

/// Returns the name that the sender of a request gives itself.
pub(super) fn client(params: &Value) -> &str {
    let name = meta(params, META_CLIENT_INFO).and_then(|info| info.get("name"));
    name.and_then(Value::as_str).unwrap_or_default()
}

fn meta<'a>(params: &'a Value, key: &str) -> Option<&'a Value> {
    params.get("_meta")?.get(key)
}

/// Makes the greeting of this era from that of the other one.
pub(super) fn discovered(mut hello: Value) -> Value {
    if let Some(members) = hello.as_object_mut() {
        members.remove("protocolVersion");
        let name = members.remove("serverInfo");
        members.insert("supportedVersions".to_owned(), json!(MODERN_VERSIONS));
        members.insert("_meta".to_owned(), json!({ META_SERVER_INFO: name }));
    }
    hello
}

/// Adds what every result has in this era, and what those have that may be kept.
pub(super) fn complete(mut result: Value, method: &str) -> Value {
    if let Some(members) = result.as_object_mut() {
        members.insert("resultType".to_owned(), json!("complete"));
        if method.ends_with("/list") || matches!(method, "server/discover" | "resources/read") {
            members.insert("ttlMs".to_owned(), json!(TTL));
            members.insert("cacheScope".to_owned(), json!("private"));
        }
    }
    result
}

/// Refuses the handshake of the other era.
pub(super) fn refusal(id: &str) -> Bytes {
    let data = json!({ "supported": [MODERN] });
    let code = mcpproxy_mcp::era::UNSUPPORTED_VERSION;
    compose::error(Some(id), code, "version is not spoken", Some(&data))
}

/// Returns a question in the place of the answer, unless it was asked and answered.
pub(super) fn question(asks: &Value, params: &Value) -> Option<Value> {
    if params.get("inputResponses").is_some() {
        return None;
    }
    Some(json!({
        "resultType": "input_required",
        "inputRequests": { "question": asks },
        "requestState": ASKED,
    }))
}

/// Tells what is new to somebody who asked for it, until they are gone.
pub(super) async fn listen(id: &str, mut news: broadcast::Receiver<Bytes>, outlet: &Outlet) {
    let known: Value = serde_json::from_str(id).unwrap_or_default();
    let taken = json!({
        "notifications": { "toolsListChanged": true },
        "_meta": { META_SUBSCRIPTION: known },
    });
    let method = "notifications/subscriptions/acknowledged";
    say(outlet, compose::notification(method, &taken.to_string())).await;
    while !outlet.is_closed() {
        match tokio::time::timeout(GLANCE, news.recv()).await {
            Ok(Ok(word)) => say(outlet, subscribed(&word, &known)).await,
            Ok(Err(broadcast::error::RecvError::Closed)) => return,
            // Nothing is new, or more than could be kept.
            Ok(Err(broadcast::error::RecvError::Lagged(_))) | Err(_) => {}
        }
    }
}

/// Says for which subscription a notification is.
fn subscribed(word: &[u8], subscription: &Value) -> Bytes {
    let mut word: Value = serde_json::from_slice(word).unwrap_or_default();
    let params = word.get_mut("params").and_then(Value::as_object_mut);
    if let Some(params) = params {
        let meta = params.entry("_meta").or_insert_with(|| json!({}));
        if let Some(meta) = meta.as_object_mut() {
            meta.extend(Map::from_iter([(
                META_SUBSCRIPTION.to_owned(),
                subscription.clone(),
            )]));
        }
    }
    word.to_string().into()
}
