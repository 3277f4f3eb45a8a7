//! What is shown of a session: while it lasts, and when it has ended.

use std::time::Duration;

use mcpproxy_core::{DataOrigin, FlowType, RiskLevel, SessionKey, Taint};

use crate::session::{Edge, Session};
use crate::whose::Whose;

/// What a session amounted to, for its record in the log.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Whose it was.
    pub whose: Whose,
    /// From its first to its last call.
    pub duration: Duration,
    /// Origins that were tracked.
    pub origins: u64,
    /// Movements of data that were seen.
    pub edges: u64,
    /// Calls by the direction in which data moved.
    pub flows: Vec<(FlowType, u64)>,
    /// Calls by the risk of their flow.
    pub risks: Vec<(RiskLevel, u64)>,
    /// Sessions that were known to be the same conversation.
    pub linked: Vec<SessionKey>,
    /// Tools that were used, as `upstream:tool`.
    pub tools: Vec<String>,
    /// The legs of the lethal trifecta that it stood on.
    pub taint: Taint,
}

/// What is known of a session that lasts.
#[derive(Clone, Debug)]
pub struct SessionView {
    /// Whose it is.
    pub whose: Whose,
    /// What it amounts to so far.
    pub summary: Summary,
    /// Where data was read, latest last.
    pub origins: Vec<DataOrigin>,
    /// Where data moved, latest last.
    pub edges: Vec<Edge>,
}

/// How much is remembered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Bytes of memory, by estimate.
    pub bytes: usize,
    /// Fingerprints of text.
    pub fingerprints: usize,
    /// Origins.
    pub origins: usize,
    /// Sessions.
    pub sessions: usize,
    /// Scopes.
    pub scopes: usize,
}

impl Summary {
    pub(crate) fn of(whose: Whose, session: &Session, linked: Vec<SessionKey>) -> Self {
        Self {
            whose,
            duration: session.first.until(session.last),
            origins: session.origin_count,
            edges: session.edge_count,
            flows: session.flows.clone(),
            risks: session.risks.clone(),
            linked,
            tools: session.tools.iter().cloned().collect(),
            taint: session.taint,
        }
    }
}
