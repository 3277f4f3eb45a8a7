//! The samples as upstreams, over every transport, with a file of what they received.

use std::path::PathBuf;

use mcpproxy_testkit::{EraSupport, HttpUpstream, Options, Sample};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::until;

/// The program under test.
pub(crate) fn program() -> &'static str {
    env!("CARGO_BIN_EXE_mcpproxy")
}

/// An upstream of the adversary, as a configuration starts it.
pub(crate) fn played(upstream: &str, more: &[&str]) -> Value {
    let scenario = ["adversary", "serve", "--scenario", "exfiltration/message"];
    let args = [&scenario[..], &["--upstream", upstream], more].concat();
    json!({ "command": program(), "args": args })
}

/// How an upstream is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    /// Standard input and output, one child for everybody.
    Shared,
    /// Standard input and output, one child for each session.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// The older HTTP+SSE.
    Sse,
}

/// A sample, how the configuration reaches it, and what it received.
pub(crate) struct Upstream {
    /// What stands in the configuration.
    pub(crate) settings: Value,
    /// The sample itself, if it runs in this process.
    pub(crate) http: Option<HttpUpstream>,
    folder: TempDir,
}

impl Upstream {
    /// Makes a sample available. A child is started by the gateway, an HTTP sample here.
    pub(crate) async fn start(sample: Sample, era: EraSupport, over: Over) -> Self {
        Self::start_many(sample, era, over, 0).await
    }

    /// The same, with so many tools more.
    pub(crate) async fn start_many(
        sample: Sample,
        era: EraSupport,
        over: Over,
        many: usize,
    ) -> Self {
        let folder = TempDir::new().unwrap();
        let record = folder.path().join("received");
        if matches!(over, Over::Shared | Over::Stdio) {
            let era = match era {
                EraSupport::Both => "both",
                EraSupport::LegacyOnly => "legacy",
                EraSupport::ModernOnly => "modern",
            };
            let many = many.to_string();
            let args = json!([
                "sample",
                sample.name(),
                "--era",
                era,
                "--record",
                record,
                "--many",
                many
            ]);
            let scope = if over == Over::Stdio {
                "session"
            } else {
                "shared"
            };
            let settings = json!({ "command": program(), "args": args, "scope": scope });
            return Self {
                settings,
                http: None,
                folder,
            };
        }
        let options = Options {
            era,
            record: Some(record),
            many,
            script: None,
        };
        let http = HttpUpstream::start(sample, options).await.unwrap();
        let settings = match over {
            Over::Sse => json!({ "url": http.sse_url, "transport": "sse" }),
            Over::Http | Over::Shared | Over::Stdio => json!({ "url": http.url }),
        };
        Self {
            settings,
            http: Some(http),
            folder,
        }
    }

    /// Makes a script available: tools, and the answers of each in order. The gateway starts it.
    pub(crate) fn play(script: &Value) -> Self {
        let folder = TempDir::new().unwrap();
        let (file, record) = (folder.path().join("script"), folder.path().join("received"));
        std::fs::write(&file, script.to_string()).unwrap();
        let args = json!(["sample", "script", "--script", file, "--record", record]);
        Self {
            settings: json!({ "command": program(), "args": args, "scope": "shared" }),
            http: None,
            folder,
        }
    }

    /// The tools that were called and their arguments, in order.
    pub(crate) fn called(&self) -> Vec<(String, Value)> {
        let calls = self.received_with("\"tools/call\"").into_iter();
        let params =
            calls.map(|line| serde_json::from_str::<Value>(&line).unwrap()["params"].take());
        let called = params.map(|mut params| {
            let tool = params["name"].as_str().unwrap().to_owned();
            (tool, params["arguments"].take())
        });
        called.collect()
    }

    /// The same settings with one more key.
    pub(crate) fn with(&self, key: &str, value: Value) -> Value {
        let mut settings = self.settings.clone();
        settings[key] = value;
        settings
    }

    fn record(&self) -> PathBuf {
        self.folder.path().join("received")
    }

    /// Every message that was received, as it came.
    pub(crate) fn received(&self) -> Vec<String> {
        let record = std::fs::read(self.record()).unwrap_or_default();
        let record = String::from_utf8_lossy(&record).into_owned();
        record.lines().map(str::to_owned).collect()
    }

    /// The messages received that contain `text`.
    pub(crate) fn received_with(&self, text: &str) -> Vec<String> {
        let mut received = self.received();
        received.retain(|line| line.contains(text));
        received
    }

    /// Waits until a message was received that contains `text`, and returns the first.
    pub(crate) async fn until_received(&self, text: &str) -> String {
        until(&format!("`{text}` at the upstream"), || async {
            self.received_with(text).into_iter().next()
        })
        .await
    }
}

/// What every script begins with: one tool, `do`, and words to answer with.
const PRELUDE: &str = r#"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
say() { answer "$id" '{"content":[{"type":"text","text":"'"$1"'"}]}'; }
hello='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"script","version":"1"}}'
tools='{"tools":[{"name":"do","inputSchema":{"type":"object"}}]}'
while IFS= read -r line; do
  id=${line#*'"id":'}; id=${id%%,*}
  case "$line" in
    *'"method":"initialize"'*) answer "$id" "$hello" ;;
    *'"method":"tools/list"'*) answer "$id" "$tools" ;;
    *'"method":"tools/call"'*)
"#;

/// Returns the settings of a legacy upstream that is a shell script: `call` is what it does with
/// a call, whose line is `$line` and whose id is `$id`.
pub(crate) fn scripted(call: &str) -> Value {
    let script = format!("{PRELUDE}{call} ;;\n  esac\ndone");
    // A dollar with a brace would name a variable of the gateway's own environment.
    let script = script.replace("${", "$${");
    json!({ "command": "sh", "args": ["-c", script], "era": "legacy" })
}
