//! Sessions that went by, taken through the real engine again without touching any upstream: for
//! trying a policy, for scenarios and for measuring.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use mcpproxy_core::{
    ActivitySink, Askable, Call, CallId, Clock, Declared, Door, Durability, FlowScope, Id128,
    Later, MessageKind, Operation, Outcome, Principal, Record, SessionBasis, SessionKey, SinkFault,
    Status, Tick, ToolName, ToolRef, Trace, UpstreamId, Verdict, Wall, Wire, exact,
};
use mcpproxy_hooks::Registry;
use mcpproxy_policy::scenario::{AnswerName, Caller};
use mcpproxy_policy::{decide, explain};
use mcpproxy_text::{Fault, Limits, check};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Deserializer;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

pub use mcpproxy_policy::Explanation;

use crate::DetectError;
use crate::engine::{After, Before, Engine, Said};
use crate::pipeline::Tried;
use crate::ready::EngineSettings;

/// Time between two calls that do not say when they were made.
const PACE: Duration = Duration::from_secs(10);
/// Time between two calls in which a session could have ended: none is followed for less.
const REST: Duration = Duration::from_mins(1);

/// A session that went by.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PastSession")]
pub struct Session {
    /// Its name.
    #[serde(default)]
    pub id: String,
    /// Who calls; who comes from this machine without a credential where nothing is said.
    #[serde(default)]
    pub caller: Option<Caller>,
    /// Its calls in order.
    pub calls: Vec<Step>,
}

impl Session {
    /// Reads one call, or a session of several, as strictly as the gateway reads a message.
    pub fn read(text: &str) -> Result<Self, SessionFault> {
        // The list of calls is a level more than a message has around its arguments.
        let limits = Limits {
            depth: Limits::default().depth + 1,
        };
        let text = check(text.as_bytes(), limits).map_err(SessionFault::Json)?;
        if !text.trim_start().starts_with('{') {
            return Err(SessionFault::NoObject);
        }
        let session = if mcpproxy_text::get(text, &["calls"]).is_some() {
            of_text(text)?
        } else {
            Self {
                id: String::new(),
                caller: None,
                calls: vec![of_text(text)?],
            }
        };
        for (number, step) in (1..).zip(&session.calls) {
            let (_, tool) = names(step);
            if tool.is_empty() || step.server.as_deref() == Some("") {
                return Err(SessionFault::Nameless(number));
            }
            let args = step.args.as_deref().map_or("null", RawValue::get);
            if !args.starts_with('{') && args != "null" {
                return Err(SessionFault::Arguments(number));
            }
        }
        Ok(session)
    }
}

/// Reads what [`check`] took to be one JSON value.
fn of_text<T: DeserializeOwned>(text: &str) -> Result<T, SessionFault> {
    exact(&mut Deserializer::from_str(text)).map_err(SessionFault::Shape)
}

/// Why a session cannot be taken through the engine.
#[derive(Debug, thiserror::Error)]
pub enum SessionFault {
    /// The gateway would refuse such JSON, too.
    #[error("{0}")]
    Json(Fault),
    /// It is JSON of another kind.
    #[error("it must be a JSON object")]
    NoObject,
    /// It is not made as a session is.
    #[error("{0}")]
    Shape(serde_json::Error),
    /// A call, by its number, has an empty name.
    #[error("call {0}: `tool` and `server` must not be empty; leave `server` out if it is unknown")]
    Nameless(usize),
    /// The arguments of a call, by its number, are no object.
    #[error("call {0}: `args` must be an object")]
    Arguments(usize),
}

/// One call of it. What is misspelled would be judged without it: nothing unknown is passed over.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PastCall", description = "One call of it.")]
pub struct Step {
    /// The upstream; without it the tool may be named `server:tool`.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub server: Option<String>,
    /// The tool.
    #[schemars(length(min = 1))]
    pub tool: String,
    /// What was sent.
    #[serde(default)]
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub args: Option<Box<RawValue>>,
    /// What came back: a text, or a value.
    #[serde(default)]
    #[schemars(with = "serde_json::Value")]
    pub result: Option<Box<RawValue>>,
    /// The operation that the agent declared.
    #[serde(default)]
    pub operation: Option<Operation>,
    /// How sensitive the agent said the data is.
    #[serde(default)]
    pub sensitivity: Option<Box<str>>,
    /// Why the agent sent data outside.
    #[serde(default)]
    pub flow_justification: Option<Box<str>>,
    /// What kind of destination the agent called it.
    #[serde(default)]
    pub flow_destination_type: Option<Box<str>>,
    /// When it was made, in milliseconds from the start of the session.
    #[serde(default, deserialize_with = "mcpproxy_core::whole")]
    #[schemars(range(max = u64::MAX))]
    pub at_ms: Option<u64>,
}

/// What came of one call of a session.
#[derive(Clone, Debug)]
pub struct Ran {
    /// What was decided about it.
    pub verdict: Arc<Verdict>,
    /// What became of its answer.
    pub answer: AnswerName,
}

/// The engine on its own, with a clock of its own.
#[derive(Debug)]
pub struct Replay {
    engine: Engine,
    clock: Arc<StepClock>,
    askable: Askable,
    calls: AtomicU64,
}

/// A step of a session, ready to be judged.
struct Prepared {
    call: Call,
    result: Bytes,
}

impl Replay {
    /// Makes an engine for replays; `askable` is whom questions could be put to.
    pub fn new(settings: EngineSettings, askable: Askable) -> Result<Self, DetectError> {
        let clock = Arc::new(StepClock::default());
        let sink = Arc::new(Nowhere);
        let engine = Engine::new(settings, sink, Arc::clone(&clock) as _)?;
        Ok(Self {
            engine,
            clock,
            askable,
            calls: AtomicU64::new(1),
        })
    }

    /// Returns the engine, to teach it about upstreams.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Judges every call of a session. A call that is denied brings nothing back; one about which
    /// somebody is asked is taken to be allowed.
    pub async fn run(&self, session: &Session) -> Result<Vec<Ran>, SinkFault> {
        let mut ran = Vec::with_capacity(session.calls.len());
        for (at, step) in session.calls.iter().enumerate() {
            let Prepared { call, result } = self.next(session, at, step).await;
            ran.push(self.step(call, result).await?);
        }
        Ok(ran)
    }

    /// Explains the last call of a session, after the others were judged.
    ///
    /// A session without calls explains nothing.
    pub async fn explain(&self, session: &Session) -> Result<Option<Explanation>, SinkFault> {
        let Some((last, before)) = session.calls.split_last() else {
            return Ok(None);
        };
        for (at, step) in before.iter().enumerate() {
            let Prepared { call, result } = self.next(session, at, step).await;
            self.step(call, result).await?;
        }
        let mut call = self.next(session, before.len(), last).await.call;
        let ready = self.engine.ready();
        let policy = &ready.settings.policy;
        let early = self.engine.guard_call(&mut call, None, &ready);
        let found = self.engine.found(&call, &early, &ready);
        let facts = found.seen.facts;
        let verdict = decide(policy, &call, &facts, found.findings);
        Ok(Some(explain(policy, &call, &facts, &verdict)))
    }

    /// Asks hooks about the calls of a session and what came back for them; nothing is judged.
    pub async fn try_hooks(&self, pipeline: &Registry, session: &Session) -> Vec<Tried> {
        let mut tried = Vec::new();
        for (at, step) in session.calls.iter().enumerate() {
            let (call, outcome) = self.went(session, at, step);
            tried.extend(self.engine.tried(pipeline, &call, outcome.as_ref()).await);
        }
        tried
    }

    /// Asks a native guard the same; the engine must have been made with this one alone.
    pub fn try_guard(&self, id: &str, session: &Session) -> Vec<Tried> {
        let mut tried = Vec::new();
        for (at, step) in session.calls.iter().enumerate() {
            let (call, outcome) = self.went(session, at, step);
            tried.extend(self.engine.tried_guard(id, call, outcome.as_ref()));
        }
        tried
    }

    /// Returns a call and, where that is known, what came back for it.
    fn went(&self, session: &Session, at: usize, step: &Step) -> (Call, Option<Outcome>) {
        let Prepared { call, result } = self.prepare(session, at, step);
        let outcome = step.result.is_some().then(|| Outcome {
            body: result,
            status: Status::Success,
            took: Duration::ZERO,
        });
        (call, outcome)
    }

    async fn step(&self, call: Call, result: Bytes) -> Result<Ran, SinkFault> {
        let stopped = |verdict| Ran {
            verdict,
            answer: AnswerName::None,
        };
        let mut before = self.engine.before(call).await;
        if let Before::Asked(asked) = before {
            before = self.engine.answered(*asked, Said::Yes).await;
        }
        match before {
            Before::Cleared(cleared) => {
                let outcome = Outcome {
                    body: result,
                    status: Status::Success,
                    took: Duration::ZERO,
                };
                let answer = match self.engine.after(&cleared, &outcome, None).await? {
                    After::Passed => AnswerName::Passed,
                    After::Replaced(_) => AnswerName::Changed,
                    After::Withheld(_) => AnswerName::Withheld,
                };
                let verdict = Arc::clone(cleared.verdict());
                Ok(Ran { verdict, answer })
            }
            Before::Denied(denied) => Ok(stopped(denied.verdict)),
            Before::Asked(asked) => Ok(stopped(Arc::clone(asked.verdict()))),
            Before::Unrecorded(fault) => Err(fault),
        }
    }

    /// Prepares a step, after what the gateway would have done about those that rested until then.
    async fn next(&self, session: &Session, at: usize, step: &Step) -> Prepared {
        let before = self.clock.tick();
        let prepared = self.prepare(session, at, step);
        if at > 0 && before.until(self.clock.tick()) >= REST {
            self.engine.sweep().await;
        }
        prepared
    }

    fn prepare(&self, session: &Session, at: usize, step: &Step) -> Prepared {
        let default = PACE.saturating_mul(u32::try_from(at).unwrap_or(u32::MAX));
        let since = step.at_ms.map_or(default, Duration::from_millis);
        self.clock.set(since);
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        let domain = domain(&session.id);
        let (upstream, tool) = names(step);
        let args = step.args.as_deref().map_or("{}", RawValue::get);
        let name = serde_json::Value::from(tool);
        let raw = format!(r#"{{"params":{{"name":{name},"arguments":{args}}}}}"#);
        let call = Call {
            id: CallId::new(self.clock.wall().0, u128::from(number)),
            leg: 0,
            at: self.clock.wall(),
            deadline: self.clock.tick().after(PACE),
            door: Door::Cli,
            who: session
                .caller
                .as_ref()
                .map_or_else(Principal::local, Into::into),
            scope: FlowScope(domain),
            session: SessionKey {
                basis: SessionBasis::McpSession,
                id: domain,
            },
            kind: MessageKind::Request("tools/call".into()),
            tool: ToolRef {
                upstream: UpstreamId::new(&*upstream),
                tool: ToolName::new(tool),
            },
            declared: Declared {
                operation: step.operation,
                sensitivity: step.sensitivity.clone(),
                flow_justification: step.flow_justification.clone(),
                flow_destination_type: step.flow_destination_type.clone(),
                ..Declared::default()
            },
            askable: self.askable,
            hook: None,
            trace: Trace::default(),
            wire: Wire {
                raw: raw.into(),
                ticket: None,
            },
        };
        let result = step.result.as_deref().map_or("null", RawValue::get);
        Prepared {
            call,
            result: answer(result).into(),
        }
    }
}

/// A result as an upstream would have sent it.
fn answer(result: &str) -> String {
    if result.trim_start().starts_with('"') {
        return format!(r#"{{"content":[{{"type":"text","text":{result}}}]}}"#);
    }
    if mcpproxy_text::get(result, &["content"]).is_some() {
        return result.to_owned();
    }
    format!(r#"{{"content":[],"structuredContent":{result}}}"#)
}

fn names(step: &Step) -> (Cow<'_, str>, &str) {
    // A colon with nothing after it is part of a name.
    let parts = step.tool.split_once(':');
    match (&step.server, parts.filter(|(_, tool)| !tool.is_empty())) {
        (Some(server), _) => (Cow::Borrowed(server), &step.tool),
        (None, Some((server, tool))) => (Cow::Borrowed(server), tool),
        (None, None) => (Cow::Borrowed(""), &step.tool),
    }
}

fn domain(id: &str) -> Id128 {
    let digest: [u8; 32] = Sha256::digest(id).into();
    let (first, _) = digest.split_first_chunk().unwrap_or((&[0; 16], &[]));
    Id128::from_bytes(*first)
}

/// A clock that stands where it was set.
#[derive(Debug, Default)]
struct StepClock(AtomicU64);

impl StepClock {
    fn set(&self, since: Duration) {
        let millis = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        self.0.store(millis, Ordering::Relaxed);
    }
}

impl Clock for StepClock {
    fn tick(&self) -> Tick {
        Tick(Duration::from_millis(self.0.load(Ordering::Relaxed)))
    }

    fn wall(&self) -> Wall {
        Wall(self.0.load(Ordering::Relaxed))
    }
}

/// Keeps nothing: a replay is no activity.
#[derive(Debug)]
struct Nowhere;

impl ActivitySink for Nowhere {
    fn append(&self, _: Record, _: Durability) -> Later<'_, Result<(), SinkFault>> {
        Box::pin(std::future::ready(Ok(())))
    }
}
