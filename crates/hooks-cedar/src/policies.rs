//! A set of policies, and what it decides.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr as _;

use cedar_policy::{
    AuthorizationError, Authorizer, Decision, Effect, ParseErrors, PolicyId, PolicySet, Template,
};
use mcpproxy_core::{AccessDecision, AccessRequest, AccessRules};
use miette::Diagnostic as _;

use crate::Error;
use crate::bounds;
use crate::named::Named;
use crate::question::{Arguments, Question};
use crate::remembered::Remembered;

/// Stack of the thread that reads policies; what is not used of it is never there.
const STACK: usize = 64 << 20;

/// A set of policies, which nothing changes after it was read.
pub struct CedarRules {
    set: PolicySet,
    authorizer: Authorizer,
    /// What a policy is called, and what it does.
    names: BTreeMap<PolicyId, (String, Effect)>,
    /// Servers that policies name, each with the name of a policy.
    servers: BTreeSet<(String, String)>,
    known: Remembered,
}

impl CedarRules {
    /// Reads policies from text; `source_name` is where it is from.
    pub fn parse(text: &str, source_name: &str) -> Result<Self, Error> {
        bounds::check(text).map_err(|fault| fault_at(fault.at, fault.why, text, source_name))?;
        let unread = |why: String| Error::Unread {
            source_name: source_name.to_owned(),
            why,
        };
        // What the bounds let pass still takes more than the stack of a thread that serves.
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(STACK);
            let read = thread.spawn_scoped(scope, || Self::read(text, source_name));
            let read = read.map_err(|fault| unread(fault.to_string()))?.join();
            read.unwrap_or_else(|_| Err(unread("its reader broke down".to_owned())))
        })
    }

    fn read(text: &str, source_name: &str) -> Result<Self, Error> {
        let set = PolicySet::from_str(text).map_err(|why| syntax(&why, text, source_name))?;
        if let Some(template) = set.templates().next() {
            return Err(Error::Template {
                source_name: source_name.to_owned(),
                name: named(Template::annotation(template, "id"), template.id()),
            });
        }
        let mut names: BTreeMap<PolicyId, (String, Effect)> = BTreeMap::new();
        let mut servers = BTreeSet::new();
        for policy in set.policies() {
            let name = named(policy.annotation("id"), policy.id());
            if names.values().any(|(other, _)| *other == name) {
                return Err(Error::SameName {
                    source_name: source_name.to_owned(),
                    name,
                });
            }
            let used = Named::of(policy).map_err(|why| Error::NeverApplies {
                source_name: source_name.to_owned(),
                name: name.clone(),
                why,
            })?;
            let its = used.servers().map(|one| (one.to_owned(), name.clone()));
            servers.extend(its);
            names.insert(policy.id().clone(), (name, policy.effect()));
        }
        Ok(Self {
            set,
            authorizer: Authorizer::new(),
            names,
            servers,
            known: Remembered::default(),
        })
    }

    /// Returns how many policies there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Tells whether there are none, so that nothing is permitted.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns the servers that policies name, each with the name of a policy.
    pub fn servers(&self) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.servers.iter();
        pairs.map(|(server, policy)| (server.as_str(), policy.as_str()))
    }

    fn sorted<'a>(&self, ids: impl Iterator<Item = &'a PolicyId>) -> Vec<String> {
        let mut names: Vec<_> = ids.map(|id| self.name(id)).collect();
        names.sort_unstable();
        names
    }

    fn name(&self, id: &PolicyId) -> String {
        let name = self.names.get(id);
        name.map_or_else(|| id.to_string(), |(name, _)| name.clone())
    }

    /// A policy that nobody knows forbids.
    fn forbids(&self, id: &PolicyId) -> bool {
        let effect = self.names.get(id).map(|(_, effect)| *effect);
        effect != Some(Effect::Permit)
    }
}

impl AccessRules for CedarRules {
    fn decide(&self, request: &AccessRequest<'_>) -> AccessDecision {
        let question = match Question::new(request, Arguments::Known) {
            Ok(question) => question,
            Err(why) => return forbidden(Vec::new(), vec![why]),
        };
        let (asked, entities) = (&question.request, &question.entities);
        let response = self.authorizer.is_authorized(asked, &self.set, entities);
        let mut problems = Vec::new();
        for AuthorizationError::PolicyEvaluationError(why) in response.diagnostics().errors() {
            // The words of an error may hold values of arguments; the name of its policy does not.
            if self.forbids(why.policy_id()) {
                problems.push(self.name(why.policy_id()));
            }
        }
        problems.sort_unstable();
        match response.decision() {
            Decision::Allow if problems.is_empty() => AccessDecision::Permitted,
            // The policies that permit it are not why it is forbidden.
            Decision::Allow => forbidden(Vec::new(), problems),
            Decision::Deny => forbidden(self.sorted(response.diagnostics().reason()), problems),
        }
    }

    fn may_permit(&self, request: &AccessRequest<'_>) -> bool {
        self.known.or_ask(request, || self.could_permit(request))
    }
}

impl CedarRules {
    /// Evaluates as far as that goes without the arguments.
    fn could_permit(&self, request: &AccessRequest<'_>) -> bool {
        let Ok(question) = Question::new(request, Arguments::Unknown) else {
            return false;
        };
        let (asked, entities) = (&question.request, &question.entities);
        let authorizer = &self.authorizer;
        let response = authorizer.is_authorized_partial(asked, &self.set, entities);
        if response.definitely_errored().any(|id| self.forbids(id)) {
            return false;
        }
        response.decision() != Some(Decision::Deny)
    }
}

fn forbidden(rules: Vec<String>, problems: Vec<String>) -> AccessDecision {
    AccessDecision::Forbidden { rules, problems }
}

fn named(annotation: Option<&str>, id: &PolicyId) -> String {
    annotation.map_or_else(|| id.to_string(), str::to_owned)
}

/// Says what is wrong first, and where.
fn syntax(why: &ParseErrors, text: &str, source_name: &str) -> Error {
    let first = why.iter().next();
    let label = first.and_then(|first| first.labels()?.next());
    let offset = label.map_or(0, |label| label.offset());
    let why = first.map_or_else(|| why.to_string(), ToString::to_string);
    fault_at(offset, why, text, source_name)
}

fn fault_at(offset: usize, why: String, text: &str, source_name: &str) -> Error {
    let before = text.get(..offset).unwrap_or_default();
    let last = before.rsplit('\n').next().unwrap_or_default();
    Error::Syntax {
        source_name: source_name.to_owned(),
        line: before.matches('\n').count() + 1,
        column: last.chars().count() + 1,
        why,
    }
}

impl fmt::Debug for CedarRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.names.values().map(|(name, _)| name);
        f.debug_set().entries(names).finish()
    }
}
