//! Who calls, and in which conversation.
//!
//! Both are set by the door that verified them. Nothing an agent writes into a message feeds them.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Wall;
use crate::id::Id128;

/// The verified caller of a door.
///
/// Two are the same who have the same kind and name: who comes back with a renewed credential is
/// the same caller, whatever the new one claims.
#[derive(Clone, Debug)]
pub struct Principal {
    /// What the caller may do.
    pub kind: PrincipalKind,
    /// A stable name: `owner`, `local`, or that of the agent token, the user or the certificate.
    pub name: Arc<str>,
    /// What the credential says about its holder, where it says anything.
    pub claims: Option<Arc<Claims>>,
}

/// What a credential says about its holder, as its issuer or the configuration has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// The holder's name among those whom the same issuer knows.
    pub subject: String,
    /// Roles.
    pub roles: Vec<String>,
    /// What the credential is for.
    pub scopes: Vec<String>,
    /// Other properties, by name.
    pub attributes: Vec<(String, String)>,
    /// When the credential ends, where it does.
    pub until: Option<Wall>,
}

/// What a caller may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PrincipalKind {
    /// Holds the API key, or came over the Unix socket with the owner's uid: may administer.
    Owner,
    /// Holds an agent token: may call what the token's scope names.
    Agent,
    /// Holds an access token of the configured issuer: may call, may not administer.
    User,
    /// Showed a certificate of a configured authority: may call, may not administer.
    Certificate,
    /// Came over loopback without a credential: may call, may not administer.
    Local,
}

impl PrincipalKind {
    /// Tells whether a credential of this kind ends by itself while its holder stays the same, and
    /// comes back with another.
    pub const fn is_renewed(self) -> bool {
        match self {
            Self::User | Self::Certificate => true,
            Self::Owner | Self::Agent | Self::Local => false,
        }
    }

    /// Tells whether it is the owner, or an agent of theirs.
    pub const fn is_owners(self) -> bool {
        match self {
            Self::Owner | Self::Agent | Self::Local => true,
            Self::User | Self::Certificate => false,
        }
    }
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
            claims: None,
        }
    }

    /// A caller from this machine that showed no credential.
    pub fn local() -> Self {
        Self {
            kind: PrincipalKind::Local,
            name: Arc::clone(&LOCAL),
            claims: None,
        }
    }

    /// The holder of an agent token, by the name that stands for it.
    pub fn agent(name: impl Into<Arc<str>>) -> Self {
        Self {
            kind: PrincipalKind::Agent,
            name: name.into(),
            claims: None,
        }
    }
}

impl PartialEq for Principal {
    fn eq(&self, other: &Self) -> bool {
        (self.kind, &self.name) == (other.kind, &other.name)
    }
}

impl Eq for Principal {}

impl Hash for Principal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.kind.hash(state);
        self.name.hash(state);
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

impl SessionBasis {
    /// All of them, strongest first.
    pub const ALL: [Self; 4] = [
        Self::Hook,
        Self::McpSession,
        Self::Credential,
        Self::Connection,
    ];
}

/// Matching domain: stands for tenant and verified principal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlowScope(pub Id128);
