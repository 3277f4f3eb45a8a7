//! What becomes data of a conversation: answers, messages beside them, and what agents say.

use std::time::Duration;

use bytes::Bytes;
use mcpproxy_classify::{Kind, is_browser};
use mcpproxy_core::{
    Askable, Call, CallId, DataOrigin, Declared, Detected, Door, Finding, FlowScope, MessageKind,
    Principal, SessionKey, Side, Status, Taint, Tick, ToolName, ToolRef, Trace, UpstreamId, Wire,
};
use mcpproxy_detect::{Audience, Context, Direction, Report};
use mcpproxy_flow::{Content, Tracker, Whose};
use mcpproxy_hooks::guards::poisoning::answers::{Answered, ORDERS};

use super::Engine;
use crate::facts::{arguments, context, origin, tool_name, whose};
use crate::marks;
use crate::nearby::leads_inside;
use crate::own::{Credential, Own};
use crate::ready::{EngineSettings, Ready};
use crate::record::note_detected;

/// How long hooks have for a message that belongs to no call.
const UNASKED: Duration = Duration::from_secs(30);

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

impl Engine {
    /// Remembers what an agent wrote, so that reading it back makes no secret of it. What leaves with
    /// a call that was checked is remembered when that call is settled.
    pub(crate) fn said(&self, call: &Call, ready: &Ready) {
        self.wrote(call, ready, Tracker::said);
    }

    /// Remembers what the user wrote.
    pub(crate) fn said_by_user(&self, call: &Call, ready: &Ready) {
        self.wrote(call, ready, Tracker::prompted);
    }

    fn wrote(
        &self,
        call: &Call,
        ready: &Ready,
        remember: impl FnOnce(&Tracker, Whose, DataOrigin, &Content<'_>, Tick),
    ) {
        if !brings_data(&call.kind) || !ready.settings.flow_tracking.enabled {
            return;
        }
        let raw = std::str::from_utf8(&call.wire.raw).unwrap_or_default();
        let content = Content {
            json: arguments(raw),
            marked: &[],
        };
        let (now, origin) = (self.clock.tick(), origin(call, Side::Outside));
        remember(&self.tracker, whose(call), origin, &content, now);
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
        note_detected(&report, detected);
        if ready.settings.flow_tracking.enabled {
            self.follow(call, body, &report, ready);
        }
        let answered = audience.map(|audience| ready.guards.answer(body, &report, audience));
        let answered = answered.unwrap_or_default();
        // Orders that were found have a place; what is only too large to be looked through has none.
        let is_order = |one: &Finding| one.rule == ORDERS && one.place.is_some();
        if answered.findings.iter().any(is_order) {
            self.note_orders(call);
        }
        answered
    }

    /// Notes that what a call read gives orders to the model. With them strangers have spoken, whatever
    /// the text was read from.
    fn note_orders(&self, call: &Call) {
        let legs = Taint {
            untrusted: true,
            ..Taint::default()
        };
        let (whose, now) = (whose(call), self.clock.tick());
        self.tracker.mark(whose, legs, now);
        self.tracker.note_ordered(whose, now);
    }

    /// Remembers where what a call read comes from.
    pub(super) fn follow(&self, call: &Call, body: &str, report: &Report, ready: &Ready) {
        let own = Own::of(call, ready);
        let origin = match &own {
            Some(own) => own.origin(call),
            None => Some(self.origin(call, &ready.settings)),
        };
        let Some(origin) = origin else { return };
        let file = own.and_then(|own| own.credential);
        self.trace(whose(call), origin, body, report, file.as_ref(), ready);
    }

    /// Returns a call that stands for a conversation in which an upstream says something unasked.
    pub fn conversation(&self, from: &Unasked<'_>, who: Principal) -> Call {
        let at = self.clock.wall();
        Call {
            id: CallId::new(at.0, self.told.number(from.session)),
            leg: 0,
            at,
            deadline: self.clock.tick().after(UNASKED),
            door: Door::Mcp,
            who,
            scope: from.scope,
            session: from.session,
            kind: MessageKind::Notification("".into()),
            tool: ToolRef {
                upstream: from.upstream.clone(),
                tool: ToolName::new(""),
            },
            declared: Declared::default(),
            askable: Askable::Nobody,
            hook: None,
            trace: Trace::default(),
            wire: Wire {
                raw: Bytes::new(),
                ticket: None,
            },
        }
    }

    /// Remembers what an upstream says to a session outside of any call: lists of resources.
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
            // It belongs to no call.
            call: CallId::unrecorded(at.0),
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

    pub(super) fn trace(
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
    pub(super) fn origin(&self, call: &Call, settings: &EngineSettings) -> DataOrigin {
        let side = match self.side(&call.tool, settings) {
            Side::Outside if gets_inside(call) => Side::Inside,
            side => side,
        };
        origin(call, side)
    }

    /// Returns the side on which what a tool gives is.
    pub(super) fn side(&self, tool: &ToolRef, settings: &EngineSettings) -> Side {
        let class = self.classes.of(tool, &settings.classification);
        let kind = class.as_source(settings.classification.default_unknown);
        let page = kind == Kind::Hybrid && is_browser(tool.upstream.as_str());
        match kind {
            Kind::External => Side::Outside,
            Kind::Hybrid if page => Side::Outside,
            Kind::Internal | Kind::Hybrid | Kind::Unknown => Side::Inside,
        }
    }
}

/// Tells whether a tool was told to get something inside. Not every tool lists the address that it takes.
fn gets_inside(call: &Call) -> bool {
    let raw = std::str::from_utf8(&call.wire.raw).unwrap_or_default();
    leads_inside(arguments(raw))
}

/// As what a model reads the answer to a call.
pub(crate) fn audience(call: &Call, status: Status) -> Audience {
    match status {
        Status::Error => Audience::Error,
        _ if call.kind.method() == "prompts/get" => Audience::Prompt,
        Status::Success | Status::Blocked | Status::Rejected | Status::Pending => Audience::Result,
    }
}

/// Tells whether the answer to a message is data, and no list or confirmation of the protocol.
pub(super) fn brings_data(kind: &MessageKind) -> bool {
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
