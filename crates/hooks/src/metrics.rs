//! What is counted about hooks and violations, and how Prometheus reads it.
//!
//! Counts belong to a hook's id and outlive its replacement when the configuration changes. Ids
//! come from the configuration, so that there are few.

mod text;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mcpproxy_core::{Action, HookFault, SecurityDecision, Severity, Threat};
use schemars::JsonSchema;
use serde::Serialize;

pub use self::text::{Histogram, Text, escaped};

/// What a hook may decide, as the label says it.
const DECISIONS: [&str; 5] = [
    "allow",
    "allow_with_modification",
    "ask",
    "require_additional_auth",
    "deny",
];
/// How a hook may fail to decide, as the label says it.
const ERRORS: [&str; 8] = [
    "timeout",
    "unreachable",
    "garbage",
    "too_large",
    "crashed",
    "circuit_open",
    "busy",
    "dropped",
];
/// Everything that is counted.
#[derive(Debug, Default)]
pub struct Metrics {
    hooks: Mutex<BTreeMap<Arc<str>, Arc<HookMetrics>>>,
    violations: [[AtomicU64; Severity::ALL.len()]; Threat::ALL.len()],
}

/// What is counted about one hook.
#[derive(Debug, Default)]
pub(crate) struct HookMetrics {
    decisions: [AtomicU64; DECISIONS.len()],
    errors: [AtomicU64; ERRORS.len()],
    took: Histogram,
}

/// What was counted about one hook.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Counts {
    /// Questions that it decided, by decision; those that never came are left out.
    pub decisions: BTreeMap<&'static str, u64>,
    /// Questions that it did not decide, by cause; those that never came are left out.
    pub errors: BTreeMap<&'static str, u64>,
    /// How long it was waited for on average, in microseconds.
    pub mean_micros: u64,
}

impl Metrics {
    /// Returns what is counted about a hook.
    pub(crate) fn of(&self, id: &str) -> Arc<HookMetrics> {
        let mut hooks = self.hooks.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(hooks.entry(id.into()).or_default())
    }

    /// Counts a violation.
    pub fn violation(&self, threat: Threat, severity: Severity) {
        let by_threat = Threat::ALL.iter().position(|one| *one == threat);
        let by_severity = Severity::ALL.iter().position(|one| *one == severity);
        if let (Some(threat), Some(severity)) = (by_threat, by_severity)
            && let Some(count) = self
                .violations
                .get(threat)
                .and_then(|row| row.get(severity))
        {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Prints everything as Prometheus reads it.
    pub fn text(&self) -> String {
        let hooks = self.hooks.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = Text::default();
        text.family("security_hooks_total", "counter", "Decisions of hooks.");
        for (id, hook) in hooks.iter() {
            for (decision, count) in DECISIONS.iter().zip(&hook.decisions) {
                let labels = format!("hook_id=\"{}\",decision=\"{decision}\"", escaped(id));
                text.some("security_hooks_total", &labels, count);
            }
        }
        let name = "security_hooks_duration_seconds";
        text.family(name, "histogram", "How long hooks took to answer.");
        for (id, hook) in hooks.iter() {
            let label = format!("hook_id=\"{}\"", escaped(id));
            text.histogram(name, &label, &hook.took);
        }
        let name = "security_hooks_errors_total";
        text.family(name, "counter", "Questions that hooks did not decide.");
        for (id, hook) in hooks.iter() {
            for (error, count) in ERRORS.iter().zip(&hook.errors) {
                let labels = format!("hook_id=\"{}\",error_type=\"{error}\"", escaped(id));
                // Those that never came, too: of a count that begins with one, no rate is seen.
                text.sample(name, &labels, count.load(Ordering::Relaxed));
            }
        }
        let name = "security_violations_total";
        text.family(name, "counter", "What checks and hooks objected to.");
        for (threat, row) in Threat::ALL.iter().zip(&self.violations) {
            for (severity, count) in Severity::ALL.iter().zip(row) {
                let (threat, severity) = (threat.name(), severity.name());
                let labels = format!("threat_type=\"{threat}\",severity=\"{severity}\"");
                // Those that never came, too: the labels are few, and the first burst is seen.
                text.sample(name, &labels, count.load(Ordering::Relaxed));
            }
        }
        text.finish()
    }
}

impl HookMetrics {
    /// Counts a decision and the time it took.
    pub(crate) fn decided(&self, decision: &SecurityDecision, took: Duration) {
        let at = match decision {
            SecurityDecision::Allow => 0,
            SecurityDecision::AllowWithModification(_) => 1,
            SecurityDecision::Ask(_) | SecurityDecision::AskOrDeny(_) => 2,
            SecurityDecision::RequireAdditionalAuth(_) => 3,
            SecurityDecision::Deny(_) => 4,
        };
        self.count(at, took);
    }

    /// Counts what a native guard said, and the time it took.
    pub(crate) fn said(&self, wants: Action, changed: bool, took: Duration) {
        let at = match wants {
            Action::Allow | Action::Warn => usize::from(changed),
            Action::Ask => 2,
            Action::Deny => 4,
        };
        self.count(at, took);
    }

    fn count(&self, decision: usize, took: Duration) {
        add(self.decisions.get(decision), 1);
        self.took.count(took);
    }

    /// Counts a question that was put to the hook and not decided, and the time it took.
    pub(crate) fn gave_up(&self, fault: &HookFault, took: Duration) {
        self.failed(fault);
        if !matches!(fault, HookFault::Resting | HookFault::Busy) {
            self.took.count(took);
        }
    }

    /// Counts a question that was not decided.
    pub(crate) fn failed(&self, fault: &HookFault) {
        self.count_error(fault.name());
    }

    /// Counts a message that an asynchronous hook was not told.
    pub(crate) fn dropped(&self) {
        self.count_error("dropped");
    }

    fn count_error(&self, name: &str) {
        let at = ERRORS.iter().position(|error| *error == name);
        add(at.and_then(|at| self.errors.get(at)), 1);
    }

    /// Returns what was counted.
    pub(crate) fn counts(&self) -> Counts {
        let read = |names: &[&'static str], counts: &[AtomicU64]| {
            let pairs = names.iter().zip(counts);
            let pairs = pairs.map(|(name, count)| (*name, count.load(Ordering::Relaxed)));
            pairs.filter(|(_, count)| *count > 0).collect()
        };
        Counts {
            decisions: read(&DECISIONS, &self.decisions),
            errors: read(&ERRORS, &self.errors),
            mean_micros: self.took.mean_micros(),
        }
    }
}

fn add(count: Option<&AtomicU64>, more: u64) {
    if let Some(count) = count {
        count.fetch_add(more, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_four_families_are_printed() {
        let metrics = Metrics::default();
        let hook = metrics.of("a\"b");
        hook.decided(&SecurityDecision::Allow, Duration::from_micros(90));
        hook.decided(
            &SecurityDecision::RequireAdditionalAuth(String::new()),
            Duration::from_millis(3),
        );
        hook.failed(&HookFault::Late);
        hook.dropped();
        metrics.violation(Threat::RugPull, Severity::High);
        let text = metrics.text();
        for line in [
            "# TYPE security_hooks_total counter",
            r#"security_hooks_total{hook_id="a\"b",decision="allow"} 1"#,
            r#"security_hooks_total{hook_id="a\"b",decision="require_additional_auth"} 1"#,
            "# TYPE security_hooks_duration_seconds histogram",
            r#"security_hooks_duration_seconds_bucket{hook_id="a\"b",le="0.0001"} 1"#,
            r#"security_hooks_duration_seconds_bucket{hook_id="a\"b",le="0.005"} 2"#,
            r#"security_hooks_duration_seconds_bucket{hook_id="a\"b",le="+Inf"} 2"#,
            r#"security_hooks_duration_seconds_sum{hook_id="a\"b"} 0.003090"#,
            r#"security_hooks_duration_seconds_count{hook_id="a\"b"} 2"#,
            r#"security_hooks_errors_total{hook_id="a\"b",error_type="timeout"} 1"#,
            r#"security_hooks_errors_total{hook_id="a\"b",error_type="dropped"} 1"#,
            r#"security_hooks_errors_total{hook_id="a\"b",error_type="unreachable"} 0"#,
            r#"security_violations_total{threat_type="rug_pull",severity="high"} 1"#,
            // Regression for #8: of a count that begins with one, no rate is seen.
            r#"security_violations_total{threat_type="data_exfiltration",severity="critical"} 0"#,
        ] {
            assert!(text.lines().any(|one| one == line), "{line}\n{text}");
        }
        assert!(!text.contains("decision=\"deny\""));
        let all = text.matches("\nsecurity_violations_total{").count();
        assert_eq!(all, Threat::ALL.len() * Severity::ALL.len());
    }

    #[test]
    fn every_fault_has_a_label() {
        let faults = [
            HookFault::Late,
            HookFault::Unreachable(String::new()),
            HookFault::Garbage(String::new()),
            HookFault::TooLarge,
            HookFault::Crashed(String::new()),
            HookFault::Resting,
            HookFault::Busy,
        ];
        for fault in faults {
            assert!(ERRORS.contains(&fault.name()), "{fault:?}");
        }
    }

    #[test]
    fn counts_outlive_the_hook() {
        let metrics = Metrics::default();
        metrics.of("a").dropped();
        metrics.of("a").dropped();
        assert_eq!(metrics.of("a").counts().errors["dropped"], 2);
    }
}
