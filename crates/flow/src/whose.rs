//! Whose data it is: the matching domain and the conversation.

use mcpproxy_core::{FlowScope, SessionKey};

use crate::roll::scramble;

/// Whose data it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Whose {
    /// Within which secrets and typed values are recognized.
    pub scope: FlowScope,
    /// Within which other text is recognized, and what everything is attributed to.
    pub session: SessionKey,
}

/// Returns the number that keeps the text of one session apart from that of others.
pub(crate) fn salt(session: SessionKey) -> u64 {
    let [low, high] = [session.id.0, session.id.0 >> 64]
        .map(|half| u64::try_from(half & u128::from(u64::MAX)).unwrap_or(0));
    scramble(low ^ scramble(high ^ basis(session)))
}

fn basis(session: SessionKey) -> u64 {
    use mcpproxy_core::SessionBasis::{Connection, Credential, Hook, McpSession};
    match session.basis {
        Hook => 1,
        McpSession => 2,
        Credential => 3,
        Connection => 4,
    }
}
