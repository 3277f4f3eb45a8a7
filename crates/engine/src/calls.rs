//! What is counted about calls: how many ended how, and how long they took, by upstream.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use mcpproxy_core::{Record, Status};
use mcpproxy_hooks::metrics::{Histogram, Text, escaped};

/// Upstreams that are counted apart; the rest is counted together.
const MOST: usize = 256;
/// How a call may end, as the label says it.
const STATUSES: [&str; 5] = ["success", "error", "blocked", "rejected", "pending"];

/// Counts of calls.
#[derive(Debug, Default)]
pub struct Calls(RwLock<BTreeMap<Arc<str>, Arc<Counted>>>);

#[derive(Debug, Default)]
struct Counted {
    ended: [AtomicU64; STATUSES.len()],
    took: Histogram,
}

impl Calls {
    /// Counts what is put on record.
    pub(crate) fn count(&self, record: &Record) {
        if !matches!(record.kind, "tool_call" | "message" | "policy_decision") {
            return;
        }
        let counted = self.of(&record.server_name);
        let at = match record.status {
            Status::Success => 0,
            Status::Error => 1,
            Status::Blocked => 2,
            Status::Rejected => 3,
            Status::Pending => 4,
        };
        if let Some(count) = counted.ended.get(at) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        if record.kind != "policy_decision" {
            let took = Duration::try_from_secs_f64(record.duration_ms / 1000.0);
            counted.took.count(took.unwrap_or_default());
        }
    }

    fn of(&self, upstream: &str) -> Arc<Counted> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(counted) = known.get(upstream) {
            return Arc::clone(counted);
        }
        let name = if known.len() < MOST { upstream } else { "" };
        drop(known);
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.entry(name.into()).or_default())
    }

    /// Prints the counts.
    pub fn print(&self, text: &mut Text) {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let name = "mcpproxy_calls_total";
        text.family(name, "counter", "Calls by upstream and how they ended.");
        for (upstream, counted) in known.iter() {
            for (status, count) in STATUSES.iter().zip(&counted.ended) {
                let labels = format!("server=\"{}\",status=\"{status}\"", escaped(upstream));
                text.some(name, &labels, count);
            }
        }
        let name = "mcpproxy_call_duration_seconds";
        text.family(
            name,
            "histogram",
            "How long calls took, from arrival to answer.",
        );
        for (upstream, counted) in known.iter() {
            let label = format!("server=\"{}\"", escaped(upstream));
            text.histogram(name, &label, &counted.took);
        }
    }
}

#[cfg(test)]
mod tests {
    use mcpproxy_core::{CallId, Door};

    use super::*;

    #[test]
    fn calls_are_counted_by_upstream_and_end() {
        let calls = Calls::default();
        let count = |kind: &'static str, server: &str, status: Status| {
            calls.count(&Record {
                server_name: server.to_owned(),
                status,
                duration_ms: 2.0,
                ..Record::new(CallId::new(1, 1), kind, Door::Mcp)
            });
        };
        count("tool_call", "a", Status::Success);
        count("tool_call", "a", Status::Success);
        count("policy_decision", "b", Status::Blocked);
        // The same call again, before it left.
        count("intent", "a", Status::Pending);
        let mut text = Text::default();
        calls.print(&mut text);
        let text = text.finish();
        for line in [
            r#"mcpproxy_calls_total{server="a",status="success"} 2"#,
            r#"mcpproxy_calls_total{server="b",status="blocked"} 1"#,
            r#"mcpproxy_call_duration_seconds_bucket{server="a",le="0.0025"} 2"#,
            r#"mcpproxy_call_duration_seconds_count{server="a"} 2"#,
            r#"mcpproxy_call_duration_seconds_count{server="b"} 0"#,
        ] {
            assert!(text.lines().any(|one| one == line), "{line}\n{text}");
        }
        assert!(!text.contains("pending"));
    }
}
