//! The kill switch: orders to stop calls, for all or for one upstream, session or principal.
//!
//! An order takes effect on the next look at it: before a call leaves, and again before its
//! answer is released. Keeping orders over a restart is for `control`.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use mcpproxy_core::{
    Action, Call, Finding, Hooked, Masked, Severity, Source, Threat, Tier, UpstreamId,
};
use tokio::sync::watch;

/// What an order stops.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopScope {
    /// Everything.
    All,
    /// Calls to one upstream.
    Upstream(UpstreamId),
    /// Calls of one session.
    Session(String),
    /// Calls of one principal.
    Principal(String),
}

impl fmt::Display for StopScope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => formatter.write_str("all"),
            Self::Upstream(name) => write!(formatter, "upstream:{name}"),
            Self::Session(id) => write!(formatter, "session:{id}"),
            Self::Principal(name) => write!(formatter, "principal:{name}"),
        }
    }
}

impl FromStr for StopScope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "all" => Ok(Self::All),
            Some(("upstream", name)) => Ok(Self::Upstream(UpstreamId::new(name))),
            Some(("session", id)) => Ok(Self::Session(id.to_owned())),
            Some(("principal", name)) => Ok(Self::Principal(name.to_owned())),
            _ => Err(format!(
                "unknown scope `{text}`; use `all`, `upstream:NAME`, `session:ID` or `principal:NAME`"
            )),
        }
    }
}

/// The orders in force.
#[derive(Debug)]
pub struct Stops(watch::Sender<BTreeSet<StopScope>>);

impl Default for Stops {
    fn default() -> Self {
        Self(watch::Sender::new(BTreeSet::new()))
    }
}

impl Stops {
    /// Replaces all orders.
    pub fn set(&self, scopes: BTreeSet<StopScope>) {
        self.0.send_replace(scopes);
    }

    /// Returns the orders in force.
    pub fn list(&self) -> BTreeSet<StopScope> {
        self.0.borrow().clone()
    }

    /// Returns a receiver that wakes when orders change.
    pub fn watch(&self) -> watch::Receiver<BTreeSet<StopScope>> {
        self.0.subscribe()
    }

    /// Returns a finding if an order covers the call.
    pub fn judge(&self, call: &Call) -> Option<Finding> {
        let orders = self.0.borrow();
        if orders.is_empty() {
            return None;
        }
        let scope = orders.iter().find(|scope| covers(scope, call))?;
        Some(Finding {
            source: Source::Operator,
            severity: Severity::High,
            threat: Threat::UnauthorizedAccess,
            reason: Masked::from_safe(format!("calls are stopped by the operator ({scope})")),
            ..Finding::new("stop-calls", Tier::Quarantine, Action::Deny)
        })
    }
}

fn covers(scope: &StopScope, call: &Call) -> bool {
    match scope {
        StopScope::All => true,
        StopScope::Upstream(name) => *name == call.tool.upstream,
        StopScope::Session(id) => {
            // Hooks tell what an agent itself calls its session, and people read that on its screen.
            let own = |hook: &Arc<Hooked>| *hook.session == **id;
            *id == call.session.id.to_string() || call.hook.as_ref().is_some_and(own)
        }
        StopScope::Principal(name) => is_named(&call.who.name, name),
    }
}

/// Tells whether a principal goes by a name: the whole, or that of its token alone.
pub fn is_named(principal: &str, name: &str) -> bool {
    principal == name || principal.strip_prefix("token:") == Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_read_as_they_are_printed() {
        for text in ["all", "upstream:github", "session:ab", "principal:owner"] {
            assert_eq!(text.parse::<StopScope>().unwrap().to_string(), text);
        }
        assert!("everything".parse::<StopScope>().is_err());
    }

    #[test]
    fn a_token_goes_by_its_own_name_too() {
        let check = |principal: &str, name: &str, expect: bool| {
            assert_eq!(is_named(principal, name), expect, "{principal} {name}");
        };
        check("token:ci", "token:ci", true);
        check("token:ci", "ci", true);
        check("token:ci", "c", false);
        check("local", "local", true);
        check("local", "token:local", false);
    }
}
