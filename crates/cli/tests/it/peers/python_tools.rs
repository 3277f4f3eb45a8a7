//! Programs of others that look at what the gateway gives: a fuzzer of its interface, and a reader of
//! encrypted exports.

use std::path::{Path, PathBuf};
use std::time::Duration;

use mcpproxy_testkit::{EraSupport, Sample};
use serde_json::json;
use tokio::process::Command;
use tokio::time::timeout;

use crate::support::{Gateway, Lived, Over, Upstream};

/// How long the fuzzer may take.
const PATIENCE: Duration = Duration::from_mins(3);
/// What it looks for. Whether everything that fits the document is taken is not among it: names
/// must exist, and a configuration must make sense.
/// The interpreter with the programs, or says how to get it.
fn python() -> Option<PathBuf> {
    let found = std::env::var_os("MCPPROXY_TOOLS_PYTHON").map(PathBuf::from);
    if found.is_none() {
        eprintln!("not run: the programs of others are set up by `cargo xtask test`");
    }
    found
}

async fn started() -> (Upstream, Gateway) {
    let upstream = Upstream::start(Sample::Echo, EraSupport::Both, Over::Shared).await;
    let config = json!({
        "activity": { "durability": "strict" },
        "mcpServers": { "up": upstream.settings },
    });
    let gateway = Gateway::start(&config).await;
    (upstream, gateway)
}

async fn run(program: &Path, home: &Path, args: &[&str]) -> String {
    let mut command = Command::new(program);
    command.args(args).kill_on_drop(true);
    // It may keep files of its own at home and where it stands.
    command.env("HOME", home).current_dir(home);
    let done = timeout(PATIENCE, command.output()).await;
    let done = done.expect("it takes too long").unwrap();
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    let why = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}\n{why}");
    said
}

/// What exists at a gateway that has lived, for the fuzzer to look at.
async fn known(gateway: &Gateway) -> String {
    let denied = "/activity?limit=1&type=policy_decision&status=blocked&decision=deny";
    let record = &gateway.api(denied).await["activities"][0]["id"];
    let waiting = &gateway.api("/approvals").await["approvals"][0];
    let session = &waiting["session_id"];
    let inside = r#"parameters.name = "inside""#;
    let mut known = String::new();
    for (path, parameters) in [
        ("/activity/{id}", format!("parameters.id = {record}")),
        (
            "/activity/{id}/receipts",
            format!("parameters.id = {record}"),
        ),
        ("/sessions/{id}/flow", format!("parameters.id = {session}")),
        ("/servers/{name}", inside.to_owned()),
        ("/servers/{name}/{action}", inside.to_owned()),
        (
            "/servers/{name}/tools/{tool}/diff",
            format!("{inside}\nparameters.tool = \"read\""),
        ),
    ] {
        let operation = format!("include-name = \"GET /api/v1{path}\"");
        let lines = ["[[operations]]", &operation, &parameters, ""];
        known.push_str(&lines.join("\n"));
    }
    known
}

#[tokio::test]
async fn a_fuzzer_finds_nothing_between_the_document_and_the_gateway() {
    let Some(python) = python() else {
        return;
    };
    let lived = Lived::start().await;
    let gateway = &lived.gateway;
    // Names that it makes up are nobody's: without these it would see refusals alone.
    std::fs::write(
        gateway.home.path().join("schemathesis.toml"),
        known(gateway).await,
    )
    .unwrap();
    let fuzzer = python.with_file_name("schemathesis");
    let document = gateway.url("/api/v1/openapi.json");
    let key = format!("X-API-Key: {}", gateway.home.key());
    let args = [
        "run",
        &document,
        "-H",
        &key,
        "--max-examples",
        "10",
        // It does not end.
        "--exclude-path",
        "/events",
        "--request-timeout",
        "10",
        "--no-color",
    ];
    // What it does may take away what there is to look at, a whole configuration with it.
    let looks = [&args[..], &["--include-method", "GET"]].concat();
    for args in [&looks[..], &args[..]] {
        run(&fuzzer, gateway.home.path(), args).await;
    }
}

#[tokio::test]
async fn an_encrypted_export_is_read_by_an_implementation_of_others() {
    let Some(python) = python() else {
        return;
    };
    let (_upstream, gateway) = started().await;
    let home = gateway.home.path();
    let make = "import pyrage; key = pyrage.x25519.Identity.generate(); \
        open('key', 'w').write(str(key)); print(key.to_public())";
    let recipient = run(&python, home, &["-c", make]).await;
    let call = ["call", "tool-read", "up:echo", r#"{"text":"hello"}"#];
    assert!(gateway.home.run(&call).await.status.success());
    let file = home.join("out.age");
    let args = [
        "activity",
        "export",
        "--format",
        "ndjson",
        "--recipient",
        recipient.trim(),
        "--output",
        file.to_str().unwrap(),
    ];
    let done = gateway.home.run(&args).await;
    assert!(done.status.success(), "{done:?}");
    let sealed = std::fs::read(&file).unwrap();
    assert!(!String::from_utf8_lossy(&sealed).contains("tool_call"));
    let open = "import pyrage; key = pyrage.x25519.Identity.from_str(open('key').read()); \
        print(pyrage.decrypt(open('out.age', 'rb').read(), [key]).decode())";
    let plain = run(&python, home, &["-c", open]).await;
    assert!(plain.contains(r#""type":"tool_call""#), "{plain}");
}
