//! The hooks of `examples/wasm-hooks`.

use bytes::Bytes;
use mcpproxy_core::security::{McpMessage, McpResponse, ResponseKind, SecurityHook as _};
use mcpproxy_hooks_wasm::WasmHook;

use crate::asked::{EVERYTHING, PATIENT, call, context, hook, settings, short};
use crate::guest::{Kept, component};

const WORKSPACE: &str = "examples/wasm-hooks";

#[tokio::test]
async fn the_path_guard_denies_calls_that_name_guarded_files() {
    let component = component(WORKSPACE, "path-guard");
    let kept = Kept::new(&component);
    let hook = hook(kept.path(), r#"{"settings":{"guarded":[".ssh",".env"]}}"#);
    assert_eq!(hook.initialize().await, Ok(()));
    let context = context(PATIENT);
    let check = async |arguments: &str, expect: &str| {
        let decision = hook
            .inspect_request(&context, &call("read", arguments))
            .await;
        assert_eq!(short(decision), expect, "{arguments}");
    };
    check(r#"{"path":"src/main.rs"}"#, "allow").await;
    check(r#"{"path":"docs/.envrc"}"#, "allow").await;
    check(r"{}", "allow").await;
    check(r#"{"n":1e999,"m":-0.0}"#, "allow").await;
    let ssh = r#"deny guarded-path: `read` names the guarded `.ssh` {"name":".ssh"}"#;
    check(r#"{"path":"/home/ada/.ssh/id_ed25519"}"#, ssh).await;
    check(r#"{"n":1e999,"path":"/home/ada/.ssh/id_ed25519"}"#, ssh).await;
    check(r#"{"paths":[{"of":"C:\\Users\\ada\\.SSH\\config"}]}"#, ssh).await;
    let env = r#"deny guarded-path: `read` names the guarded `.env` {"name":".env"}"#;
    check(r#"{"command":"cat \"\u002eenv\""}"#, env).await;

    let message = McpMessage {
        to_upstream: false,
        wants_answer: false,
        method: "notifications/message".into(),
        params: Bytes::from_static(br#"{"data":".ssh"}"#),
    };
    let decision = hook.inspect_message(&context, &message).await;
    assert_eq!(short(decision), "allow");
}

#[tokio::test]
async fn the_masking_hook_changes_results_and_listings() {
    let component = component(WORKSPACE, "mask-results");
    let kept = Kept::new(&component);
    let told = r#"{"settings":{"words":["Falcon"],"hidden_tools":["drop"]}}"#;
    let hook = hook(kept.path(), told);
    let context = context(PATIENT);
    let check = async |kind: ResponseKind, body: &'static str, expect: &str| {
        let body = Bytes::from_static(body.as_bytes());
        let response = McpResponse { kind, body };
        let call = call("read", "{}");
        let decision = hook.inspect_response(&context, &call, &response).await;
        assert_eq!(short(decision), expect);
    };
    let plain = r#"{"content":[{"type":"text","text":"nothing to see"}]}"#;
    check(ResponseKind::Result, plain, "allow").await;
    check(
        ResponseKind::Result,
        r#"{"content":[{"type":"text","text":"Falcon flies"}],"n":1}"#,
        r#"modify {"content":[{"text":"[masked] flies","type":"text"}],"n":1} {"changes":1}"#,
    )
    .await;
    let failed = r#"{"code":-1,"message":"no Falcon"}"#;
    let masked = r#"modify {"code":-1,"message":"no [masked]"} {"changes":1}"#;
    check(ResponseKind::Error, failed, masked).await;
    check(
        ResponseKind::Listing,
        r#"{"tools":[{"name":"drop"},{"name":"read"}]}"#,
        r#"modify {"tools":[{"name":"read"}]} {"changes":1}"#,
    )
    .await;
}

#[test]
fn a_component_refuses_settings_that_it_does_not_understand() {
    let component = component(WORKSPACE, "mask-results");
    let kept = Kept::new(&component);
    let check = |config: &str, expect: &str| {
        let made = WasmHook::new("x", 1, EVERYTHING, &settings(kept.path(), config));
        assert_eq!(made.unwrap_err().to_string(), expect);
    };
    check(
        r#"{"settings":{"words":[""]}}"#,
        "the component refuses its `settings`: an empty word is in every text",
    );
    check(
        r#"{"settings":{"word":"Falcon"}}"#,
        "the component refuses its `settings`: unknown field `word`, expected one of `words`, \
         `mask`, `hidden_tools` at line 1 column 7",
    );
}
