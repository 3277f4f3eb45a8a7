//! One tool for each thing that the protocol can do, and for each way a call can go wrong.

pub(crate) mod library;
mod question;

use std::time::Duration;

use mcpproxy_mcp::era::{Era, META_LOG_LEVEL};
use serde_json::{Value, json};

use super::exchange::{Answer, Exchange, Fault, Outcome, Waited};
use super::listeners::Change;
use super::service::Service;
use super::tool::{Effect, Reach, a_count, a_text, describe, returning, structured, text};

/// The longest that `slow` takes.
const MOST_MS: u64 = 600_000;
/// The most that `big` returns.
const MOST_BIG: u64 = 32 * 1024 * 1024;
/// The most notifications that `storm` sends.
const MOST_STORM: u64 = 100_000;
/// How often `slow` says how far it is.
const STEPS: u32 = 4;
/// The levels of log messages, least severe first.
const LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

/// Describes its own tools.
pub(crate) fn tools() -> Vec<Value> {
    let number = || json!({ "type": "number" });
    let level = json!({ "type": "string", "enum": LEVELS, "default": "info" });
    let reads = |name, description, properties| {
        describe(name, description, Effect::Reads, Reach::Closed, &properties)
    };
    let writes = |name, description, properties| {
        describe(
            name,
            description,
            Effect::Writes,
            Reach::Closed,
            &properties,
        )
    };
    let echo = reads(
        "echo",
        "Return a text.",
        json!({ "text": a_text("Any text.") }),
    );
    let add = reads(
        "add",
        "Add two numbers.",
        json!({ "a": number(), "b": number() }),
    );
    vec![
        returning(echo, &json!({ "text": a_text("The text.") })),
        returning(add, &json!({ "sum": number() })),
        reads(
            "slow",
            "Take a while, and say how far it is.",
            json!({ "ms": a_count("How long, in milliseconds.", MOST_MS) }),
        ),
        reads(
            "big",
            "Return a text of a given size.",
            json!({ "bytes": a_count("The size.", MOST_BIG) }),
        ),
        reads("fail", "Fail.", json!({})),
        describe(
            "crash",
            "End the process.",
            Effect::Destroys,
            Reach::Closed,
            &json!({}),
        ),
        reads("hang", "Never answer.", json!({})),
        reads(
            "ask",
            "Ask the user.",
            json!({ "question": a_text("What to ask.") }),
        ),
        reads(
            "sample",
            "Ask the user's model.",
            json!({ "prompt": a_text("What to ask.") }),
        ),
        reads("roots", "Ask which folders the user works in.", json!({})),
        reads(
            "log",
            "Send a log message.",
            json!({ "text": a_text("What to log."), "level": level }),
        ),
        writes("change", "Add a tool, and tell so.", json!({})),
        reads(
            "storm",
            "Tell many times at once that the tools changed.",
            json!({ "count": a_count("How many times.", MOST_STORM) }),
        ),
        writes(
            "touch",
            "Tell that a resource was updated.",
            json!({ "uri": a_text("The resource.") }),
        ),
    ]
}

/// Calls a tool; an unknown one is nothing.
pub(crate) fn call(exchange: &Exchange, name: &str) -> Option<Outcome> {
    let outcome = match name {
        "echo" => echo(exchange).into(),
        "add" => add(exchange).into(),
        "slow" => Outcome::Later(slow),
        "big" => big(exchange).into(),
        "fail" => Err(Fault::Tool("failed, as it was asked to".to_owned())).into(),
        "crash" => Outcome::Crash,
        "hang" => Outcome::Never,
        "ask" | "sample" | "roots" => question::put(exchange),
        "log" => log(exchange).into(),
        "change" => change(exchange).into(),
        "storm" => storm(exchange).into(),
        "touch" => touch(exchange).into(),
        _ if is_plain(&exchange.conversation.service, name) => Ok(text(name)).into(),
        _ => return None,
    };
    Some(outcome)
}

/// Tells whether a tool was added by `change` or ordered by the options.
fn is_plain(service: &Service, name: &str) -> bool {
    let Some((kind, number)) = name.rsplit_once('_') else {
        return false;
    };
    let most = match kind {
        "extra" => service.added(),
        "many" => service.options.many,
        _ => return false,
    };
    number.parse().is_ok_and(|number: usize| {
        (1..=most).contains(&number) && name == format!("{kind}_{number}")
    })
}

fn echo(exchange: &Exchange) -> Answer {
    let said = exchange.text("text")?;
    Ok(structured(said.clone(), json!({ "text": said })))
}

fn add(exchange: &Exchange) -> Answer {
    let number = |name: &str| {
        let found = exchange.parameter(&["arguments", name]);
        found
            .filter(Value::is_number)
            .ok_or_else(|| Fault::Tool(format!("argument `{name}` must be a number")))
    };
    let (a, b) = (number("a")?, number("b")?);
    let whole = a.as_i64().zip(b.as_i64());
    let sum = match whole.and_then(|(a, b)| a.checked_add(b)) {
        Some(sum) => json!(sum),
        None => json!(a.as_f64().unwrap_or_default() + b.as_f64().unwrap_or_default()),
    };
    Ok(structured(sum.to_string(), json!({ "sum": sum })))
}

/// Waits in steps, and stops at once when it is cancelled.
fn slow(exchange: &Exchange) -> Option<Answer> {
    let span = match exchange.count("ms", MOST_MS) {
        Ok(ms) => Duration::from_millis(ms),
        Err(fault) => return Some(Err(fault)),
    };
    for step in 1..=STEPS {
        if let Waited::Cancelled = exchange.flight.wait(span / STEPS) {
            return None;
        }
        exchange.progress(step, STEPS);
    }
    Some(Ok(text(format!("took {} ms", span.as_millis()))))
}

fn big(exchange: &Exchange) -> Answer {
    let bytes = exchange.count("bytes", MOST_BIG)?;
    Ok(text("x".repeat(usize::try_from(bytes).unwrap_or_default())))
}

fn log(exchange: &Exchange) -> Answer {
    let said = exchange.text("text")?;
    let named = exchange.frame.parameter(&["arguments", "level"]);
    let level = named.as_deref().unwrap_or("info");
    let severity = severity(level).map_err(Fault::Tool)?;
    let wanted = match exchange.era {
        Era::Legacy => Some(exchange.conversation.log_level()),
        // In the modern era nothing is logged that the request did not ask for.
        Era::Modern => exchange
            .frame
            .parameter(&["_meta", META_LOG_LEVEL])
            .and_then(|level| severity_of(&level)),
    };
    let sent = wanted.is_some_and(|least| severity >= least);
    if sent {
        let params = json!({ "level": level, "logger": "echo", "data": said });
        exchange.notify("notifications/message", &params);
    }
    Ok(text(if sent { "logged" } else { "not logged" }))
}

fn severity_of(level: &str) -> Option<usize> {
    LEVELS.iter().position(|&known| known == level)
}

/// Reads a level's severity, or says what levels there are.
fn severity(level: &str) -> Result<usize, String> {
    severity_of(level)
        .ok_or_else(|| format!("unknown level `{level}`; use one of {}", LEVELS.join(", ")))
}

fn change(exchange: &Exchange) -> Answer {
    let service = &exchange.conversation.service;
    let added = service.add_tool();
    let name = added.ok_or_else(|| Fault::Tool("there are too many tools already".to_owned()))?;
    service.listeners.tell(&Change::Tools, 1);
    Ok(text(format!("added {name}")))
}

fn storm(exchange: &Exchange) -> Answer {
    let count = usize::try_from(exchange.count("count", MOST_STORM)?).unwrap_or_default();
    let listeners = &exchange.conversation.service.listeners;
    listeners.tell(&Change::Tools, count);
    Ok(text(format!("told {count} times")))
}

fn touch(exchange: &Exchange) -> Answer {
    let uri = exchange.text("uri")?;
    let shown = text(format!("touched {uri}"));
    let listeners = &exchange.conversation.service.listeners;
    listeners.tell(&Change::Resource(uri), 1);
    Ok(shown)
}
