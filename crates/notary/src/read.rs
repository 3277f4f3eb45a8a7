//! Lines read back: members by name, and the values that a session's closing needs.

use std::borrow::Cow;

use mcpproxy_core::Wall;
use mcpproxy_text::{self as text, members};

use crate::content::Content;
use crate::hash::Digest;
use crate::ledger::{Profile, Transport};
use crate::receipt::{Call, Common, Evidence, Mark, RequestId, Rule, Ruling, Via};

/// A line that is strict JSON.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read<'a>(&'a str);

impl<'a> Read<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Option<Self> {
        let text = text::check(bytes, text::Limits::default()).ok()?;
        text.starts_with('{').then_some(Self(text))
    }

    /// Returns a member's text as it stands.
    pub(crate) fn raw(&self, name: &str) -> Option<&'a str> {
        self.0.get(text::member(self.0, name)?.value)
    }

    /// Returns a member that is a string.
    pub(crate) fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        text::string(self.raw(name)?)
    }

    /// Returns a member that is a whole number.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.raw(name)?.parse().ok()
    }

    /// Returns a member that is true or false.
    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        self.raw(name)?.parse().ok()
    }

    /// Returns a member that is an object.
    pub(crate) fn object(&self, name: &str) -> Option<Self> {
        self.raw(name).filter(|raw| raw.starts_with('{')).map(Self)
    }

    /// Returns the values of a member that is an array.
    pub(crate) fn list(&self, name: &str) -> Option<Vec<&'a str>> {
        let raw = self.raw(name).filter(|raw| raw.starts_with('['))?;
        text::elements(raw).map(|span| raw.get(span)).collect()
    }

    /// Returns the names of all members.
    pub(crate) fn keys(&self) -> Vec<Cow<'a, str>> {
        members(self.0).map(|member| member.key).collect()
    }

    /// Returns the text itself.
    pub(crate) fn whole(&self) -> &'a str {
        self.0
    }

    /// Reads what a session's lines have in common.
    pub(crate) fn common(&self, version: &str) -> Option<Common> {
        Some(Common {
            session_id: self.text("session_id")?.into_owned(),
            server_id: self.text("server_id")?.into_owned(),
            transport: self.transport()?.name(),
            policy_hash: self.text("policy_hash").map(Cow::into_owned),
            version: version.to_owned(),
        })
    }

    /// Reads the profile of a session.
    pub(crate) fn profile(&self) -> Option<Profile> {
        let name = self.text("profile")?;
        [Profile::Audit, Profile::Guard]
            .into_iter()
            .find(|profile| profile.name() == name)
    }

    /// Reads the call that an intent announced.
    pub(crate) fn call(&self) -> Option<Call> {
        let content = self.raw("arguments_content").filter(|raw| *raw != "null");
        Some(Call {
            invocation_id: self.text("invocation_id")?.into_owned(),
            tool_name: self.text("tool_name")?.into_owned(),
            request_id: RequestId::from_json(self.raw("mcp_request_id")),
            observed_at: self.time("request_observed_at")?,
            arguments: Evidence {
                digest: Digest::parse(&self.text("arguments_hash")?)?,
                content: content.map(Content::from_line),
            },
            ruling: self.ruling()?,
            marks: self
                .list("marks")?
                .into_iter()
                .filter_map(|raw| Mark::from_name(&text::string(raw)?))
                .collect(),
            via: self.via().map(Box::new),
        })
    }

    /// Reads where a call came from and went, in the ledger of a gateway.
    fn via(&self) -> Option<Via> {
        let text = |name: &str| self.text(name).map(Cow::into_owned);
        Some(Via {
            server_id: text("server_id")?,
            transport: self.transport()?,
            policy_hash: self.text("policy_hash").map(Into::into),
            activity_id: text("activity_id")?,
            correlation_id: text("correlation_id")?,
            downstream_session_id: text("downstream_session_id")?,
            principal: text("principal")?,
            door: text("door")?,
        })
    }

    fn transport(&self) -> Option<Transport> {
        Transport::from_name(&self.text("server_transport")?)
    }

    pub(crate) fn time(&self, name: &str) -> Option<Wall> {
        Wall::from_rfc3339(&self.text(name)?)
    }

    fn ruling(&self) -> Option<Ruling> {
        let rule = || {
            Some(Rule {
                name: self.text("policy_ref")?.into_owned(),
                reason: self.text("policy_reason").map(Cow::into_owned),
                decided_at: self.time("policy_decided_at")?,
            })
        };
        match self.text("policy_verdict")?.as_ref() {
            "no_policy" => Some(Ruling::NoPolicy),
            "allowed" => rule().map(Ruling::Allowed),
            "denied" => rule().map(Ruling::Denied),
            _ => None,
        }
    }
}
