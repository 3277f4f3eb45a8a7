//! Access rules in the way of calls and of lists: the same rules, so that nobody is shown what they
//! could never use.

use std::borrow::Cow;
use std::sync::Arc;

use mcpproxy_core::{
    AccessRequest, AccessRules, Call, Finding, MessageKind, OfferKind, Operation, Principal,
    ToolName, ToolRef, UpstreamId,
};
use mcpproxy_hooks::guards::access;
use mcpproxy_policy::settings::Mode;
use mcpproxy_text as text;

use crate::engine::Engine;
use crate::ready::Ready;

/// The rules in force.
#[derive(Debug)]
pub(crate) struct Rules(Arc<dyn AccessRules>);

impl Engine {
    /// Puts access rules in force, for sessions that are under way as well.
    pub fn set_access(&self, rules: Option<Arc<dyn AccessRules>>) {
        self.access_rules()
            .store(rules.map(|rules| Arc::new(Rules(rules))));
    }

    /// Tells whether there are access rules that hide things from callers.
    pub fn hides(&self) -> bool {
        let settings = &self.ready().settings;
        let enforced = settings.enabled && settings.policy.mode == Mode::Enforce;
        enforced && self.access_rules().load().is_some()
    }

    /// Tells whether a caller may know of something: whether there are arguments with which they
    /// could use it.
    pub fn may_know(
        &self,
        who: &Principal,
        upstream: &UpstreamId,
        kind: OfferKind,
        name: &str,
    ) -> bool {
        let rules = self.access_rules().load();
        let Some(Rules(rules)) = rules.as_deref().filter(|_| self.hides()) else {
            return true;
        };
        rules.may_permit(&AccessRequest {
            who,
            kind,
            upstream: upstream.as_str(),
            name,
            operation: self.does(upstream, kind, name, &self.ready()),
            arguments: "{}",
        })
    }

    /// Says what access rules have against a call.
    pub(crate) fn forbidden(&self, call: &Call, ready: &Ready) -> Option<Finding> {
        let rules = self.access_rules().load();
        let Rules(rules) = rules.as_deref()?;
        let raw = std::str::from_utf8(&call.wire.raw).unwrap_or_default();
        let (kind, name) = match used(call, raw)? {
            Used::Named(kind, name) => (kind, name),
            Used::Unclear => return Some(access::unclear()),
        };
        let upstream = &call.tool.upstream;
        let does = self.does(upstream, kind, &name, ready);
        let arguments = text::get(raw, &["params", "arguments"]);
        let listed = AccessRequest {
            who: &call.who,
            kind,
            upstream: upstream.as_str(),
            name: &name,
            operation: does,
            arguments: arguments.map_or("{}", |(raw, _)| raw),
        };
        let request = AccessRequest {
            // What nobody can tell does not become known by what the agent says of it.
            operation: does.map(|does| call.declared.operation.map_or(does, |said| said.max(does))),
            ..listed
        };
        access::judge(&**rules, &request, &listed)
    }

    fn does(
        &self,
        upstream: &UpstreamId,
        kind: OfferKind,
        name: &str,
        ready: &Ready,
    ) -> Option<Operation> {
        if kind != OfferKind::Tool {
            return Some(Operation::Read);
        }
        let tool = ToolRef {
            upstream: upstream.clone(),
            tool: ToolName::new(name),
        };
        let class = self.classes().of(&tool, &ready.settings.classification);
        class.does.operation
    }
}

/// What a message uses.
enum Used<'a> {
    Named(OfferKind, Cow<'a, str>),
    /// Two readers could take it for two things, or for none.
    Unclear,
}

/// What a call uses, as the message that leaves names it. Completing an argument counts as using
/// what the argument is for. What agents' hooks tell of does not pass here.
fn used<'a>(call: &Call, raw: &'a str) -> Option<Used<'a>> {
    let MessageKind::Request(method) = &call.kind else {
        return None;
    };
    if call.hook.is_some() {
        return None;
    }
    let found = |path: &[&str]| text::get(raw, path).map(|(raw, _)| raw);
    let as_one = |kind, raw: Option<&'a str>| match raw.and_then(text::string) {
        Some(name) => Used::Named(kind, name),
        None => Used::Unclear,
    };
    match method.as_ref() {
        "tools/call" => Some(as_one(OfferKind::Tool, found(&["params", "name"]))),
        "prompts/get" => Some(as_one(OfferKind::Prompt, found(&["params", "name"]))),
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => {
            Some(as_one(OfferKind::Resource, found(&["params", "uri"])))
        }
        "completion/complete" => {
            let prompt = found(&["params", "ref", "name"]);
            let resource = found(&["params", "ref", "uri"]);
            Some(match (prompt, resource) {
                (Some(_), Some(_)) => Used::Unclear,
                (None, uri @ Some(_)) => as_one(OfferKind::Resource, uri),
                (name, None) => as_one(OfferKind::Prompt, name),
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use mcpproxy_testkit::samples;

    use super::*;

    #[test]
    fn a_message_uses_one_thing_or_is_unclear() {
        let check = |method: &str, params: &str, expect: Option<Option<(OfferKind, &str)>>| {
            let call = Call {
                kind: MessageKind::Request(method.into()),
                ..samples::call()
            };
            let raw = format!(r#"{{"method":"{method}","params":{params}}}"#);
            let found = used(&call, &raw).map(|used| match used {
                Used::Named(kind, name) => Some((kind, name.into_owned())),
                Used::Unclear => None,
            });
            let expect = expect.map(|one| one.map(|(kind, name)| (kind, name.to_owned())));
            assert_eq!(found, expect, "{raw}");
        };
        let tool = |name| Some(Some((OfferKind::Tool, name)));
        check("tools/call", r#"{"name":"log"}"#, tool("log"));
        check("tools/call", r#"{"name":["log"]}"#, Some(None));
        check("resources/read", r#"{"uri":["memo://a"]}"#, Some(None));
        check("resources/read", "{}", Some(None));
        check("tools/list", "{}", None);
        let complete = "completion/complete";
        let prompt = Some(Some((OfferKind::Prompt, "a")));
        let resource = Some(Some((OfferKind::Resource, "memo://a")));
        check(complete, r#"{"ref":{"name":"a"}}"#, prompt);
        check(complete, r#"{"ref":{"uri":"memo://a"}}"#, resource);
        check(
            complete,
            r#"{"ref":{"name":"a","uri":"memo://a"}}"#,
            Some(None),
        );
        check(complete, r#"{"ref":{}}"#, Some(None));
    }
}
