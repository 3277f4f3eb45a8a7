//! What is shown of a session: while it lasts, and when it has ended.

use std::collections::BTreeSet;
use std::time::Duration;

use mcpproxy_core::{DataOrigin, FlowType, RiskLevel, SessionKey, Taint};

use crate::known::{WITHHELD, known};
use crate::secret::Vault;
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
    /// Sums a session up. A tool that is named by a sensitive value, as an agent may name its own, is
    /// not named.
    pub(crate) fn of(
        whose: Whose,
        session: &Session,
        linked: Vec<SessionKey>,
        vault: &Vault,
    ) -> Self {
        let shown = |tool: &String| match known(vault, tool) {
            Some(_) => WITHHELD.to_owned(),
            None => tool.clone(),
        };
        let tools: BTreeSet<_> = session.tools.iter().map(shown).collect();
        Self {
            whose,
            duration: session.first.until(session.last),
            origins: session.origin_count,
            edges: session.edge_count,
            flows: session.flows.clone(),
            risks: session.risks.clone(),
            linked,
            tools: tools.into_iter().collect(),
            taint: session.taint,
        }
    }
}
