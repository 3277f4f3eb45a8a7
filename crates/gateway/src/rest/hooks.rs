//! `/hooks/evaluate`: what agents' hooks ask and tell, in their own payloads or in the plain shape
//! of the specification. It translates; the engine decides.

mod links;

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::{Request, State as AxumState};
use axum::response::Response;
use http::StatusCode;
use mcpproxy_agents::hook::{
    Asked, CANARY, HookAgent, HookError, HookEvent, MAX_PAYLOAD, Tool, read,
};
use mcpproxy_control::may_audit;
use mcpproxy_core::{
    Action, Askable, Asker, Call, CallId, Door, FlowType, Hooked, MessageKind, Owner, Phase,
    Principal, PrincipalKind, Risk, RiskLevel, SessionKey, Trace, Wire,
};
use mcpproxy_engine::{Evaluation, Fingerprint};
use mcpproxy_mcp::body::read_bounded;
use mcpproxy_mcp::compose::quoted;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::route::{self, For};
use super::{Shared, Who, done, failed, taken};
use crate::aim::Aim;
use crate::gateway::Gateway;
use crate::line::Line;
use crate::notices::Notice;
use crate::settings::RoutingMode;
use crate::unjudged::Knock;

/// What it is told.
pub const CANARY_REASON: &str = "This is a test: the hook blocks.";
/// What is said where hooks are not asked about.
const SWITCHED_OFF: &str = "agent hooks are switched off";
/// How long a payload may take to come in.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long an answer may take to be found. A hook waits for two seconds from its start and then
/// answers by itself, so that less is left here.
const JUDGING: Duration = Duration::from_millis(1500);

/// What the caller knows beside the payload.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Told {
    agent: Option<String>,
    event: Option<String>,
    /// The name of the question, by which a hook that did not wait tells of it later.
    asked: Option<String>,
    /// What the hook answers by itself if this takes too long; it lets the tool be used if that is
    /// not said.
    late: Option<Action>,
}

/// The answer: what the specification asks for, and what the hook's command needs to put it into the
/// agent's own words.
#[derive(Serialize, JsonSchema)]
#[schemars(
    rename = "HookAnswer",
    description = "What an agent may do, and what its hook needs to tell it."
)]
pub(super) struct Evaluated<'a> {
    /// What the agent may do.
    #[schemars(extend("enum" = ["allow", "ask", "deny"]))]
    decision: &'static str,
    /// Whether there is something to say although it may go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    warning: Option<bool>,
    /// Why.
    reason: Option<&'a str>,
    /// The level of risk of the flow.
    risk_level: RiskLevel,
    /// The weighted score of all findings, 0 to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u8")]
    risk_score: Option<u8>,
    /// The direction in which data would move.
    flow_type: FlowType,
    /// The record of it; nothing where none was left.
    activity_id: Option<CallId>,
    /// The agent, as `claude-code`.
    agent: &'static str,
    /// The event, as the specification calls it; nothing where it is not known.
    event: Option<&'static str>,
    /// The event, as the agent calls it.
    event_name: &'a str,
}

/// What the document tells of it. A payload is whatever its agent sends, so that no more can be said
/// of it than that it is an object.
pub(super) fn told() -> route::Told {
    let text = json!({ "type": "string" });
    let agents = HookAgent::ALL.map(HookAgent::name);
    route::Told::giving::<Evaluated<'static>>("Answers an agent's hook.")
        .whose(For::Agents)
        .query(
            "agent",
            &json!({ "type": "string", "enum": agents }),
            "Whose payload it is; told by its members where nothing is said.",
        )
        .query(
            "event",
            &text,
            "The event, as the agent or the specification calls it, where the payload does not name it.",
        )
        .query(
            "asked",
            &text,
            "Names the question, so that a hook that did not wait can tell of it later.",
        )
        .query(
            "late",
            &json!({ "type": "string", "enum": ["allow", "warn", "ask", "deny"] }),
            "What the hook answers by itself if this takes too long; allow where nothing is said.",
        )
        .body::<Map<String, Value>>()
}

/// Answers a hook.
pub(super) async fn evaluate(
    AxumState(gateway): Shared,
    who: Who,
    taken::Asked(told): taken::Asked<Told>,
    line: Option<Extension<Line>>,
    request: Request,
) -> Response {
    let who = match who.kind {
        // The socket makes its user the owner, and an agent that comes this way is no more than an
        // agent: what it reads is followed with what it calls over the same socket.
        PrincipalKind::Owner => Principal::local(),
        PrincipalKind::Agent if may_audit(&who) => {
            let message = "a token for the audit only looks";
            return failed(StatusCode::FORBIDDEN, message, None);
        }
        PrincipalKind::Agent | PrincipalKind::User | PrincipalKind::Certificate => who.0,
        PrincipalKind::Local => {
            let hint = "use the Unix socket, the API key or an agent's token";
            return failed(
                StatusCode::FORBIDDEN,
                "a key or token is required",
                Some(hint),
            );
        }
    };
    let agent = match told.agent.as_deref().map(HookAgent::from_name) {
        Some(None) => return failed(StatusCode::BAD_REQUEST, "no such agent is known", None),
        agent => agent.flatten(),
    };
    let read = match read_bounded(request.into_body(), MAX_PAYLOAD, PATIENCE).await {
        Ok(body) => read(&body, agent, told.event.as_deref()),
        Err(mcpproxy_mcp::Error::TooLarge { limit }) => Err(HookError::TooLarge { limit }),
        Err(_) => return failed(StatusCode::BAD_REQUEST, "the payload did not come in", None),
    };
    let asked = match read {
        Ok(asked) => asked,
        Err(fault) => {
            if fault.is_evasion() {
                let key = Gateway::hook_key(&who, "");
                let knock = Knock::new(&gateway, &who, RoutingMode::Call).over_hook(key);
                knock.unread(("refused", &fault.to_string())).await;
            }
            let heeded = gateway.engine.answers_hooks();
            return unread(&fault, heeded, agent, told.event.as_deref());
        }
    };
    if !gateway.engine.answers_hooks() {
        return answered(&asked, None, &allowed(Some(SWITCHED_OFF)));
    }
    let tool = match &asked.tool {
        Tool::Own { spelled, .. } => spelled.as_str(),
        Tool::Mcp { tool, .. } => tool.as_str(),
        Tool::None => "",
    };
    if tool == CANARY && asked.event == HookEvent::Pre {
        return answered(&asked, None, &refused(CANARY_REASON));
    }
    let waiting = line.map(|Extension(line)| Asker {
        way: Arc::new(line),
        late: told.late.unwrap_or(Action::Allow),
    });
    // A task of its own: whoever hangs up ends the request, and what was asked is put on record in any
    // case.
    let judging = tokio::spawn(async move {
        let (id, evaluation) = judge(&gateway, who, &asked, waiting).await;
        if let (Some(name), Some(id)) = (&told.asked, id) {
            gateway.gaps.asked(name, id);
        }
        answered(&asked, id, &evaluation)
    });
    let judged = judging.await;
    let broken = |_| {
        failed(
            StatusCode::INTERNAL_SERVER_ERROR,
            "judging broke down",
            None,
        )
    };
    judged.unwrap_or_else(broken)
}

/// Answers a payload that was not understood. One that does not say what is about to happen is denied:
/// to an agent that asks by itself, a failure would be leave to go on. What our own command makes of
/// that, and of what is no payload at all, is for its user to say.
fn unread(
    fault: &HookError,
    heeded: bool,
    agent: Option<HookAgent>,
    event: Option<&str>,
) -> Response {
    let reason = fault.to_string();
    let (decision, reason) = match fault {
        HookError::UnknownEvent { .. } => ("allow", None),
        HookError::Missing { .. } | HookError::UnknownUse { .. } if !heeded => {
            ("allow", Some(SWITCHED_OFF))
        }
        HookError::Missing { .. } | HookError::UnknownUse { .. } => ("deny", Some(&*reason)),
        HookError::Malformed { .. } => return failed(StatusCode::BAD_REQUEST, &reason, None),
        HookError::TooLarge { .. } | HookError::TooDeep | HookError::Ambiguous { .. } => {
            return failed(StatusCode::PAYLOAD_TOO_LARGE, &reason, None);
        }
    };
    done(&Evaluated {
        decision,
        warning: None,
        reason,
        risk_level: RiskLevel::None,
        risk_score: None,
        flow_type: FlowType::None,
        activity_id: None,
        agent: agent.unwrap_or(HookAgent::ClaudeCode).name(),
        event: None,
        event_name: event.unwrap_or_default(),
    })
}

/// Takes an event through the engine. One without a tool leaves no record, so it has no id.
async fn judge(
    gateway: &Arc<Gateway>,
    who: Principal,
    asked: &Asked,
    waiting: Option<Asker>,
) -> (Option<CallId>, Evaluation) {
    let session = session(&who, asked);
    let aim = Aim::of(gateway, asked);
    let phase = match asked.event {
        HookEvent::Pre | HookEvent::Permission => Phase::Pre,
        HookEvent::Post | HookEvent::Prompt | HookEvent::SessionStart | HookEvent::SessionEnd => {
            Phase::Post
        }
    };
    let hooked = Hooked {
        agent: asked.borrowed_by.unwrap_or(asked.agent).name().into(),
        phase,
        event: asked.event_name.as_str().into(),
        session: asked.session.as_str().into(),
        tool_use: asked.tool_use_id.as_deref().map(Into::into),
        owner: aim.owner,
        failed: asked.has_failed(),
        leads: match (phase, aim.owner) {
            (Phase::Pre, Owner::Agent) => links::followed(&aim.arguments, asked).await,
            (Phase::Pre | Phase::Post, _) => Some(Vec::new()),
        },
        folder: asked.cwd.as_deref().map(Into::into),
    };
    let id = gateway.call_id();
    let engine = &gateway.engine;
    if !asked.event.has_tool() {
        engine.heard_from(session, &hooked);
        if let Some(prompt) = &asked.prompt {
            let aim = Aim {
                arguments: json!({ "prompt": prompt }),
                ..aim
            };
            engine.prompted(&call(gateway, id, who, session, hooked, &aim));
        }
        return (None, allowed(None));
    }
    let response = asked.response.as_ref().filter(|_| aim.brings_data);
    let response = response.map(Value::to_string);
    let scope = Gateway::flow_scope(&who);
    let mut call = call(gateway, id, who, session, hooked, &aim);
    call.trace.asker = waiting;
    let evaluation = engine.evaluate(call, response.as_deref()).await;
    // The agent calls once it is answered, so this is in time. What is denied is announced, too: an
    // agent that did not wait for the answer, or does not heed it, calls all the same, and then it
    // must be known whose call it is.
    let comes = asked.event == HookEvent::Pre;
    if let Some(tool) = aim.announced.filter(|_| comes) {
        let tool_use = asked.tool_use_id.as_deref();
        let print = Fingerprint::of(&tool, &asked.input);
        engine.announce(session, Gateway::hook_reach(scope), print, tool_use);
        let announced = Notice::Announced {
            hook: session.id.to_string(),
            scope: scope.0.to_string(),
            print: print.id().to_string(),
            tool_use: tool_use.map(str::to_owned),
        };
        gateway.announce(announced).await;
    }
    (Some(id), evaluation)
}

fn call(
    gateway: &Gateway,
    id: CallId,
    who: Principal,
    session: SessionKey,
    hooked: Hooked,
    aim: &Aim,
) -> Call {
    let name = quoted(aim.tool.tool.as_str());
    let raw = format!(
        r#"{{"params":{{"name":{name},"arguments":{}}}}}"#,
        aim.arguments
    );
    Call {
        id,
        leg: 0,
        at: gateway.clock.wall(),
        deadline: gateway.clock.tick().after(JUDGING),
        door: Door::Hook,
        scope: Gateway::flow_scope(&who),
        who,
        session,
        kind: MessageKind::Request("tools/call".into()),
        tool: aim.tool.clone(),
        declared: aim.declared.clone(),
        // Where an agent cannot ask, its adapter denies.
        askable: Askable::AgentPrompt,
        hook: Some(Arc::new(hooked)),
        trace: Trace::default(),
        wire: Wire {
            raw: raw.into(),
            ticket: None,
        },
    }
}

/// Returns the conversation: as the agent names it, or where it works if it does not.
fn session(who: &Principal, asked: &Asked) -> SessionKey {
    if asked.session.is_empty() {
        let place = asked.cwd.as_deref().unwrap_or_default();
        return Gateway::hook_key(who, &[asked.agent.name(), place].join("\n"));
    }
    Gateway::hook_key(who, &asked.session)
}

fn allowed(reason: Option<&str>) -> Evaluation {
    Evaluation {
        decision: Action::Allow,
        reason: reason.map(str::to_owned),
        risk: Risk {
            level: RiskLevel::None,
            score: 0,
        },
        flow: FlowType::None,
    }
}

fn refused(reason: &str) -> Evaluation {
    Evaluation {
        decision: Action::Deny,
        ..allowed(Some(reason))
    }
}

fn answered(asked: &Asked, id: Option<CallId>, evaluation: &Evaluation) -> Response {
    let decision = match evaluation.decision {
        Action::Allow | Action::Warn => "allow",
        Action::Ask => "ask",
        Action::Deny => "deny",
    };
    done(&Evaluated {
        decision,
        warning: Some(evaluation.decision == Action::Warn),
        reason: evaluation.reason.as_deref(),
        risk_level: evaluation.risk.level,
        risk_score: Some(evaluation.risk.score),
        flow_type: evaluation.flow,
        activity_id: id,
        agent: asked.agent.name(),
        event: Some(asked.event.name()),
        event_name: &asked.event_name,
    })
}
