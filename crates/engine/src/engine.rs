//! `before` and `after`: what happens to every call on its way out and on its way back.

pub(crate) mod keeping;
mod memory;
mod parts;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize};

use arc_swap::{ArcSwap, ArcSwapOption};
use bytes::Bytes;
use mcpproxy_core::{
    Action, ActivitySink, BaselineFault, BaselineStore, Call, Cleared, Clock, Detected,
    Enforcement, Facts, Finding, FlowType, Id128, LiveStore, Masked, Outcome, Owner, ReceiptSink,
    SinkFault, Status, Tick, Tier, TraceSink, Unanswered, Verdict, Wall,
};
use mcpproxy_detect::DetectError;
use mcpproxy_flow::{Fate, Tracker};
use mcpproxy_hooks::guards::access;
use mcpproxy_hooks::guards::behaviour::Book;
use mcpproxy_hooks::guards::context::Memory;
use mcpproxy_hooks::guards::poisoning::answers::Answered;
use mcpproxy_hooks::guards::watch::On;
use mcpproxy_hooks::{Health, Metrics, Registry};
use mcpproxy_policy::settings::DecisionLevel;
use mcpproxy_policy::{ALARMS, Answer, Policy, answer, decide, judge};
use tracing::field::Empty;
use tracing::{Instrument as _, Span};

pub(crate) use self::memory::audience;
use self::memory::brings_data;
use crate::access::Rules;
use crate::approvals::Approvals;
use crate::bodies::asked_about;
use crate::calls::Calls;
use crate::classes::Classes;
use crate::correlate::Correlator;
use crate::coverage::Hearing;
use crate::events::{Event, Events, FlowAlert};
use crate::facts::{Seen, told_name, whose};
use crate::guarded::Guarded;
use crate::known::note_known;
use crate::live::{Live, OnLoss};
use crate::marks;
use crate::pipeline::{Looked, Told};
use crate::quarantine::Quarantine;
use crate::reads::Reads;
use crate::ready::{EngineSettings, Ready};
use crate::record::{note_detected, record};
use crate::stops::Stops;
use crate::witness::ended;

pub use self::keeping::Recording;
pub use self::memory::Unasked;

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
    /// Its arguments as they are shown, and whether they are cut.
    pub(crate) arguments: (Masked, bool),
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

/// The engine.
#[derive(Debug)]
pub struct Engine {
    ready: ArcSwap<Ready>,
    /// Nothing where no hook is configured: then a call takes one branch.
    pipeline: ArcSwapOption<Registry>,
    metrics: Arc<Metrics>,
    looked: Looked,
    told: Told,
    tracker: Tracker,
    classes: Classes,
    approvals: Approvals,
    stops: Stops,
    events: Events,
    calls: Calls,
    /// Nothing where calls are not traced.
    tracer: Option<Arc<dyn TraceSink>>,
    /// Who listens to events without watching calls go by.
    overheard: AtomicUsize,
    correlator: Correlator,
    hearing: Hearing,
    reads: Reads,
    quarantine: Quarantine,
    guarded: ArcSwap<Guarded>,
    /// Who may use what; nothing where no rules are configured.
    access: ArcSwapOption<Rules>,
    /// Nothing where nothing is shared with other gateways.
    live: Option<Live>,
    habits: Arc<Book>,
    /// What answers are held to, and where what never changes of it is kept, if anywhere.
    memory: Arc<Memory>,
    read_store: Option<Arc<dyn BaselineStore>>,
    /// Where habits are kept, if anywhere, and when they were last.
    habit_store: Option<Arc<dyn BaselineStore>>,
    habits_kept: AtomicU64,
    sink: Arc<dyn ActivitySink>,
    pub(crate) receipts: Option<Arc<dyn ReceiptSink>>,
    lost: AtomicU64,
    /// Counted by whoever sends them.
    alerts_lost: Arc<AtomicU64>,
    /// When it was made, by both clocks.
    since: (Tick, Wall),
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
        let memory = Arc::default();
        let kept = (&habits, &memory);
        let guarded = Guarded::new(&settings.guards, &Guarded::default(), &classes, kept);
        let quarantine = Quarantine::default();
        quarantine.configure(&settings.upstreams);
        Ok(Self {
            tracker: Tracker::new(&settings.flow_tracking),
            ready: ArcSwap::from_pointee(Ready::new(settings)?.counted(&metrics, &clock)),
            pipeline: ArcSwapOption::empty(),
            metrics,
            looked: Looked::default(),
            told: Told::default(),
            classes,
            approvals: Approvals::default(),
            stops: Stops::default(),
            events: Events::new(Arc::clone(&clock)),
            calls: Calls::default(),
            tracer: None,
            overheard: AtomicUsize::new(0),
            correlator: Correlator::default(),
            hearing: Hearing::default(),
            reads: Reads::default(),
            quarantine,
            guarded: ArcSwap::from_pointee(guarded),
            access: ArcSwapOption::empty(),
            live: None,
            habits,
            memory,
            read_store: None,
            habit_store: None,
            habits_kept: AtomicU64::new(0),
            sink,
            receipts: None,
            lost: AtomicU64::new(0),
            alerts_lost: Arc::default(),
            since: (clock.tick(), clock.wall()),
            clock,
        })
    }

    /// Gives it what is known about tools and about resources that never change, and keeps there what
    /// becomes known.
    pub fn with_baselines(self, store: Arc<dyn BaselineStore>) -> Result<Self, BaselineFault> {
        let lost = self.memory.recall(&store.first_reads()?);
        if lost > 0 {
            tracing::warn!(
                "what {lost} resources were at first cannot be read and is learned anew"
            );
        }
        let quarantine = Quarantine::open(Arc::clone(&store))?;
        let ready = self.ready.load_full();
        quarantine.configure(&ready.settings.upstreams);
        let engine = Self {
            quarantine,
            read_store: Some(store),
            ..self
        };
        engine.forget_reads(&ready.settings);
        Ok(engine)
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

    /// Shares what is followed with other gateways; `process` stands for this one and no later one.
    #[must_use]
    pub fn with_live(self, store: Arc<dyn LiveStore>, process: Id128, on_loss: OnLoss) -> Self {
        self.tracker.share();
        self.habits.share();
        Self {
            live: Some(Live::new(store, process, on_loss)),
            ..self
        }
    }

    /// Has calls traced.
    #[must_use]
    pub fn with_traces(self, tracer: Arc<dyn TraceSink>) -> Self {
        Self {
            tracer: Some(tracer),
            ..self
        }
    }

    /// Puts new settings in force; calls under way end under those they began with.
    pub fn reload(&self, settings: EngineSettings) -> Result<(), DetectError> {
        let ready = Ready::new(settings)?.counted(&self.metrics, &self.clock);
        self.tracker.reload(&ready.settings.flow_tracking);
        self.classes.reload(&ready.settings.classification);
        self.quarantine.configure(&ready.settings.upstreams);
        let before = self.guarded.load();
        let kept = (&self.habits, &self.memory);
        let guarded = Guarded::new(&ready.settings.guards, &before, &self.classes, kept);
        self.forget_reads(&ready.settings);
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

    /// Tells whether calls are traced, so that an upstream can name the span of its call.
    pub fn keeps_spans(&self) -> bool {
        let tracer = self.tracer.as_ref();
        tracer.is_some_and(|tracer| tracer.keeps_spans())
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

    /// Judges a call before it leaves.
    pub async fn before(&self, call: Call) -> Before {
        let span = span(&call);
        self.begun(call).instrument(span).await
    }

    async fn begun(&self, mut call: Call) -> Before {
        let ready = self.ready.load_full();
        self.until_read(&call, None, &ready).await;
        self.until_offered(&call).await;
        let billed = match self.live() {
            None => None,
            // Boxed: where nothing is shared a call stays small.
            Some(_) => Box::pin(self.billed(&call, &ready)).await,
        };
        let early = self.guard_call(&mut call, billed.as_ref(), &ready);
        let judged = self.judged(&mut call, early, &ready).await;
        self.catch(&call, &judged.verdict, &ready).await;
        match judged.verdict.action {
            Action::Allow | Action::Warn => self.cleared(call, judged, &ready).await,
            Action::Ask => Before::Asked(Box::new(Asked {
                arguments: asked_about(&call, &judged.verdict.findings, &ready, &mut |words| {
                    self.known(&call, words).is_some()
                }),
                call,
                judged,
            })),
            Action::Deny => self.denied(&call, judged, &ready).await,
        }
    }

    /// Goes on with a call after somebody was asked about it.
    pub async fn answered(&self, asked: Asked, said: Said) -> Before {
        let ready = self.ready.load_full();
        let Asked { call, judged, .. } = asked;
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
            if self.access.load().is_some() {
                let forbidden = || self.forbidden(call, ready);
                findings.extend(watches.find(access::ID, On::Request, forbidden));
            }
            watches.order(findings.get_mut(from..).unwrap_or_default());
            for finding in &mut findings {
                marks::quiet(&ready.detector, finding);
            }
            let outside = seen.facts.destination.sink.is_outside();
            findings.extend(self.refused_alone(outside));
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
    pub(crate) fn ruled(&self, call: &mut Call, found: Found, ready: &Ready) -> Judged {
        let policy = &ready.settings.policy;
        let Seen { facts, report } = found.seen;
        call.trace.unnamed = marks::is_unnamed(&ready.detector, call, &facts);
        let call = &*call;
        let mut findings = found.findings;
        for finding in &mut findings {
            self.hush(call, finding);
        }
        let verdict = decide(policy, call, &facts, findings);
        let verdict = Arc::new(heard(call, verdict));
        log(policy, call, &verdict);
        self.count(&verdict);
        // A call that comes by after its announcement is counted when it does.
        let comes = announces(call) && verdict.action != Action::Deny;
        if !comes {
            self.note(call, &facts, &verdict, found.now);
            self.alert(call, &verdict, &facts);
        }
        let mut detected = Detected::default();
        note_detected(&report, &mut detected);
        note_known(&facts, &mut detected);
        Judged {
            answer: answer(policy, call, &facts, &verdict),
            verdict,
            detected,
        }
    }

    /// Counts what checks object to; what hooks object to was counted when they did.
    pub(crate) fn count(&self, verdict: &Verdict) {
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
            .note_flow(whose, call.id, verdict.flow, verdict.risk.level, now);
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
        self.tracker.settle(whose(call), call.id, Fate::Left, now);
        let (guarded, watches) = (self.guarded.load(), ready.guards.watches());
        let unusual = guarded.over(call, outcome, self.clock.wall(), watches);
        drop(guarded);
        self.released(call).await;
        let mut detected = call.trace.detected.clone();
        let mut answered = Answered::default();
        if ready.settings.enabled && brings_data(&call.kind) {
            let body = std::str::from_utf8(&outcome.body).unwrap_or_default();
            let audience = Some(audience(call, outcome.status));
            answered = self.remember(call, body, audience, &ready, &mut detected);
        }
        self.tell_others(call).await;
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
        self.add_bodies(&mut record, call, outcome, &ready);
        let durability = ready.settings.durability;
        let cause = problem.map(|problem| problem.cause);
        let kept = self.keep_ended(call, record, durability, outcome, cause);
        let kept = kept.await;
        let ended = || ended(outcome, problem, &reviewed.after);
        let receipted = self.witness_end(call, cleared.verdict(), ended).await;
        self.settle(kept, &ready.settings).and(receipted)?;
        Ok(reviewed.after)
    }

    /// Tells those who watch about data on its way outside, and about more of anything than usually
    /// goes there.
    fn alert(&self, call: &Call, verdict: &Verdict, facts: &Facts) {
        let flows = verdict.flow == FlowType::InternalToExternal && verdict.wanted != Action::Allow;
        let passed = |alarm: &&str| verdict.findings.iter().any(|one| one.rule == **alarm);
        let alarms: Vec<_> = ALARMS.into_iter().filter(passed).collect();
        if !flows && alarms.is_empty() {
            return;
        }
        self.events.tell(Event::FlowAlert(FlowAlert {
            activity_id: call.id,
            session_id: call.session.id.to_string(),
            principal: call.who.name.to_string(),
            flow_type: verdict.flow,
            risk_level: verdict.risk.level,
            tool_name: told_name(call),
            has_sensitive_data: facts.flow.matches.iter().any(|one| one.label.is_some()),
            decision: verdict.wanted,
            effective: verdict.action,
            alarms,
        }));
    }

    async fn cleared(&self, mut call: Call, judged: Judged, ready: &Ready) -> Before {
        // Evidence before the act: what cannot be written down does not leave.
        let kept = match self.recordable(&call, &judged, ready).await {
            Ok(()) => self.witness_intent(&call, &judged.verdict).await,
            Err(fault) => {
                // It is refused in any case: a receipt that is lost as well is counted there.
                self.witness_unrecorded(&call).await.unwrap_or_default();
                Err(fault)
            }
        };
        if let Err(fault) = kept {
            self.released(&call).await;
            self.unsent(&call);
            return Before::Unrecorded(fault);
        }
        self.events.started(&call);
        call.trace.detected = judged.detected;
        let until = call.deadline;
        Before::Cleared(Box::new(Cleared::issue(call, judged.verdict, until)))
    }

    pub(crate) async fn denied(&self, call: &Call, judged: Judged, ready: &Ready) -> Before {
        if judged.verdict.flow == FlowType::InternalToExternal {
            self.tracker.note_denied(whose(call), self.clock.tick());
        }
        self.stopped(call, judged, ready).await
    }

    /// Takes note that a call is not made, or in another form.
    pub(crate) fn unsent(&self, call: &Call) {
        let now = self.clock.tick();
        self.tracker.settle(whose(call), call.id, Fate::Undone, now);
    }

    /// The outcome of a call that nobody answered here: it took as long as it was judged.
    pub(crate) fn unanswered(&self, call: &Call, status: Status) -> Outcome {
        let now = self.clock.tick();
        Outcome {
            body: Bytes::new(),
            status,
            took: call.trace.began.unwrap_or(now).until(now),
        }
    }

    /// Puts on record that a call did not leave.
    async fn stopped(&self, call: &Call, judged: Judged, ready: &Ready) -> Before {
        let Judged {
            verdict,
            answer,
            detected,
        } = judged;
        self.released(call).await;
        let now = self.clock.tick();
        self.tracker
            .settle(whose(call), call.id, Fate::Stopped, now);
        self.tell_others(call).await;
        let nothing = self.unanswered(call, Status::Blocked);
        let (detector, reason) = (&ready.detector, verdict.reason());
        let mut record = record(detector, call, &verdict, &nothing, reason, &detected);
        record.kind = "policy_decision";
        self.add_bodies(&mut record, call, &nothing, ready);
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

/// Says what becomes of a verdict: whoever asked may not wait for it any more, and goes on as they do
/// without it.
fn heard(call: &Call, verdict: Verdict) -> Verdict {
    match &call.trace.asker {
        Some(asker) if !asker.way.is_open() => Verdict {
            action: asker.late,
            enforced: Enforcement::Unheard,
            ..verdict
        },
        Some(_) | None => verdict,
    }
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
    let name = call.shown_tool();
    let line = format!("{decision:?} {}:{name}: {reason}", tool.upstream);
    match level {
        DecisionLevel::Error => tracing::error!("{line}"),
        DecisionLevel::Warn => tracing::warn!("{line}"),
        DecisionLevel::Info => tracing::info!("{line}"),
        DecisionLevel::Debug => tracing::debug!("{line}"),
    }
}
