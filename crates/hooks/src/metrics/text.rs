//! Text in the form that Prometheus reads, and durations that are counted by how long they are.

use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the durations that are counted together, in microseconds and as the label has
/// them.
const BOUNDS: [(u64, &str); 15] = [
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
    (5_000_000, "5"),
    (30_000_000, "30"),
    (120_000_000, "120"),
];

/// Durations, counted by how long they are.
#[derive(Debug, Default)]
pub struct Histogram {
    buckets: [AtomicU64; BOUNDS.len()],
    micros: AtomicU64,
    count: AtomicU64,
}

impl Histogram {
    /// Counts one.
    pub fn count(&self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let at = BOUNDS.iter().position(|(bound, _)| micros <= *bound);
        if let Some(bucket) = at.and_then(|at| self.buckets.get(at)) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        self.micros.fetch_add(micros, Ordering::Relaxed);
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how long they took on average, in microseconds.
    pub fn mean_micros(&self) -> u64 {
        let count = self.count.load(Ordering::Relaxed).max(1);
        self.micros.load(Ordering::Relaxed) / count
    }
}

/// Text in the form that Prometheus reads.
#[derive(Debug, Default)]
pub struct Text(String);

impl Text {
    /// Begins a family of samples.
    pub fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.line(format_args!("# HELP {name} {help}"));
        self.line(format_args!("# TYPE {name} {kind}"));
    }

    /// Adds a sample; labels are as `a="b"`, their values escaped.
    pub fn sample(&mut self, name: &str, labels: &str, value: impl Display) {
        if labels.is_empty() {
            self.line(format_args!("{name} {value}"));
        } else {
            self.line(format_args!("{name}{{{labels}}} {value}"));
        }
    }

    /// Adds a count unless it is zero.
    pub fn some(&mut self, name: &str, labels: &str, count: &AtomicU64) {
        let count = count.load(Ordering::Relaxed);
        if count > 0 {
            self.sample(name, labels, count);
        }
    }

    /// Adds durations.
    pub fn histogram(&mut self, name: &str, label: &str, counted: &Histogram) {
        let mut below = 0;
        for ((_, bound), count) in BOUNDS.iter().zip(&counted.buckets) {
            below += count.load(Ordering::Relaxed);
            self.line(format_args!(
                "{name}_bucket{{{label},le=\"{bound}\"}} {below}"
            ));
        }
        // Read last, and never less than what was read before.
        let all = counted.count.load(Ordering::Relaxed).max(below);
        let micros = counted.micros.load(Ordering::Relaxed);
        let (seconds, rest) = (micros / 1_000_000, micros % 1_000_000);
        self.line(format_args!("{name}_bucket{{{label},le=\"+Inf\"}} {all}"));
        self.line(format_args!("{name}_sum{{{label}}} {seconds}.{rest:06}"));
        self.line(format_args!("{name}_count{{{label}}} {all}"));
    }

    /// Returns what was added.
    pub fn finish(self) -> String {
        self.0
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        self.0.extend([line.to_string().as_str(), "\n"]);
    }
}

/// A label's value, with what would end it escaped.
pub fn escaped(value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    value.replace('\n', "\\n")
}
