//! The operator's own patterns and words, as one scanner.

use std::borrow::Cow;
use std::ops::Range;

use aho_corasick::AhoCorasick;
use regex::bytes::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};

use mcpproxy_core::{Masked, Severity};

use crate::detection::{Category, Detection, Level, Scan};
use crate::error::DetectError;
use crate::settings::{KEYWORD, Settings};

/// Most memory that one compiled pattern may take, and all of them together.
const SIZE: usize = 1 << 20;
const SIZE_OF_ALL: usize = 16 << 20;
/// Most that one pattern reports in one text.
const HITS: usize = 1000;

/// Compiles a pattern with ASCII classes, or with those of Unicode where it names them.
///
/// Unicode classes make large automata that do not fit the cache of the engine; nearly nobody who
/// writes `\w` means the digits of every script.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    let build = |unicode: bool| {
        let mut builder = RegexBuilder::new(pattern);
        builder.size_limit(SIZE).dfa_size_limit(SIZE);
        builder.unicode(unicode).build()
    };
    build(false)
        .or_else(|_| build(true))
        .map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => "the pattern is too large".to_owned(),
            // The compiler draws a picture over several lines; its last line says what is wrong.
            error => {
                let text = error.to_string();
                let last = text.lines().last().unwrap_or_default().trim();
                last.strip_prefix("error: ").unwrap_or(last).to_owned()
            }
        })
}

/// What is reported for a hit.
#[derive(Debug)]
struct Rule {
    name: String,
    category: Category,
    severity: Severity,
}

/// The scanner for patterns and words from the configuration.
#[derive(Debug, Default)]
pub(crate) struct Custom {
    rules: Vec<Rule>,
    /// Each expression with the number of its rule.
    patterns: Vec<(Regex, usize)>,
    /// The expressions again, to tell in one pass which of them are there at all.
    set: Option<RegexSet>,
    /// The words, and the number of the rule of each.
    words: Option<(AhoCorasick, Vec<usize>)>,
}

impl Custom {
    /// Compiles what the settings name; nothing if they name nothing.
    pub(crate) fn new(settings: &Settings) -> Result<Option<Self>, DetectError> {
        let mut custom = Self::default();
        let mut words: Vec<(&str, usize)> = Vec::new();
        for pattern in &settings.custom_patterns {
            let number = custom.rules.len();
            custom.rules.push(Rule {
                name: pattern.name.clone(),
                category: pattern.category,
                severity: pattern.severity,
            });
            words.extend(pattern.keywords.iter().map(|word| (word.as_str(), number)));
            if let Some(regex) = &pattern.regex {
                let regex = compile(regex).map_err(|reason| wrong(&pattern.name, reason))?;
                custom.patterns.push((regex, number));
            }
        }
        if !settings.sensitive_keywords.is_empty() {
            let number = custom.rules.len();
            custom.rules.push(Rule {
                name: KEYWORD.to_owned(),
                category: Category::Custom,
                severity: Severity::Medium,
            });
            words.extend(
                settings
                    .sensitive_keywords
                    .iter()
                    .map(|word| (word.as_str(), number)),
            );
        }
        custom.set = set(&custom.patterns);
        custom.add_words(&words)?;
        Ok((!custom.rules.is_empty()).then_some(custom))
    }

    fn add_words(&mut self, words: &[(&str, usize)]) -> Result<(), DetectError> {
        let words: Vec<_> = words
            .iter()
            .filter(|(word, _)| !word.trim().is_empty())
            .collect();
        if words.is_empty() {
            return Ok(());
        }
        let searcher = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .build(words.iter().map(|(word, _)| word.trim()))
            .map_err(|error| wrong("keywords", error.to_string()))?;
        self.words = Some((searcher, words.iter().map(|(_, rule)| *rule).collect()));
        Ok(())
    }

    fn report(&self, rule: usize, text: &str, span: Range<usize>, out: &mut Vec<Detection>) {
        let Some(rule) = self.rules.get(rule) else {
            return;
        };
        // With ASCII classes a dot is one byte, which may be half a character.
        let span = text.floor_char_boundary(span.start)..text.ceil_char_boundary(span.end);
        out.push(Detection {
            rule: Cow::Owned(format!("custom.{}", rule.name)),
            kind: Cow::Owned(rule.name.clone()),
            category: rule.category,
            severity: rule.severity,
            confidence: 90,
            level: match rule.severity {
                Severity::Info | Severity::Low => Level::Note,
                Severity::Medium => Level::Warn,
                Severity::High | Severity::Critical => Level::Block,
            },
            sample: Masked::from_safe(format!("*** ({} bytes)", span.len())),
            span,
            via: Vec::new(),
            reason: Masked::from_safe(format!("fits `{}` of the configuration", rule.name)),
            tags: &[],
        });
    }
}

fn wrong(rule: &str, reason: String) -> DetectError {
    DetectError::Pattern {
        rule: rule.to_owned(),
        reason,
    }
}

/// Makes one automaton of several patterns; without it each is searched in turn.
fn set(patterns: &[(Regex, usize)]) -> Option<RegexSet> {
    let sources = patterns.iter().map(|(regex, _)| regex.as_str());
    let mut builder = RegexSetBuilder::new(sources);
    builder
        .unicode(false)
        .size_limit(SIZE_OF_ALL)
        .dfa_size_limit(SIZE_OF_ALL);
    (patterns.len() > 2).then(|| builder.build().ok()).flatten()
}

impl Scan for Custom {
    fn scan(&self, text: &str, out: &mut Vec<Detection>) {
        let bytes = text.as_bytes();
        let there = self.set.as_ref().map(|set| set.matches(bytes));
        for (index, (regex, rule)) in self.patterns.iter().enumerate() {
            if there.as_ref().is_some_and(|there| !there.matched(index)) {
                continue;
            }
            let hits = regex.find_iter(bytes).filter(|hit| !hit.is_empty());
            for hit in hits.take(HITS) {
                self.report(*rule, text, hit.range(), out);
            }
        }
        let Some((searcher, rules)) = &self.words else {
            return;
        };
        let whole = |span: &Range<usize>| {
            let letter = |char: Option<char>| char.is_some_and(char::is_alphanumeric);
            !letter(
                text.get(..span.start)
                    .and_then(|before| before.chars().next_back()),
            ) && !letter(
                text.get(span.end..)
                    .and_then(|behind| behind.chars().next()),
            )
        };
        for hit in searcher
            .find_iter(bytes)
            .filter(|hit| whole(&hit.range()))
            .take(HITS)
        {
            if let Some(rule) = rules.get(hit.pattern().as_usize()) {
                self.report(*rule, text, hit.range(), out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_and_words_are_found_at_their_place() {
        let settings: Settings = serde_json::from_str(
            r#"{
                "custom_patterns": [
                    {"name": "employee", "regex": "EMP-\\d{6}", "severity": "high", "category": "pii"},
                    {"name": "project", "keywords": ["Blue Heron"]},
                    {"name": "dot", "regex": "x.y"},
                    {"name": "greek", "regex": "\\p{Greek}+"}
                ],
                "sensitive_keywords": ["codename"]
            }"#,
        )
        .unwrap();
        let custom = Custom::new(&settings).unwrap().unwrap();
        let check = |text: &str, expect: &[(&str, &str)]| {
            let mut out = Vec::new();
            custom.scan(text, &mut out);
            let found: Vec<_> = out
                .iter()
                .map(|d| (d.kind.as_ref(), text.get(d.span.clone()).unwrap()))
                .collect();
            assert_eq!(found, expect, "{text}");
        };
        check(
            "the id EMP-123456, not EMP-12",
            &[("employee", "EMP-123456")],
        );
        check(
            "on blue heron and Blue Herons",
            &[("project", "blue heron")],
        );
        check(
            "CODENAME x, codenames",
            &[("sensitive_keyword", "CODENAME")],
        );
        check("EMP-١٢٣٤٥٦ αβγ", &[("greek", "αβγ")]);
        check("xay", &[("dot", "xay")]);
        assert!(Custom::new(&Settings::default()).unwrap().is_none());
    }
}
