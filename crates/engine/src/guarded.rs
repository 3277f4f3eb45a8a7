//! The guards over calls and answers that the configuration switches on: rate limits, habits, the form
//! of messages, whether answers are what they were, and what is done with sensitive data in them. They
//! say findings like everything else.
//!
//! What one of them keeps outlives a reload that does not change it: a limit is not lifted by
//! touching the configuration. Habits, and what answers are held to, outlive every reload.

use std::sync::Arc;

use bytes::Bytes;
use mcpproxy_classify::{Kind, ToolClass};
use mcpproxy_core::{Call, Facts, Finding, MessageKind, Outcome, UpstreamId, Wall};
use mcpproxy_detect::Direction;
use mcpproxy_hooks::guards::Settings;
use mcpproxy_hooks::guards::abuse::{self, Abuse};
use mcpproxy_hooks::guards::behaviour::{self, Behaviour, Book};
use mcpproxy_hooks::guards::contents::{self, Contents};
use mcpproxy_hooks::guards::context::{self, Look, Memory};
use mcpproxy_hooks::guards::dlp::{self, Between, Dlp, Way};
use mcpproxy_hooks::guards::poisoning::answers::Answered;
use mcpproxy_hooks::guards::watch::{On, Treated, Watches};

use crate::classes::{Classes, Described};
use crate::engine::Engine;
use crate::facts::{self, tool_name};
use crate::integrity::Integrity;
use crate::marks;
use crate::rates::Billed;
use crate::ready::Ready;

/// The guards that are switched on.
#[derive(Debug, Default)]
pub(crate) struct Guarded {
    abuse: Option<(abuse::Settings, Arc<Abuse>)>,
    behaviour: Option<Behaviour>,
    contents: Option<Contents>,
    context: Option<(context::Settings, Arc<Integrity>)>,
    dlp: Option<Dlp>,
}

impl Guarded {
    /// Makes what the settings switch on, and keeps of `before` what they leave as it is.
    pub(crate) fn new(
        settings: &Settings,
        before: &Self,
        classes: &Classes,
        (habits, memory): (&Arc<Book>, &Arc<Memory>),
    ) -> Self {
        let abuse = settings.abuse.clone().map(|told| {
            let kept = before.abuse.as_ref().filter(|(was, _)| *was == told);
            let kept = kept.map(|(_, abuse)| Arc::clone(abuse));
            let made = kept.unwrap_or_else(|| Arc::new(Abuse::new(told.clone())));
            (told, made)
        });
        let contents = settings.contents.clone().map(|told| {
            let made = Contents::new(told);
            classes.each(|upstream, listed| learn(&made, upstream, listed));
            made
        });
        let context = settings.context.clone().map(|told| {
            let kept = before.context.as_ref().filter(|(was, _)| *was == told);
            let kept = kept.map(|(_, context)| Arc::clone(context));
            let made = kept.unwrap_or_else(|| Arc::new(Integrity::new(told.clone(), memory)));
            (told, made)
        });
        let behaviour = settings.behaviour.clone();
        Self {
            abuse,
            behaviour: behaviour.map(|told| Behaviour::new(told, Arc::clone(habits))),
            contents,
            context,
            dlp: settings.dlp.clone().map(Dlp::new),
        }
    }

    /// Takes a new listing of an upstream.
    pub(crate) fn learn(&self, upstream: &UpstreamId, listed: &[Described]) {
        if let Some(contents) = &self.contents {
            learn(contents, upstream, listed);
        }
    }

    /// Forgets an upstream that is gone.
    pub(crate) fn forget(&self, upstream: &UpstreamId) {
        if let Some(contents) = &self.contents {
            contents.forget(upstream);
        }
    }

    /// Takes note that a call is over; returns the places that it had among those of all gateways.
    pub(crate) fn release(&self, call: &Call) -> Vec<String> {
        if let Some(behaviour) = &self.behaviour {
            behaviour.release(call.id);
        }
        let abuse = self.abuse.as_ref();
        abuse.map_or_else(Vec::new, |(_, abuse)| abuse.release(call.id))
    }

    /// Tells whether habits are learned.
    pub(crate) fn learns(&self) -> bool {
        self.behaviour.is_some()
    }

    /// Learns what another gateway tells of habits.
    pub(crate) fn fold(&self, told: &[u8], now: Wall) {
        if let Some(behaviour) = &self.behaviour {
            behaviour.fold(told, now);
        }
    }

    /// Returns the limits, if there are any.
    pub(crate) fn abuse(&self) -> Option<&Arc<Abuse>> {
        self.abuse.as_ref().map(|(_, abuse)| abuse)
    }

    /// Returns what answers are held to, if they are.
    pub(crate) fn integrity(&self) -> Option<&Arc<Integrity>> {
        self.context.as_ref().map(|(_, integrity)| integrity)
    }

    /// Says how a call departs from what is usual.
    pub(crate) fn unusual(
        &self,
        call: &Call,
        facts: &Facts,
        now: Wall,
        watches: &Watches,
    ) -> Option<Finding> {
        let behaviour = self.behaviour.as_ref().filter(|_| call.hook.is_none())?;
        let judge = || behaviour.judge(call, &facts.hosts, now);
        watches.find(behaviour::ID, On::Request, judge)
    }

    /// Learns from a call that was allowed and is over; says whether its answer is unusual.
    pub(crate) fn over(
        &self,
        call: &Call,
        outcome: &Outcome,
        now: Wall,
        watches: &Watches,
    ) -> Option<Finding> {
        // It learns in any case; `runs_on` says whether it speaks.
        self.behaviour.as_ref().and_then(|behaviour| {
            let unusual = behaviour.learn(call, outcome, now);
            watches.find(behaviour::ID, On::Response, || unusual)
        })
    }

    /// Says what is wrong with the form of a call.
    pub(crate) fn form(&self, call: &Call, watches: &Watches) -> Option<Finding> {
        let contents = self.contents.as_ref()?;
        watches.find(contents::ID, On::Request, || contents.request(call))
    }
}

impl Engine {
    /// Takes a call past the guards that look at it once: it is counted, and what may not leave is
    /// taken out before it is judged.
    pub(crate) fn guard_call(
        &self,
        call: &mut Call,
        billed: Option<&Billed>,
        ready: &Ready,
    ) -> Vec<Finding> {
        let guards = self.guarded();
        let mut findings = Vec::new();
        if !ready.settings.enabled {
            return findings;
        }
        let watches = ready.guards.watches();
        let counts = counts(call);
        if let Some((_, abuse)) = guards.abuse.as_ref().filter(|_| counts) {
            let admit = || match billed {
                Some(billed) => billed.settle(call),
                None => abuse.admit(call, self.now().0),
            };
            findings.extend(watches.find(abuse::ID, On::Request, admit));
        }
        if let Some(behaviour) = guards.behaviour.as_ref().filter(|_| counts) {
            behaviour.count(call, self.now().1);
        }
        if let Some(dlp) = &guards.dlp {
            let raw = std::str::from_utf8(&call.wire.raw).unwrap_or_default();
            let treated = self.treated(dlp, call, Way::Request, raw, ready);
            findings.extend(treated.finding);
            if let Some(text) = treated.text {
                call.wire.raw = Bytes::from(text);
            }
        }
        findings
    }

    /// Takes an answer past the guards; says what the caller gets in its place, if anything. `look` is
    /// what other gateways were told of it, where there are any.
    pub(crate) fn guard_answer(
        &self,
        call: &Call,
        outcome: &Outcome,
        answered: Answered,
        look: Option<Look>,
        ready: &Ready,
    ) -> (Vec<Finding>, Option<Bytes>) {
        let guards = self.guarded();
        let Answered { mut findings, text } = answered;
        let idle = guards.contents.is_none() && guards.dlp.is_none() && guards.context.is_none();
        if idle && findings.is_empty() || !ready.settings.enabled || outcome.body.is_empty() {
            return (findings, None);
        }
        let body = std::str::from_utf8(&outcome.body).unwrap_or_default();
        let body = text.as_deref().unwrap_or(body);
        let contents = guards.contents.as_ref();
        let watches = ready.guards.watches();
        findings.extend(contents.and_then(|contents| {
            watches.find(contents::ID, On::Response, || contents.response(call, body))
        }));
        let dlp = guards.dlp.as_ref();
        let treated = dlp.map(|dlp| self.treated(dlp, call, Way::Response, body, ready));
        let treated = treated.unwrap_or_default();
        findings.extend(treated.finding);
        let mut text = treated
            .text
            .or_else(|| text.as_deref().map(ToOwned::to_owned));
        if let Some(integrity) = guards.integrity() {
            let context = &integrity.guard;
            let (seen, given) = look.map(|look| (look.seen, look.given)).unzip();
            let changed = || {
                let seen = seen.unwrap_or_else(|| context.seen(call, body));
                context.changed(&seen)
            };
            findings.extend(watches.find(context::ID, On::Response, changed));
            let leaked = || {
                let given = given.unwrap_or_else(|| self.given(integrity, call, body, ready));
                context.leaked(&given)
            };
            findings.extend(watches.find(context::ID, On::Response, leaked));
            // Last, so that nothing stands outside the marks.
            let class = self
                .classes()
                .of(&call.tool, &ready.settings.classification);
            let kind = class.as_source(Kind::Unknown);
            let mark = || context.marked(call, text.as_deref().unwrap_or(body), kind);
            let watch = watches.of(context::ID);
            let marked = watch.map(|watch| watch.treat(On::Response, mark));
            let marked = marked.unwrap_or_default();
            findings.extend(marked.finding);
            text = marked.text.or(text);
        }
        watches.order(&mut findings);
        for finding in &mut findings {
            marks::quiet(&ready.detector, finding);
        }
        (findings, text.map(Bytes::from))
    }

    fn treated(&self, dlp: &Dlp, call: &Call, way: Way, raw: &str, ready: &Ready) -> Treated {
        let tool = tool_name(call);
        let (direction, phase) = match way {
            Way::Request => (Direction::Request, On::Request),
            Way::Response => (Direction::Response, On::Response),
        };
        let scan = |text: &str| ready.detector.json(text, facts::context(&tool, direction));
        let settings = &ready.settings.classification;
        let class = self.classes().of(&call.tool, settings);
        let between = Between {
            way,
            upstream: call.tool.upstream.as_str(),
            classes: &called(&class),
        };
        let Some(watch) = ready.guards.watches().of(dlp::ID) else {
            return Treated::default();
        };
        watch.treat(phase, || dlp.treat(between, raw, &scan(raw), scan))
    }
}

/// What rules call the upstream of a tool: the side on which it is, and its class. One that nobody
/// could tell is outside, whatever its tools say of themselves.
fn called(class: &ToolClass) -> [&'static str; 2] {
    let kind = match class.class.kind {
        _ if class.unproven => Kind::Unknown,
        kind => kind,
    };
    let inside = class.as_sink().is_trusted() && kind != Kind::Unknown;
    let side = if inside { "internal" } else { "external" };
    let kind = match kind {
        Kind::Internal => "internal",
        Kind::External => "external",
        Kind::Hybrid => "hybrid",
        Kind::Unknown => "unknown",
    };
    [side, kind]
}

/// Tells whether a message is a call that counts: once, and no notification.
pub(crate) fn counts(call: &Call) -> bool {
    call.leg == 0 && matches!(call.kind, MessageKind::Request(_))
}

fn learn(contents: &Contents, upstream: &UpstreamId, listed: &[Described]) {
    let tools = listed.iter().map(|one| {
        let descriptor = std::str::from_utf8(&one.descriptor).unwrap_or_default();
        (&one.name, descriptor)
    });
    contents.learn(upstream, tools);
}
