//! rmcp as a client, over HTTP in both eras and over the bridge.

use std::process::Stdio;

use rmcp::model::{CallToolRequestParams, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt as _, RunningService};
use rmcp::transport::{IntoTransport, StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{RoleClient, ServiceExt as _};
use serde_json::{Value, json};

use super::{COMMIT, NOTE, Setting};
use crate::support::within;

type Client = RunningService<RoleClient, ()>;

fn modern() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
    }
}

async fn call(client: &Client, tool: &'static str, arguments: Value) -> String {
    let arguments = arguments.as_object().unwrap().clone();
    let params = CallToolRequestParams::new(tool).with_arguments(arguments);
    let result = within(tool, client.call_tool(params)).await.unwrap();
    let text = result.content.first().and_then(|content| content.as_text());
    text.expect("a text").text.clone()
}

async fn converse(setting: &Setting, client: Client, version: ProtocolVersion) {
    let peer = client.peer_info().unwrap();
    assert_eq!(peer.protocol_version, version);
    let tools = within("the tools", client.list_all_tools()).await.unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_ref()).collect();
    assert!(names.contains(&"git__git_log"), "{names:?}");
    let path = json!({ "path": setting.path("files/note.txt") });
    assert_eq!(call(&client, "files__read_text_file", path).await, NOTE);
    let repository = json!({ "repo_path": setting.path("repository") });
    let log = call(&client, "git__git_log", repository).await;
    assert!(log.contains(COMMIT), "{log}");
    within("the client to end", client.cancel()).await.unwrap();
}

/// Has the same conversation in both eras over a transport.
async fn both_eras<T, E, A>(setting: &Setting, transport: impl Fn() -> T)
where
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let legacy = within("a session", ().serve(transport())).await.unwrap();
    converse(setting, legacy, ProtocolVersion::V_2025_11_25).await;
    let discovered = ().serve_with_lifecycle(transport(), modern());
    let client = within("a conversation", discovered).await.unwrap();
    converse(setting, client, ProtocolVersion::V_2026_07_28).await;
}

#[tokio::test]
async fn rmcp_over_http_and_over_the_bridge() {
    let Some(setting) = Setting::start().await else {
        return;
    };
    let http = || StreamableHttpClientTransport::from_uri(setting.gateway.url("/mcp"));
    both_eras(&setting, http).await;
    let bridge = || {
        let mut command = setting.gateway.home.command(&["stdio"]);
        command.stdin(Stdio::piped());
        TokioChildProcess::new(command).unwrap()
    };
    both_eras(&setting, bridge).await;
}
