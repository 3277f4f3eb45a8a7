//! What is counted about hooks and violations, and how Prometheus reads it.
//!
//! Counts belong to a hook's id and outlive its replacement when the configuration changes. Ids
//! come from the configuration, so that there are few.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mcpproxy_core::{Action, HookFault, SecurityDecision, Severity, Threat};
use serde::Serialize;

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
/// Upper bounds of the durations that are counted together, in microseconds and as the label has
/// them.
const BOUNDS: [(u64, &str); 12] = [
    (100, "0.0001"),
    (250, "0.00025"),
    (500, "0.0005"),
    (1_000, "0.001"),
    (2_500, "0.0025"),
    (5_000, "0.005"),
    (10_000, "0.01"),
    (25_000, "0.025"),
    (50_000, "0.05"),
    (100_000, "0.1"),
    (200_000, "0.2"),
    (1_000_000, "1"),
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
    buckets: [AtomicU64; BOUNDS.len()],
    micros: AtomicU64,
    answers: AtomicU64,
}

/// What was counted about one hook.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Questions that it decided, by decision; those that never came are left out.
    pub decisions: BTreeMap<&'static str, u64>,
    /// Questions that it did not decide, by cause; those that never came are left out.
    pub errors: BTreeMap<&'static str, u64>,
    /// How long its answers took on average, in microseconds.
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
            text.histogram(name, id, hook);
        }
        let name = "security_hooks_errors_total";
        text.family(name, "counter", "Questions that hooks did not decide.");
        for (id, hook) in hooks.iter() {
            for (error, count) in ERRORS.iter().zip(&hook.errors) {
                let labels = format!("hook_id=\"{}\",error_type=\"{error}\"", escaped(id));
                text.some(name, &labels, count);
            }
        }
        let name = "security_violations_total";
        text.family(name, "counter", "What checks and hooks objected to.");
        for (threat, row) in Threat::ALL.iter().zip(&self.violations) {
            for (severity, count) in Severity::ALL.iter().zip(row) {
                let (threat, severity) = (threat.name(), severity.name());
                let labels = format!("threat_type=\"{threat}\",severity=\"{severity}\"");
                text.some(name, &labels, count);
            }
        }
        text.0
    }
}

impl HookMetrics {
    /// Counts a decision and the time it took.
    pub(crate) fn decided(&self, decision: &SecurityDecision, took: Duration) {
        let at = match decision {
            SecurityDecision::Allow => 0,
            SecurityDecision::AllowWithModification(_) => 1,
            SecurityDecision::Ask(_) => 2,
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
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = BOUNDS.iter().position(|(bound, _)| micros <= *bound);
        add(bucket.and_then(|at| self.buckets.get(at)), 1);
        add(Some(&self.micros), micros);
        add(Some(&self.answers), 1);
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
        let answers = self.answers.load(Ordering::Relaxed).max(1);
        Counts {
            decisions: read(&DECISIONS, &self.decisions),
            errors: read(&ERRORS, &self.errors),
            mean_micros: self.micros.load(Ordering::Relaxed) / answers,
        }
    }
}

fn add(count: Option<&AtomicU64>, more: u64) {
    if let Some(count) = count {
        count.fetch_add(more, Ordering::Relaxed);
    }
}

/// Text in the form that Prometheus reads.
#[derive(Default)]
struct Text(String);

impl Text {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.line(format_args!("# HELP {name} {help}"));
        self.line(format_args!("# TYPE {name} {kind}"));
    }

    /// Adds a count unless it is zero.
    fn some(&mut self, name: &str, labels: &str, count: &AtomicU64) {
        let count = count.load(Ordering::Relaxed);
        if count > 0 {
            self.line(format_args!("{name}{{{labels}}} {count}"));
        }
    }

    fn histogram(&mut self, name: &str, id: &str, hook: &HookMetrics) {
        let label = format!("hook_id=\"{}\"", escaped(id));
        let mut below = 0;
        for ((_, bound), count) in BOUNDS.iter().zip(&hook.buckets) {
            below += count.load(Ordering::Relaxed);
            self.line(format_args!(
                "{name}_bucket{{{label},le=\"{bound}\"}} {below}"
            ));
        }
        // Read last, and never less than what was read before.
        let all = hook.answers.load(Ordering::Relaxed).max(below);
        let micros = hook.micros.load(Ordering::Relaxed);
        let (seconds, rest) = (micros / 1_000_000, micros % 1_000_000);
        self.line(format_args!("{name}_bucket{{{label},le=\"+Inf\"}} {all}"));
        self.line(format_args!("{name}_sum{{{label}}} {seconds}.{rest:06}"));
        self.line(format_args!("{name}_count{{{label}}} {all}"));
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        self.0.extend([line.to_string().as_str(), "\n"]);
    }
}

/// A label's value, with what would end it escaped.
fn escaped(value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    value.replace('\n', "\\n")
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
            r#"security_violations_total{threat_type="rug_pull",severity="high"} 1"#,
        ] {
            assert!(text.lines().any(|one| one == line), "{line}\n{text}");
        }
        assert!(!text.contains("decision=\"deny\""));
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
