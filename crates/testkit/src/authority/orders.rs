//! How an authorization server is to behave.

use std::time::Duration;

/// How an authorization server behaves.
#[derive(Clone, Debug)]
pub struct AuthorityOrders {
    /// Seconds that a token lives.
    pub expires_in: u64,
    /// Whether a token that fetches the next is handed out at all.
    pub refresh: bool,
    /// Whether each renewal hands out another one and ends the one before.
    pub rotate: bool,
    /// How it describes itself.
    pub metadata: Metadata,
    /// What it says of itself when it sends somebody back.
    pub iss: Iss,
    /// The state that it sends back instead of the one it was given.
    pub state: Option<String>,
    /// The error that it sends somebody back with.
    pub deny: Option<String>,
    /// How long it takes to hand out a token.
    pub delay: Duration,
    /// A status with which it answers every question for a token.
    pub down: Option<u16>,
    /// The only client that it knows, with its secret; otherwise it registers everybody.
    pub client: Option<(String, String)>,
}

impl Default for AuthorityOrders {
    fn default() -> Self {
        Self {
            expires_in: 3600,
            refresh: true,
            rotate: true,
            metadata: Metadata::Right,
            iss: Iss::Right,
            state: None,
            deny: None,
            delay: Duration::ZERO,
            down: None,
            client: None,
        }
    }
}

/// How an authorization server describes itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metadata {
    /// As it is.
    Right,
    /// As `OpenID` Connect has it, and not at the place of RFC 8414.
    OpenId,
    /// Under another name.
    OtherIssuer,
    /// Without PKCE.
    NoPkce,
    /// With a place for tokens on another machine, without TLS.
    PlainToken,
    /// With more than anybody reads.
    Huge,
    /// Never.
    Silent,
    /// Elsewhere.
    Redirect,
}

/// What an authorization server says of itself when it sends somebody back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Iss {
    /// Its name.
    Right,
    /// Another name.
    Other,
    /// Nothing, although it announces that it does.
    Missing,
}
