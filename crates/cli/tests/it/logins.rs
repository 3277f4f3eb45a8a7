//! Logging in to an upstream, as a person does it: the gateway and the command are processes of
//! their own, the authorization server and the upstream are on this machine.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use mcpproxy_core::SystemClock;
use mcpproxy_testkit::{Authority, EraSupport, HttpUpstream, Sample};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader};

use crate::support::{Gateway, Home, Legacy, Over, Upstream, text_of, until, within};

/// An upstream behind an authorization server, and a gateway that knows of it.
struct Stage {
    authority: Authority,
    upstream: Upstream,
    gateway: Gateway,
}

impl Stage {
    async fn start(over: Over, era: EraSupport) -> Self {
        let authority = Authority::start(Arc::new(SystemClock::start()));
        let authority = authority.await.unwrap();
        let upstream = Upstream::start(Sample::Echo, era, over).await;
        served(&upstream).protect(&authority);
        let mut settings = upstream.settings.clone();
        settings["restart"] = json!({ "backoff_min": "100ms", "backoff_max": "200ms" });
        let gateway = Gateway::start(&json!({
            "routing_mode": "all",
            "log": { "level": "debug" },
            "mcpServers": { "notes": settings },
        }))
        .await;
        Self {
            authority,
            upstream,
            gateway,
        }
    }

    async fn until_up(&self) {
        until("the upstream to be up", || async {
            let servers = self.gateway.api("/servers").await;
            (servers[0]["status"] == "up").then_some(())
        })
        .await;
    }

    /// Has the agent say something to the upstream.
    async fn echo(&self) -> String {
        let agent = Legacy::open(&self.gateway.url("/mcp"), json!({})).await;
        let echo = json!({ "name": "notes__echo", "arguments": { "text": "hello" } });
        agent.request("tools/call", echo).await.text().await
    }
}

fn served(upstream: &Upstream) -> &HttpUpstream {
    upstream.http.as_ref().unwrap()
}

/// Runs the command, and does what it says in the place of a browser.
async fn log_in(home: &Home, authority: &Authority) {
    let mut command = home.command(&["upstream", "login", "notes", "--no-browser"]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let url = within("an address", lines.next_line()).await;
    let url = url.unwrap().unwrap();
    assert!(url.starts_with(&authority.issuer), "{url}");
    assert_eq!(authority.browse(&url).await.unwrap(), 200);
    let ended = within("the command to end", child.wait_with_output()).await;
    let ended = ended.unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(ended.status.success(), "{said}");
    assert!(said.contains("logged in to `notes`"), "{said}");
}

/// Looks for a word in every file of a folder.
fn holds(folder: &Path, word: &str) -> bool {
    let files = std::fs::read_dir(folder).unwrap().flatten();
    let mut files = files.filter(|file| file.file_type().unwrap().is_file());
    files.any(|file| {
        let bytes = std::fs::read(file.path()).unwrap();
        bytes
            .windows(word.len())
            .any(|part| part == word.as_bytes())
    })
}

#[tokio::test]
async fn a_person_logs_in_and_the_gateway_keeps_it_up() {
    let stage = Stage::start(Over::Http, EraSupport::Both).await;
    let wants = "needs login: run `mcpproxy upstream login notes`";
    let servers = stage.gateway.api("/servers").await;
    let status = servers[0]["status"].as_str().unwrap();
    assert!(status.contains(wants), "{status}");
    let problems = stage.gateway.api("/diagnostics").await;
    assert_eq!(
        problems["problems"][0]["hint"],
        "mcpproxy upstream login notes"
    );
    log_in(&stage.gateway.home, &stage.authority).await;
    stage.until_up().await;
    assert!(stage.echo().await.contains("hello"));
    let login = &stage.gateway.api("/status").await["logins"]["notes"];
    assert_eq!(
        (&login["state"], &login["renews"]),
        (&json!("in"), &json!(true))
    );
    let doctor = stage.gateway.home.run(&["doctor"]).await;
    let doctor = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(doctor.contains("`notes` is logged in to until"), "{doctor}");
    // The token ends early, and nobody notices.
    stage.authority.end_access();
    assert!(stage.echo().await.contains("hello"));
    assert!(stage.authority.counts().renewals >= 1);
    // It is taken back, and everybody is told what to do.
    stage.authority.revoke();
    let said = stage.echo().await;
    assert!(said.contains(wants), "{said}");
    let data = stage.gateway.home.data();
    for word in ["refresh-", "access-"] {
        assert!(!holds(&data, word), "{word} lies about");
        assert!(!stage.gateway.log().contains(word), "{word} was logged");
    }
    let shown = served(&stage.upstream).requests();
    let shown = shown
        .iter()
        .filter_map(|one| one.headers.get("authorization"));
    assert!(shown.clone().count() > 0);
    for one in shown {
        assert!(one.to_str().unwrap().starts_with("Bearer access-"));
    }
}

#[tokio::test]
async fn a_login_outlives_the_gateway_and_ends_with_logout() {
    let stage = Stage::start(Over::Sse, EraSupport::LegacyOnly).await;
    log_in(&stage.gateway.home, &stage.authority).await;
    stage.until_up().await;
    let Stage {
        authority,
        upstream,
        gateway,
    } = stage;
    let home = gateway.stop().await;
    let stage = Stage {
        authority,
        upstream,
        gateway: Gateway::start_in(home).await,
    };
    stage.until_up().await;
    let agent = Legacy::open(&stage.gateway.url("/mcp"), json!({})).await;
    let answer = agent.call("notes__echo", json!({ "text": "hello" })).await;
    assert_eq!(text_of(&answer), "hello");
    let out = stage
        .gateway
        .home
        .run(&["upstream", "logout", "notes"])
        .await;
    assert!(out.status.success(), "{out:?}");
    assert_eq!(stage.authority.counts().revoked, 1);
    until("the upstream to be down", || async {
        let servers = stage.gateway.api("/servers").await;
        let status = servers[0]["status"].as_str()?;
        status.contains("needs login").then_some(())
    })
    .await;
    let out = stage
        .gateway
        .home
        .run(&["upstream", "logout", "notes"])
        .await;
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(said.contains("nobody was logged in"), "{said}");
}
