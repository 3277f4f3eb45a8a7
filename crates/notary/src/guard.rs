//! The policy file of the guard, `assay.mcp-policy.yaml`: which tools may be called, and with what.
//!
//! Deciding is pure: names are resolved and links followed by whoever stands behind [`World`].
//! What an upstream fetches or opens later, after a redirect or a change on disk, is out of reach.

mod fields;
mod glob;
mod hosts;
mod paths;
mod read;
mod snapshot;
mod system;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;

use mcpproxy_text::confusable::fold_alike;

pub use self::read::Problem;
pub use self::snapshot::snapshot;
pub use self::system::{SystemFiles, SystemResolver};

/// A policy that was read in full and understood in full.
#[derive(Clone, Debug)]
pub struct Policy {
    text: String,
    hash: String,
    default: Stance,
    allow: BTreeSet<String>,
    /// The spelling in the file, by its folded form: an upstream that is lax about names must not
    /// open what the file closes.
    deny: BTreeMap<String, String>,
    constraints: BTreeMap<String, Constraints>,
}

/// What happens to a tool that no list names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stance {
    Allow,
    Deny,
}

/// What the arguments of one tool must keep to.
#[derive(Clone, Debug)]
struct Constraints {
    tool: String,
    deny_private_hosts: bool,
    allowed_paths: Option<paths::Rules>,
}

/// What a policy says of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The call may be made.
    Allowed,
    /// The call may not be made.
    Denied,
}

/// A verdict with the rule it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// What the policy says.
    pub verdict: Verdict,
    /// The rule that said it, as `denylist:shell_exec`.
    pub rule: String,
    /// Why, in words for the caller; holds no value of an argument.
    pub reason: String,
}

/// Turns names into addresses.
pub trait Resolver: fmt::Debug + Send + Sync {
    /// Returns every address of `name`; nothing if there is none or it took too long.
    fn resolve(&self, name: &str) -> Vec<IpAddr>;
}

/// What paths mean on the machine where the upstream runs.
pub trait Files: fmt::Debug + Send + Sync {
    /// Returns the folder that relative paths start from.
    fn folder(&self) -> Option<String>;
    /// Returns the home folder.
    fn home(&self) -> Option<String>;
    /// Follows the links of a path, whose end need not exist; nothing if that cannot be done.
    fn real(&self, path: &str) -> Option<String>;
}

/// The surroundings in which constraints are judged.
#[derive(Clone, Copy, Debug)]
pub struct World<'a> {
    /// Who resolves names.
    pub resolver: &'a dyn Resolver,
    /// Who follows links.
    pub files: &'a dyn Files,
}

impl Policy {
    /// Reads a policy; whatever is not understood is a problem, never a default.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        read::policy(text)
    }

    /// Returns the SHA-256 of the file's bytes in hexadecimal.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Returns the file as it was read.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Judges one call; `arguments` is JSON text that passed `text::check`.
    ///
    /// The first of deny list, constraints, allow list and default that has an opinion decides.
    pub fn judge(&self, tool: &str, arguments: &str, world: World<'_>) -> Ruling {
        let folded = fold_alike(tool.trim());
        if let Some(spelled) = self.deny.get(folded.as_ref()) {
            return Ruling::denied(
                format!("denylist:{spelled}"),
                "the tool is on the deny list",
            );
        }
        if let Some(constraints) = self.constraints.get(folded.as_ref())
            && let Err((name, reason)) = constraints.check(arguments, world)
        {
            return Ruling::denied(format!("constraints:{}.{name}", constraints.tool), &reason);
        }
        if self.allow.contains(tool) {
            return Ruling::allowed(format!("allowlist:{tool}"));
        }
        match self.default {
            Stance::Allow => Ruling::allowed("default:allow".to_owned()),
            Stance::Deny => Ruling::denied("default:deny".to_owned(), "no list allows the tool"),
        }
    }
}

impl Ruling {
    fn allowed(rule: String) -> Self {
        Self {
            verdict: Verdict::Allowed,
            rule,
            reason: String::new(),
        }
    }

    fn denied(rule: String, reason: &str) -> Self {
        Self {
            verdict: Verdict::Denied,
            rule,
            reason: reason.to_owned(),
        }
    }
}

impl Constraints {
    /// Names the constraint that the arguments break, and says how.
    fn check(&self, arguments: &str, world: World<'_>) -> Result<(), (&'static str, String)> {
        if self.deny_private_hosts {
            hosts::check(arguments, world.resolver)
                .map_err(|reason| ("deny_private_hosts", reason))?;
        }
        if let Some(rules) = &self.allowed_paths {
            paths::check(rules, arguments, world.files)
                .map_err(|reason| ("allowed_paths", reason))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
