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
        let (kind, name) = used(call, raw)?;
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

/// What a call uses, as the message that leaves names it. Completing an argument counts as using
/// what the argument is for. What agents' hooks tell of does not pass here.
fn used<'a>(call: &Call, raw: &'a str) -> Option<(OfferKind, Cow<'a, str>)> {
    let MessageKind::Request(method) = &call.kind else {
        return None;
    };
    if call.hook.is_some() {
        return None;
    }
    let named = |path: &[&str]| text::get(raw, path).and_then(|(raw, _)| text::string(raw));
    match method.as_ref() {
        "tools/call" => Some((OfferKind::Tool, named(&["params", "name"])?)),
        "prompts/get" => Some((OfferKind::Prompt, named(&["params", "name"])?)),
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => {
            Some((OfferKind::Resource, named(&["params", "uri"])?))
        }
        "completion/complete" => match named(&["params", "ref", "uri"]) {
            Some(uri) => Some((OfferKind::Resource, uri)),
            None => Some((OfferKind::Prompt, named(&["params", "ref", "name"])?)),
        },
        _ => None,
    }
}
