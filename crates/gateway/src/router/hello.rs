//! How a conversation is opened: sessions of legacy downstreams, and what the gateway says about
//! itself in either era.

use std::sync::Arc;

use mcpproxy_core::{Door, Principal};
use mcpproxy_mcp::Frame;
use mcpproxy_mcp::compose::quoted;
use mcpproxy_mcp::era::{META_SERVER_INFO, MODERN, negotiate};
use mcpproxy_text as text;
use mcpproxy_upstream::Greeting;

use super::only_upstream;
use crate::ask;
use crate::downstream::Downstream;
use crate::error::Failure;
use crate::forward::conversation;
use crate::gateway::Gateway;
use crate::session::{NewSession, Session};
use crate::settings::RoutingMode;
use crate::translate;
use crate::withheld;

/// Opens a legacy session and returns the result of `initialize`.
pub async fn initialize(
    gateway: &Arc<Gateway>,
    who: Principal,
    mode: RoutingMode,
    frame: &Frame,
) -> Result<(Arc<Session>, String), Failure> {
    let raw = |name: &str| text::get(frame.params(), &[name]).map(|(raw, _)| raw.to_owned());
    let proposed = frame.parameter(&["protocolVersion"]);
    let proposed = proposed.ok_or_else(|| Failure::params("`protocolVersion` is missing"))?;
    let greeting = Arc::new(Greeting {
        version: negotiate(&proposed).to_owned(),
        capabilities: raw("capabilities").unwrap_or_else(|| "{}".to_owned()),
        client_info: raw("clientInfo")
            .unwrap_or_else(|| r#"{"name":"unknown","version":"0"}"#.to_owned()),
    });
    let version = greeting.version.clone();
    let new = NewSession {
        who,
        greeting,
        version,
        mode,
        engine: Some(Arc::clone(&gateway.engine)),
        opened: None,
    };
    let (session, questions) = gateway.open_session(new)?;
    tokio::spawn(ask::serve_questions(
        Arc::clone(gateway),
        Arc::downgrade(&session),
        questions,
    ));
    let result = match mode {
        RoutingMode::Single => single_hello(gateway, &session, &proposed).await,
        RoutingMode::Call | RoutingMode::All => Ok(own_hello(gateway, &session.version)),
    };
    match result {
        Ok(result) => Ok((session, result)),
        Err(failure) => {
            gateway.end_session(&session.id);
            Err(failure)
        }
    }
}

async fn single_hello(
    gateway: &Arc<Gateway>,
    session: &Arc<Session>,
    proposed: &str,
) -> Result<String, Failure> {
    let upstream = only_upstream(gateway)?;
    let downstream = Downstream::of_session(session, Door::Mcp);
    let instance = conversation(gateway, &downstream, &upstream).await?;
    let result = translate::initialize_result(&instance, proposed);
    Ok(withheld::hello(gateway, &upstream, result))
}

/// What the gateway says it can do when it stands for many upstreams.
fn own_capabilities() -> &'static str {
    r#"{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"completions":{},"logging":{}}"#
}

fn own_info() -> String {
    format!(
        r#"{{"name":"mcpproxy","version":"{}"}}"#,
        env!("CARGO_PKG_VERSION")
    )
}

fn own_instructions(gateway: &Gateway) -> String {
    let active = gateway.active();
    let usual = "This gateway stands in front of several MCP servers. In call mode, find tools with retrieve_tools, then call them with the call_tool_* variant that each result names.";
    quoted(active.settings.instructions.as_deref().unwrap_or(usual))
}

fn own_hello(gateway: &Gateway, version: &str) -> String {
    let (capabilities, info) = (own_capabilities(), own_info());
    let instructions = own_instructions(gateway);
    format!(
        r#"{{"protocolVersion":"{version}","capabilities":{capabilities},"serverInfo":{info},"instructions":{instructions}}}"#
    )
}

pub(super) fn own_discover(gateway: &Gateway) -> String {
    let (capabilities, info) = (own_capabilities(), own_info());
    let instructions = own_instructions(gateway);
    let key = quoted(META_SERVER_INFO);
    format!(
        r#"{{"resultType":"complete","supportedVersions":["{MODERN}"],"capabilities":{capabilities},"instructions":{instructions},"ttlMs":60000,"cacheScope":"public","_meta":{{{key}:{info}}}}}"#
    )
}
