//! Secrets: keys, tokens, passwords, and what else lets its bearer in.
//!
//! The rules are data (`rules/secrets/*.toml`); `engine` runs them. Nothing here decodes, looks at
//! paths of files, or asks an issuer whether a key is alive.

mod assign;
mod bare;
mod engine;
mod load;
mod mask;
mod name;
mod rule;
mod tell;
mod url;
mod validate;
mod value;
mod words;

use std::cmp::Reverse;
use std::sync::LazyLock;

use mcpproxy_core::Masked;

use self::engine::{Candidate, Engine};
pub use self::rule::{Form, Rule};
pub use self::validate::Validator;
use crate::{DetectError, Detection, Level, Makeup, Scan};

/// A longer value of a field is a document, and its name says little about it.
const LONGEST_VALUE: usize = 4096;
/// From here on a detection is enough by itself, in percent.
const SURE: u8 = 90;
/// From here on it is worth a look.
const LIKELY: u8 = 50;

static ENGINE: LazyLock<Result<Engine, DetectError>> = LazyLock::new(Engine::load);

/// Returns the embedded rules, in the order of their files.
pub fn rules() -> &'static [Rule] {
    ENGINE
        .as_ref()
        .map_or(&[], |engine| engine.rules.as_slice())
}

/// Tells whether the name of a variable says that its value is a key, a token or a password.
pub fn names_secret(name: &str) -> bool {
    name::promise(name).is_some()
}

/// The scanner for secrets.
#[derive(Clone, Copy, Debug)]
pub struct Secrets {
    engine: &'static Engine,
    threshold: f64,
}

impl Secrets {
    /// Returns the scanner; `entropy_threshold` is what a run without any context has to reach, in
    /// bits a character. A name that promises a secret lowers it.
    pub fn new(entropy_threshold: f64) -> Result<Self, DetectError> {
        let engine = ENGINE.as_ref().map_err(Clone::clone)?;
        Ok(Self {
            engine,
            threshold: entropy_threshold,
        })
    }

    /// Returns the rules it runs.
    pub fn rules(&self) -> &'static [Rule] {
        &self.engine.rules
    }

    fn detection(&self, candidate: Candidate, text: &str) -> Option<Detection> {
        let rule = self.engine.rules.get(candidate.rule)?;
        Some(Detection {
            rule: rule.id.into(),
            kind: rule.kind.into(),
            category: rule.category,
            severity: rule.severity,
            confidence: rule.confidence,
            level: level(rule.confidence),
            sample: mask::mask(text.get(candidate.span.clone())?),
            span: candidate.span,
            via: Vec::new(),
            reason: Masked::from_safe(rule.reason),
            tags: &[],
        })
    }

    /// Of candidates that overlap keeps the one whose rule is surest.
    fn settle(&self, mut candidates: Vec<Candidate>) -> Vec<Candidate> {
        let sure = |candidate: &Candidate| {
            self.engine
                .rules
                .get(candidate.rule)
                .map_or(0, |rule| rule.confidence)
        };
        candidates.sort_by_key(|one| (one.span.start, Reverse(sure(one)), Reverse(one.span.end)));
        let mut kept: Vec<Candidate> = Vec::new();
        for candidate in candidates {
            match kept.last_mut() {
                Some(last) if candidate.span.start < last.span.end => {
                    if sure(&candidate) > sure(last) {
                        *last = candidate;
                    }
                }
                _ => kept.push(candidate),
            }
        }
        kept
    }
}

impl Scan for Secrets {
    fn scan(&self, text: &str, out: &mut Vec<Detection>) {
        let mut candidates = Vec::new();
        self.engine.scan(text, self.threshold, &mut candidates);
        if candidates.is_empty() {
            return;
        }
        let kept = self.settle(candidates);
        out.extend(
            kept.into_iter()
                .filter_map(|candidate| self.detection(candidate, text)),
        );
    }

    fn may_see(&self, makeup: Makeup) -> bool {
        makeup.length() >= words::SHORTEST
    }

    fn heeds(&self, key: &str) -> bool {
        self.engine.heeds(key)
    }

    fn scan_keyed(&self, key: &str, value: &str, out: &mut Vec<Detection>) {
        if value.len() > LONGEST_VALUE {
            return;
        }
        let mut candidates = Vec::new();
        self.engine
            .scan_keyed(key, value, self.threshold, &mut candidates);
        if candidates.is_empty() {
            return;
        }
        // What the value shows by itself is reported by `scan`, and by a surer rule.
        let named = candidates.len();
        self.engine.scan(value, self.threshold, &mut candidates);
        let by_name: Vec<usize> = candidates.iter().take(named).map(|one| one.rule).collect();
        let kept = self
            .settle(candidates)
            .into_iter()
            .filter(|one| by_name.contains(&one.rule));
        out.extend(kept.filter_map(|candidate| self.detection(candidate, value)));
    }
}

fn level(confidence: u8) -> Level {
    match confidence {
        SURE.. => Level::Block,
        LIKELY.. => Level::Warn,
        _ => Level::Note,
    }
}

#[cfg(test)]
mod tests;
