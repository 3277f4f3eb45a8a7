//! The words for values of `core` in sentences and tables.

use mcpproxy_core::{Action, Likeness, Source, Tier};

pub(crate) fn action(action: Action) -> &'static str {
    match action {
        Action::Allow => "allow",
        Action::Warn => "warn",
        Action::Ask => "ask",
        Action::Deny => "deny",
    }
}

pub(crate) fn tier(tier: Tier) -> &'static str {
    match tier {
        Tier::Endpoint => "suspicious endpoint",
        Tier::Quarantine => "quarantine and stops",
        Tier::Guard => "guards",
        Tier::Hook => "external hooks",
        Tier::Access => "access policy",
        Tier::Override => "tool overrides",
        Tier::Contradiction => "contradiction",
        Tier::SensitiveFlow => "sensitive flow",
        Tier::Flow => "flow",
        Tier::Operation => "tool policy",
        Tier::Risk => "thresholds and risk",
    }
}

pub(crate) fn source(source: Source) -> &'static str {
    match source {
        Source::Flow => "flow",
        Source::Pii => "pii",
        Source::Static => "static",
        Source::Behavioral => "behavioral",
        Source::AgentHint => "agent_hint",
        Source::Operator => "operator",
    }
}

pub(crate) fn likeness(likeness: Likeness) -> &'static str {
    match likeness {
        Likeness::Exact => "exact",
        Likeness::Field => "field",
        Likeness::Normalized => "normalized",
        Likeness::Fragment => "fragment",
        Likeness::Encoded => "encoded",
        Likeness::Pieces => "pieces",
        Likeness::Tokens => "tokens",
    }
}
