//! Requests that an agent's hook announced: the session they come in is that conversation's.

use std::sync::Arc;

use mcpproxy_core::Door;
use mcpproxy_engine::{Arrival, Attributed, Fingerprint};
use mcpproxy_mcp::Frame;
use mcpproxy_text as text;

use crate::downstream::Downstream;
use crate::gateway::Gateway;
use crate::notices::Notice;

/// Attributes a request to the conversation of the hook that announced it, or an earlier one in its
/// session.
pub(super) fn attribute(gateway: &Arc<Gateway>, downstream: &mut Downstream, frame: &Frame) {
    if downstream.door != Door::Mcp || !gateway.engine.correlates() {
        return;
    }
    let tool_use = tool_use(frame.params());
    let arrival = Arrival {
        session: downstream.key,
        scope: Gateway::flow_scope(&downstream.who),
        is_owners: downstream.who.kind.is_owners(),
        connection: downstream.connection,
        tool_use: tool_use.as_deref(),
    };
    let print = || {
        let calls = &**frame.method() == "tools/call";
        let tool = frame.parameter(&["name"]).filter(|_| calls)?;
        let (given, _) = text::get(frame.params(), &["arguments"]).unwrap_or(("{}", 0..0));
        Some(Fingerprint::of(&tool, &serde_json::from_str(given).ok()?))
    };
    let mut attributed = gateway.engine.arrived(arrival, print);
    let followed = attributed.followed.take();
    downstream.linked = followed.filter(|session| *session != downstream.key);
    if let (Some(notice), true) = (told(attributed), gateway.live.is_some()) {
        let gateway = Arc::clone(gateway);
        tokio::spawn(async move { gateway.announce(notice).await });
    }
}

/// Returns what other gateways are told: what was announced is used up, or good for nobody.
fn told(attributed: Attributed) -> Option<Notice> {
    if let Some((hook, print)) = attributed.used {
        let (hook, print) = (hook.id.to_string(), print.id().to_string());
        return Some(Notice::Arrived { hook, print });
    }
    let (hooks, print) = attributed.spoiled?;
    let hooks = hooks.iter().map(|hook| hook.id.to_string()).collect();
    let print = print.id().to_string();
    Some(Notice::Spoiled { hooks, print })
}

/// Returns the use of the tool as the agent calls it, which some send along.
fn tool_use(params: &str) -> Option<String> {
    let (meta, _) = text::get(params, &["_meta"])?;
    let mut found = text::members(meta).filter_map(|member| {
        let letters = member.key.chars().filter(char::is_ascii_alphabetic);
        let name: String = letters.map(|letter| letter.to_ascii_lowercase()).collect();
        if !name.ends_with("tooluseid") && !name.ends_with("toolcallid") {
            return None;
        }
        text::string(meta.get(member.value)?)
    });
    found.next().map(std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_say_which_use_of_a_tool_it_is() {
        let check = |params: &str, expect: Option<&str>| {
            assert_eq!(tool_use(params).as_deref(), expect, "{params}");
        };
        check(
            r#"{"_meta":{"progressToken":1,"claudecode/toolUseId":"toolu_1"}}"#,
            Some("toolu_1"),
        );
        check(r#"{"_meta":{"x/tool_call_id":"call_7"}}"#, Some("call_7"));
        check(r#"{"_meta":{"tool_use_id":7}}"#, None);
        check(r#"{"_meta":{"other":"x"},"toolUseId":"y"}"#, None);
        check("{}", None);
    }
}
