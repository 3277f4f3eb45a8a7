//! Records as spans and counts, in the JSON form of the OpenTelemetry protocol.

use std::borrow::Cow;
use std::collections::BTreeMap;

use mcpproxy_core::{Cause, Record, Status, TraceNote, Wall};
use mcpproxy_mcp::trace::Context;
use serde_json::{Value, json};

/// A call that the gateway makes of an upstream.
const CLIENT: u8 = 3;
/// The status of a span that went wrong.
const ERROR: u8 = 2;
/// Bounds of durations, in seconds, as the conventions for MCP have them.
const BOUNDS: [f64; 14] = [
    0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0,
];
/// Kinds of calls that are counted apart.
const MOST: usize = 1000;

/// One call, as a trace has it.
#[derive(Clone, Debug)]
pub(super) struct Span {
    trace: String,
    id: String,
    parent: Option<String>,
    name: String,
    start: u64,
    nanos: u64,
    method: String,
    error: Option<Cow<'static, str>>,
    attributes: Vec<Value>,
    /// Whether whoever called wants the trace to be kept; so it is where they say nothing.
    pub(super) sampled: bool,
}

impl Span {
    /// Makes a span of what is put on record about a call; of anything else there is none.
    pub(super) fn of(record: &Record, note: &TraceNote) -> Option<Self> {
        if !matches!(record.kind, "tool_call" | "message" | "policy_decision") {
            return None;
        }
        let start = Wall::from_rfc3339(&record.timestamp)?
            .0
            .saturating_mul(1_000_000);
        let parent = note.parent.as_deref().and_then(Context::parse);
        // The same that the upstream was told.
        let Context { trace, span, .. } = Context::of(record.id, parent.as_ref());
        let error = error(record, note);
        let took = std::time::Duration::try_from_secs_f64(record.duration_ms / 1000.0);
        let nanos = took.unwrap_or_default().as_nanos();
        Some(Self {
            trace,
            id: span,
            parent: parent.map(|parent| parent.span),
            name: format!("{} {}", record.method, record.tool_name)
                .trim_end()
                .to_owned(),
            start,
            nanos: u64::try_from(nanos).unwrap_or(u64::MAX),
            method: record.method.clone(),
            attributes: attributes(record, note, error.as_deref()),
            error,
            sampled: is_sampled(note),
        })
    }

    fn json(&self) -> Value {
        let mut span = json!({
            "traceId": self.trace,
            "spanId": self.id,
            "name": self.name,
            "kind": CLIENT,
            "startTimeUnixNano": self.start.to_string(),
            "endTimeUnixNano": self.start.saturating_add(self.nanos).to_string(),
            "attributes": self.attributes,
        });
        if let Some(members) = span.as_object_mut() {
            if let Some(parent) = &self.parent {
                members.insert("parentSpanId".to_owned(), json!(parent));
            }
            if let Some(error) = &self.error {
                let status = json!({ "code": ERROR, "message": error });
                members.insert("status".to_owned(), status);
            }
        }
        span
    }
}

/// Tells whether a call is of a trace that is kept. Its caller decides, as is usual: a span of a trace
/// that is not would stand alone. Counted it is all the same.
fn is_sampled(note: &TraceNote) -> bool {
    let sound = note
        .parent
        .as_deref()
        .filter(|text| Context::parse(text).is_some());
    let flags = sound.and_then(|text| text.rsplit('-').next());
    let flags = flags.and_then(|flags| u8::from_str_radix(flags, 16).ok());
    flags.is_none_or(|flags| flags & 1 == 1)
}

/// What went wrong, as `error.type` says it: the code of an error of the protocol as text, and
/// `tool_error` where a tool says that its result is one.
fn error(record: &Record, note: &TraceNote) -> Option<Cow<'static, str>> {
    let known = match record.status {
        Status::Success | Status::Pending => return None,
        Status::Blocked => "blocked",
        Status::Rejected => "rejected",
        Status::Error => match (note.code, note.cause) {
            (Some(code), _) => return Some(code.to_string().into()),
            (None, Some(Cause::TimedOut)) => "timeout",
            (None, Some(Cause::Cancelled)) => "cancelled",
            (None, Some(Cause::Stopped)) => "stopped",
            // What the conventions have for errors without a name.
            (None, Some(Cause::Failed)) => "_OTHER",
            (None, None) => "tool_error",
        },
    };
    Some(Cow::Borrowed(known))
}

fn attributes(record: &Record, note: &TraceNote, error: Option<&str>) -> Vec<Value> {
    let mut all = vec![
        text("mcp.method.name", &record.method),
        text("mcp.session.id", &record.session_id),
        text("server.address", &record.server_name),
        text("mcpproxy.activity.id", &record.id.to_string()),
        text("mcpproxy.flow_type", record.flow_type.name()),
        text("mcpproxy.risk_level", record.risk.level.name()),
    ];
    match record.method.as_str() {
        "tools/call" => {
            all.push(text("gen_ai.tool.name", &record.tool_name));
            all.push(text("gen_ai.operation.name", "execute_tool"));
        }
        "prompts/get" => all.push(text("gen_ai.prompt.name", &record.tool_name)),
        method if method.starts_with("resources/") => {
            all.push(text("mcp.resource.uri", &record.tool_name));
        }
        _ => {}
    }
    // What was stopped never left: nobody but the gateway ever saw its number.
    let left = !matches!(record.status, Status::Blocked | Status::Rejected);
    let request = note.request.filter(|_| left);
    all.extend(request.map(|id| text("jsonrpc.request.id", &id.to_string())));
    all.extend(error.map(|error| text("error.type", error)));
    let code = note.code.filter(|_| record.status == Status::Error);
    all.extend(code.map(|code| text("rpc.response.status_code", &code.to_string())));
    all
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

/// The request that carries spans.
pub(super) fn traces(service: &str, spans: &[Span]) -> Value {
    json!({ "resourceSpans": [{
        "resource": resource(service),
        "scopeSpans": [{
            "scope": scope(),
            "spans": spans.iter().map(Span::json).collect::<Vec<_>>(),
        }],
    }] })
}

/// Durations, counted since the start by method and what went wrong.
#[derive(Debug, Default)]
pub(super) struct Counted {
    by: BTreeMap<(String, String), Histogram>,
    first: u64,
    last: u64,
}

#[derive(Debug, Default)]
struct Histogram {
    counts: [u64; BOUNDS.len() + 1],
    seconds: f64,
}

impl Counted {
    pub(super) fn is_empty(&self) -> bool {
        self.by.is_empty()
    }

    pub(super) fn add(&mut self, span: &Span) {
        let key = (
            span.method.clone(),
            span.error.as_deref().unwrap_or_default().to_owned(),
        );
        if self.by.is_empty() {
            self.first = span.start;
        }
        self.last = self.last.max(span.start.saturating_add(span.nanos));
        if self.by.len() >= MOST && !self.by.contains_key(&key) {
            return;
        }
        let histogram = self.by.entry(key).or_default();
        let seconds = std::time::Duration::from_nanos(span.nanos).as_secs_f64();
        let at = BOUNDS.iter().position(|bound| seconds <= *bound);
        if let Some(count) = histogram.counts.get_mut(at.unwrap_or(BOUNDS.len())) {
            *count += 1;
        }
        histogram.seconds += seconds;
    }
}

/// The request that carries what was counted.
pub(super) fn metrics(service: &str, counted: &Counted) -> Value {
    let points = counted.by.iter().map(|((method, error), histogram)| {
        let mut attributes = vec![text("mcp.method.name", method)];
        attributes.extend((!error.is_empty()).then(|| text("error.type", error)));
        let counts: Vec<_> = histogram.counts.iter().map(ToString::to_string).collect();
        json!({
            "attributes": attributes,
            "startTimeUnixNano": counted.first.to_string(),
            "timeUnixNano": counted.last.to_string(),
            "count": histogram.counts.iter().sum::<u64>().to_string(),
            "sum": histogram.seconds,
            "bucketCounts": counts,
            "explicitBounds": BOUNDS,
        })
    });
    json!({ "resourceMetrics": [{
        "resource": resource(service),
        "scopeMetrics": [{
            "scope": scope(),
            "metrics": [{
                "name": "mcp.client.operation.duration",
                "unit": "s",
                "histogram": {
                    // Counted since the start.
                    "aggregationTemporality": 2,
                    "dataPoints": points.collect::<Vec<_>>(),
                },
            }],
        }],
    }] })
}

fn resource(service: &str) -> Value {
    json!({ "attributes": [
        text("service.name", service),
        text("service.version", env!("CARGO_PKG_VERSION")),
    ] })
}

fn scope() -> Value {
    json!({ "name": "mcpproxy", "version": env!("CARGO_PKG_VERSION") })
}

#[cfg(test)]
mod tests {
    use mcpproxy_core::{CallId, Door};

    use super::*;

    const PARENT: &str = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01";

    fn note(parent: Option<&str>) -> TraceNote {
        TraceNote {
            parent: parent.map(Into::into),
            request: Some(7),
            code: None,
            cause: None,
        }
    }

    fn record(status: Status) -> Record {
        Record {
            server_name: "up".to_owned(),
            tool_name: "echo".to_owned(),
            method: "tools/call".to_owned(),
            status,
            duration_ms: 30.0,
            timestamp: "1970-01-01T00:00:01.000Z".to_owned(),
            session_id: "s".to_owned(),
            ..Record::new(CallId::new(1, 1), "tool_call", Door::Mcp)
        }
    }

    #[test]
    fn a_span_has_what_the_conventions_ask_for() {
        let span = Span::of(&record(Status::Blocked), &note(Some(PARENT)))
            .unwrap()
            .json();
        assert_eq!(span["name"], "tools/call echo");
        assert_eq!(span["traceId"], "0123456789abcdef0123456789abcdef");
        assert_eq!(span["parentSpanId"], "0123456789abcdef");
        assert_eq!(span["spanId"].as_str().unwrap().len(), 16);
        assert_eq!(span["startTimeUnixNano"], "1000000000");
        assert_eq!(span["endTimeUnixNano"], "1030000000");
        assert_eq!(span["status"]["code"], 2);
        let attributes = span["attributes"].as_array().unwrap();
        for (key, value) in [
            ("mcp.method.name", "tools/call"),
            ("gen_ai.tool.name", "echo"),
            ("mcp.session.id", "s"),
            ("error.type", "blocked"),
        ] {
            assert!(attributes.contains(&text(key, value)), "{key}: {span}");
        }
        // Regression for #8: the number of a call that was stopped is one that nobody saw.
        let number = text("jsonrpc.request.id", "7");
        assert!(!attributes.contains(&number), "{span}");
        let good = Span::of(&record(Status::Success), &note(None))
            .unwrap()
            .json();
        assert_eq!((good.get("status"), good.get("parentSpanId")), (None, None));
        assert!(
            good["attributes"].as_array().unwrap().contains(&number),
            "{good}"
        );
        let intent = Record {
            kind: "intent",
            ..record(Status::Pending)
        };
        assert!(Span::of(&intent, &note(None)).is_none());
    }

    /// Regression for #8: what its caller does not have sampled was sent all the same.
    #[test]
    fn a_caller_says_whether_its_trace_is_kept() {
        let check = |flags: &str, expect: bool| {
            let parent = format!("00-0123456789abcdef0123456789abcdef-0123456789abcdef-{flags}");
            let span = Span::of(&record(Status::Success), &note(Some(&parent))).unwrap();
            assert_eq!(span.sampled, expect, "{parent}");
        };
        check("00", false);
        check("01", true);
        check("02", false);
        check("03", true);
        // What cannot be read is replaced, and says nothing.
        check("0", true);
        assert!(
            Span::of(&record(Status::Success), &note(None))
                .unwrap()
                .sampled
        );
    }

    #[test]
    fn an_error_is_named_by_its_code_or_by_who_says_so() {
        let check = |status: Status, code: Option<i64>, cause: Option<Cause>, expect: &str| {
            let note = TraceNote {
                code,
                cause,
                ..note(None)
            };
            let span = Span::of(&record(status), &note).unwrap().json();
            let attributes = span["attributes"].as_array().unwrap();
            assert!(attributes.contains(&text("error.type", expect)), "{span}");
            let status = attributes
                .iter()
                .find(|one| one["key"] == "rpc.response.status_code");
            let status = status.map(|one| one["value"]["stringValue"].as_str().unwrap());
            assert_eq!(status, code.map(|_| expect), "{span}");
        };
        check(Status::Error, Some(-32601), None, "-32601");
        check(Status::Error, Some(-32000), None, "-32000");
        check(Status::Error, None, None, "tool_error");
        check(Status::Error, None, Some(Cause::TimedOut), "timeout");
        check(Status::Error, None, Some(Cause::Failed), "_OTHER");
        check(Status::Blocked, None, None, "blocked");
    }

    #[test]
    fn durations_are_counted_by_method_and_error() {
        let mut counted = Counted::default();
        for status in [Status::Success, Status::Success, Status::Error] {
            counted.add(&Span::of(&record(status), &note(None)).unwrap());
        }
        let sent = metrics("here", &counted);
        let metric = &sent["resourceMetrics"][0]["scopeMetrics"][0]["metrics"][0];
        let points = metric["histogram"]["dataPoints"].as_array().unwrap();
        assert_eq!(points.len(), 2);
        assert_eq!(points[0]["count"], "2");
        assert_eq!(points[0]["bucketCounts"][2], "2");
        assert_eq!(
            points[0]["explicitBounds"].as_array().unwrap().len(),
            BOUNDS.len()
        );
    }
}
