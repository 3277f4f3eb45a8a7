//! The risk score: confidence times severity times the weight of the source, added up to at most
//! 100. Bands label it, thresholds act on it.

use std::borrow::Cow;

use mcpproxy_core::{Action, Finding, Severity, Source};
use schemars::JsonSchema;
use serde::Serialize;

use crate::precedence::is_silenced;
use crate::settings::RiskAssessment;

/// The label of a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Band {
    /// 0 to 29: only written down.
    Low,
    /// 30 to 49: worth a look.
    Medium,
    /// 50 to 69: should be looked at.
    High,
    /// 70 to 100: should be approved.
    Critical,
}

impl Band {
    /// Returns the band of a score.
    pub fn of(score: u8) -> Self {
        match score {
            0..30 => Self::Low,
            30..50 => Self::Medium,
            50..70 => Self::High,
            70.. => Self::Critical,
        }
    }
}

/// What one finding adds to the score.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Point {
    /// The rule.
    pub rule: Cow<'static, str>,
    /// The kind of detection.
    pub source: Source,
    /// How sure the check is, in percent.
    pub confidence: u8,
    /// How bad it is if true, in percent.
    pub severity: u8,
    /// The weight of the source, in percent.
    pub weight: u8,
    /// What comes out.
    pub points: u8,
    /// Whether an override silences the finding, so that it adds nothing.
    pub silenced: bool,
}

/// Returns what each finding adds.
pub(crate) fn points(findings: &[Finding]) -> Vec<Point> {
    let point = |finding: &Finding| {
        let silenced = is_silenced(finding, findings);
        let confidence = finding.confidence.min(100);
        let severity = percent(finding.severity);
        let weight = weight(finding.source);
        let product = u32::from(confidence) * u32::from(severity) * u32::from(weight) / 10_000;
        let points = if silenced { 0 } else { product };
        Point {
            rule: finding.rule.clone(),
            source: finding.source,
            confidence,
            severity,
            weight,
            points: u8::try_from(points).unwrap_or(100),
            silenced,
        }
    };
    findings.iter().map(point).collect()
}

/// Adds the points up; nothing where scoring is switched off.
pub(crate) fn score(settings: &RiskAssessment, findings: &[Finding]) -> u8 {
    if !settings.enabled {
        return 0;
    }
    let all = points(findings);
    all.iter()
        .fold(0, |sum: u8, point| sum.saturating_add(point.points))
        .min(100)
}

/// Returns what a score leads to, and the key that says so.
pub(crate) fn outcome(settings: &RiskAssessment, score: u8) -> Option<(Action, &'static str)> {
    if !settings.enabled || score == 0 {
        return None;
    }
    if settings.block_on_critical && Band::of(score) == Band::Critical {
        Some((Action::Deny, "block_on_critical"))
    } else if score >= settings.require_approval_threshold {
        Some((Action::Ask, "require_approval_threshold"))
    } else if score >= settings.auto_flag_threshold {
        Some((Action::Warn, "auto_flag_threshold"))
    } else {
        None
    }
}

/// The weights of the specification. An order of the operator is no guess.
fn weight(source: Source) -> u8 {
    match source {
        Source::Flow | Source::Operator => 100,
        Source::Pii => 80,
        Source::Static => 60,
        Source::Behavioral => 50,
        Source::AgentHint => 30,
    }
}

fn percent(severity: Severity) -> u8 {
    match severity {
        Severity::Info => 0,
        Severity::Low => 20,
        Severity::Medium => 50,
        Severity::High => 75,
        Severity::Critical => 100,
    }
}
