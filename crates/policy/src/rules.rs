//! The native rules, one file each. A rule reads what is known about a call and reports; it decides
//! nothing.

mod caution;
pub(crate) mod command;
pub(crate) mod contradiction;
mod endpoint;
pub(crate) mod exposure;
mod flow;
mod guard;
mod led;
mod operation;
mod overrides;
mod sensitive;
mod thresholds;
mod trifecta;
pub(crate) mod unread;

use mcpproxy_core::{
    Action, Call, Facts, Finding, Likeness, Masked, Match, Nature, Operation, Severity, Side, Sink,
    Source, Threat, Tier, Weight,
};

pub use self::thresholds::ALARMS;
use crate::policy::Policy;

/// How many denied flows make a session one to be careful with.
pub(crate) const REPEATED: u32 = 3;

/// What a rule looks at.
#[derive(Clone, Copy)]
pub(crate) struct Case<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) call: &'a Call,
    pub(crate) facts: &'a Facts,
}

type Rule = fn(&Case<'_>) -> Vec<Finding>;

/// The rules in the order of precedence.
const RULES: [Rule; 14] = [
    endpoint::judge,
    guard::judge,
    overrides::judge,
    contradiction::judge,
    sensitive::judge,
    led::judge,
    command::judge,
    exposure::judge,
    flow::judge,
    unread::judge,
    caution::judge,
    operation::judge,
    trifecta::judge,
    thresholds::judge,
];

/// Judges a call by the native rules.
pub fn judge(policy: &Policy, call: &Call, facts: &Facts) -> Vec<Finding> {
    let case = Case {
        policy,
        call,
        facts,
    };
    RULES.iter().flat_map(|rule| rule(&case)).collect()
}

impl Case<'_> {
    /// Tells whether data that this call carries may leave.
    pub(crate) fn outside(&self) -> bool {
        self.facts.destination.sink.is_outside()
    }

    /// Tells whether data is a secret of one upstream on its way to another that only its own word
    /// speaks for. What such a tool is called says nothing about where its arguments go.
    pub(crate) fn strays(&self, one: &Match) -> bool {
        let to = &self.facts.destination;
        let grave = one.label.as_ref().is_some_and(|label| {
            let sure = label.validated || label.severity >= Severity::High;
            label.nature != Nature::Typed && sure
        });
        to.sink == Sink::Unproven
            && one.origin.side == Side::Inside
            && one.origin.upstream.as_str() != &*to.name
            && one.weight == Weight::Sensitive
            && grave
    }

    /// Returns what the call does: the worse of what is known and what is declared. A tool about
    /// which nobody says anything counts as one that writes.
    pub(crate) fn operation(&self) -> Option<Operation> {
        let known = self.facts.operation.max(self.call.declared.operation);
        let is_tool = self.call.kind.method() == "tools/call";
        known.or(is_tool.then_some(Operation::Write))
    }

    /// Tells whether the agent can declare anything: a tool that it calls by its own name takes no more
    /// than its own arguments.
    pub(crate) fn declares(&self) -> bool {
        self.call.declared.operation.is_some()
    }

    /// Tells whether a justification is required and missing.
    pub(crate) fn lacks_justification(&self) -> bool {
        let given = self.call.declared.flow_justification.as_deref();
        self.policy.flow.require_justification && given.is_none_or(|text| text.trim().is_empty())
    }

    /// Returns the destination as a sentence has it.
    pub(crate) fn destination(&self) -> String {
        let kind = match self.facts.destination.sink {
            Sink::Inside => "internal",
            Sink::Outside => "external",
            Sink::Assumed | Sink::Unproven => "unknown",
        };
        // An agent's own tool can send to where nobody can tell.
        match &*self.facts.destination.name {
            "" => format!("{kind} destination"),
            name => format!("{kind} destination ({name})"),
        }
    }
}

/// Says where data was read. Not every agent tells which upstream gave it.
fn source(one: &Match) -> String {
    match one.origin.upstream.as_str() {
        "" => "internal source".to_owned(),
        name => format!("internal source ({name})"),
    }
}

/// Starts a finding about data on its way out, which most are.
fn finding(rule: &'static str, tier: Tier, wants: Action, reason: impl Into<String>) -> Finding {
    Finding {
        source: Source::Flow,
        threat: Threat::DataExfiltration,
        reason: Masked::from_safe(reason),
        ..Finding::new(rule, tier, wants)
    }
}

/// How sure a likeness is, in percent.
fn confidence(how: Likeness) -> u8 {
    match how {
        Likeness::Exact | Likeness::Field => 100,
        Likeness::Normalized | Likeness::Encoded => 95,
        Likeness::Fragment => 90,
        Likeness::Pieces => 80,
        Likeness::Tokens => 60,
    }
}

#[cfg(test)]
mod tests;
