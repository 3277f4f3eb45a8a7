//! What the agent is told about a verdict. The record keeps everything; the agent gets less.

use mcpproxy_core::{Action, Call, Facts, Finding, Verdict};
use serde::Serialize;

use crate::ALARMS;
use crate::policy::Policy;
use crate::rules::{Case, REPEATED};

/// What the agent is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// Why.
    pub reason: String,
    /// What it can do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<&'static str>,
}

/// Returns what the agent is told.
///
/// After three denied flows it is told no more than the decision: who is turned away that often
/// tries what gets through, and reasons would teach it.
pub fn answer(policy: &Policy, call: &Call, facts: &Facts, verdict: &Verdict) -> Answer {
    let case = Case {
        policy,
        call,
        facts,
    };
    let terse = || match verdict.wanted {
        Action::Deny => "This call was stopped by policy.".to_owned(),
        Action::Ask => "This call needs the approval of a person.".to_owned(),
        Action::Warn | Action::Allow => "This call was written down by policy.".to_owned(),
    };
    if facts.history.denials >= REPEATED {
        return Answer {
            reason: terse(),
            remedy: None,
        };
    }
    let decider = verdict.decided_by.and_then(|at| verdict.findings.get(at));
    Answer {
        reason: verdict.reason().map_or_else(terse, str::to_owned),
        remedy: decider.map(|finding| remedy(finding, &case)),
    }
}

fn remedy(finding: &Finding, case: &Case<'_>) -> &'static str {
    match &*finding.rule {
        "internal_to_external" if case.lacks_justification() && case.declares() => {
            "Repeat the call with `flow_justification` saying why this data has to leave, or leave it out."
        }
        "internal_to_external" => "Leave out what was read from the internal source.",
        "command_external" => "Leave out what the command would send from this machine.",
        "sensitive_data_external" | "secret_after_orders" | "secret_to_external" => {
            "Leave the sensitive value out; name where it is kept instead."
        }
        "unread_to_external" => "Send the content in a form that can be read.",
        "suspicious_endpoint" => "Use another destination.",
        "contradiction" => "Use the tool variant and the declarations that fit what the call does.",
        "tool_policy" | "tool_override" => {
            "Ask the user to do this, or to allow it in the configuration."
        }
        "stop-calls" => "Wait until the owner lifts the stop.",
        rule if ALARMS.contains(&rule) => "Wait before more is sent to the outside.",
        _ if finding.retry_after.is_some() => {
            "Wait for the time that is told, and repeat the call."
        }
        _ => "Ask the user, who can see in the record of this call what was found.",
    }
}
