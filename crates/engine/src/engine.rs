//! `before` and `after`: what happens to every call on its way out and on its way back.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use bytes::Bytes;
use mcpproxy_classify::{Class, Classification, Kind, is_browser};
use mcpproxy_core::{
    Action, ActivitySink, BaselineFault, BaselineStore, Call, CallId, Cleared, Clock, DataOrigin,
    Durability, Facts, Finding, FlowScope, FlowType, MessageKind, Outcome, Owner, ReceiptSink,
    Record, SessionKey, Side, SinkFault, Status, Taint, Tick, Tier, ToolName, ToolRef, Unanswered,
    UpstreamId, Verdict, Wall,
};
use mcpproxy_detect::{Audience, Context, DetectError, Detector, Direction, Report};
use mcpproxy_flow::{Content, SessionView, Summary, Tracker, Whose};
use mcpproxy_hooks::guards::access;
use mcpproxy_hooks::guards::behaviour::Book;
use mcpproxy_hooks::guards::poisoning::answers::Answered;
use mcpproxy_hooks::guards::watch::On;
use mcpproxy_hooks::{Health, Metrics, Registry};
use mcpproxy_policy::settings::DecisionLevel;
use mcpproxy_policy::{Answer, Policy, answer, decide, judge};
use tracing::field::Empty;
use tracing::{Instrument as _, Span};

use crate::access::Rules;
use crate::approvals::Approvals;
use crate::classes::{Classes, Described, Profile};
use crate::correlate::Correlator;
use crate::coverage::Hearing;
use crate::events::{Event, Events, FlowAlert};
use crate::facts::{Seen, arguments, context, origin, tool_name, whose};
use crate::guarded::Guarded;
use crate::marks;
use crate::own::{Credential, Own};
use crate::pipeline::Looked;
use crate::quarantine::Quarantine;
use crate::reads::Reads;
use crate::ready::{EngineSettings, Ready};
use crate::record::{Detected, record};
use crate::stops::Stops;
use crate::witness::ended;

/// The least time that a record is given to reach the disk: a call whose deadline has passed is
/// put on record too.
const LEAST: Duration = Duration::from_secs(5);

/// How often what was learned about behaviour is written down, in milliseconds.
const KEEP_HABITS: u64 = 60_000;

/// What `before` came to.
#[derive(Debug)]
pub enum Before {
    /// The call may leave.
    Cleared(Box<Cleared<Call>>),
    /// Somebody must be asked; what they say goes to [`Engine::answered`].
    Asked(Box<Asked>),
    /// The call may not leave, and that is on record.
    Denied(Box<Denied>),
    /// The call may not leave because that it was denied could not be recorded.
    Unrecorded(SinkFault),
}

/// A call about which somebody must be asked.
#[derive(Debug)]
pub struct Asked {
    /// The call.
    pub call: Call,
    judged: Judged,
}

impl Asked {
    /// Returns why one must ask.
    pub fn verdict(&self) -> &Arc<Verdict> {
        &self.judged.verdict
    }
}

/// A call that may not leave.
#[derive(Debug)]
pub struct Denied {
    /// What was decided, and everything that was found.
    pub verdict: Arc<Verdict>,
    /// What the agent is told; it may be less.
    pub answer: Answer,
}

/// What `before` found out about a call.
#[derive(Debug)]
pub(crate) struct Judged {
    pub(crate) verdict: Arc<Verdict>,
    pub(crate) answer: Answer,
    pub(crate) detected: Detected,
}

/// What was found out about a call before anything is decided.
pub(crate) struct Found {
    pub(crate) seen: Seen,
    pub(crate) findings: Vec<Finding>,
    pub(crate) now: Tick,
}

/// What `after` came to.
#[derive(Debug)]
pub enum After {
    /// The caller gets what came back.
    Passed,
    /// The caller gets this instead, as a hook wants it.
    Replaced(Bytes),
    /// The caller gets nothing of it, and that is on record.
    Withheld(Box<Denied>),
}

/// What came of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// The call may leave.
    Yes,
    /// It may not.
    No,
    /// Nobody answered in time.
    Nothing,
    /// Somebody may still answer, but the call does not wait any longer.
    Later,
}

/// Who says something to a session outside of any call.
#[derive(Clone, Copy, Debug)]
pub struct Unasked<'a> {
    /// The upstream.
    pub upstream: &'a UpstreamId,
    /// The domain in which secrets are matched.
    pub scope: FlowScope,
    /// The conversation that hears it.
    pub session: SessionKey,
}

/// The engine.
#[derive(Debug)]
pub struct Engine {
    ready: ArcSwap<Ready>,
    /// Nothing where no hook is configured: then a call takes one branch.
    pipeline: ArcSwapOption<Registry>,
    metrics: Arc<Metrics>,
    looked: Looked,
    tracker: Tracker,
    classes: Classes,
    approvals: Approvals,
    stops: Stops,
    events: Events,
    correlator: Correlator,
    hearing: Hearing,
    reads: Reads,
    quarantine: Quarantine,
    guarded: ArcSwap<Guarded>,
    /// Who may use what; nothing where no rules are configured.
    access: ArcSwapOption<Rules>,
    habits: Arc<Book>,
    /// Where habits are kept, if anywhere, and when they were last.
    habit_store: Option<Arc<dyn BaselineStore>>,
    habits_kept: AtomicU64,
    sink: Arc<dyn ActivitySink>,
    pub(crate) receipts: Option<Arc<dyn ReceiptSink>>,
    lost: AtomicU64,
    since: Wall,
    clock: Arc<dyn Clock>,
}

impl Engine {
    /// Makes an engine.
    pub fn new(
        settings: EngineSettings,
        sink: Arc<dyn ActivitySink>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, DetectError> {
        let classes = Classes::default();
        let habits = Arc::default();
        let metrics = Arc::<Metrics>::default();
        let guarded = Guarded::new(&settings.guards, &Guarded::default(), &classes, &habits);
        Ok(Self {
            tracker: Tracker::new(&settings.flow_tracking),
            ready: ArcSwap::from_pointee(Ready::new(settings)?.counted(&metrics, &clock)),
            pipeline: ArcSwapOption::empty(),
            metrics,
            looked: Looked::default(),
            classes,
            approvals: Approvals::default(),
            stops: Stops::default(),
            events: Events::default(),
            correlator: Correlator::default(),
            hearing: Hearing::default(),
            reads: Reads::default(),
            quarantine: Quarantine::default(),
            guarded: ArcSwap::from_pointee(guarded),
            access: ArcSwapOption::empty(),
            habits,
            habit_store: None,
            habits_kept: AtomicU64::new(0),
            sink,
            receipts: None,
            lost: AtomicU64::new(0),
            since: clock.wall(),
            clock,
        })
    }

    /// Gives it what is known about tools, and keeps there what becomes known.
    pub fn with_baselines(self, store: Arc<dyn BaselineStore>) -> Result<Self, BaselineFault> {
        Ok(Self {
            quarantine: Quarantine::open(store)?,
            ..self
        })
    }

    /// Gives it what is known about how callers and upstreams behave, and keeps there what is learned.
    pub fn with_habits(self, store: Arc<dyn BaselineStore>) -> Result<Self, BaselineFault> {
        for subject in self.habits.take(store.habits()?) {
            tracing::warn!("the habits of `{subject}` cannot be read and are learned anew");
        }
        Ok(Self {
            habit_store: Some(store),
            ..self
        })
    }

    /// Puts new settings in force; calls under way end under those they began with.
    pub fn reload(&self, settings: EngineSettings) -> Result<(), DetectError> {
        let ready = Ready::new(settings)?.counted(&self.metrics, &self.clock);
        self.tracker.reload(&ready.settings.flow_tracking);
        self.classes.reload(&ready.settings.classification);
        let before = self.guarded.load();
        let guarded = Guarded::new(&ready.settings.guards, &before, &self.classes, &self.habits);
        self.guarded.store(Arc::new(guarded));
        self.ready.store(Arc::new(ready));
        Ok(())
    }

    /// Puts a pipeline of hooks in force, for sessions that are under way as well; calls that are
    /// being judged end under the one they began with.
    pub fn set_hooks(&self, pipeline: Option<Arc<Registry>>) {
        self.looked.clear();
        self.pipeline.store(pipeline);
    }

    /// Returns the pipeline of hooks, if there is one.
    pub fn hooks(&self) -> Option<Arc<Registry>> {
        self.pipeline.load_full()
    }

    /// Says how every native guard and every hook is doing, in the order of their priorities.
    pub async fn health(&self) -> Vec<Health> {
        let ready = self.ready.load_full();
        let mut all = Vec::new();
        if ready.settings.enabled {
            all = ready.guards.health();
        }
        if let Some(pipeline) = self.hooks() {
            all.extend(pipeline.health().await);
        }
        all.sort_by(|one, other| (one.priority, &one.id).cmp(&(other.priority, &other.id)));
        all
    }

    /// Returns what is counted about hooks and violations.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// Returns the kill switch.
    pub fn stops(&self) -> &Stops {
        &self.stops
    }

    /// Returns what is told to those who watch.
    pub fn events(&self) -> &Events {
        &self.events
    }

    /// Returns the calls that wait for a person.
    pub fn approvals(&self) -> &Approvals {
        &self.approvals
    }

    /// Returns how long a person may take to answer, if there is a queue.
    pub fn patience(&self) -> Option<Duration> {
        self.ready.load().settings.approvals
    }

    pub(crate) fn tracker(&self) -> &Tracker {
        &self.tracker
    }

    /// Returns what a session has seen so far.
    pub fn taint(&self, scope: FlowScope, session: SessionKey) -> Taint {
        self.tracker.taint(Whose { scope, session })
    }

    /// Returns what a session read and where it went.
    pub fn session(&self, key: SessionKey) -> Option<SessionView> {
        self.tracker.session(key)
    }

    /// Returns what an upstream is taken for.
    pub fn class(&self, upstream: &UpstreamId) -> Class {
        let ready = self.ready.load();
        self.classes
            .of_upstream(upstream, &ready.settings.classification)
    }

    pub(crate) fn ready(&self) -> Arc<Ready> {
        self.ready.load_full()
    }

    pub(crate) fn classes(&self) -> &Classes {
        &self.classes
    }

    pub(crate) fn correlator(&self) -> &Correlator {
        &self.correlator
    }

    pub(crate) fn hearing(&self) -> &Hearing {
        &self.hearing
    }

    pub(crate) fn reads(&self) -> &Reads {
        &self.reads
    }

    pub(crate) fn guarded(&self) -> arc_swap::Guard<Arc<Guarded>> {
        self.guarded.load()
    }

    pub(crate) fn access_rules(&self) -> &ArcSwapOption<Rules> {
        &self.access
    }

    pub(crate) fn looked(&self) -> &Looked {
        &self.looked
    }

    pub(crate) fn quarantine(&self) -> &Quarantine {
        &self.quarantine
    }

    pub(crate) fn sink(&self) -> &dyn ActivitySink {
        &*self.sink
    }

    pub(crate) fn now(&self) -> (Tick, Wall) {
        (self.clock.tick(), self.clock.wall())
    }

    /// Returns since when data is followed: what was read before is not known.
    pub fn since(&self) -> Wall {
        self.since
    }

    /// Takes a new listing of an upstream.
    pub fn learn(&self, upstream: &UpstreamId, profile: Profile, listed: Vec<Described>) {
        let ready = self.ready.load();
        let settings: &Classification = &ready.settings.classification;
        self.guarded.load().learn(upstream, &listed);
        self.classes.learn(upstream, profile, listed, settings);
    }

    /// Forgets an upstream that is gone.
    pub fn forget(&self, upstream: &UpstreamId) {
        self.classes.forget(upstream);
        self.quarantine.forget(upstream);
        self.guarded.load().forget(upstream);
        self.looked.forget(upstream);
    }

    /// Judges a call before it leaves.
    pub async fn before(&self, call: Call) -> Before {
        let span = span(&call);
        self.begun(call).instrument(span).await
    }

    async fn begun(&self, mut call: Call) -> Before {
        let ready = self.ready.load_full();
        self.until_read(&call, &ready).await;
        let early = self.guard_call(&mut call, &ready);
        let judged = self.judged(&mut call, early, &ready).await;
        self.catch(&call, &judged.verdict, &ready).await;
        match judged.verdict.action {
            Action::Allow | Action::Warn => self.cleared(call, judged, &ready).await,
            Action::Ask => Before::Asked(Box::new(Asked { call, judged })),
            Action::Deny => self.denied(&call, judged, &ready).await,
        }
    }

    /// Goes on with a call after somebody was asked about it.
    pub async fn answered(&self, asked: Asked, said: Said) -> Before {
        let ready = self.ready.load_full();
        let Asked { call, judged } = asked;
        match said {
            Said::Yes => self.cleared(call, judged, &ready).await,
            Said::No | Said::Nothing => self.denied(&call, judged, &ready).await,
            Said::Later => self.stopped(&call, judged, &ready).await,
        }
    }

    /// Finds out what there is to find out about a call, without the hooks.
    pub(crate) fn found(&self, call: &Call, early: &[Finding], ready: &Ready) -> Found {
        let now = self.clock.tick();
        let seen = self.facts(call, ready, now);
        let mut findings: Vec<_> = self.stops.judge(call).into_iter().collect();
        if ready.judges() {
            findings.extend(self.quarantine.judge(call));
        }
        if ready.settings.enabled {
            let from = findings.len();
            findings.extend_from_slice(early);
            let (guarded, watches) = (self.guarded.load(), ready.guards.watches());
            findings.extend(guarded.form(call, watches));
            let now = self.clock.wall();
            findings.extend(guarded.unusual(call, &seen.facts, now, watches));
            let forbidden = || self.forbidden(call, ready);
            findings.extend(watches.find(access::ID, On::Request, forbidden));
            watches.order(findings.get_mut(from..).unwrap_or_default());
            for finding in &mut findings {
                marks::quiet(&ready.detector, finding);
            }
            findings.extend(self.hooks_withhold(call));
            findings.extend(judge(&ready.settings.policy, call, &seen.facts));
        }
        Found {
            seen,
            findings,
            now,
        }
    }

    /// Decides about a call, and takes note of it.
    pub(crate) fn ruled(&self, call: &Call, found: Found, ready: &Ready) -> Judged {
        let policy = &ready.settings.policy;
        let Seen { facts, report } = found.seen;
        let verdict = Arc::new(decide(policy, call, &facts, found.findings));
        log(policy, call, &verdict);
        self.count(&verdict);
        // A call that comes by after its announcement is counted when it does.
        let comes = announces(call) && verdict.action != Action::Deny;
        if !comes {
            self.note(call, &facts, &verdict, found.now);
            self.alert(call, &verdict, &facts);
        }
        let mut detected = Detected::default();
        detected.add(&report);
        Judged {
            answer: answer(policy, call, &facts, &verdict),
            verdict,
            detected,
        }
    }

    /// Counts what checks object to; what hooks object to was counted when they did.
    fn count(&self, verdict: &Verdict) {
        let objections = verdict.findings.iter();
        let objections = objections.filter(|one| one.wants > Action::Allow);
        for finding in objections.filter(|one| one.tier != Tier::Hook) {
            self.metrics.violation(finding.threat, finding.severity);
        }
    }

    /// Notes what a call's flow came to, for what follows in its session.
    fn note(&self, call: &Call, facts: &Facts, verdict: &Verdict, now: Tick) {
        if verdict.flow == FlowType::None {
            return;
        }
        let (whose, to) = (whose(call), &facts.destination);
        self.tracker
            .note_flow(whose, verdict.flow, verdict.risk.level, now);
        if verdict.flow == FlowType::InternalToExternal && verdict.wanted >= Action::Ask {
            match call.declared.flow_justification {
                Some(_) => self.tracker.note_justified(whose, to, now),
                None => self.tracker.note_unjustified(whose, to, now),
            }
        }
    }

    /// Judges and records what came back, before the caller sees it.
    ///
    /// An origin is remembered before this returns, so that the agent's next call cannot race it.
    pub async fn after(
        &self,
        cleared: &Cleared<Call>,
        outcome: &Outcome,
        problem: Option<Unanswered<'_>>,
    ) -> Result<After, SinkFault> {
        let ended = self.ended(cleared, outcome, problem);
        ended.instrument(span(cleared.value())).await
    }

    async fn ended(
        &self,
        cleared: &Cleared<Call>,
        outcome: &Outcome,
        problem: Option<Unanswered<'_>>,
    ) -> Result<After, SinkFault> {
        let call = cleared.value();
        let ready = self.ready.load_full();
        let now = self.clock.tick();
        self.tracker.settle(whose(call), call.id, true, now);
        let (guarded, watches) = (self.guarded.load(), ready.guards.watches());
        let unusual = guarded.over(call, outcome, self.clock.wall(), watches);
        drop(guarded);
        let mut detected = Detected::default();
        let mut answered = Answered::default();
        if ready.settings.enabled && brings_data(&call.kind) {
            let body = std::str::from_utf8(&outcome.body).unwrap_or_default();
            let audience = Some(audience(call, outcome.status));
            answered = self.remember(call, body, audience, &ready, &mut detected);
        }
        answered.findings.extend(unusual);
        let reviewed = self.reviewed(call, outcome, answered, &ready).await;
        let detector = &ready.detector;
        let mut record = record(
            detector,
            call,
            cleared.verdict(),
            outcome,
            problem.map(|problem| problem.words),
            &detected,
        );
        reviewed.note(&mut record);
        let kept = self.keep(call, record, ready.settings.durability).await;
        let ended = || ended(outcome, problem, &reviewed.after);
        let receipted = self.witness_end(call, cleared.verdict(), ended).await;
        self.settle(kept, &ready.settings).and(receipted)?;
        Ok(reviewed.after)
    }

    /// Remembers what somebody wrote, so that reading it back makes no secret of it. What leaves with
    /// a call that was checked is remembered when that call is settled.
    pub(crate) fn said(&self, call: &Call, ready: &Ready) {
        if !brings_data(&call.kind) || !ready.settings.flow_tracking.enabled {
            return;
        }
        let raw = std::str::from_utf8(&call.wire.raw).unwrap_or_default();
        let content = Content {
            json: arguments(raw),
            marked: &[],
        };
        let (now, origin) = (self.clock.tick(), origin(call, Side::Outside));
        self.tracker.said(whose(call), origin, &content, now);
    }

    /// Remembers what an upstream said during a call: a question, news of its progress. It reaches
    /// the agent before the answer does.
    pub fn heard(&self, call: &Call, message: &str) {
        let ready = self.ready.load_full();
        if ready.settings.enabled {
            self.remember(call, message, None, &ready, &mut Detected::default());
        }
    }

    /// Remembers what a call read, as data of the side that its tool is on; says what hides in it for
    /// whoever reads it, if that is looked for.
    pub(crate) fn remember(
        &self,
        call: &Call,
        body: &str,
        audience: Option<Audience>,
        ready: &Ready,
        detected: &mut Detected,
    ) -> Answered {
        let tool = tool_name(call);
        let context = Context {
            audience,
            ..context(&tool, Direction::Response)
        };
        let report = ready.detector.json(body, context);
        detected.add(&report);
        if ready.settings.flow_tracking.enabled {
            self.follow(call, body, &report, ready);
        }
        let answered = audience.map(|audience| ready.guards.answer(body, &report, audience));
        answered.unwrap_or_default()
    }

    /// Remembers where what a call read comes from.
    fn follow(&self, call: &Call, body: &str, report: &Report, ready: &Ready) {
        let own = Own::of(call, &ready.detector);
        let origin = match &own {
            Some(own) => own.origin(call),
            None => Some(self.origin(call, &ready.settings)),
        };
        let Some(origin) = origin else { return };
        let file = own.and_then(|own| own.credential);
        self.trace(whose(call), origin, body, report, file.as_ref(), ready);
    }

    /// Remembers what an upstream says to a session outside of any call: messages to its log,
    /// questions, lists of resources.
    pub fn heard_aside(&self, from: &Unasked<'_>, message: &str) {
        let ready = self.ready.load_full();
        let settings = &ready.settings;
        if !settings.enabled || !settings.flow_tracking.enabled {
            return;
        }
        let context = context(from.upstream.as_str(), Direction::Response);
        let report = ready.detector.json(message, context);
        let tool = ToolRef {
            upstream: from.upstream.clone(),
            tool: ToolName::new(""),
        };
        let at = self.clock.wall();
        let origin = DataOrigin {
            // It belongs to no call, and no record has this id.
            call: CallId::new(at.0, 0),
            side: self.side(&tool, settings),
            upstream: tool.upstream,
            tool: tool.tool,
            at,
        };
        let whose = Whose {
            scope: from.scope,
            session: from.session,
        };
        self.trace(whose, origin, message, &report, None, &ready);
    }

    fn trace(
        &self,
        whose: Whose,
        origin: DataOrigin,
        body: &str,
        report: &Report,
        file: Option<&Credential>,
        ready: &Ready,
    ) {
        let now = self.clock.tick();
        let detects = ready.settings.detector.enabled;
        if origin.side == Side::Inside && report.coverage.unscanned > 0 && detects {
            // Whether a secret stands in the rest is not known: from now on somebody is asked.
            self.tracker.note_unread(whose, now);
        }
        let mut marked = marks::marked(&ready.detector, body, report);
        if let Some(file) = file {
            marks::credential(body, file, &mut marked);
        }
        let content = Content {
            json: body,
            marked: &marked,
        };
        self.tracker.record(whose, origin, &content, now);
    }

    /// Returns where what a tool behind MCP gave comes from.
    fn origin(&self, call: &Call, settings: &EngineSettings) -> DataOrigin {
        origin(call, self.side(&call.tool, settings))
    }

    /// Returns the side on which what a tool gives is.
    fn side(&self, tool: &ToolRef, settings: &EngineSettings) -> Side {
        let class = self.classes.of(tool, &settings.classification);
        let kind = class.as_source(settings.classification.default_unknown);
        let page = kind == Kind::Hybrid && is_browser(tool.upstream.as_str());
        match kind {
            Kind::External => Side::Outside,
            Kind::Hybrid if page => Side::Outside,
            Kind::Internal | Kind::Hybrid | Kind::Unknown => Side::Inside,
        }
    }

    /// Tells those who watch about data on its way outside.
    fn alert(&self, call: &Call, verdict: &Verdict, facts: &Facts) {
        if verdict.flow != FlowType::InternalToExternal || verdict.wanted == Action::Allow {
            return;
        }
        self.events.tell(Event::FlowAlert(FlowAlert {
            activity_id: call.id,
            session_id: call.session.id.to_string(),
            flow_type: verdict.flow,
            risk_level: verdict.risk.level,
            tool_name: tool_name(call),
            has_sensitive_data: facts.flow.matches.iter().any(|one| one.label.is_some()),
            decision: verdict.wanted,
        }));
    }

    async fn cleared(&self, call: Call, judged: Judged, ready: &Ready) -> Before {
        // Evidence before the act: what cannot be written down does not leave.
        let kept = match self.recordable(&call, &judged, ready).await {
            Ok(()) => self.witness_intent(&call, &judged.verdict).await,
            Err(fault) => Err(fault),
        };
        if let Err(fault) = kept {
            self.guarded.load().release(&call);
            self.unsent(&call);
            return Before::Unrecorded(fault);
        }
        let until = call.deadline;
        Before::Cleared(Box::new(Cleared::issue(call, judged.verdict, until)))
    }

    /// Finds out whether a call can be written down, before it leaves.
    async fn recordable(
        &self,
        call: &Call,
        judged: &Judged,
        ready: &Ready,
    ) -> Result<(), SinkFault> {
        match ready.settings.durability {
            Durability::Strict => self.intent(&ready.detector, call, judged).await,
            Durability::Relaxed => match self.sink.problem() {
                Some(why) if ready.settings.refuse_unrecorded => Err(SinkFault::Broken(why)),
                Some(_) | None => Ok(()),
            },
        }
    }

    /// Lets a call go on whose record was not taken, where the configuration says so; that it is
    /// lost is counted.
    pub(crate) fn settle(
        &self,
        kept: Result<(), SinkFault>,
        settings: &EngineSettings,
    ) -> Result<(), SinkFault> {
        let closed = settings.durability == Durability::Strict || settings.refuse_unrecorded;
        match kept {
            Err(_) if !closed => {
                self.lost.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            kept => kept,
        }
    }

    /// Writes down, durably, that a call is about to leave.
    async fn intent(
        &self,
        detector: &Detector,
        call: &Call,
        judged: &Judged,
    ) -> Result<(), SinkFault> {
        let nothing = nothing(Status::Pending);
        let verdict = &judged.verdict;
        let mut record = record(detector, call, verdict, &nothing, None, &judged.detected);
        record.kind = "intent";
        self.keep(call, record, Durability::Strict).await
    }

    /// Hands a record to the log and waits for it, but no longer than the call may take: a disk
    /// that hangs must not hold its callers for ever.
    pub(crate) async fn keep(
        &self,
        call: &Call,
        record: Record,
        how: Durability,
    ) -> Result<(), SinkFault> {
        let kept = self.sink.append(self.attributed(call, record), how);
        let kept = tokio::time::timeout(self.patience_for(call), kept).await;
        kept.unwrap_or(Err(SinkFault::Late))
    }

    /// Returns how long a disk may take with what is recorded of a call.
    pub(crate) fn patience_for(&self, call: &Call) -> Duration {
        let left = call.deadline.0.saturating_sub(self.clock.tick().0);
        left.max(LEAST)
    }

    /// Ends the sessions that have rested too long, and writes down what they came to.
    pub async fn sweep(&self) {
        let ended = self.tracker.expire(self.clock.tick());
        self.summarize(ended).await;
        let now = self.clock.wall().0;
        let kept = self.habits_kept.load(Ordering::Relaxed);
        if now.abs_diff(kept) >= KEEP_HABITS {
            self.keep_habits().await;
        }
    }

    /// Writes down what was learned about everybody since the last time.
    async fn keep_habits(&self) {
        let now = self.clock.wall();
        self.habits_kept.store(now.0, Ordering::Relaxed);
        let Some(store) = self.habit_store.clone() else {
            return;
        };
        let habits = Arc::clone(&self.habits);
        // It waits for the disk, which nobody else should.
        let kept = tokio::task::spawn_blocking(move || {
            let changed = habits.changed(now);
            if changed.is_empty() {
                return Ok(());
            }
            store.keep_habits(&changed)
        });
        match kept.await {
            Ok(Ok(())) => {}
            Ok(Err(fault)) => tracing::error!("habits are not kept: {fault}"),
            Err(fault) => tracing::error!("habits are not kept: {fault}"),
        }
    }

    /// Ends every session: the process stops, and what was followed is not known afterwards.
    pub async fn finish(&self) {
        let ended = self.tracker.finish();
        self.summarize(ended).await;
        self.keep_habits().await;
    }

    async fn summarize(&self, ended: Vec<Summary>) {
        for summary in ended {
            let record = self.closing(&summary);
            let kept = self.sink.append(record, Durability::Relaxed).await;
            if kept.is_err() {
                self.lost.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Resolves once everything that was recorded before is on disk.
    pub async fn flush(&self) -> Result<(), SinkFault> {
        self.sink.flush().await
    }

    /// Says why records are being lost, while they are.
    pub fn record_problem(&self) -> Option<String> {
        let lost = self.lost.load(Ordering::Relaxed);
        let lost = (lost > 0).then(|| format!("{lost} records were lost: the queue was full"));
        let unreceipted = self
            .receipts
            .as_ref()
            .and_then(|receipts| receipts.problem());
        self.sink.problem().or(lost).or(unreceipted)
    }

    pub(crate) async fn denied(&self, call: &Call, judged: Judged, ready: &Ready) -> Before {
        if judged.verdict.flow == FlowType::InternalToExternal {
            self.tracker.note_denied(whose(call), self.clock.tick());
        }
        self.stopped(call, judged, ready).await
    }

    /// Takes note that a call did not leave.
    pub(crate) fn unsent(&self, call: &Call) {
        let now = self.clock.tick();
        self.tracker.settle(whose(call), call.id, false, now);
    }

    /// Puts on record that a call did not leave.
    async fn stopped(&self, call: &Call, judged: Judged, ready: &Ready) -> Before {
        let Judged {
            verdict,
            answer,
            detected,
        } = judged;
        self.guarded.load().release(call);
        self.unsent(call);
        let nothing = nothing(Status::Blocked);
        let (detector, reason) = (&ready.detector, verdict.reason());
        let mut record = record(detector, call, &verdict, &nothing, reason, &detected);
        record.kind = "policy_decision";
        let kept = self.keep(call, record, ready.settings.durability).await;
        let receipted = self.witness_denial(call, &verdict).await;
        match self.settle(kept, &ready.settings).and(receipted) {
            Ok(()) => Before::Denied(Box::new(Denied { verdict, answer })),
            Err(fault) => Before::Unrecorded(fault),
        }
    }
}

/// The span of a call, for logs in detail; otherwise it costs nothing.
fn span(call: &Call) -> Span {
    let span = tracing::debug_span!("call", correlation_id = Empty);
    if !span.is_disabled() {
        span.record("correlation_id", &*call.correlation_id());
    }
    span
}

/// Tells whether a hook only announces a call that is to come by here.
pub(crate) fn announces(call: &Call) -> bool {
    let hook = call.hook.as_ref();
    hook.is_some_and(|hook| hook.owner == Owner::Gateway)
}

/// Puts a decision into the log of the process, where the policy wants it there.
fn log(policy: &Policy, call: &Call, verdict: &Verdict) {
    let Some(level) = policy.logged_at(verdict) else {
        return;
    };
    let (tool, decision) = (&call.tool, verdict.wanted);
    let reason = verdict.reason().unwrap_or("nothing was found");
    let line = format!("{decision:?} {}:{}: {reason}", tool.upstream, tool.tool);
    match level {
        DecisionLevel::Error => tracing::error!("{line}"),
        DecisionLevel::Warn => tracing::warn!("{line}"),
        DecisionLevel::Info => tracing::info!("{line}"),
        DecisionLevel::Debug => tracing::debug!("{line}"),
    }
}

/// As what a model reads the answer to a call.
fn audience(call: &Call, status: Status) -> Audience {
    match status {
        Status::Error => Audience::Error,
        _ if call.kind.method() == "prompts/get" => Audience::Prompt,
        Status::Success | Status::Blocked | Status::Rejected | Status::Pending => Audience::Result,
    }
}

/// Tells whether the answer to a message is data, and no list or confirmation of the protocol.
fn brings_data(kind: &MessageKind) -> bool {
    let MessageKind::Request(method) = kind else {
        return false;
    };
    let bringing = [
        "tools/call",
        "resources/read",
        "resources/list",
        "prompts/get",
        "completion/complete",
        "tasks/result",
        "tasks/get",
    ];
    bringing.contains(&&**method)
}

pub(crate) fn nothing(status: Status) -> Outcome {
    Outcome {
        body: Bytes::new(),
        status,
        took: Duration::ZERO,
    }
}
