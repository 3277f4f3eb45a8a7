//! What agents' hooks tell. An announcement is judged as any call is, with the same facts, state and
//! policy; a report of what a tool gave is remembered and looked through, and nothing is denied for it.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use mcpproxy_classify::{Class, Kind, Method, ToolClass, role};
use mcpproxy_core::{
    Action, Call, CallId, Classified, Coverage, Detected, Ended, Enforcement, Facts, Finding,
    FlowScope, FlowType, Gap, HookNote, Hooked, Outcome, Owner, Phase, Record, Risk, RiskLevel,
    SessionBasis, SessionKey, SinkFault, Status, Taint, Verdict,
};
use mcpproxy_detect::Audience;
use mcpproxy_flow::{Fate, Summary, Whose};
use mcpproxy_hooks::guards::poisoning::answers::HIDDEN;
use mcpproxy_policy::decide;
use serde_json::Value;

use crate::correlate::{Announcer, Arrival, Fingerprint, Reach, until};
use crate::coverage::{HeardNews, Sight};
use crate::engine::{Before, Engine, Judged};
use crate::facts::{arguments, destination, whose};
use crate::known::WITHHELD;
use crate::marks::{self, has_secret};
use crate::own::{self, Own};
use crate::ready::Ready;
use crate::record::{closing, missed, record, short};

/// What a record says where a hook went on without the answer.
const UNHEARD: &str = "the hook did not wait for the answer, and let the tool be used by itself";

/// How agents' hooks are answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookSettings {
    /// Whether they are answered.
    pub enabled: bool,
    /// How long an announced call is waited for.
    pub correlation_ttl_seconds: u32,
    /// What agents keep their hands off: the gateway's own folder, and the files that its configuration
    /// stands in and names.
    pub own: Vec<Box<str>>,
    /// The port at which the gateway takes calls, where the configuration says one.
    pub port: Option<u16>,
}

impl Default for HookSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            correlation_ttl_seconds: 5,
            own: Vec::new(),
            port: None,
        }
    }
}

/// What a hook is answered.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// Whether the agent may use the tool.
    pub decision: Action,
    /// Why, as the agent is told.
    pub reason: Option<String>,
    /// The risk.
    pub risk: Risk,
    /// The direction in which data would move.
    pub flow: FlowType,
}

/// Whose a call is that came by, and what other gateways must be told of it.
#[derive(Clone, Debug, Default)]
pub struct Attributed {
    /// The session in which its data is followed, if it belongs to the conversation of a hook.
    pub followed: Option<SessionKey>,
    /// The announcement that is used up.
    pub used: Option<(SessionKey, Fingerprint)>,
    /// The conversations that announced it alike, so that it links none of them.
    pub spoiled: Option<(Vec<SessionKey>, Fingerprint)>,
}

impl Engine {
    /// Tells whether hooks are answered.
    pub fn answers_hooks(&self) -> bool {
        self.ready().settings.hooks.enabled
    }

    /// Judges or remembers what a hook tells; `response` is what the tool gave.
    pub async fn evaluate(&self, call: Call, response: Option<&str>) -> Evaluation {
        let Some(hook) = call.hook.clone() else {
            return refused("the call came through no hook");
        };
        self.hearing().note(call.session, &hook, self.now());
        match hook.phase {
            Phase::Pre => self.announced(call, response).await,
            Phase::Post => self.reported(call, &hook, response).await,
        }
    }

    /// Notes that a hook was heard from that tells of no tool.
    pub fn heard_from(&self, session: SessionKey, hook: &Hooked) {
        self.hearing().note(session, hook, self.now());
    }

    /// Remembers what the user wrote: nobody has to keep it from them.
    pub fn prompted(&self, call: &Call) {
        let ready = self.ready();
        if ready.settings.enabled {
            self.said_by_user(call, &ready);
        }
    }

    /// Waits for a call that a hook announced, with the fingerprint with which it will come by.
    pub fn announce(
        &self,
        hook: SessionKey,
        reach: Reach,
        print: Fingerprint,
        tool_use: Option<&str>,
    ) {
        let home = None;
        self.expect(Announcer { hook, home, reach }, print, tool_use);
    }

    /// Waits for a call that a hook announced at another gateway, where its conversation lives in a
    /// scope.
    pub fn announced_elsewhere(
        &self,
        hook: SessionKey,
        home: FlowScope,
        reach: Reach,
        print: Fingerprint,
        tool_use: Option<&str>,
    ) {
        let home = Some(home);
        self.expect(Announcer { hook, home, reach }, print, tool_use);
    }

    fn expect(&self, announcer: Announcer, print: Fingerprint, tool_use: Option<&str>) {
        let seconds = self.ready().settings.hooks.correlation_ttl_seconds;
        let now = self.now().0;
        let until = until(now, seconds);
        let correlator = self.correlator();
        correlator.expect(announcer, print, tool_use, until, now);
    }

    /// Does not wait any more for a call that came by another gateway.
    pub fn arrived_elsewhere(&self, hook: SessionKey, print: Fingerprint) {
        self.correlator().withdraw(hook, print);
    }

    /// Links nobody any more by what these hooks announced: a call that came by another gateway may
    /// have been of any of them.
    pub fn spoiled_elsewhere(&self, hooks: &[SessionKey], print: Fingerprint) {
        self.correlator().spoil(hooks, print);
    }

    /// Tells whether a call may belong to the conversation of a hook.
    pub fn correlates(&self) -> bool {
        !self.correlator().is_idle() && self.answers_hooks()
    }

    /// Finds out which conversation of a hook a call belongs to, and links the two for good.
    pub fn arrived(
        &self,
        arrival: Arrival<'_>,
        print: impl FnOnce() -> Option<Fingerprint>,
    ) -> Attributed {
        if !self.correlates() {
            return Attributed::default();
        }
        let print = print();
        let came = self.correlator().arrived(arrival, print, self.now().0);
        let spoiled = print.filter(|_| !came.spoiled.is_empty());
        let spoiled = spoiled.map(|print| (came.spoiled, print));
        let Some(linked) = came.linked else {
            return Attributed {
                spoiled,
                ..Attributed::default()
            };
        };
        if linked.new {
            if let Some(scope) = linked.home {
                let session = linked.hook;
                self.tracker().lives(Whose { scope, session });
            }
            self.tracker().link(linked.hook, linked.session);
        }
        Attributed {
            followed: Some(linked.session),
            used: linked.used.map(|print| (linked.hook, print)),
            spoiled,
        }
    }

    /// Puts on record that the hook of a conversation could not ask, or not wait for what was said
    /// `about` it.
    pub async fn missed(
        &self,
        id: CallId,
        gap: &Gap,
        session: Option<SessionKey>,
        about: Option<CallId>,
    ) {
        let ready = self.ready();
        let class = classified(&own::class(role(&gap.tool)));
        let record = missed(&ready.detector, id, gap, class);
        let session = session.map(|session| session.id.to_string());
        let about = about.map(|about| about.to_string());
        let record = Record {
            session_id: session.unwrap_or_default(),
            correlation_id: about.unwrap_or_default(),
            ..record
        };
        let kept = self.sink().append(record, ready.settings.durability).await;
        // It is counted where it is lost; the tool was used long ago.
        drop(self.settle(kept, &ready.settings));
    }

    /// Returns how much can be seen of what agents do.
    pub fn sight(&self) -> Sight {
        self.hearing().sight(self.moment())
    }

    /// Returns what was heard from hooks here that other gateways have to be told of.
    pub fn heard_news(&self) -> Vec<HeardNews> {
        self.hearing().news(self.now().0)
    }

    /// Notes that other gateways were told what was heard here.
    pub fn told_heard(&self, news: &[HeardNews]) {
        self.hearing().told(news, self.now().0);
    }

    /// Has other gateways told of everything once more that was heard here: they may have missed it.
    pub fn doubt_heard(&self) {
        self.hearing().doubt();
    }

    /// Takes over what another gateway heard from hooks.
    pub fn heard_elsewhere(&self, from: &str, news: &[HeardNews]) {
        self.hearing().fold(from, news, self.now().1);
    }

    /// Returns what is known of hooks that are active, by the gateways that heard them; `own` names
    /// this one.
    pub fn all_heard(&self, own: &str) -> BTreeMap<String, Vec<HeardNews>> {
        self.hearing().all(own, self.moment())
    }

    /// Finds the conversation that an agent calls by this name.
    pub fn hook_session(&self, name: &str) -> Option<SessionKey> {
        self.hearing().named(name)
    }

    /// Waits for what the conversation of a call has begun to read, before the call goes outside.
    pub(crate) async fn until_read(&self, call: &Call, own: Option<&Own>, ready: &Ready) {
        if self.reads().is_idle() {
            return;
        }
        let session = match &call.hook {
            Some(_) => Some(call.session),
            None => self.correlator().hook_of(call.session),
        };
        let Some(session) = session else { return };
        let sink = own.map(|own| own.sink);
        let sink = sink.unwrap_or_else(|| self.class_of(call, ready).as_sink());
        if !sink.is_trusted() && !self.reads().known(session).await {
            // What it is, is not known: from now on it counts as private.
            let legs = Taint {
                private: true,
                ..Taint::default()
            };
            self.tracker().mark(whose(call), legs, self.now().0);
        }
    }

    async fn announced(&self, mut call: Call, response: Option<&str>) -> Evaluation {
        let ready = self.ready();
        let own = Own::of(&call, &ready);
        self.until_read(&call, own.as_ref(), &ready).await;
        if let Some(own) = own {
            self.begin_read(&call, &own);
        }
        let judged = self.judged(&mut call, Vec::new(), &ready).await;
        let evaluation = Evaluation {
            decision: judged.verdict.action,
            reason: (judged.verdict.action != Action::Allow).then(|| judged.answer.reason.clone()),
            risk: judged.verdict.risk,
            flow: judged.verdict.flow,
        };
        let kept = match judged.verdict.action {
            Action::Deny => match self.denied(&call, judged, &ready).await {
                Before::Unrecorded(fault) => Err(fault),
                Before::Denied(_) | Before::Cleared(_) | Before::Asked(_) => Ok(()),
            },
            Action::Allow | Action::Warn => {
                self.let_go(&call, judged, Status::Success, &ready).await
            }
            Action::Ask => self.let_go(&call, judged, Status::Pending, &ready).await,
        };
        if let (Some(body), true) = (response, evaluation.decision != Action::Deny) {
            // Some agents have read the file before they ask.
            let mut detected = Detected::default();
            let found = self.read_back(&call, body, &ready, &mut detected);
            self.count(&self.looked_back(&call, found, &ready));
        }
        self.tell_others(&call).await;
        match kept {
            Ok(()) => evaluation,
            Err(fault) => refused(&fault.to_string()),
        }
    }

    /// Takes note of a tool that the agent goes on to use, or asks its user about.
    async fn let_go(
        &self,
        call: &Call,
        judged: Judged,
        status: Status,
        ready: &Ready,
    ) -> Result<(), SinkFault> {
        // A call that comes by here is counted when it does. Whether another one left, nobody tells.
        let owner = call.hook.as_ref().map(|hook| hook.owner);
        let fate = match owner {
            Some(Owner::Gateway) => Fate::Undone,
            Some(_) | None => Fate::Left,
        };
        let now = self.now().0;
        self.tracker().settle(whose(call), call.id, fate, now);
        let Judged {
            verdict, detected, ..
        } = judged;
        let outcome = self.unanswered(call, status);
        let reason = match verdict.enforced {
            Enforcement::Unheard => Some(UNHEARD),
            Enforcement::Enforced | Enforcement::Degraded | Enforcement::Shadow => {
                verdict.reason().filter(|_| verdict.action != Action::Allow)
            }
        };
        let detector = &ready.detector;
        let mut record = record(detector, call, &verdict, &outcome, reason, &detected);
        self.add_bodies(&mut record, call, &outcome, ready);
        let kept = self.keep(call, record, ready.settings.durability).await;
        let receipted = self.witness_intent(call, &verdict).await;
        self.settle(kept, &ready.settings).and(receipted)
    }

    /// Notes that a tool begins to read something private.
    fn begin_read(&self, call: &Call, own: &Own) {
        if own.credential.is_some() {
            let legs = Taint {
                private: true,
                ..Taint::default()
            };
            self.tracker().mark(whose(call), legs, self.now().0);
        }
        if own.reads() {
            self.reads().begin(call.session, which(call), self.now().0);
        }
    }

    /// Remembers what a tool gave.
    async fn reported(&self, mut call: Call, hook: &Hooked, response: Option<&str>) -> Evaluation {
        let ready = self.ready();
        call.trace.began = Some(self.now().0);
        let call = &call;
        let (mut detected, mut found) = (Detected::default(), Vec::new());
        // What comes by here was remembered when it did.
        let seen = hook.owner == Owner::Gateway && self.correlator().has_link(call.session);
        if ready.settings.enabled && !seen {
            self.said(call, &ready);
            if let Some(body) = response {
                found = self.read_back(call, body, &ready, &mut detected);
            }
        }
        self.tell_others(call).await;
        self.reads().end(call.session, which(call));
        let verdict = self.looked_back(call, found, &ready);
        self.count(&verdict);
        let status = if hook.failed {
            Status::Error
        } else {
            Status::Success
        };
        let outcome = Outcome {
            body: Bytes::copy_from_slice(response.unwrap_or_default().as_bytes()),
            ..self.unanswered(call, status)
        };
        let mut record = record(&ready.detector, call, &verdict, &outcome, None, &detected);
        self.add_bodies(&mut record, call, &outcome, &ready);
        let kept = self.keep(call, record, ready.settings.durability).await;
        let ended = || Ended::Reported {
            body: response.map(|_| outcome.body.clone()),
            is_error: hook.failed,
        };
        let receipted = self.witness_end(call, &verdict, ended).await;
        // The tool was used already: a record that is lost is counted, and stops nothing.
        drop(self.settle(kept, &ready.settings).and(receipted));
        Evaluation {
            decision: Action::Allow,
            reason: None,
            risk: verdict.risk,
            flow: verdict.flow,
        }
    }

    /// Remembers what a tool of the agent's own gave; says what hides in it, and what orders it gives
    /// to the model.
    fn read_back(
        &self,
        call: &Call,
        body: &str,
        ready: &Ready,
        detected: &mut Detected,
    ) -> Vec<Finding> {
        let answered = self.remember(call, body, Some(Audience::Result), ready, detected);
        let (mut findings, cut) = (answered.findings, answered.text.is_some());
        for finding in &mut findings {
            // The agent has it already: what would have been taken out or withheld is told.
            let kept = cut && finding.rule == HIDDEN;
            finding.wants = if kept {
                Action::Warn
            } else {
                finding.wants.min(Action::Warn)
            };
            marks::quiet(&ready.detector, finding);
        }
        findings
    }

    /// Returns what is decided about something that is over: that it is told.
    pub(crate) fn looked_back(
        &self,
        call: &Call,
        findings: Vec<Finding>,
        ready: &Ready,
    ) -> Arc<Verdict> {
        let facts = Facts::bare(match Own::of(call, ready) {
            Some(own) => own.destination(),
            None => destination(call, &self.class_of(call, ready)),
        });
        Arc::new(decide(&ready.settings.policy, call, &facts, findings))
    }

    fn class_of(&self, call: &Call, ready: &Ready) -> Arc<ToolClass> {
        let settings = &ready.settings.classification;
        self.classes().of(&call.tool, settings)
    }

    /// Completes a record with what is known of its conversation.
    pub(crate) fn attributed(&self, call: &Call, mut record: Record) -> Record {
        let mut coverage = Coverage::ProxyOnly;
        if let Some(hook) = &call.hook {
            record.kind = "hook_evaluation";
            record.hook = Some(Box::new(self.note_of(call, hook)));
            coverage = Coverage::Full;
        } else {
            record = self.conversing(call.session, record);
            if record.mcp_session_id.is_some() {
                coverage = Coverage::Full;
            }
        }
        record.security_coverage = Some(coverage);
        record
    }

    /// Puts a record of a session under that of the hook which it is linked with, if it is.
    pub(crate) fn conversing(&self, session: SessionKey, mut record: Record) -> Record {
        if let Some(linked) = self.correlator().hook_of(session) {
            let own = std::mem::replace(&mut record.session_id, linked.id.to_string());
            record.mcp_session_id = Some(own);
        }
        record
    }

    /// Composes the record that closes a session.
    pub(crate) fn closing(&self, summary: &Summary) -> Record {
        let session = summary.whose.session;
        let linked = self.correlator().hook_of(session);
        let hooked = session.basis == SessionBasis::Hook || linked.is_some();
        let coverage = if hooked {
            Coverage::Full
        } else {
            Coverage::ProxyOnly
        };
        self.conversing(session, closing(summary, coverage, self.now().1))
    }

    fn note_of(&self, call: &Call, hook: &Hooked) -> HookNote {
        let ready = self.ready();
        let class = match Own::class_of(call) {
            Some(class) => class,
            None => self.class_of(call, &ready).class.clone(),
        };
        // An agent's own words, where a secret may stand as anywhere else.
        let shown = |words: &str| {
            if has_secret(&ready.detector, words) {
                return WITHHELD.to_owned();
            }
            short(words)
        };
        HookNote {
            agent: hook.agent.to_string(),
            event: shown(&hook.event),
            phase: hook.phase,
            session: shown(&hook.session),
            tool_use_id: hook.tool_use.as_deref().map(shown),
            owner: hook.owner,
            classification: classified(&class),
        }
    }
}

fn classified(class: &Class) -> Classified {
    Classified {
        class: match class.kind {
            Kind::Internal => "internal",
            Kind::External => "external",
            Kind::Hybrid => "hybrid",
            Kind::Unknown => "unknown",
        },
        confidence: class.confidence.as_f64(),
        method: match class.method {
            Method::Config => "config",
            Method::Annotation => "annotation",
            Method::Heuristic => "heuristic",
        },
        can_read_data: class.can_read_data(),
        can_exfiltrate: class.can_exfiltrate(),
    }
}

/// Tells the uses of a tool apart: as the agent does, or by what is given to it.
fn which(call: &Call) -> Fingerprint {
    let named = call.hook.as_ref().and_then(|hook| hook.tool_use.as_deref());
    let tool = call.tool.tool.as_str();
    let given = || {
        let raw = std::str::from_utf8(&call.wire.raw).unwrap_or_default();
        serde_json::from_str(arguments(raw)).unwrap_or_default()
    };
    Fingerprint::of(tool, &named.map_or_else(given, Value::from))
}

fn refused(why: &str) -> Evaluation {
    Evaluation {
        decision: Action::Deny,
        reason: Some(why.to_owned()),
        risk: Risk {
            level: RiskLevel::None,
            score: 0,
        },
        flow: FlowType::None,
    }
}
