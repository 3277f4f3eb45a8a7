//! The reference services of `examples/` behind the gateway, with the configuration that their own
//! pages give.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::access::oauth::{Issuer, bearer};
use crate::quarantine::{script, tool};
use crate::support::{Gateway, Home, Legacy, Upstream, names_of, text_of, within};

const SIGNING_KEY: &str = "whsec_bV9s2kq0JY8dU4xH1rT6wZcN3pEaLgQf";

/// A service that ends with the test, and what its page says to configure.
struct Service {
    yaml: String,
    _child: Child,
}

impl Service {
    /// Starts a service, or says how to set up what it needs; its page names `port`.
    async fn start(example: &str, port: &str) -> Option<Self> {
        let Some(python) = std::env::var_os("MCPPROXY_TOOLS_SERVICES") else {
            eprintln!("not run: the services are set up by `cargo xtask test`");
            return None;
        };
        let folder = examples().join(example);
        let mut child = Command::new(python)
            .arg(folder.join("service.py"))
            .args(["--port", "0"])
            .env("DLP_SIGNING_KEY", SIGNING_KEY)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = within("a service", lines.next_line()).await.unwrap();
        let line = line.unwrap();
        let listens = line.strip_prefix("listening on ").unwrap();
        let page = std::fs::read_to_string(folder.join("README.md")).unwrap();
        let (_, rest) = page.split_once("```yaml\n").unwrap();
        let (yaml, _) = rest.split_once("```").unwrap();
        assert!(yaml.contains(port), "{yaml}");
        // A machine that runs all tests at once is slower than the one that the page is for.
        let slow = |line: &str| match line.trim().strip_prefix("timeout:") {
            Some(_) => "      timeout: 20s\n".to_owned(),
            None => format!("{line}\n"),
        };
        let yaml: String = yaml.lines().map(slow).collect();
        let yaml = yaml.replace(port, listens);
        Some(Self {
            yaml: yaml.replace("${DLP_SIGNING_KEY}", SIGNING_KEY),
            _child: child,
        })
    }

    /// Starts a gateway with it.
    async fn gateway(&self, upstream: &Upstream, oauth: &Value) -> Gateway {
        let home = Home::new(&json!({}));
        let servers = json!({ "files": upstream.settings });
        let yaml = &self.yaml;
        home.configure(&format!(
            "routing_mode: all\nmcpServers: {servers}\n{yaml}{}",
            match oauth {
                Value::Null => String::new(),
                oauth => format!("oauth: {oauth}\n"),
            }
        ));
        Gateway::start_in(home).await
    }
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

#[tokio::test]
async fn the_dlp_webhook_finds_cards_with_the_configuration_of_its_page() {
    let Some(service) = Service::start("dlp-webhook", "8085").await else {
        return;
    };
    let tools = [
        tool("send_note", "Sends a note."),
        tool("read_note", "Reads a note."),
    ];
    let mut script = script(&tools);
    script["results"]["read_note"] = json!(["card 4929736150832474"]);
    let upstream = Upstream::play(&script);
    let gateway = service.gateway(&upstream, &Value::Null).await;
    let agent = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    let sent = async |text: &str| {
        let answer = agent
            .call("files__send_note", json!({ "text": text }))
            .await;
        text_of(&answer).to_owned()
    };
    let denied = sent("pay with 4929 7361 5083 2474").await;
    assert!(
        denied.contains("a payment card number is about to leave"),
        "{denied}"
    );
    assert_eq!(sent("see you at 10").await, "done");
    let read = agent.call("files__read_note", json!({})).await;
    assert_eq!(text_of(&read), "card ************2474");
    assert_eq!(upstream.called().len(), 2);
}

#[tokio::test]
async fn the_role_service_serves_whoever_has_a_role_with_the_configuration_of_its_page() {
    let Some(service) = Service::start("rbac-grpc", "9000").await else {
        return;
    };
    let issuer = Issuer::start().await;
    let tools = [
        tool("read_file", "Reads a file."),
        tool("write_file", "Writes a file."),
    ];
    let upstream = Upstream::play(&script(&tools));
    let gateway = service.gateway(&upstream, &issuer.settings()).await;
    let check = async |roles: &[&str], name: &str, expect: &str| {
        let with = bearer(&gateway, &issuer.token("ada", roles)).at("/mcp");
        let agent = Legacy::open_with(with, json!({})).await;
        let listed = agent.ask("tools/list", json!({})).await;
        let names = names_of(&listed["tools"]);
        assert_eq!(names, ["files__read_file", "files__write_file"]);
        let answer = agent.call(name, json!({})).await;
        let said = text_of(&answer);
        assert!(said.contains(expect), "{roles:?} {name}: {said}");
    };
    check(&["reader"], "files__read_file", "done").await;
    let denied = "no role of the caller has tool write_file";
    check(&["reader"], "files__write_file", denied).await;
    check(&["writer"], "files__write_file", "done").await;
    check(&[], "files__read_file", "no role of the caller").await;
}
