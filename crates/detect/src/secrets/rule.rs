//! What a rule for secrets is made of. How it is written down is in `load`, how it is run in
//! `engine`.

use mcpproxy_core::Severity;
use serde::Serialize;

use super::validate::Validator;
use crate::Category;

/// Splits an example so that scanners of repositories do not take it for a live secret.
const SEAM: char = '¦';

/// One rule of the embedded set.
#[derive(Clone, Debug, Serialize)]
pub struct Rule {
    /// The stable name.
    pub id: &'static str,
    /// What it finds, in the words filters use.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The family it belongs to.
    pub category: Category,
    /// How bad it is if true.
    pub severity: Severity,
    /// How sure the rule is, in percent.
    pub confidence: u8,
    /// How the text is read.
    pub form: Form,
    /// The words, in lower case, without one of which the rule is not tried.
    pub keywords: Vec<&'static str>,
    /// The regular expression; its first group, or else all of it, is the secret.
    pub pattern: &'static str,
    /// How far before the keyword the pattern may begin; at 0 it begins with the keyword.
    pub back: usize,
    /// How far beyond the keyword the pattern may reach.
    pub ahead: usize,
    /// Words of which one has to stand nearby.
    pub near: Vec<&'static str>,
    /// What else has to hold of the secret.
    pub validator: Validator,
    /// Why it counts.
    pub reason: &'static str,
    /// Texts in which the rule has to fire.
    pub yes: Vec<&'static str>,
    /// Texts in which it must not.
    pub no: Vec<&'static str>,
}

impl Rule {
    /// Returns the texts in which the rule has to fire, whole again.
    pub fn positives(&self) -> impl Iterator<Item = String> + '_ {
        self.yes.iter().map(|example| example.replace(SEAM, ""))
    }

    /// Returns the texts in which it must not, whole again.
    pub fn negatives(&self) -> impl Iterator<Item = String> + '_ {
        self.no.iter().map(|example| example.replace(SEAM, ""))
    }
}

/// How a rule reads the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// The pattern, around the keyword.
    Token,
    /// An assignment whose name has the keyword and whose whole value fits the pattern.
    Keyed,
    /// A URL of the scheme in the keyword that has a password in it.
    Url,
    /// An assignment whose name says password.
    Password,
    /// An assignment whose name says secret, with a value that looks random.
    Secret,
    /// A run of characters that looks random, with nothing said about it.
    Bare,
}

impl Form {
    /// Returns the form of that name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "token" => Self::Token,
            "keyed" => Self::Keyed,
            "url" => Self::Url,
            "password" => Self::Password,
            "secret" => Self::Secret,
            "bare" => Self::Bare,
            _ => return None,
        })
    }
}
