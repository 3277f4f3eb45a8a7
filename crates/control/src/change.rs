//! What an operation is called, who may do it, and what it changed.
//!
//! A [`Change`] carries names only, never settings or secrets, so that it can be logged as it is.

use std::fmt;

use mcpproxy_core::{Principal, PrincipalKind, Wall};
use serde::Serialize;

use crate::error::Refused;
use crate::tokens::AUDIT;

/// An operation; only the owner may carry it out, unless it only withholds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// Stops calls.
    StopCalls,
    /// Lets calls go again.
    ResumeCalls,
    /// Makes an agent token.
    CreateToken,
    /// Lists agent tokens.
    ListTokens,
    /// Makes an agent token worthless.
    RevokeToken,
    /// Adds an upstream.
    AddUpstream,
    /// Changes the settings of an upstream.
    ChangeUpstream,
    /// Removes an upstream.
    RemoveUpstream,
    /// Switches an upstream on.
    EnableUpstream,
    /// Switches an upstream off.
    DisableUpstream,
    /// Reads the configuration again.
    Reload,
    /// Reads the configuration.
    ReadConfig,
    /// Changes the configuration.
    ChangeConfig,
    /// Asks what the policy would do.
    TryPolicy,
    /// Reads the activity log.
    ReadActivity,
    /// Reads what is known about what upstreams offer.
    ReadQuarantine,
    /// Lets tools pass.
    ApproveTools,
    /// Withholds tools for good.
    BlockTools,
    /// Withholds everything of an upstream.
    Quarantine,
    /// Lets an upstream out of quarantine.
    Unquarantine,
}

impl fmt::Display for Act {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::StopCalls => "stop calls",
            Self::ResumeCalls => "resume calls",
            Self::CreateToken => "create a token",
            Self::ListTokens => "list tokens",
            Self::RevokeToken => "revoke a token",
            Self::AddUpstream => "add an upstream",
            Self::ChangeUpstream => "change an upstream",
            Self::RemoveUpstream => "remove an upstream",
            Self::EnableUpstream => "enable an upstream",
            Self::DisableUpstream => "disable an upstream",
            Self::Reload => "reload the configuration",
            Self::ReadConfig => "read the configuration",
            Self::ChangeConfig => "change the configuration",
            Self::TryPolicy => "try the policy",
            Self::ReadActivity => "read the activity log",
            Self::ReadQuarantine => "read the quarantine",
            Self::ApproveTools => "approve tools",
            Self::BlockTools => "block tools",
            Self::Quarantine => "quarantine an upstream",
            Self::Unquarantine => "let an upstream out of quarantine",
        })
    }
}

impl Act {
    /// Returns its name, as records have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::StopCalls => "stop_calls",
            Self::ResumeCalls => "resume_calls",
            Self::CreateToken => "create_token",
            Self::ListTokens => "list_tokens",
            Self::RevokeToken => "revoke_token",
            Self::AddUpstream => "add_upstream",
            Self::ChangeUpstream => "change_upstream",
            Self::RemoveUpstream => "remove_upstream",
            Self::EnableUpstream => "enable_upstream",
            Self::DisableUpstream => "disable_upstream",
            Self::Reload => "reload",
            Self::ReadConfig => "read_config",
            Self::ChangeConfig => "change_config",
            Self::TryPolicy => "try_policy",
            Self::ReadActivity => "read_activity",
            Self::ReadQuarantine => "read_quarantine",
            Self::ApproveTools => "approve_tools",
            Self::BlockTools => "block_tools",
            Self::Quarantine => "quarantine",
            Self::Unquarantine => "unquarantine",
        }
    }

    /// Returns the type of record that tells of it; nothing for what only reads, and for the
    /// quarantine, whose changes have records of their own.
    pub const fn record(self) -> Option<&'static str> {
        match self {
            Self::StopCalls
            | Self::ResumeCalls
            | Self::CreateToken
            | Self::RevokeToken
            | Self::Reload
            | Self::ChangeConfig => Some("config_change"),
            Self::AddUpstream
            | Self::ChangeUpstream
            | Self::RemoveUpstream
            | Self::EnableUpstream
            | Self::DisableUpstream => Some("server_change"),
            Self::ListTokens
            | Self::ReadConfig
            | Self::TryPolicy
            | Self::ReadActivity
            | Self::ReadQuarantine
            | Self::ApproveTools
            | Self::BlockTools
            | Self::Quarantine
            | Self::Unquarantine => None,
        }
    }
}

/// What an operation changed, for the log and for the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// What was done.
    pub act: Act,
    /// To what: a scope, or the name of a token or an upstream; empty for the configuration.
    pub target: String,
    /// What a token is limited to, or the keys that were set.
    pub details: Vec<String>,
    /// Who did it.
    pub by: String,
    /// When.
    pub at: Wall,
    /// Whether it made a difference.
    pub effect: Effect,
}

/// Whether an operation made a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// It did.
    Made,
    /// It was so before.
    AlreadySo,
}

impl Change {
    /// Adds what a token is limited to, or the keys that were set.
    #[must_use]
    pub(crate) fn with(self, details: Vec<String>) -> Self {
        Self { details, ..self }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.act)?;
        if !self.target.is_empty() {
            write!(formatter, " (`{}`)", self.target)?;
        }
        write!(formatter, " by `{}`", self.by)?;
        match self.effect {
            Effect::Made => Ok(()),
            Effect::AlreadySo => formatter.write_str(", which changed nothing"),
        }
    }
}

/// The proof that the owner asks, or that nothing is asked for but to withhold.
///
/// INVARIANT: a [`Change`] comes from nowhere else.
#[derive(Debug)]
pub(crate) struct Mandate<'a> {
    act: Act,
    who: &'a Principal,
}

impl<'a> Mandate<'a> {
    /// Lets the owner pass and refuses everybody else.
    pub(crate) fn of(who: &'a Principal, act: Act) -> Result<Self, Refused> {
        match who.kind {
            PrincipalKind::Owner => Ok(Self { act, who }),
            PrincipalKind::Agent
            | PrincipalKind::User
            | PrincipalKind::Certificate
            | PrincipalKind::Local => Err(Refused::Forbidden {
                who: who.name.to_string(),
                act,
            }),
        }
    }

    /// Lets the owner pass, and the holder of a token that is made for looking at the audit.
    pub(crate) fn to_audit(who: &'a Principal, act: Act) -> Result<Self, Refused> {
        if may_audit(who) {
            return Ok(Self { act, who });
        }
        Self::of(who, act)
    }

    /// Lets everybody pass: whoever was let in may withhold, and only the owner may lift it again.
    pub(crate) fn to_tighten(who: &'a Principal, act: Act) -> Self {
        Self { act, who }
    }

    /// Returns the name of the one who asks.
    pub(crate) fn by(&self) -> &str {
        &self.who.name
    }

    /// Says what came of it.
    pub(crate) fn change(self, target: impl Into<String>, effect: Effect, at: Wall) -> Change {
        Change {
            act: self.act,
            target: target.into(),
            details: Vec::new(),
            by: self.by().to_owned(),
            at,
            effect,
        }
    }
}

/// Says whether somebody may look at the audit: records, events and what is counted.
pub fn may_audit(who: &Principal) -> bool {
    match who.kind {
        PrincipalKind::Owner => true,
        PrincipalKind::Agent => {
            let mut scopes = who.claims.iter().flat_map(|claims| &claims.scopes);
            scopes.any(|scope| scope == AUDIT)
        }
        PrincipalKind::User | PrincipalKind::Certificate | PrincipalKind::Local => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_act_has_one_name_everywhere() {
        for act in [
            Act::StopCalls,
            Act::CreateToken,
            Act::ChangeConfig,
            Act::DisableUpstream,
            Act::Reload,
        ] {
            assert_eq!(serde_json::json!(act), act.name());
            assert!(act.record().is_some());
        }
        assert_eq!(Act::ListTokens.record(), None);
    }

    #[test]
    fn a_change_reads_as_a_line_of_a_log() {
        let check = |act, target: &str, effect, expect: &str| {
            let owner = Principal::owner();
            let change = Mandate::of(&owner, act)
                .unwrap()
                .change(target, effect, Wall(0));
            assert_eq!(change.to_string(), expect);
        };
        check(
            Act::StopCalls,
            "all",
            Effect::Made,
            "stop calls (`all`) by `owner`",
        );
        check(
            Act::Reload,
            "",
            Effect::Made,
            "reload the configuration by `owner`",
        );
        check(
            Act::StopCalls,
            "all",
            Effect::AlreadySo,
            "stop calls (`all`) by `owner`, which changed nothing",
        );
    }
}
