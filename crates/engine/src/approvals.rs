//! Calls that wait for a person. An answer is bound to who calls, what is called and with which
//! arguments; it counts once and for a time. Only where a person says so does it count for the same
//! question about the same tool for the rest of a session.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcpproxy_core::{
    ApprovalNote, Call, CallId, Finding, FlowType, Masked, Risk, Room, SessionKey, Shares, Tick,
    ToolRef, Wall,
};
use mcpproxy_text as text;
use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use tokio::sync::oneshot;

use crate::engine::{Asked, Said};

/// Calls that may wait at once; past that an equal share of them is kept for every principal.
const MOST: usize = 1024;
/// Answers that may count for a session at once; past that the one goes that would end first.
const MOST_KEPT: usize = 1024;
/// Questions that lapsed and of which no record was made yet; past that the oldest have none.
const MOST_LAPSED: usize = 4096;
/// How long an answer counts for a session at most: a working day.
const DAY: Duration = Duration::from_hours(8);

/// What is asked, safe to show.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Approval {
    /// The call, and the name of the question.
    pub id: CallId,
    /// The upstream.
    pub server_name: String,
    /// The tool.
    pub tool_name: String,
    /// Who calls.
    pub principal: String,
    /// The conversation.
    pub session_id: String,
    #[serde(skip)]
    pub(crate) session: SessionKey,
    /// When it was asked, RFC 3339.
    pub requested_at: String,
    /// When it lapses, RFC 3339.
    pub expires_at: String,
    /// Why one must ask.
    pub reason: Masked,
    /// The direction in which data would move.
    pub flow_type: FlowType,
    /// What the call would send, masked as bodies of records are, and cut.
    pub arguments: Masked,
    /// Whether the arguments are cut.
    pub arguments_truncated: bool,
    /// What was found: what would leave, and where it was read.
    pub findings: Vec<Finding>,
    /// The risk.
    #[serde(flatten)]
    pub risk: Risk,
}

/// The question that an answer for a session is good for: who asks, where, about which tool and why.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Question([String; 5]);

impl Question {
    fn of(shown: &Approval) -> Self {
        let Approval {
            principal,
            session_id,
            server_name,
            tool_name,
            reason,
            ..
        } = shown;
        let reason = reason.as_str();
        Self([principal, session_id, server_name, tool_name, reason].map(str::to_owned))
    }

    /// The name under which gateways share the answer.
    fn name(&self) -> String {
        format!("kept\0{}", self.0.join("\0"))
    }
}

/// What an answer is good for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    principal: Arc<str>,
    tool: [u8; 32],
}

impl Key {
    /// The name under which gateways share the answer.
    fn name(&self) -> String {
        let digits = self.tool.iter().map(|byte| format!("{byte:02x}"));
        format!("answer\0{}\0{}", digits.collect::<String>(), self.principal)
    }
}

#[derive(Debug)]
struct Waiting {
    shown: Approval,
    key: Key,
    until: Tick,
    answer: oneshot::Sender<Said>,
}

#[derive(Debug)]
struct Granted {
    said: Said,
    note: Box<ApprovalNote>,
    until: Tick,
}

/// A yes for a session, and until when it counts.
#[derive(Debug)]
struct Yes {
    note: Box<ApprovalNote>,
    until: Tick,
}

#[derive(Debug, Default)]
struct Table {
    /// By id, which sorts by time.
    waiting: BTreeMap<CallId, Waiting>,
    by_key: HashMap<Key, CallId>,
    granted: HashMap<Key, Granted>,
    /// Questions that are answered with yes.
    kept: HashMap<Question, Yes>,
    shares: Shares,
    /// Questions that nobody answered, for whoever puts that on record.
    lapsed: VecDeque<Approval>,
}

/// The names under which gateways share what was answered before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// An answer that nobody waited for any more.
    pub answer: String,
    /// An answer that counts for a session.
    pub kept: String,
}

/// A yes that counts for a session.
#[derive(Debug)]
pub struct Kept {
    /// The name under which gateways share it.
    pub name: String,
    /// For how long it counts.
    pub span: Duration,
    /// When that ends, RFC 3339.
    pub until: String,
}

/// A question that was answered.
#[derive(Debug)]
pub struct Settled {
    /// What it was about.
    pub about: Approval,
    /// The name of the answer, where nobody waits for it any more.
    pub unheard: Option<String>,
}

/// The queue.
#[derive(Debug, Default)]
pub struct Approvals(Mutex<Table>);

/// Where a question stands.
#[derive(Debug)]
pub enum Standing {
    /// It was answered before.
    Said(Said, Box<ApprovalNote>),
    /// It waits; the answer comes here.
    Waits(CallId, oneshot::Receiver<Said>),
    /// It was put before and still waits.
    Pending(CallId),
    /// Too many wait.
    Full,
}

impl Approvals {
    /// Puts a question, unless the same call was put or answered before.
    pub fn put(&self, asked: &Asked, now: (Tick, Wall), patience: Duration) -> Standing {
        let key = key(&asked.call);
        let mut table = self.table();
        table.sweep(now.0);
        if let Some(granted) = table.granted.remove(&key) {
            return Standing::Said(granted.said, granted.note);
        }
        let shown = shown(asked, now.1, patience);
        if let Some(yes) = table.kept.get(&Question::of(&shown)) {
            return Standing::Said(Said::Yes, yes.note.clone());
        }
        if let Some(id) = table.by_key.get(&key) {
            return Standing::Pending(*id);
        }
        if !table.make_room(&key.principal) {
            return Standing::Full;
        }
        let (answer, answered) = oneshot::channel();
        let id = asked.call.id;
        let waiting = Waiting {
            shown,
            key: key.clone(),
            until: now.0.after(patience),
            answer,
        };
        table.shares.add(&key.principal);
        table.by_key.insert(key, id);
        table.waiting.insert(id, waiting);
        Standing::Waits(id, answered)
    }

    /// Lists what waits, oldest first.
    pub fn list(&self, now: Tick) -> Vec<Approval> {
        let mut table = self.table();
        table.sweep(now);
        table
            .waiting
            .values()
            .map(|one| one.shown.clone())
            .collect()
    }

    /// Answers a question; says what it was about, or nothing if it does not wait.
    ///
    /// Whoever waits is told at once. If nobody does any more, the answer is kept for the same call
    /// made again, for as long as the question would have waited.
    pub fn answer(
        &self,
        id: &str,
        said: Said,
        note: &ApprovalNote,
        now: Tick,
        patience: Duration,
    ) -> Option<Settled> {
        let mut table = self.table();
        table.sweep(now);
        let id = table.waiting.keys().find(|one| one.to_string() == id);
        let id = *id?;
        let waiting = table.remove(id)?;
        let mut unheard = None;
        if waiting.answer.send(said).is_err() {
            unheard = Some(waiting.key.name());
            let granted = Granted {
                said,
                note: Box::new(note.about(&id.to_string())),
                until: now.after(patience),
            };
            table.granted.insert(waiting.key, granted);
        }
        Some(Settled {
            about: waiting.shown,
            unheard,
        })
    }

    /// Takes back a question whose time is over.
    pub fn lapse(&self, id: CallId) {
        self.table().lapse(id);
    }

    /// Returns the questions that lapsed since this was last asked, oldest first.
    pub fn lapsed(&self, now: Tick) -> Vec<Approval> {
        let mut table = self.table();
        table.sweep(now);
        std::mem::take(&mut table.lapsed).into()
    }

    /// Takes back all questions: nobody will be there to hear an answer.
    pub fn end(&self) {
        let mut table = self.table();
        let waiting: Vec<_> = table.waiting.keys().copied().collect();
        for id in waiting {
            table.lapse(id);
        }
    }

    /// Forgets an answer that nobody waited for: it is kept where every gateway finds it.
    pub fn hand_over(&self, name: &str) {
        self.table().granted.retain(|key, _| key.name() != name);
    }

    /// Returns the names under which answers to a question are shared.
    pub fn names(&self, asked: &Asked, now: Wall, patience: Duration) -> Names {
        Names {
            answer: key(&asked.call).name(),
            kept: Question::of(&shown(asked, now, patience)).name(),
        }
    }

    /// Returns the name of the answer that a question which waits would get.
    pub fn name_of(&self, id: CallId) -> Option<String> {
        let table = self.table();
        table.waiting.get(&id).map(|one| one.key.name())
    }

    /// Has the question that waits under `id` answered with yes whenever it is put again in the same
    /// session, for a working day at most; `by` says so. The call that waits is not answered by this.
    pub fn keep(&self, id: &str, by: &str, now: (Tick, Wall)) -> Option<Kept> {
        let mut table = self.table();
        table.sweep(now.0);
        let mut waiting = table.waiting.values();
        let found = waiting.find(|one| one.shown.id.to_string() == id)?;
        let question = Question::of(&found.shown);
        if table.kept.len() >= MOST_KEPT {
            let first = table.kept.iter().min_by_key(|(_, yes)| yes.until);
            let first = first.map(|(question, _)| question.clone());
            first.and_then(|question| table.kept.remove(&question));
        }
        let (name, until) = (question.name(), now.1.after(DAY).rfc3339());
        let note = ApprovalNote::once(by).for_session(until.clone()).about(id);
        let yes = Yes {
            note: Box::new(note),
            until: now.0.after(DAY),
        };
        table.kept.insert(question, yes);
        Some(Kept {
            name,
            span: DAY,
            until,
        })
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn remove(&mut self, id: CallId) -> Option<Waiting> {
        let waiting = self.waiting.remove(&id)?;
        self.by_key.remove(&waiting.key);
        self.shares.remove(&waiting.key.principal);
        Some(waiting)
    }

    /// Takes back a question; tells whether it waited. Dropped with it is the way of an answer.
    fn lapse(&mut self, id: CallId) -> bool {
        let Some(waiting) = self.remove(id) else {
            return false;
        };
        if self.lapsed.len() >= MOST_LAPSED {
            self.lapsed.pop_front();
        }
        self.lapsed.push_back(waiting.shown);
        true
    }

    fn sweep(&mut self, now: Tick) {
        let stale = self.waiting.iter().filter(|(_, one)| one.until <= now);
        let stale: Vec<_> = stale.map(|(id, _)| *id).collect();
        for id in stale {
            self.lapse(id);
        }
        self.granted.retain(|_, granted| granted.until > now);
        self.kept.retain(|_, yes| yes.until > now);
    }

    fn make_room(&mut self, principal: &Arc<str>) -> bool {
        match self.shares.room(principal, MOST) {
            Room::Free => true,
            Room::Of(who) if who == *principal => false,
            Room::Of(who) => {
                let mut own = self.waiting.iter();
                let oldest = own.find(|(_, one)| one.key.principal == who);
                let oldest = oldest.map(|(id, _)| *id);
                oldest.is_some_and(|id| self.lapse(id))
            }
        }
    }
}

fn shown(asked: &Asked, now: Wall, patience: Duration) -> Approval {
    let (call, (arguments, cut)) = (&asked.call, &asked.arguments);
    let reason = asked.verdict().reason().unwrap_or("policy asks first");
    Approval {
        id: call.id,
        server_name: call.tool.upstream.to_string(),
        tool_name: call.shown_tool().to_owned(),
        principal: call.who.name.to_string(),
        session_id: call.session.id.to_string(),
        session: call.session,
        requested_at: now.rfc3339(),
        expires_at: now.after(patience).rfc3339(),
        reason: Masked::from_safe(reason),
        flow_type: asked.verdict().flow,
        arguments: arguments.clone(),
        arguments_truncated: *cut,
        findings: asked.verdict().findings.to_vec(),
        risk: asked.verdict().risk,
    }
}

fn key(call: &Call) -> Key {
    let ToolRef { upstream, tool } = &call.tool;
    let raw = std::str::from_utf8(&call.wire.raw).unwrap_or_default();
    let mut hash = Sha256::new();
    let mut add = |part: &str| {
        hash.update(part.len().to_be_bytes());
        hash.update(part);
    };
    add(upstream.as_str());
    add(tool.as_str());
    add(call.kind.method());
    // Everything that leaves, but for what changes from try to try: the id and where to report.
    for member in text::members(raw).filter(|member| member.key != "id") {
        let value = raw.get(member.value).unwrap_or_default();
        add(&member.key);
        for inner in text::members(value) {
            let within = value.get(inner.value).unwrap_or_default();
            add(&inner.key);
            if inner.key == "_meta" {
                for one in text::members(within) {
                    let said = match (&*one.key, &call.trace.traced) {
                        ("progressToken", _) => continue,
                        // Every try has a span of ours; what counts is what the caller said.
                        ("traceparent", Some(traced)) => traced.parent.as_deref(),
                        _ => within.get(one.value),
                    };
                    add(&one.key);
                    add(said.unwrap_or_default());
                }
            } else {
                add(within);
            }
        }
        if !value.starts_with('{') {
            add(value);
        }
    }
    Key {
        principal: Arc::clone(&call.who.name),
        tool: hash.finalize().into(),
    }
}

#[cfg(test)]
mod tests {
    use mcpproxy_core::{Askable, Principal, ToolName, Traced, UpstreamId, Wire};

    use mcpproxy_testkit::samples;

    use super::*;

    fn call(raw: &'static str) -> Call {
        Call {
            id: CallId::new(1, 1),
            at: Wall(0),
            deadline: Tick(Duration::ZERO),
            door: mcpproxy_core::Door::Mcp,
            who: Principal::local(),
            tool: ToolRef {
                upstream: UpstreamId::new("slack"),
                tool: ToolName::new("post"),
            },
            askable: Askable::Queue,
            wire: Wire {
                raw: raw.into(),
                ticket: None,
            },
            ..samples::call()
        }
    }

    #[test]
    fn an_approval_covers_everything_that_leaves_and_nothing_else() {
        let one = r#"{"id":1,"method":"tools/call","params":{"name":"post","arguments":{"a":1}}}"#;
        let check = |other: &'static str, same: bool| {
            assert_eq!(key(&call(one)) == key(&call(other)), same, "{other}");
        };
        check(
            r#"{"id":2,"method":"tools/call","params":{"name":"post","arguments":{"a":1}}}"#,
            true,
        );
        check(
            r#"{"id":2,"method":"tools/call","params":{"name":"post","arguments":{"a":2}}}"#,
            false,
        );
        check(
            r#"{"id":1,"method":"tools/call","params":{"name":"post","arguments":{"a":1},"x":"y"}}"#,
            false,
        );
        check(
            r#"{"id":1,"method":"tools/call","note":"y","params":{"name":"post","arguments":{"a":1}}}"#,
            false,
        );
        let meta = r#"{"id":1,"params":{"_meta":{"progressToken":7}}}"#;
        let again = r#"{"id":1,"params":{"_meta":{"progressToken":8}}}"#;
        let more = r#"{"id":1,"params":{"_meta":{"progressToken":7,"trace":"y"}}}"#;
        assert_eq!(key(&call(meta)), key(&call(again)));
        assert_ne!(key(&call(meta)), key(&call(more)));
        // The gateway's own span differs from try to try, the caller's does where the caller says so.
        let traced = |raw: &'static str, parent: Option<&str>| {
            let mut call = call(raw);
            let parent = parent.map(Into::into);
            call.trace.traced = Some(Traced { parent });
            key(&call)
        };
        let one = r#"{"id":1,"params":{"_meta":{"traceparent":"00-1"}}}"#;
        let two = r#"{"id":1,"params":{"_meta":{"traceparent":"00-2"}}}"#;
        assert_eq!(traced(one, None), traced(two, None));
        assert_eq!(traced(one, Some("x")), traced(two, Some("x")));
        assert_ne!(traced(one, Some("x")), traced(two, Some("y")));
        assert_ne!(key(&call(one)), key(&call(two)));
    }
}
