//! A call through the gateway to a gRPC service and to a WebAssembly component: allowed, denied,
//! changed.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::process::Command;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use mcpproxy_mcp::body::read_bounded;
use serde_json::json;
use tokio::net::TcpListener;
use wit_component::ComponentEncoder;

use crate::support::{Legacy, PATIENCE, Scene, text_of};

const WASM: &str = "wasm32-unknown-unknown";

/// A field of a message of ours in the form of protocol buffers, shorter than 128 bytes.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let length = u8::try_from(content.len()).unwrap();
    assert!(length < 128);
    [&[(number << 3) | 2, length][..], content].concat()
}

/// What the service decides, by the text of a question, as `proto/mcpproxy/hook/v1/hook.proto` has it.
fn decision(question: &[u8]) -> Vec<u8> {
    let has = |text: &str| {
        question
            .windows(text.len())
            .any(|part| part == text.as_bytes())
    };
    if has("forbidden") {
        let words = [
            field(1, b"GRPC-1"),
            vec![2 << 3, 4, 3 << 3, 8],
            field(4, b"not this"),
        ];
        return field(5, &words.concat());
    }
    if has("mild\"") {
        let params = br#"{"name":"post","arguments":{"text":"milder"}}"#;
        return field(2, &field(1, params));
    }
    field(1, b"")
}

/// Answers as `decision` says, over plain HTTP/2; returns the address.
async fn service() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("grpc://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let answer = service_fn(async |request: Request<Incoming>| {
                let healthy = request.uri().path().starts_with("/grpc.health.v1.");
                let body = read_bounded(request.into_body(), 1 << 20, PATIENCE).await;
                let body = body.unwrap();
                // `SERVING`, or what is decided.
                let said = if healthy { vec![8, 1] } else { decision(&body) };
                let length = u32::try_from(said.len()).unwrap().to_be_bytes();
                let framed = Bytes::from([&[0][..], &length, &said].concat());
                let done = HeaderMap::from_iter([(
                    "grpc-status".parse().unwrap(),
                    HeaderValue::from_static("0"),
                )]);
                let body = Full::new(framed).with_trailers(async { Some(Ok(done)) });
                let answer = Response::builder().header("content-type", "application/grpc");
                Ok::<_, Infallible>(answer.body(body).unwrap())
            });
            let served = http2::Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(stream), answer);
            tokio::spawn(async move { served.await.ok() });
        }
    });
    address
}

#[tokio::test]
async fn a_grpc_service_allows_denies_and_changes_calls() {
    let hook = json!({
        "id": "rbac", "type": "external-grpc", "endpoint": service().await, "timeout": "5s",
        "runs_on": "request",
    });
    let scene = Scene::start(json!({ "hooks": [hook] })).await;
    let agent = Legacy::open(&scene.gateway.url("/mcp"), json!({})).await;
    let say = async |text: &str| agent.ask("tools/call", Scene::post(text)).await;
    let fine = say("hello").await;
    assert_eq!(text_of(&fine), "posted", "{fine}");
    let denied = say("forbidden").await;
    let decision = &denied["_meta"]["io.mcpproxy/decision"];
    assert_eq!(decision["rule"], "rbac/GRPC-1", "{denied}");
    say("mild").await;
    assert_eq!(scene.arrived(), ["hello", "milder"]);
}

/// Makes a component of one of the examples.
fn component(package: &str, folder: &Path) -> PathBuf {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let printed = Command::new(rustc)
        .args(["--print", "target-libdir", "--target", WASM])
        .output()
        .unwrap();
    // A test that does nothing would say that all is well.
    assert!(
        Path::new(String::from_utf8(printed.stdout).unwrap().trim()).exists(),
        "there is no target {WASM}: `rustup target add {WASM}` adds it"
    );
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/wasm-hooks");
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guests");
    let made = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--release", "--locked"])
        .args(["--target", WASM, "--package", package, "--target-dir"])
        .arg(&built)
        .current_dir(examples)
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .status();
    assert!(made.unwrap().success(), "cannot build {package}");
    let module = built.join(format!("{WASM}/release/{}.wasm", package.replace('-', "_")));
    let module = std::fs::read(module).unwrap();
    let encoder = ComponentEncoder::default().module(&module).unwrap();
    let file = folder.join(format!("{package}.wasm"));
    std::fs::write(&file, encoder.validate(true).encode().unwrap()).unwrap();
    file
}

#[tokio::test]
async fn a_component_allows_denies_and_changes() {
    let folder = tempfile::tempdir().unwrap();
    let guard = component("path-guard", folder.path());
    let mask = component("mask-results", folder.path());
    let hook = |id: &str, path: PathBuf, settings: serde_json::Value| {
        json!({
            "id": id, "type": "wasm", "path": path, "timeout": "5s",
            "config": { "settings": settings },
        })
    };
    let guard = hook("path-guard", guard, json!({ "guarded": [".ssh"] }));
    let mask = hook("mask-results", mask, json!({ "words": ["posted"] }));
    let scene = Scene::start(json!({ "hooks": [guard, mask] })).await;
    let agent = Legacy::open(&scene.gateway.url("/mcp"), json!({})).await;
    let changed = agent.ask("tools/call", Scene::post("hello")).await;
    assert_eq!(text_of(&changed), "[masked]", "{changed}");
    let denied = agent
        .ask("tools/call", Scene::post("/home/ada/.ssh/config"))
        .await;
    let decision = &denied["_meta"]["io.mcpproxy/decision"];
    assert_eq!(decision["rule"], "path-guard/guarded-path", "{denied}");
    assert_eq!(scene.arrived(), ["hello"]);
}
