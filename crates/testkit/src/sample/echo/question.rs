//! Tools that ask the downstream: by a request in the legacy era, by a result in the modern one.

use mcpproxy_mcp::FrameKind;
use mcpproxy_mcp::era::{Era, MISSING_CAPABILITY, declares};
use serde_json::{Value, json};

use crate::sample::exchange::{Answer, Exchange, Fault, Outcome, Waited};
use crate::sample::tool::text;

/// The key under which the one question of a result stands.
const KEY: &str = "question";
/// How long a model's answer may be.
const MOST_TOKENS: u32 = 100;

/// One question.
struct Question {
    method: &'static str,
    capability: &'static str,
    params: Value,
    /// What the answer must come back with: it binds the answer to what was asked.
    state: String,
}

/// Puts the question of the tool that was called.
pub(super) fn put(exchange: &Exchange) -> Outcome {
    match exchange.era {
        Era::Legacy => Outcome::Later(by_request),
        Era::Modern => by_result(exchange).into(),
    }
}

impl Question {
    fn read(exchange: &Exchange) -> Result<Self, Fault> {
        let tool = exchange.string(&["name"])?;
        let (method, capability, params, asked) = match tool.as_str() {
            "ask" => {
                let asked = exchange.text("question")?;
                ("elicitation/create", "elicitation", form(&asked), asked)
            }
            "sample" => {
                let asked = exchange.text("prompt")?;
                ("sampling/createMessage", "sampling", message(&asked), asked)
            }
            _ => ("roots/list", "roots", json!({}), String::new()),
        };
        Ok(Self {
            method,
            capability,
            params,
            state: format!("{tool}:{asked}"),
        })
    }
}

fn form(question: &str) -> Value {
    json!({
        "message": question,
        "requestedSchema": {
            "type": "object",
            "properties": { "answer": { "type": "string" } },
            "required": ["answer"],
        },
    })
}

fn message(prompt: &str) -> Value {
    json!({
        "messages": [{ "role": "user", "content": { "type": "text", "text": prompt } }],
        "maxTokens": MOST_TOKENS,
    })
}

fn by_request(exchange: &Exchange) -> Option<Answer> {
    let question = match Question::read(exchange) {
        Ok(question) => question,
        Err(fault) => return Some(Err(fault)),
    };
    if !declares(&exchange.capabilities, question.method) {
        let why = format!("the downstream does not declare `{}`", question.capability);
        return Some(Err(Fault::Tool(why)));
    }
    let conversation = &exchange.conversation;
    let reply = match conversation.ask(exchange, question.method, &question.params) {
        Waited::Answered(reply) => reply,
        Waited::Cancelled => return None,
        Waited::Out => return Some(Err(Fault::Tool("nobody answered".to_owned()))),
    };
    let payload: Value = serde_json::from_str(reply.payload()).unwrap_or_default();
    if reply.kind() == FrameKind::Error {
        let why = payload.get("message").and_then(Value::as_str);
        let why = format!("the question was refused: {}", why.unwrap_or_default());
        return Some(Err(Fault::Tool(why)));
    }
    Some(Ok(text(told(question.method, &payload))))
}

fn by_result(exchange: &Exchange) -> Answer {
    let question = Question::read(exchange)?;
    if let Some(answer) = exchange.parameter(&["inputResponses", KEY]) {
        let state = exchange.string(&["requestState"])?;
        if state != question.state {
            return Err(Fault::params("`requestState` belongs to another question"));
        }
        return Ok(text(told(question.method, &answer)));
    }
    if !declares(&exchange.capabilities, question.method) {
        return Err(Fault::Protocol {
            code: MISSING_CAPABILITY,
            message: format!("the request must declare `{}`", question.capability),
            data: Some(json!({ "requiredCapabilities": { question.capability: {} } })),
        });
    }
    let asked = json!({ "method": question.method, "params": question.params });
    Ok(json!({
        "resultType": "input_required",
        "inputRequests": { KEY: asked },
        "requestState": question.state,
    }))
}

/// Puts an answer into words.
fn told(method: &str, answer: &Value) -> String {
    let at = |path: &str| answer.pointer(path).and_then(Value::as_str);
    match method {
        "elicitation/create" => match (at("/action"), at("/content/answer")) {
            (Some(action), Some(said)) => format!("{action}: {said}"),
            (Some(action), None) => action.to_owned(),
            (None, _) => "the answer has no action".to_owned(),
        },
        "sampling/createMessage" => at("/content/text")
            .or_else(|| at("/content/0/text"))
            .unwrap_or("the answer has no text")
            .to_owned(),
        _ => {
            let roots = answer.get("roots").and_then(Value::as_array);
            let uris = roots
                .into_iter()
                .flatten()
                .filter_map(|root| root.get("uri"));
            uris.filter_map(Value::as_str)
                .collect::<Vec<_>>()
                .join("\n")
        }
    }
}
