//! Who calls, and in which conversation.
//!
//! Both are set by the door that verified them. Nothing an agent writes into a message feeds them.

use std::sync::{Arc, LazyLock};

use serde::Serialize;

use crate::id::Id128;

/// The verified caller of a door.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Principal {
    /// What the caller may do.
    pub kind: PrincipalKind,
    /// A stable name: `owner`, `local`, or the name of the agent token.
    pub name: Arc<str>,
}

/// What a caller may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PrincipalKind {
    /// Holds the API key, or came over the Unix socket with the owner's uid: may administer.
    Owner,
    /// Holds an agent token: may call what the token's scope names.
    Agent,
    /// Came over loopback without a credential: may call, may not administer.
    Local,
}

// Every request without a credential is of one of these two.
static OWNER: LazyLock<Arc<str>> = LazyLock::new(|| "owner".into());
static LOCAL: LazyLock<Arc<str>> = LazyLock::new(|| "local".into());

impl Principal {
    /// The owner of this installation.
    pub fn owner() -> Self {
        Self {
            kind: PrincipalKind::Owner,
            name: Arc::clone(&OWNER),
        }
    }

    /// A caller from this machine that showed no credential.
    pub fn local() -> Self {
        Self {
            kind: PrincipalKind::Local,
            name: Arc::clone(&LOCAL),
        }
    }
}

/// Attribution: which conversation a call belongs to. It may change and may be linked; it never
/// narrows the matching of secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SessionKey {
    /// What the key was taken from.
    pub basis: SessionBasis,
    /// The key itself.
    pub id: Id128,
}

/// What a session key was taken from, strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SessionBasis {
    /// An agent's hook session, linked by correlation.
    Hook,
    /// The protocol's own session id.
    McpSession,
    /// The credential together with the client's stated identity.
    Credential,
    /// The connection.
    Connection,
}

/// Matching domain: stands for tenant and verified principal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlowScope(pub Id128);
