//! A record as columns: what every database keeps of it, whichever it is.
//!
//! How columns are read and written is for each database to know, how they are shown for `shown`.

use std::borrow::Cow;

use mcpproxy_core::{
    Action, ActivityQuery, ApprovalNote, Bodies, CallId, ChangeNote, Coverage, Declared,
    Enforcement, Field, Finding, FlowSummary, HookLeft, HookNote, Operation, QuarantineNote,
    Record, Wall, count,
};
use serde::Serialize;

use crate::names;
use crate::shown;

/// About what a record needs beside its texts: numbers, hashes, and what finds it.
const FIXED: usize = 320;

/// The columns of a record.
#[derive(Clone, Debug)]
pub(crate) struct Columns<'a> {
    pub(crate) at: i64,
    pub(crate) id: [u8; 16],
    pub(crate) kind: &'a str,
    pub(crate) source: &'a str,
    pub(crate) server_name: Cow<'a, str>,
    pub(crate) tool_name: Cow<'a, str>,
    pub(crate) method: Cow<'a, str>,
    pub(crate) session_id: Cow<'a, str>,
    pub(crate) principal: Cow<'a, str>,
    pub(crate) status: &'a str,
    pub(crate) decision: &'a str,
    pub(crate) flow_type: &'a str,
    pub(crate) risk_level: &'a str,
    pub(crate) risk_score: i64,
    pub(crate) duration_ms: f64,
    pub(crate) request_bytes: i64,
    pub(crate) response_bytes: i64,
    pub(crate) has_sensitive_data: bool,
    pub(crate) intent_type: Option<&'a str>,
    pub(crate) max_severity: Option<&'a str>,
    /// A JSON list.
    pub(crate) detection_types: Option<Cow<'a, str>>,
    /// What else is a fact, a JSON object; nothing for most records.
    pub(crate) rest: Option<Cow<'a, str>>,
    /// What was said in words, with samples: a JSON object, which is dropped first.
    pub(crate) words: Option<Cow<'a, str>>,
}

/// Facts that have no column.
#[derive(Serialize)]
struct Rest<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    effective: Option<Action>,
    #[serde(skip_serializing_if = "Option::is_none")]
    enforcement: Option<Enforcement>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mcp_session_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    security_coverage: Option<Coverage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a FlowSummary>,
    #[serde(skip_serializing_if = "str::is_empty")]
    correlation_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_id: Option<CallId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    quarantine: Option<&'a QuarantineNote>,
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<&'a ChangeNote>,
    approval: Option<&'a ApprovalNote>,
}

/// What was said in words, by us, by an agent or by a hook.
#[derive(Serialize)]
struct Words<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    error_message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    declared: Option<&'a Declared>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    findings: &'a [Finding],
    #[serde(skip_serializing_if = "Option::is_none")]
    hook: Option<&'a HookNote>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    hook_metadata: &'a [HookLeft],
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    bodies: Option<&'a Bodies>,
}

impl<'a> Columns<'a> {
    /// Takes a record apart.
    pub(crate) fn of(record: &'a Record) -> Self {
        // Taken apart whole, so that a new member cannot be forgotten here.
        let Record {
            id,
            kind,
            source,
            server_name,
            tool_name,
            method,
            status,
            error_message,
            duration_ms,
            timestamp,
            session_id,
            correlation_id,
            parent_id,
            principal,
            request_bytes,
            response_bytes,
            decision,
            effective,
            enforcement,
            flow_type,
            risk,
            declared,
            findings,
            has_sensitive_data,
            detection_types,
            max_severity,
            mcp_session_id,
            security_coverage,
            hook,
            hook_metadata,
            summary,
            quarantine,
            change,
            approval,
            bodies,
        } = record;
        // Most verdicts are carried out as they are: nothing more need be said of them.
        let otherwise = effective != decision || *enforcement != Enforcement::Enforced;
        let rest = object(&Rest {
            effective: otherwise.then_some(*effective),
            enforcement: otherwise.then_some(*enforcement),
            mcp_session_id: mcp_session_id.as_deref(),
            security_coverage: *security_coverage,
            summary: summary.as_deref(),
            correlation_id,
            parent_id: *parent_id,
            quarantine: quarantine.as_deref(),
            change: change.as_deref(),
            approval: approval.as_deref(),
        });
        let words = object(&Words {
            error_message: error_message.as_deref(),
            declared: (*declared != Declared::default()).then_some(declared),
            findings,
            hook: hook.as_deref(),
            hook_metadata,
            bodies: bodies.as_deref(),
        });
        Self {
            at: time(timestamp, *id),
            id: id.to_bytes(),
            kind,
            source: source.name(),
            server_name: storable(server_name),
            tool_name: storable(tool_name),
            method: storable(method),
            session_id: storable(session_id),
            principal: storable(principal),
            status: names::status(*status),
            decision: names::action(*decision),
            flow_type: flow_type.name(),
            risk_level: risk.level.name(),
            risk_score: i64::from(risk.score),
            duration_ms: *duration_ms,
            request_bytes: signed(*request_bytes),
            response_bytes: signed(*response_bytes),
            has_sensitive_data: *has_sensitive_data,
            intent_type: declared.operation.map(Operation::name),
            max_severity: max_severity.map(names::severity),
            detection_types: listed(detection_types).map(Cow::Owned),
            rest: rest.map(Cow::Owned),
            words: words.map(Cow::Owned),
        }
    }

    /// Returns when the call of a record was received, in milliseconds since 1970.
    pub(crate) fn at(record: &Record) -> i64 {
        time(&record.timestamp, record.id)
    }

    /// Returns when the call was received.
    pub(crate) fn wall(&self) -> Wall {
        Wall(u64::try_from(self.at).unwrap_or(0))
    }

    /// Returns the call's id.
    pub(crate) fn call(&self) -> CallId {
        CallId::from_bytes(self.id)
    }

    /// Tells whether the record stands for a call.
    pub(crate) fn is_call(&self) -> bool {
        let hook = (self.kind == "hook_evaluation").then(|| shown::phase(self));
        let hook = hook.flatten();
        let hook = hook.as_ref().map(|(phase, owner)| (&**phase, &**owner));
        count::is_call(self.kind, &self.method, self.status, hook)
    }

    /// Tells whether the record is what a question is about.
    pub(crate) fn is_meant(&self, query: &ActivityQuery) -> bool {
        let at = self.wall();
        let in_time =
            query.from.is_none_or(|from| at >= from) && query.to.is_none_or(|to| at <= to);
        in_time
            && query.wanted.iter().all(|(field, values)| {
                let mut found = false;
                self.values(*field, |value| {
                    found |= values.iter().any(|one| one == value);
                });
                found
            })
    }

    /// Returns about how many bytes a database needs for it.
    pub(crate) fn bytes(&self) -> usize {
        let names = [
            &self.server_name,
            &self.tool_name,
            &self.method,
            &self.session_id,
            &self.principal,
        ];
        let texts = [&self.detection_types, &self.rest, &self.words];
        let texts = texts.into_iter().flatten().map(|text| text.len());
        names.iter().map(|name| name.len()).sum::<usize>() + texts.sum::<usize>() + FIXED
    }

    /// Hands each value that a field has to `each`.
    pub(crate) fn values(&self, field: Field, mut each: impl FnMut(&str)) {
        let one = match field {
            Field::Kind => self.kind,
            Field::Source => self.source,
            Field::Upstream => &self.server_name,
            Field::Tool => &self.tool_name,
            Field::Session => &self.session_id,
            Field::Principal => &self.principal,
            Field::Status => self.status,
            Field::Decision => self.decision,
            Field::FlowType => self.flow_type,
            Field::RiskLevel => self.risk_level,
            Field::Sensitive => {
                if self.has_sensitive_data {
                    "true"
                } else {
                    "false"
                }
            }
            Field::Operation => return self.intent_type.into_iter().for_each(each),
            Field::Severity => return self.max_severity.into_iter().for_each(each),
            Field::Detection => {
                let kinds = self.detection_types.as_deref();
                let kinds =
                    kinds.and_then(|one| serde_json::from_str::<Vec<Cow<'_, str>>>(one).ok());
                return kinds.iter().flatten().for_each(|kind| each(kind));
            }
            Field::McpSession => {
                return shown::mcp_session(self).iter().for_each(|one| each(one));
            }
            Field::Request => return each(&shown::request(self)),
            Field::Parent => return shown::parent(self).iter().for_each(|one| each(one)),
            Field::Agent => return shown::agent(self).iter().for_each(|one| each(one)),
        };
        each(one);
    }
}

fn time(timestamp: &str, id: CallId) -> i64 {
    signed(Wall::from_rfc3339(timestamp).map_or(id.millis(), |wall| wall.0))
}

/// Returns a number as databases have it.
pub(crate) fn signed(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

/// A name as every database can keep it: PostgreSQL knows no character zero.
pub(crate) fn storable(name: &str) -> Cow<'_, str> {
    if name.bytes().any(|byte| byte == 0) {
        return Cow::Owned(name.replace('\0', "\u{FFFD}"));
    }
    Cow::Borrowed(name)
}

/// Nothing where there is nothing to say, which is so for most calls.
fn object(members: &impl Serialize) -> Option<String> {
    let text = serde_json::to_string(members).ok();
    text.filter(|text| text != "{}")
}

/// The types of data that were recognized, as a JSON list.
fn listed(kinds: &[Box<str>]) -> Option<String> {
    if kinds.is_empty() {
        return None;
    }
    serde_json::to_string(kinds).ok()
}
