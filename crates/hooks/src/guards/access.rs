//! Access control: rules about who may use what, asked about every call of a tool, prompt or
//! resource and about everything that is listed.
//!
//! How rules are written is behind a port. What may never be used is to be as unknown as what is
//! not there, so a finding about it has a name of its own, by which doors know what to answer.

use std::path::PathBuf;

use mcpproxy_core::{
    AccessDecision, AccessRequest, AccessRules, Action, Finding, Masked, Severity, Source, Threat,
    Tier,
};
use serde::{Deserialize, Serialize};

/// The id by which the configuration knows this guard, and the rule of a call that it forbids.
pub const ID: &str = "rbac-enforcer";
/// The rule of a call of something that its caller may not know of.
pub const HIDDEN: &str = "rbac-enforcer/hidden";
/// Policies that a reason names.
const NAMED: usize = 3;

/// Where the policies are. Exactly one of the two is given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The policies themselves.
    pub policies: Option<String>,
    /// The file that holds them; one that changes is read again.
    pub policy_file: Option<PathBuf>,
}

impl Settings {
    /// Says what is wrong with them, if anything is.
    pub fn check(&self) -> Result<(), String> {
        match (&self.policies, &self.policy_file) {
            (Some(_), None) | (None, Some(_)) => Ok(()),
            (None, None) => Err("needs `policy_file` or `policies`".to_owned()),
            (Some(_), Some(_)) => Err("`policy_file` and `policies` exclude each other".to_owned()),
        }
    }
}

/// Says what rules have against a use, if they have anything. `listed` is the same as it stands in a
/// list: whether that may be known of does not depend on what the agent says.
pub fn judge(
    rules: &dyn AccessRules,
    request: &AccessRequest<'_>,
    listed: &AccessRequest<'_>,
) -> Option<Finding> {
    if !rules.may_permit(listed) {
        // Whatever the arguments are: they are not even read.
        return Some(refusal(HIDDEN, reason(&[], &[])));
    }
    match rules.decide(request) {
        AccessDecision::Permitted => None,
        AccessDecision::Forbidden {
            rules: named,
            problems,
        } => Some(refusal(ID, reason(&named, &problems))),
    }
}

/// Refuses a message that does not say in one way what it uses: policies would be asked about one
/// thing, and another be used.
pub fn unclear() -> Finding {
    let reason = "it does not say clearly what it uses, so that no access policy permits it";
    refusal(ID, reason.to_owned())
}

fn refusal(rule: &'static str, reason: String) -> Finding {
    Finding {
        source: Source::Operator,
        severity: Severity::High,
        threat: Threat::UnauthorizedAccess,
        reason: Masked::from_safe(reason),
        ..Finding::new(rule, Tier::Access, Action::Deny)
    }
}

/// Names of policies are the operator's own words; nothing of the call is repeated.
fn reason(forbidding: &[String], problems: &[String]) -> String {
    let list = |names: &[String]| {
        let shown: Vec<_> = names.iter().take(NAMED).map(String::as_str).collect();
        shown.join("`, `")
    };
    match (forbidding, problems) {
        ([], []) => "no access policy permits this call".to_owned(),
        ([], problems) => {
            let names = list(problems);
            format!("access policy `{names}` cannot be asked about this call and forbids")
        }
        (forbidding, _) => format!("access policy `{}` forbids this call", list(forbidding)),
    }
}

#[cfg(test)]
mod tests {
    use mcpproxy_core::{OfferKind, Principal};

    use super::*;

    /// Says what it was told to.
    #[derive(Debug)]
    struct Told(AccessDecision, bool);

    impl AccessRules for Told {
        fn decide(&self, _: &AccessRequest<'_>) -> AccessDecision {
            self.0.clone()
        }

        fn may_permit(&self, _: &AccessRequest<'_>) -> bool {
            self.1
        }
    }

    fn check(decision: AccessDecision, may: bool, expect: Option<(&str, &str)>) {
        let who = Principal::local();
        let request = AccessRequest {
            who: &who,
            kind: OfferKind::Tool,
            upstream: "git",
            name: "log",
            operation: None,
            arguments: "{}",
        };
        let found = judge(&Told(decision, may), &request, &request);
        let found = found.map(|one| (one.rule.into_owned(), one.reason.to_string()));
        let expect = expect.map(|(rule, reason)| (rule.to_owned(), reason.to_owned()));
        assert_eq!(found, expect);
    }

    #[test]
    fn a_refusal_says_which_policy_and_whether_the_thing_may_be_known_of() {
        let forbidden = |rules: &[&str], problems: &[&str]| {
            let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            AccessDecision::Forbidden {
                rules: owned(rules),
                problems: owned(problems),
            }
        };
        check(AccessDecision::Permitted, true, None);
        let none = "no access policy permits this call";
        check(forbidden(&[], &[]), true, Some((ID, none)));
        check(forbidden(&[], &[]), false, Some((HIDDEN, none)));
        let one = "access policy `a` forbids this call";
        check(forbidden(&["a"], &[]), true, Some((ID, one)));
        let some = "access policy `a`, `b`, `c` forbids this call";
        check(
            forbidden(&["a", "b", "c", "d"], &["e"]),
            true,
            Some((ID, some)),
        );
        let broken = "access policy `e` cannot be asked about this call and forbids";
        check(forbidden(&[], &["e"]), true, Some((ID, broken)));
    }

    #[test]
    fn policies_are_in_one_place() {
        let check = |settings: &str, expect: Result<(), &str>| {
            let settings: Settings = serde_json::from_str(settings).unwrap();
            assert_eq!(settings.check(), expect.map_err(str::to_owned));
        };
        check(r#"{"policies":""}"#, Ok(()));
        check(r#"{"policy_file":"a.cedar"}"#, Ok(()));
        check("{}", Err("needs `policy_file` or `policies`"));
        check(
            r#"{"policies":"","policy_file":"a.cedar"}"#,
            Err("`policy_file` and `policies` exclude each other"),
        );
    }
}
