//! What guards and hooks add to a call: `cargo xtask bench hooks`.
//!
//! The same call and answer go through the engine without any, with every native guard at work (also
//! access policies and the schema of the tool), and with one
//! and ten hooks that allow everything: in the same process, behind a webhook and behind gRPC on
//! loopback, and as a WebAssembly component whose file is named; at 1 KB and at 64 KB. The
//! ratio is to the call without any, in the same run. Beside what each adds stands whether that is
//! within the budget of the specification, for the whole chain of one kind; where it is not, the run
//! fails. What is aimed at beyond is told.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

mod service;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use mcpproxy_core::{
    Askable, Call, CallId, Clock, Durability, HealthStatus, HookFault, Id128, Later, McpRequest,
    McpResponse, Outcome, Phases, Principal, Record, SecurityContext, SecurityDecision,
    SecurityHook, SessionBasis, SessionKey, SinkFault, Span, Status, SystemClock, ToolName,
    ToolRef, UpstreamId, Wire,
};
use mcpproxy_engine::{Before, Described, Engine, EngineSettings, Profile, Registry};
use mcpproxy_hooks::guards::{self, abuse, access, behaviour, contents, context, dlp};
use mcpproxy_hooks::{Entry, Limits};
use mcpproxy_hooks_cedar::CedarRules;
use mcpproxy_hooks_remote::{
    GrpcConfig, GrpcHook, GrpcSettings, Method, Protocol, Webhook, WebhookConfig, WebhookSettings,
};
use mcpproxy_hooks_wasm::{WasmHook, WasmSettings};
use mcpproxy_testkit::samples;

const SIZES: [usize; 2] = [1 << 10, 1 << 16];
const CALLS: u64 = 2_000;
/// What all native guards together may add to a call of a kilobyte, as it is aimed at.
const AIM: (usize, Duration) = (1 << 10, Duration::from_micros(100));
const BOTH: Phases = Phases {
    request: true,
    response: true,
    listing: false,
    notification: false,
    reverse: false,
};

/// What stands in the way of a call.
#[derive(Clone, Debug)]
enum Chain {
    Nothing,
    Guards,
    Nods(usize),
    Webhooks(usize),
    Grpc(usize),
    Wasm(usize, PathBuf),
}

impl Chain {
    fn name(&self) -> String {
        match self {
            Self::Nothing => "nothing".to_owned(),
            Self::Guards => "native guards".to_owned(),
            Self::Nods(count) => format!("{count} in process"),
            Self::Webhooks(count) => format!("{count} webhook"),
            Self::Grpc(count) => format!("{count} gRPC"),
            Self::Wasm(count, _) => format!("{count} wasm"),
        }
    }

    /// What a call may take longer because of it: usually, and once in a hundred times. Components
    /// have no budget of their own and are held to that of native guards.
    fn budget(&self) -> Option<[Duration; 2]> {
        let millis = match self {
            Self::Nothing => return None,
            Self::Guards | Self::Nods(_) | Self::Wasm(..) => [1, 5],
            Self::Grpc(_) => [20, 50],
            Self::Webhooks(_) => [50, 200],
        };
        Some(millis.map(Duration::from_millis))
    }

    /// Tells whether the specification has a budget for it.
    fn is_specified(&self) -> bool {
        !matches!(self, Self::Nothing | Self::Wasm(..))
    }

    /// All that are measured; the first is what the others are compared with.
    fn all(component: Option<&PathBuf>) -> Vec<Self> {
        let mut all = vec![Self::Nothing, Self::Guards];
        for count in [1, 10] {
            all.extend([Self::Nods(count), Self::Webhooks(count), Self::Grpc(count)]);
            all.extend(component.map(|file| Self::Wasm(count, file.clone())));
        }
        all
    }

    async fn hooks(&self, clock: &Arc<dyn Clock>) -> Result<Vec<Arc<dyn SecurityHook>>, String> {
        let mut hooks: Vec<Arc<dyn SecurityHook>> = Vec::new();
        match self {
            Self::Nothing | Self::Guards => {}
            Self::Nods(count) => {
                for number in 0..*count {
                    hooks.push(Arc::new(Nod(format!("hook-{number}"))));
                }
            }
            Self::Webhooks(count) => {
                let url = service::webhook()
                    .await
                    .map_err(|fault| fault.to_string())?;
                let settings = WebhookSettings {
                    url,
                    method: Method::Post,
                    headers: BTreeMap::new(),
                    config: WebhookConfig::default(),
                };
                for number in 0..*count {
                    let (id, clock) = (format!("hook-{number}"), Arc::clone(clock));
                    let made = Webhook::new(&*id, 1, BOTH, &settings, clock);
                    hooks.push(Arc::new(made.map_err(|fault| fault.to_string())?));
                }
            }
            Self::Grpc(count) => {
                let settings = GrpcSettings {
                    endpoint: service::grpc().await.map_err(|fault| fault.to_string())?,
                    protocol: Protocol::default(),
                    headers: BTreeMap::new(),
                    config: GrpcConfig::default(),
                };
                for number in 0..*count {
                    let made = GrpcHook::new(format!("hook-{number}"), 1, BOTH, &settings);
                    hooks.push(Arc::new(made.map_err(|fault| fault.to_string())?));
                }
            }
            Self::Wasm(count, file) => {
                let settings = WasmSettings {
                    path: file.clone(),
                    // What the example asks for, and no call of the bench names.
                    config: serde_json::from_str(r#"{"settings":{"guarded":["id_rsa"]}}"#)
                        .map_err(|fault| fault.to_string())?,
                };
                for number in 0..*count {
                    let made = WasmHook::new(format!("hook-{number}"), 1, BOTH, &settings);
                    hooks.push(Arc::new(made.map_err(|fault| fault.to_string())?));
                }
            }
        }
        Ok(hooks)
    }
}

/// What a chain added to a call, at the median and at the 99th percentile.
#[derive(Clone, Copy)]
struct Added([Duration; 2]);

impl Added {
    /// Tells whether it is within the budget of the specification, where there is one.
    fn holds(self, chain: &Chain) -> Option<bool> {
        let (Self([usual, rare]), [most, most_rarely]) = (self, chain.budget()?);
        Some(usual < most && rare < most_rarely)
    }

    /// Says what became of the budget, with what it is.
    fn verdict(self, chain: &Chain) -> String {
        let (Some(held), Some(budget)) = (self.holds(chain), chain.budget()) else {
            return String::new();
        };
        let [most, most_rarely] = budget.map(|one| one.as_millis());
        let word = if held { "held" } else { "MISSED" };
        format!("{word} (p50 < {most} ms, p99 < {most_rarely} ms)")
    }
}

/// The native guards over calls, with settings under which a harmless call passes.
fn guards(chain: &Chain) -> guards::Settings {
    let usual = guards::Settings::default();
    if !matches!(chain, Chain::Guards) {
        return usual;
    }
    let limit = abuse::Limit {
        calls_per_minute: 100_000_000,
        burst: 100_000_000,
        concurrent: 1000,
        bytes_per_minute: u32::MAX,
    };
    guards::Settings {
        abuse: Some(abuse::Settings {
            per_principal: limit,
            per_session: limit,
            per_server: limit,
            per_tool: limit,
            ..abuse::Settings::default()
        }),
        behaviour: Some(behaviour::Settings {
            learning_time: Span::from_secs(0),
            ..behaviour::Settings::default()
        }),
        contents: Some(contents::Settings::default()),
        context: Some(context::Settings::default()),
        access: Some(access::Settings::default()),
        dlp: Some(dlp::Settings::default()),
        ..usual
    }
}

/// Allows everything at once.
#[derive(Debug)]
struct Nod(String);

impl SecurityHook for Nod {
    fn id(&self) -> &str {
        &self.0
    }

    fn name(&self) -> &'static str {
        "Nod"
    }

    fn description(&self) -> &'static str {
        "Allows everything"
    }

    fn priority(&self) -> u32 {
        1
    }

    fn runs_on(&self) -> Phases {
        Phases {
            request: true,
            response: true,
            ..Phases::default()
        }
    }

    fn inspect_request<'a>(
        &'a self,
        _: &'a SecurityContext,
        _: &'a McpRequest,
    ) -> Later<'a, Result<SecurityDecision, HookFault>> {
        Box::pin(async { Ok(SecurityDecision::Allow) })
    }

    fn inspect_response<'a>(
        &'a self,
        _: &'a SecurityContext,
        _: &'a McpRequest,
        _: &'a McpResponse,
    ) -> Later<'a, Result<SecurityDecision, HookFault>> {
        Box::pin(async { Ok(SecurityDecision::Allow) })
    }

    fn health_check(&self) -> Later<'_, Result<HealthStatus, HookFault>> {
        Box::pin(async { Err(HookFault::Late) })
    }
}

/// Keeps nothing.
#[derive(Debug)]
struct Nowhere;

impl mcpproxy_core::ActivitySink for Nowhere {
    fn append(&self, _: Record, _: Durability) -> Later<'_, Result<(), SinkFault>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

fn call(clock: &dyn Clock, number: u64, text: &str) -> Call {
    let raw = format!(
        r#"{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"{text}"}}}}}}"#
    );
    Call {
        id: CallId::new(clock.wall().0, number.into()),
        at: clock.wall(),
        deadline: clock.tick().after(Duration::from_mins(1)),
        who: Principal::local(),
        session: SessionKey {
            basis: SessionBasis::McpSession,
            id: Id128(u128::from(number / 100)),
        },
        tool: ToolRef {
            upstream: UpstreamId::new("files"),
            tool: ToolName::new("echo"),
        },
        askable: Askable::Nobody,
        wire: Wire {
            raw: raw.into(),
            ticket: Some(number),
        },
        ..samples::call()
    }
}

/// Access policies of which one permits the call and one has to look at its arguments.
const POLICIES: &str = r#"
permit(principal == Local::"local", action == Action::"tools/call", resource in Server::"files");
forbid(principal, action, resource)
when { context.arguments has path && context.arguments.path like "*.key" };
"#;

/// Has the upstream list its tool, so that there is a form to hold calls to.
fn listed(engine: &Engine) {
    let descriptor = r#"{"name":"echo","description":"Says the same again.","inputSchema":{"type":"object","properties":{"text":{"type":"string","minLength":1}},"required":["text"],"additionalProperties":false},"annotations":{"readOnlyHint":true}}"#;
    let tool = Described {
        name: ToolName::new("echo"),
        descriptor: Bytes::from_static(descriptor.as_bytes()),
    };
    engine.learn(&UpstreamId::new("files"), Profile::default(), vec![tool]);
}

async fn measured(size: usize, chain: Chain) -> Result<[Duration; 2], String> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let settings = EngineSettings {
        guards: guards(&chain),
        ..EngineSettings::default()
    };
    let engine = Engine::new(settings, Arc::new(Nowhere), Arc::clone(&clock));
    let engine = engine.map_err(|fault| fault.to_string())?;
    listed(&engine);
    if matches!(chain, Chain::Guards) {
        let rules = CedarRules::parse(POLICIES, "bench").map_err(|fault| fault.to_string())?;
        engine.set_access(Some(Arc::new(rules)));
    }
    let hooks = chain.hooks(&clock).await?;
    if !hooks.is_empty() {
        let entries = hooks.into_iter().map(|hook| Entry {
            hook,
            limits: Limits::default(),
        });
        let metrics = Arc::clone(engine.metrics());
        let registry = Registry::start(entries.collect(), metrics, &clock).await;
        let registry = registry.map_err(|fault| fault.to_string())?;
        engine.set_hooks(Some(Arc::new(registry)));
    }
    let text = "a line of plain text that says nothing. ".repeat(size / 40);
    let body = Bytes::from(format!(
        r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#
    ));
    let mut took = Vec::new();
    for number in 0..CALLS {
        let call = call(&*clock, number, &text);
        let began = Instant::now();
        let Before::Cleared(cleared) = engine.before(call).await else {
            return Err("a harmless call was not cleared".to_owned());
        };
        let outcome = Outcome {
            body: body.clone(),
            status: Status::Success,
            took: Duration::ZERO,
        };
        let after = engine.after(&cleared, &outcome, None).await;
        after.map_err(|fault| fault.to_string())?;
        took.push(began.elapsed());
    }
    took.sort_unstable();
    let at = |percent: usize| took.get(took.len() * percent / 100).copied();
    Ok([50, 99].map(|percent| at(percent).unwrap_or_default()))
}

fn main() -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|fault| fault.to_string())?;
    let given = std::env::args().skip(1).find(|one| !one.starts_with('-'));
    let chains = Chain::all(given.map(PathBuf::from).as_ref());
    println!("before and after of one call, request and answer of the same size");
    println!(
        "{:>8} {:>14} {:>10} {:>10} {:>8} {:>12} {:>12}  budget",
        "bytes", "chain", "p50 us", "p99 us", "ratio", "added p50 us", "added p99 us"
    );
    let (mut missed, mut aimed) = (Vec::new(), None);
    for size in SIZES {
        let mut without = [Duration::ZERO; 2];
        for chain in &chains {
            let name = chain.name();
            let run = measured(size, chain.clone());
            let run = runtime.block_on(async move { tokio::spawn(run).await });
            let took = run.map_err(|fault| fault.to_string())??;
            if matches!(chain, Chain::Nothing) {
                without = took;
            }
            let ([p50, p99], [usual, rare]) = (took, without);
            let ratio = p50.as_secs_f64() / usual.as_secs_f64();
            let added = Added([p50.saturating_sub(usual), p99.saturating_sub(rare)]);
            let budget = added.verdict(chain);
            if added.holds(chain) == Some(false) && chain.is_specified() {
                missed.push(format!("{name} at {size} bytes"));
            }
            let [p50, p99] = took.map(|one| one.as_micros());
            let Added([more, more_rarely]) = added;
            if matches!(chain, Chain::Guards) && size == AIM.0 {
                aimed = Some(more);
            }
            let [more, more_rarely] = [more, more_rarely].map(|one| one.as_micros());
            println!(
                "{size:>8} {name:>14} {p50:>10} {p99:>10} {ratio:>8.2} {more:>12} {more_rarely:>12}  {budget}"
            );
        }
    }
    if let Some(more) = aimed {
        let (size, most) = AIM;
        let met = if more < most { "met" } else { "missed" };
        println!(
            "aim: native guards add less than {} us at {size} bytes, p50: {} us, {met}",
            most.as_micros(),
            more.as_micros()
        );
    }
    if missed.is_empty() {
        return Ok(());
    }
    Err(format!("past the budget: {}", missed.join(", ")))
}
