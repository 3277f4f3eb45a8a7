//! One conversation: what it stood on, what it sent lately, and what its summary will say.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use mcpproxy_core::{
    CallId, DataOrigin, FlowType, History, Likeness, Recent, RiskLevel, Taint, Tick, Weight,
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
    /// How it was recognized.
    pub how: Likeness,
    /// How much it weighs.
    pub weight: Weight,
    /// Characters that were shared.
    pub shared: u32,
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
            sent: VecDeque::new(),
            denials: 0,
            unjustified: Vec::new(),
        }
    }

    pub(crate) fn use_tool(&mut self, name: String) {
        if self.tools.len() < NAMES {
            self.tools.insert(name);
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
        self.sent.push_back(Sent {
            call,
            at,
            bytes,
            personal,
        });
    }

    /// Takes back a call that did not leave.
    pub(crate) fn unsend(&mut self, call: CallId) {
        self.sent.retain(|sent| sent.call != call);
    }

    pub(crate) fn recent(&self, now: Tick, window: Duration) -> Recent {
        let within = |span| {
            let late = move |sent: &&Sent| now.0.saturating_sub(sent.at.0) <= span;
            self.sent.iter().filter(late)
        };
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Recent {
            outside_calls: count(within(MINUTE).count()),
            personal_sends: count(within(window).filter(|sent| sent.personal).count()),
            outside_bytes: within(window).map(|sent| sent.bytes).sum(),
        }
    }

    pub(crate) fn history(&self, to: &str) -> History {
        History {
            denials: self.denials,
            unjustified: self.unjustified.iter().any(|name| **name == *to),
        }
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

    pub(crate) fn count_flow(&mut self, flow: FlowType, risk: RiskLevel) {
        count(&mut self.flows, flow);
        count(&mut self.risks, risk);
    }
}

fn count<T: PartialEq>(counts: &mut Vec<(T, u64)>, what: T) {
    match counts.iter_mut().find(|(known, _)| *known == what) {
        Some((_, number)) => *number += 1,
        None => counts.push((what, 1)),
    }
}
