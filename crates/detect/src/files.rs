//! Paths of files that hold credentials, on Linux, macOS and Windows.
//!
//! A path is matched by its end, so that `~`, `$HOME`, `%USERPROFILE%` and `C:\Users\x` before it
//! make no difference; slashes may lean either way, be doubled or be escaped. The rules are data,
//! in `rules/files.json`. Whether the file exists, and what is in it, is not asked here.

mod folders;
mod matcher;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use mcpproxy_core::{Masked, Severity};
use serde::{Deserialize, Serialize};

use crate::{Category, DetectError, Detection, Level, Makeup, Scan};
pub(crate) use folders::Folders;
pub use folders::Held;
use matcher::Matcher;

/// The rules that come with the program.
const RULES: &str = include_str!("../rules/files.json");

/// One rule: a kind of file and the ends of the paths that lead to it.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FileRule {
    /// The name of the rule.
    pub id: String,
    /// What kind of file it is, in the words filters use.
    #[serde(rename = "type")]
    pub kind: String,
    /// Why it counts.
    pub reason: String,
    /// How bad it is when it is read.
    pub severity: Rating,
    /// What naming it amounts to by itself.
    pub level: Notice,
    /// Where such files are found.
    pub platforms: Vec<Platform>,
    /// Names and ends of paths, in lower case with forward slashes; a final slash is a folder.
    #[serde(default)]
    pub any: Vec<String>,
    /// Endings of names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endings: Vec<String>,
    /// What must not follow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unless: Vec<String>,
    /// Texts in which the rule sees something.
    pub positive: Vec<String>,
    /// Texts in which it does not.
    pub negative: Vec<String>,
}

/// A severity as rules spell it.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Rating {
    /// Low.
    Low,
    /// Medium.
    Medium,
    /// High.
    High,
    /// Critical.
    Critical,
}

/// A level as rules spell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Notice {
    /// Worth recording.
    Note,
    /// Worth a person's look.
    Warn,
}

/// An operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Platform {
    /// Linux.
    Linux,
    /// macOS.
    Macos,
    /// Windows.
    Windows,
}

/// The scanner for paths of credentials.
#[derive(Debug)]
pub struct Files {
    rules: Vec<FileRule>,
    matcher: Matcher,
}

impl Files {
    /// Reads the rules that come with the program.
    pub fn new() -> Result<Self, DetectError> {
        Self::from_json(RULES)
    }

    /// Reads rules from JSON.
    pub fn from_json(json: &str) -> Result<Self, DetectError> {
        let rules: Vec<FileRule> =
            serde_json::from_str(json).map_err(|error| DetectError::Rule {
                file: "files.json".to_owned(),
                rule: format!("line {}", error.line()),
                reason: error.to_string(),
            })?;
        let matcher = Matcher::new(&rules)?;
        Ok(Self { rules, matcher })
    }

    /// The rules in use.
    pub fn rules(&self) -> &[FileRule] {
        &self.rules
    }
}

impl Scan for Files {
    fn may_see(&self, makeup: Makeup) -> bool {
        makeup.has(Makeup::JOINT)
    }

    fn scan(&self, text: &str, out: &mut Vec<Detection>) {
        self.matcher.scan(text, |hit| {
            let Some(rule) = self.rules.get(hit.rule) else {
                return;
            };
            let named = text.get(hit.named).unwrap_or_default();
            out.push(Detection {
                rule: Cow::Owned(rule.id.clone()),
                kind: Cow::Owned(rule.kind.clone()),
                category: Category::SensitiveFile,
                severity: rule.severity.into(),
                confidence: match rule.level {
                    Notice::Note => 60,
                    Notice::Warn => 85,
                },
                level: match rule.level {
                    Notice::Note => Level::Note,
                    Notice::Warn => Level::Warn,
                },
                span: hit.span,
                via: Vec::new(),
                reason: Masked::from_safe(rule.reason.clone()),
                sample: Masked::from_safe(named),
                tags: &[],
            });
        });
    }
}

impl From<Rating> for Severity {
    fn from(rating: Rating) -> Self {
        match rating {
            Rating::Low => Self::Low,
            Rating::Medium => Self::Medium,
            Rating::High => Self::High,
            Rating::Critical => Self::Critical,
        }
    }
}
