//! One conversation: what it stood on, what it sent lately, and what its summary will say.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use mcpproxy_core::{
    CallId, DataOrigin, FlowType, History, Id128, Likeness, Recent, RiskLevel, Side, Taint, Tick,
    ToolName, Weight,
};

/// Calls to the outside that are remembered one by one.
const SENT: usize = 4096;
/// Edges, tools and destinations that are remembered by name.
const EDGES: usize = 256;
const NAMES: usize = 256;
/// The window of the count of outside calls.
const MINUTE: Duration = Duration::from_mins(1);

/// One call that went, or is going, outside.
#[derive(Clone, Copy, Debug)]
struct Sent {
    call: CallId,
    at: Tick,
    bytes: u64,
    personal: bool,
    /// Bytes and personal values of all before it, so that a stretch is summed by one difference.
    before: (u64, u32),
}

impl Sent {
    /// Returns the sums up to and with this call.
    fn sums(&self) -> (u64, u32) {
        let (bytes, personal) = self.before;
        (
            bytes.saturating_add(self.bytes),
            personal.saturating_add(u32::from(self.personal)),
        )
    }
}

/// Data that moved, or wanted to.
#[derive(Clone, Debug)]
pub struct Edge {
    /// The call that sent it.
    pub call: CallId,
    /// Where it was read.
    pub origin: DataOrigin,
    /// Where it was to go.
    pub to: Arc<str>,
    /// The tool that was to take it.
    pub tool: ToolName,
    /// How it was recognized.
    pub how: Likeness,
    /// How much it weighs.
    pub weight: Weight,
    /// Characters that were shared.
    pub shared: u32,
    /// The direction, by its source and its destination.
    pub flow: FlowType,
    /// The risk (FR-024), which is none until the call was judged. Attack detection calls none safe,
    /// medium and high suspicious.
    pub risk: RiskLevel,
    /// The specification's hash of what was recognized as a whole, or else of the field in which it
    /// stands; nothing where that is too short to be hashed.
    pub hash: Option<Id128>,
}

impl Edge {
    /// Takes over what its call was found to be. Of several things that a call takes along, only what
    /// was read inside is at risk, and only what is sensitive is why a call is critical, or why a
    /// place that counts as inside is none for it.
    fn judge(&mut self, flow: FlowType, risk: RiskLevel) {
        let leaves = self.flow == FlowType::InternalToExternal || self.weight == Weight::Sensitive;
        if flow != FlowType::InternalToExternal || self.origin.side != Side::Inside || !leaves {
            return;
        }
        self.flow = flow;
        self.risk = match (risk, self.weight) {
            (RiskLevel::Critical, Weight::Trace | Weight::Notable) => RiskLevel::Medium,
            (risk, _) => risk,
        };
    }
}

/// Returns the direction between two places.
pub(crate) fn direction(from: Side, outside: bool) -> FlowType {
    match (from, outside) {
        (Side::Inside, false) => FlowType::InternalToInternal,
        (Side::Inside, true) => FlowType::InternalToExternal,
        (Side::Outside, false) => FlowType::ExternalToInternal,
        (Side::Outside, true) => FlowType::ExternalToExternal,
    }
}

/// One conversation.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) first: Tick,
    pub(crate) last: Tick,
    pub(crate) taint: Taint,
    /// Numbers of its living origins, oldest first.
    pub(crate) origins: VecDeque<u32>,
    pub(crate) origin_count: u64,
    pub(crate) edges: VecDeque<Edge>,
    pub(crate) edge_count: u64,
    pub(crate) flows: Vec<(FlowType, u64)>,
    pub(crate) risks: Vec<(RiskLevel, u64)>,
    pub(crate) tools: BTreeSet<String>,
    /// Whether origins had to go before the session ended.
    pub(crate) evicted: bool,
    /// Whether something was read that nobody looked through to its end.
    pub(crate) unread: bool,
    /// Whether something that was read gave orders to the model.
    pub(crate) ordered: bool,
    sent: VecDeque<Sent>,
    denials: u32,
    unjustified: Vec<Arc<str>>,
}

impl Session {
    pub(crate) fn start(now: Tick) -> Self {
        Self {
            first: now,
            last: now,
            taint: Taint::default(),
            origins: VecDeque::new(),
            origin_count: 0,
            edges: VecDeque::new(),
            edge_count: 0,
            flows: Vec::new(),
            risks: Vec::new(),
            tools: BTreeSet::new(),
            evicted: false,
            unread: false,
            ordered: false,
            sent: VecDeque::new(),
            denials: 0,
            unjustified: Vec::new(),
        }
    }

    pub(crate) fn use_tool(&mut self, name: &str) {
        if self.tools.len() < NAMES && !self.tools.contains(name) {
            self.tools.insert(name.to_owned());
        }
    }

    pub(crate) fn add_edge(&mut self, edge: Edge) {
        self.edge_count += 1;
        if self.edges.len() >= EDGES {
            self.edges.pop_front();
        }
        self.edges.push_back(edge);
    }

    pub(crate) fn send(&mut self, call: CallId, at: Tick, bytes: u64, personal: bool) {
        if self.sent.len() >= SENT {
            self.sent.pop_front();
        }
        let last = self.sent.back();
        // INVARIANT: times do not fall, also where calls overtook each other on their way here.
        let at = last.map_or(at, |last| last.at.max(at));
        let before = last.map_or((0, 0), Sent::sums);
        self.sent.push_back(Sent {
            call,
            at,
            bytes,
            personal,
            before,
        });
    }

    /// Takes back a call that did not leave.
    pub(crate) fn unsend(&mut self, call: CallId) {
        let Some(index) = self.sent.iter().rposition(|sent| sent.call == call) else {
            return;
        };
        let Some(mut before) = self.sent.remove(index).map(|sent| sent.before) else {
            return;
        };
        for later in self.sent.iter_mut().skip(index) {
            later.before = before;
            before = later.sums();
        }
    }

    /// Sums up what was sent lately; the cost does not grow with what was sent.
    pub(crate) fn recent(&self, now: Tick, window: Duration) -> Recent {
        let first = |span| {
            let over = |sent: &Sent| now.0.saturating_sub(sent.at.0) > span;
            self.sent.partition_point(over)
        };
        let calls = self.sent.len() - first(MINUTE);
        let (bytes, personal) = self.sent.back().map_or((0, 0), Sent::sums);
        let since = self.sent.get(first(window));
        let (gone_bytes, gone_personal) = since.map_or((bytes, personal), |sent| sent.before);
        Recent {
            outside_calls: u32::try_from(calls).unwrap_or(u32::MAX),
            personal_sends: personal - gone_personal,
            outside_bytes: bytes - gone_bytes,
        }
    }

    pub(crate) fn history(&self, to: &str) -> History {
        History {
            denials: self.denials,
            unjustified: self.unjustified.iter().any(|name| **name == *to),
            ordered: self.ordered,
        }
    }

    /// Puts it on further legs.
    pub(crate) fn mark(&mut self, legs: Taint) {
        self.taint = joined(self.taint, legs);
    }

    pub(crate) fn deny(&mut self) {
        self.denials = self.denials.saturating_add(1);
    }

    pub(crate) fn unjustify(&mut self, to: &Arc<str>) {
        if self.unjustified.len() < NAMES && !self.unjustified.contains(to) {
            self.unjustified.push(Arc::clone(to));
        }
    }

    pub(crate) fn justify(&mut self, to: &str) {
        self.unjustified.retain(|name| **name != *to);
    }

    /// Counts what a call's flow was found to be, and says so of the data that it took along.
    pub(crate) fn judge(&mut self, call: CallId, flow: FlowType, risk: RiskLevel) {
        let edges = self.edges.iter_mut().filter(|edge| edge.call == call);
        edges.for_each(|edge| edge.judge(flow, risk));
        count(&mut self.flows, flow);
        count(&mut self.risks, risk);
    }
}

/// Returns the legs that either stands on.
pub(crate) fn joined(one: Taint, other: Taint) -> Taint {
    Taint {
        private: one.private || other.private,
        untrusted: one.untrusted || other.untrusted,
        outside: one.outside || other.outside,
    }
}

fn count<T: PartialEq>(counts: &mut Vec<(T, u64)>, what: T) {
    match counts.iter_mut().find(|(known, _)| *known == what) {
        Some((_, number)) => *number += 1,
        None => counts.push((what, 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_lately_is_summed_up() {
        let mut session = Session::start(Tick(Duration::ZERO));
        let mut sent: Vec<(CallId, u64, u64, bool)> = Vec::new();
        for number in 0..2 * u64::try_from(SENT).unwrap() {
            let call = CallId::new(number, 7);
            let (at, bytes, personal) = (number / 3, number % 11, number % 5 == 0);
            session.send(call, Tick(Duration::from_secs(at)), bytes, personal);
            sent.push((call, at, bytes, personal));
            if number % 7 == 0 {
                session.unsend(call);
                sent.pop();
            }
            if number % 31 == 0 && sent.len() > 10 {
                let (older, ..) = sent.remove(sent.len() - 9);
                session.unsend(older);
            }
            let kept = sent.len().saturating_sub(SENT);
            let late = |span| sent[kept..].iter().filter(move |one| at - one.1 <= span);
            let expect = Recent {
                outside_calls: u32::try_from(late(60).count()).unwrap(),
                personal_sends: u32::try_from(late(90).filter(|one| one.3).count()).unwrap(),
                outside_bytes: late(90).map(|one| one.2).sum(),
            };
            let now = Tick(Duration::from_secs(at));
            assert_eq!(session.recent(now, Duration::from_secs(90)), expect);
        }
    }
}
