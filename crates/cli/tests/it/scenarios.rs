//! The scenario files, each played four times: by `policy test`, through the gateway with real
//! upstream processes, there again with an agent whose hook announces every call, and with the
//! defence off, which shows that a leak would arrive.
//!
//! What a file expects is in the file. What is compared here beside it is what the upstreams got.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mcpproxy_config::{SecuritySettings, read_scenario};
use mcpproxy_core::{Action, FlowType, RiskLevel};
use mcpproxy_policy::scenario::{OperationName, Scenario, Step};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::quarantine::through_a_shell;
use crate::support::{Gateway, Home, Legacy, Upstream, text_of, until};

pub(super) type Plan = Scenario<SecuritySettings>;

/// Gateways that run at once.
const AT_ONCE: usize = 3;

/// How a file is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Nothing is checked.
    Open,
    /// Calls are checked as they come by.
    Proxy,
    /// An agent's hook announces every call, and the agent does not make one that is denied.
    Hooked,
}

/// The files, and a folder with those that are too long to be kept.
struct Files {
    paths: Vec<PathBuf>,
    _folder: TempDir,
}

impl Files {
    fn new() -> Self {
        let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
        let kept = std::fs::read_dir(kept).unwrap();
        let mut paths: Vec<_> = kept.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        assert!(paths.len() > 30, "{paths:?}");
        let folder = TempDir::new().unwrap();
        let long = folder.path().join("long-answer.yaml");
        std::fs::write(&long, long_answer().to_string()).unwrap();
        paths.push(long);
        Self {
            paths,
            _folder: folder,
        }
    }

    /// Plays every file, some at once.
    async fn play(&self, mode: Mode) {
        let few = Arc::new(Semaphore::new(AT_ONCE));
        let mut plays = JoinSet::new();
        for path in self.paths.clone() {
            let few = Arc::clone(&few);
            plays.spawn(async move {
                let _turn = few.acquire().await.unwrap();
                let text = std::fs::read_to_string(&path).unwrap();
                let plan = read_scenario(&path, &text).unwrap();
                let file = path.file_name().unwrap().to_string_lossy().into_owned();
                Stage::start(file, plan, mode).await.play().await;
            });
        }
        while let Some(played) = plays.join_next().await {
            played.unwrap();
        }
    }
}

/// A key at the end of an answer of more than 64 KiB.
fn long_answer() -> Value {
    let rows: Vec<_> = (0..2000)
        .map(|row| json!({ "row": row, "remark": format!("crate {row} stands on pier {}", row % 7) }))
        .collect();
    let secret = "glpat-n3Wq8mZt2VcK7xRb5LpY";
    let answer = json!({ "rows": rows, "last": { "token": secret } }).to_string();
    assert!(answer.len() > 64 * 1024);
    json!({
        "name": "a key behind the first 64 KiB of an answer is recognized",
        "upstreams": [{ "name": "github" }, { "name": "slack" }],
        "steps": [
            { "call": "github:dump", "operation": "read", "result": answer },
            {
                "call": "slack:post_message", "operation": "write",
                "args": { "text": format!("it is {secret}") },
                "expect": { "decision": "deny", "risk": "critical", "flow": "internal→external" },
            },
        ],
    })
}

/// Other tools, which an upstream lists after so many calls.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Turn {
    upstream: String,
    after_calls: usize,
    tools: Vec<Value>,
}

/// What upstreams do beside answering.
#[derive(Clone, Debug, Default)]
pub(super) struct Cast {
    /// How one of them changes.
    pub(super) turn: Option<Turn>,
    /// Whether every upstream but the first is started by another program.
    pub(super) strangers: bool,
}

/// One scenario with its gateway and its upstreams.
pub(super) struct Stage {
    file: String,
    plan: Plan,
    mode: Mode,
    turn: Option<Turn>,
    upstreams: BTreeMap<String, Upstream>,
    gateway: Gateway,
}

impl Stage {
    async fn start(file: String, plan: Plan, mode: Mode) -> Self {
        Self::start_as(file, plan, mode, Cast::default()).await
    }

    /// The same with a cast of its own.
    pub(super) async fn start_as(file: String, plan: Plan, mode: Mode, cast: Cast) -> Self {
        let defended = mode != Mode::Open;
        let turn = cast.turn.filter(|_| defended);
        let names = plan.upstreams.iter().map(|one| one.name.clone());
        let upstreams: BTreeMap<_, _> = names
            .map(|name| {
                let mut script = script(&plan, &name, defended);
                if let Some(turn) = turn.as_ref().filter(|turn| turn.upstream == name) {
                    script["turns"] =
                        json!({ "after_calls": turn.after_calls, "tools": turn.tools });
                }
                (name, Upstream::play(&script))
            })
            .collect();
        let first = plan.upstreams.first().map(|one| one.name.clone());
        let first = first.filter(|_| cast.strangers);
        let settings = upstreams.iter().map(|(name, one)| {
            let settings = match &first {
                Some(first) if first != name => through_a_shell(one),
                Some(_) | None => one.settings.clone(),
            };
            (name.clone(), settings)
        });
        let config = json!({
            "routing_mode": if declares(&plan) { "call" } else { "all" },
            "activity": { "durability": "strict" },
            "mcpServers": settings.collect::<Map<_, _>>(),
            "security": security(&plan, defended),
        });
        let gateway = Gateway::start_in(Home::new(&config)).await;
        Self {
            file,
            plan,
            mode,
            turn,
            upstreams,
            gateway,
        }
    }

    /// Has the gateway read the lists again once an upstream has turned.
    async fn turned(&self) {
        let Some(turn) = &self.turn else { return };
        let Turn {
            upstream,
            after_calls,
            ..
        } = turn;
        if self.upstreams[upstream].called().len() != *after_calls {
            return;
        }
        let path = format!("/api/v1/servers/{upstream}/refresh");
        until("the upstream to turn", || async {
            self.gateway.owner().post(&path, &json!({})).await;
            let tools = self.gateway.api("/tools").await;
            let mut tools = tools.as_array().unwrap().iter();
            tools.any(|one| one["state"] == "rug_pull").then_some(())
        })
        .await;
    }

    /// Makes every call, and compares what came of them.
    pub(super) async fn play(self) {
        let downstream = Legacy::open(&self.gateway.url("/mcp"), json!({})).await;
        for step in &self.plan.steps {
            self.turned().await;
            let (tool, arguments) = called(&self.plan, step);
            if self.mode == Mode::Hooked && !self.announced(step, &tool, &arguments).await {
                continue;
            }
            let result = downstream.call(&tool, arguments).await;
            if self.mode != Mode::Open {
                self.compare_answer(step, &result);
            }
        }
        if self.mode == Mode::Proxy {
            self.compare_records();
        }
        if self.mode == Mode::Hooked {
            self.compare_links();
        }
        for (name, upstream) in &self.upstreams {
            let steps = self.plan.steps.iter();
            let expect: Vec<_> = steps
                .map(|step| (target(step), step))
                .filter(|((at, _), step)| at == name && arrives(step, self.mode != Mode::Open))
                .map(|((_, tool), step)| (tool.to_owned(), Value::Object(step.args.clone())))
                .collect();
            assert_eq!(upstream.called(), expect, "{}: {name}", self.file);
        }
    }

    /// Lets the agent's hook announce a call; tells whether the agent may make it.
    async fn announced(&self, step: &Step, tool: &str, arguments: &Value) -> bool {
        let payload = json!({
            "session_id": "scenario", "hook_event_name": "PreToolUse",
            "tool_name": format!("mcp__mcpproxy__{tool}"), "tool_input": arguments,
        });
        let owner = self.gateway.owner();
        let (status, answer) = owner.post("/api/v1/hooks/evaluate", &payload).await;
        let place = format!("{}: {}: {answer}", self.file, step.call);
        assert_eq!(status, 200, "{place}");
        let said = &answer["data"];
        let expect = &step.expect;
        let shadow = expect.effective == Some(Action::Allow);
        match expect.decision.filter(|_| !shadow) {
            Some(Action::Deny) => assert_eq!(said["decision"], "deny", "{place}"),
            // An agent can ask its user; a call that comes by without one is only warned about.
            Some(Action::Ask) => assert_eq!(said["decision"], "ask", "{place}"),
            Some(Action::Allow | Action::Warn) => assert_eq!(said["decision"], "allow", "{place}"),
            None => {}
        }
        if let Some(risk) = expect.risk {
            assert_eq!(said["risk_level"], json!(RiskLevel::from(risk)), "{place}");
        }
        if let Some(flow) = expect.flow {
            assert_eq!(said["flow_type"], json!(FlowType::from(flow)), "{place}");
        }
        if let (Some(Action::Deny), Some(reason)) = (expect.decision, &expect.reason_contains)
            && !shadow
        {
            assert!(said["reason"].as_str().unwrap().contains(reason), "{place}");
        }
        said["decision"] != "deny"
    }

    /// Every call that came by belongs to the conversation that announced it.
    fn compare_links(&self) {
        let mut records = self.gateway.home.activity();
        records.retain(|one| one["type"] == "tool_call");
        for record in &records {
            assert!(
                record["mcp_session_id"].is_string(),
                "{}: {record}",
                self.file
            );
        }
    }

    fn compare_answer(&self, step: &Step, result: &Value) {
        let place = format!("{}: {}: {result}", self.file, step.call);
        let denied = !arrives(step, true);
        assert_eq!(result["isError"] == true, denied, "{place}");
        if let (true, Some(reason)) = (denied, &step.expect.reason_contains) {
            assert!(text_of(result).contains(reason), "{place}");
        }
    }

    fn compare_records(&self) {
        let mut records = self.gateway.home.activity();
        records.retain(|one| one["type"] == "tool_call" || one["type"] == "policy_decision");
        assert_eq!(records.len(), self.plan.steps.len(), "{}", self.file);
        for (step, record) in self.plan.steps.iter().zip(&records) {
            let expect = &step.expect;
            let place = format!("{}: {}: {record}", self.file, step.call);
            let check = |key: &str, expect: Option<Value>| {
                if let Some(expect) = expect {
                    assert_eq!(record[key], expect, "{key} of {place}");
                }
            };
            assert_ne!(record["correlation_id"], "", "{place}");
            let (upstream, tool) = target(step);
            check("server_name", Some(json!(upstream)));
            check("tool_name", Some(json!(tool)));
            check("decision", expect.decision.map(|one| json!(one)));
            check("effective", expect.effective.map(|one| json!(one)));
            check(
                "risk_level",
                expect.risk.map(|one| json!(RiskLevel::from(one))),
            );
            check(
                "flow_type",
                expect.flow.map(|one| json!(FlowType::from(one))),
            );
            if let Some(rule) = &expect.rule {
                let findings = record["findings"].as_array().unwrap();
                let found = findings.iter().any(|one| one["rule"] == rule.as_str());
                assert!(found, "{rule} in {place}");
            }
        }
    }
}

/// Whether a call is expected at its upstream.
fn arrives(step: &Step, defended: bool) -> bool {
    !defended || step.expect.effective.or(step.expect.decision) != Some(Action::Deny)
}

/// The upstream and the tool of a step.
fn target(step: &Step) -> (&str, &str) {
    let parts = step.call.split_once(':').or(step.call.split_once("__"));
    parts.unwrap_or_else(|| panic!("`{}` names no upstream", step.call))
}

/// Whether the agent says what its calls do, for which there are tools in call mode.
fn declares(plan: &Plan) -> bool {
    plan.steps.iter().any(|step| step.operation.is_some())
}

/// The tool that a downstream calls for a step, and its arguments.
fn called(plan: &Plan, step: &Step) -> (String, Value) {
    let (upstream, tool) = target(step);
    if !declares(plan) {
        return (format!("{upstream}__{tool}"), json!(step.args));
    }
    let tool = format!("{upstream}:{tool}");
    let variant = match step.operation {
        Some(OperationName::Read) => "call_tool_read",
        Some(OperationName::Destructive) => "call_tool_destructive",
        Some(OperationName::Write) | None => "call_tool_write",
    };
    let mut arguments = json!({ "name": tool, "args": step.args });
    for (key, value) in [
        ("flow_justification", &step.flow_justification),
        ("flow_destination_type", &step.flow_destination_type),
        ("intent_data_sensitivity", &step.intent_data_sensitivity),
    ] {
        if let Some(value) = value {
            arguments[key] = json!(value);
        }
    }
    (variant.to_owned(), arguments)
}

/// What an upstream lists, and what it answers to the calls that reach it.
fn script(plan: &Plan, upstream: &str, defended: bool) -> Value {
    let mut tools = BTreeMap::new();
    let mut results: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for step in &plan.steps {
        let (at, tool) = target(step);
        if at != upstream {
            continue;
        }
        tools.insert(
            tool,
            json!({ "name": tool, "inputSchema": { "type": "object" } }),
        );
        let results = results.entry(tool).or_default();
        if arrives(step, defended) {
            results.push(step.result.clone().unwrap_or_else(|| json!("done")));
        }
    }
    for listed in plan.upstreams.iter().filter(|one| one.name == upstream) {
        for tool in &listed.tools {
            let descriptor = tools.get_mut(tool["name"].as_str().unwrap()).unwrap();
            descriptor.as_object_mut().unwrap().extend(tool.clone());
        }
    }
    json!({ "tools": tools.into_values().collect::<Vec<_>>(), "results": results })
}

/// The `security` section of a scenario, with the classes that it gives.
fn security(plan: &Plan, defended: bool) -> Value {
    if !defended {
        return json!({ "enabled": false });
    }
    let mut security = json!(plan.config);
    for upstream in &plan.upstreams {
        if let Some(class) = upstream.class {
            let overrides = &mut security["classification"]["server_overrides"];
            overrides[upstream.name.as_str()] = json!(class);
        }
    }
    security
}

#[tokio::test]
async fn policy_test_finds_what_every_file_expects() {
    let files = Files::new();
    let mut args = vec!["policy", "test"];
    args.extend(files.paths.iter().map(|path| path.to_str().unwrap()));
    let done = Home::new(&json!({})).run(&args).await;
    let said = String::from_utf8_lossy(&done.stdout);
    assert_eq!(done.status.code(), Some(0), "{said}");
    assert_eq!(said.lines().count(), files.paths.len(), "{said}");
}

#[tokio::test]
async fn the_gateway_decides_the_same_and_what_it_denies_never_arrives() {
    Files::new().play(Mode::Proxy).await;
}

#[tokio::test]
async fn with_the_defence_off_every_leak_arrives() {
    Files::new().play(Mode::Open).await;
}

/// SC-009: the same scenarios with hooks, which ask earlier and can ask the user.
#[tokio::test]
async fn with_hooks_the_same_is_decided_before_the_agent_calls() {
    Files::new().play(Mode::Hooked).await;
}
