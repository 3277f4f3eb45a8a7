//! What the pipeline of hooks adds to a call: `cargo bench -p mcpproxy-engine --bench hooks`.
//!
//! The same call and answer go through the engine without hooks, with one and with ten that allow
//! everything in the same process, at 1 KB and at 64 KB. What a hook itself does is not measured
//! here; `mcpproxy hooks bench` does that for one of the configuration.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use mcpproxy_core::{
    Askable, Call, CallId, Clock, Declared, Door, Durability, FlowScope, HealthStatus, HookFault,
    Id128, Later, McpRequest, McpResponse, MessageKind, Outcome, Phases, Principal, Record,
    SecurityContext, SecurityDecision, SecurityHook, SessionBasis, SessionKey, SinkFault, Status,
    SystemClock, ToolName, ToolRef, Trace, UpstreamId, Wire,
};
use mcpproxy_engine::{Before, Engine, EngineSettings, Registry};
use mcpproxy_hooks::{Entry, Limits};

const SIZES: [usize; 2] = [1 << 10, 1 << 16];
const HOOKS: [usize; 3] = [0, 1, 10];
const CALLS: u64 = 2_000;

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
        leg: 0,
        at: clock.wall(),
        deadline: clock.tick().after(Duration::from_mins(1)),
        door: Door::Mcp,
        who: Principal::local(),
        scope: FlowScope(Id128(1)),
        session: SessionKey {
            basis: SessionBasis::McpSession,
            id: Id128(u128::from(number / 100)),
        },
        kind: MessageKind::Request("tools/call".into()),
        tool: ToolRef {
            upstream: UpstreamId::new("files"),
            tool: ToolName::new("echo"),
        },
        declared: Declared::default(),
        askable: Askable::Nobody,
        hook: None,
        trace: Trace::default(),
        wire: Wire {
            raw: raw.into(),
            ticket: Some(number),
        },
    }
}

async fn measured(size: usize, hooks: usize) -> Result<[Duration; 2], String> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let engine = Engine::new(
        EngineSettings::default(),
        Arc::new(Nowhere),
        Arc::clone(&clock),
    );
    let engine = engine.map_err(|fault| fault.to_string())?;
    if hooks > 0 {
        let entries = (0..hooks).map(|number| Entry {
            hook: Arc::new(Nod(format!("hook-{number}"))),
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
        .enable_time()
        .build();
    let runtime = runtime.map_err(|fault| fault.to_string())?;
    println!("before and after of one call, request and answer of the same size");
    println!(
        "{:>8} {:>6} {:>10} {:>10} {:>12}",
        "bytes", "hooks", "p50 us", "p99 us", "added p50"
    );
    for size in SIZES {
        let mut without = Duration::ZERO;
        for hooks in HOOKS {
            let run = async move { tokio::spawn(measured(size, hooks)).await };
            let run = runtime.block_on(run).map_err(|fault| fault.to_string())?;
            let [p50, p99] = run?;
            if hooks == 0 {
                without = p50;
            }
            let added = p50.saturating_sub(without).as_micros();
            let (p50, p99) = (p50.as_micros(), p99.as_micros());
            println!("{size:>8} {hooks:>6} {p50:>10} {p99:>10} {added:>12}");
        }
    }
    Ok(())
}
