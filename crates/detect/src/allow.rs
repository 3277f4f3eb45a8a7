//! The way out of a false alarm: values, hashes, patterns, places and tools that never alarm.

use std::fmt::Write as _;

use regex::bytes::Regex;
use sha2::{Digest, Sha256};

use crate::custom::compile;
use crate::detection::Detection;
use crate::error::DetectError;
use crate::settings::{AllowEntry, Settings};

/// The entries of the allow list, ready to be asked.
#[derive(Debug, Default)]
pub(crate) struct Allow {
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    given: AllowEntry,
    regex: Option<Regex>,
}

/// What a detection is judged by.
#[derive(Debug)]
pub(crate) struct Case<'a> {
    pub(crate) detection: &'a Detection,
    /// The text that was detected, as it stands in the view it was found in.
    pub(crate) value: &'a str,
    pub(crate) path: &'a str,
    pub(crate) tool: Option<&'a str>,
}

/// Says what is wrong with an entry, and under which key.
pub(crate) fn check(entry: &AllowEntry) -> Result<(), (Option<&'static str>, String)> {
    if *entry == AllowEntry::default() {
        return Err((None, "the entry is empty".to_owned()));
    }
    let digits = |hash: &String| hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit());
    if entry.sha256.as_ref().is_some_and(|hash| !digits(hash)) {
        return Err((Some("sha256"), "expected 64 hexadecimal digits".to_owned()));
    }
    if let Some(Err(reason)) = entry.regex.as_deref().map(compile) {
        let message = format!("this pattern cannot be used: {reason}");
        return Err((Some("regex"), message));
    }
    Ok(())
}

impl Allow {
    pub(crate) fn new(settings: &Settings) -> Result<Self, DetectError> {
        let entries = settings.allowlist.iter().enumerate().map(|(index, given)| {
            let wrong = |reason| DetectError::Pattern {
                rule: format!("allowlist[{index}]"),
                reason,
            };
            check(given).map_err(|(_, reason)| wrong(reason))?;
            let regex = given
                .regex
                .as_deref()
                .map(compile)
                .transpose()
                .map_err(wrong)?;
            Ok(Entry {
                given: given.clone(),
                regex,
            })
        });
        Ok(Self {
            entries: entries.collect::<Result<_, _>>()?,
        })
    }

    /// Tells whether an entry covers this detection.
    pub(crate) fn covers(&self, case: &Case<'_>) -> bool {
        self.entries.iter().any(|entry| entry.covers(case))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl Entry {
    fn covers(&self, case: &Case<'_>) -> bool {
        let given = &self.given;
        let detection = case.detection;
        let fits = |pattern: &Option<String>, text: &str| {
            pattern.as_deref().is_none_or(|pattern| glob(pattern, text))
        };
        let category = format!("{:?}", detection.category);
        let names = [detection.rule.as_ref(), detection.kind.as_ref()];
        let rule = given.rule.as_deref().is_none_or(|rule| {
            names.contains(&rule) || rule.replace('_', "").eq_ignore_ascii_case(&category)
        });
        rule && fits(&given.path, case.path)
            && (given.tool.is_none() || case.tool.is_some_and(|tool| fits(&given.tool, tool)))
            && given
                .value
                .as_ref()
                .is_none_or(|value| value.expose() == case.value)
            && self
                .regex
                .as_ref()
                .is_none_or(|regex| regex.is_match(case.value.as_bytes()))
            && given
                .sha256
                .as_ref()
                .is_none_or(|hash| hash.eq_ignore_ascii_case(&sha256(case.value)))
    }
}

fn sha256(value: &str) -> String {
    let digest = Sha256::digest(value.as_bytes());
    digest
        .iter()
        .fold(String::with_capacity(64), |mut out, byte| {
            // Writing into a string cannot fail.
            write!(out, "{byte:02x}").unwrap_or_default();
            out
        })
}

/// Matches with `*` for any run of characters; brackets and dots stand for themselves.
pub fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    // The first place that fits is always good enough, since a star follows.
    for part in parts {
        match rest.find(part).and_then(|at| rest.get(at + part.len()..)) {
            Some(behind) => rest = behind,
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_run() {
        let check = |pattern: &str, text: &str, expect: bool| {
            assert_eq!(glob(pattern, text), expect, "{pattern} {text}");
        };
        check("a.b[*].id", "a.b[12].id", true);
        check("a.b[*].id", "a.b[12].ids", false);
        check("github:*", "github:create_issue", true);
        check("*", "", true);
        check("a*a", "a", false);
        check("*b*", "abc", true);
        check("plain", "plain", true);
        check("plain", "plainer", false);
    }
}
