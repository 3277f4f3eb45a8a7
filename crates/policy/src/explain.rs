//! Why a verdict is what it is: every tier with what spoke in it, every point of the score, and why
//! the finding that decided did.

mod table;

use std::borrow::Cow;

use mcpproxy_core::{
    Action, Call, Enforcement, Facts, Finding, FlowType, Masked, Match, RiskLevel, Tier, Verdict,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::policy::Policy;
use crate::precedence::{Say, TIERS, is_silenced, say};
use crate::risk::{Band, Point, points};
use crate::rules::Case;
use crate::{direction, words};

/// The explanation of a verdict; its `Display` is a table for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Explanation {
    /// What was called, as `upstream:tool`.
    pub call: String,
    /// What was decided.
    pub decision: Action,
    /// What is done.
    pub effective: Action,
    /// Why these differ, or that they do not.
    pub enforcement: Enforcement,
    /// The rule that decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<Cow<'static, str>>,
    /// Why that one.
    pub why: String,
    /// The direction in which data would move.
    pub flow_type: FlowType,
    /// The risk of the flow.
    pub risk_level: RiskLevel,
    /// Why the flow has that risk.
    pub risk_reason: &'static str,
    /// Every tier, strongest first.
    pub tiers: Vec<TierLine>,
    /// The score.
    pub risk_score: u8,
    /// Its label.
    pub band: Band,
    /// What each finding adds to the score; nothing for those that add nothing.
    pub points: Vec<Point>,
}

/// One tier of the order of precedence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TierLine {
    /// The tier.
    pub tier: Tier,
    /// What spoke in it.
    pub findings: Vec<Spoke>,
}

/// One finding in its tier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Spoke {
    /// The rule.
    pub rule: Cow<'static, str>,
    /// What it wants.
    pub wants: Action,
    /// Why.
    pub reason: Masked,
    /// The data that was recognized.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Box<Match>>,
    /// Whether it decided.
    pub decided: bool,
    /// Whether an override leaves it without a say.
    pub silenced: bool,
}

/// Explains a verdict that [`crate::decide`] gave for this call and these facts.
pub fn explain(policy: &Policy, call: &Call, facts: &Facts, verdict: &Verdict) -> Explanation {
    let case = Case {
        policy,
        call,
        facts,
    };
    let decider = verdict.decided_by.and_then(|at| verdict.findings.get(at));
    let points = points(&verdict.findings).into_iter();
    Explanation {
        call: format!("{}:{}", call.tool.upstream, call.tool.tool),
        decision: verdict.wanted,
        effective: verdict.action,
        enforcement: verdict.enforced,
        decided_by: decider.map(|finding| finding.rule.clone()),
        why: why(decider, verdict),
        flow_type: verdict.flow,
        risk_level: verdict.risk.level,
        risk_reason: direction::reason(&case),
        tiers: TIERS.iter().map(|tier| line(*tier, verdict)).collect(),
        risk_score: verdict.risk.score,
        band: Band::of(verdict.risk.score),
        points: points
            .filter(|point| policy.risk.enabled && (point.points > 0 || point.silenced))
            .collect(),
    }
}

/// Returns the reason of a finding about the score.
pub(crate) fn score_reason(score: u8, key: &str) -> String {
    format!("The risk score is {score}, and `{key}` is set to act on that.")
}

fn line(tier: Tier, verdict: &Verdict) -> TierLine {
    let findings = verdict.findings.iter().enumerate();
    let findings = findings.filter(|(_, finding)| finding.tier == tier);
    let spoke = |(at, finding): (usize, &Finding)| Spoke {
        rule: finding.rule.clone(),
        wants: finding.wants,
        reason: finding.reason.clone(),
        evidence: finding.evidence.clone(),
        decided: verdict.decided_by == Some(at),
        silenced: is_silenced(finding, &verdict.findings),
    };
    TierLine {
        tier,
        findings: findings.map(spoke).collect(),
    }
}

fn why(decider: Option<&Finding>, verdict: &Verdict) -> String {
    let Some(decider) = decider else {
        return "No rule objects.".to_owned();
    };
    let tier = words::tier(decider.tier);
    let wants = words::action(decider.wants);
    let others = verdict.findings.iter();
    let alone = others
        .filter(|other| other.wants > Action::Allow || other.tier == Tier::Override)
        .count()
        == 1;
    match say(decider.tier) {
        _ if alone => format!("`{}` is the only one with an opinion.", decider.rule),
        Say::Settle if decider.wants < Action::Deny => format!(
            "An override settles contradictions, flows and operations; nothing stronger wants more than `{wants}`."
        ),
        Say::Settle | Say::Forbid => {
            format!("`{wants}` is the strictest, and {tier} is the strongest tier that wants it.")
        }
        Say::Tighten => {
            format!("`{wants}` is stricter than what the other tiers want, and {tier} may tighten.")
        }
    }
}

#[cfg(test)]
mod tests;
