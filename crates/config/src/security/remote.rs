//! The settings of one hook in the words of the crate that has its kind, and the hook that copies
//! decisions elsewhere.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use mcpproxy_hooks_remote::{GrpcSettings, Method, Protocol, WebhookSettings};
use mcpproxy_upstream::settings::Span;

use super::hooks::{FailureMode, HookKind, HookMethod, HookPhase, HookProtocol, HookSettings};
use super::{AuditLogging, SecuritySettings};

/// The id of the hook that copies decisions elsewhere.
pub(crate) const AUDIT: &str = "audit-logging";
/// How long a copy may take; nobody waits for it.
const PATIENCE: Span = Span::from_secs(5);
/// What is copied.
const EVERYTHING: [HookPhase; 4] = [
    HookPhase::Request,
    HookPhase::Response,
    HookPhase::Notification,
    HookPhase::Reverse,
];

impl HookSettings {
    /// Returns the settings of a webhook, or what is wrong with its `config`.
    pub fn webhook(&self) -> Result<WebhookSettings, String> {
        Ok(WebhookSettings {
            url: self.url.clone().unwrap_or_default(),
            method: match self.method {
                None | Some(HookMethod::Post) => Method::Post,
                Some(HookMethod::Put) => Method::Put,
            },
            headers: self.headers.clone(),
            config: self.own()?,
        })
    }

    /// Returns the settings of a gRPC hook, or what is wrong with its `config`.
    pub fn grpc(&self) -> Result<GrpcSettings, String> {
        Ok(GrpcSettings {
            endpoint: self.endpoint.clone().unwrap_or_default(),
            protocol: match self.protocol {
                None | Some(HookProtocol::Mcpproxy) => Protocol::Mcpproxy,
                Some(HookProtocol::ExtAuthz) => Protocol::ExtAuthz,
                Some(HookProtocol::ExtMcp) => Protocol::ExtMcp,
            },
            headers: self.headers.clone(),
            config: self.own()?,
        })
    }

    /// Says what is wrong with what the hook itself wants to know.
    pub(crate) fn problem(&self) -> Option<String> {
        let held = self.limits().map(drop);
        let own = match self.kind {
            HookKind::Webhook => self.webhook().map(drop),
            HookKind::ExternalGrpc => self.grpc().and_then(|told| {
                let carried = told.check(self.phases());
                carried.map_err(|fault| fault.to_string())
            }),
            HookKind::Native | HookKind::Wasm => Ok(()),
        };
        held.and(own).err()
    }

    fn own<T: DeserializeOwned>(&self) -> Result<T, String> {
        let own = Value::Object(self.own_config());
        serde_json::from_value(own).map_err(|fault| fault.to_string())
    }
}

impl SecuritySettings {
    /// Returns the hooks that messages are put to: those of the list that are switched on and are
    /// no guards, and the one that copies decisions elsewhere.
    pub fn pipeline(&self) -> Vec<HookSettings> {
        if !self.enabled {
            return Vec::new();
        }
        let asked = |hook: &&HookSettings| hook.enabled && hook.kind != HookKind::Native;
        let mut hooks: Vec<_> = self.hooks.iter().filter(asked).cloned().collect();
        hooks.extend(self.audit_logging.hook());
        hooks
    }
}

impl AuditLogging {
    /// A hook that is told everything and asked nothing: a gRPC service gets events in batches, an
    /// HTTP service one after the other.
    fn hook(&self) -> Option<HookSettings> {
        let destination = self.destination.clone().filter(|_| self.enabled)?;
        let grpc = destination.starts_with("grpc");
        let mut hook = HookSettings {
            id: AUDIT.to_owned(),
            kind: if grpc {
                HookKind::ExternalGrpc
            } else {
                HookKind::Webhook
            },
            enabled: true,
            priority: u32::MAX,
            timeout: Some(PATIENCE),
            failure_mode: FailureMode::FailOpen,
            runs_on: EVERYTHING.to_vec(),
            endpoint: None,
            url: None,
            path: None,
            protocol: None,
            method: None,
            headers: std::collections::BTreeMap::new(),
            sees: None,
            max_concurrency: None,
            rate: None,
            config: serde_json::Map::new(),
        };
        hook.config.insert("async".to_owned(), json!(true));
        if grpc {
            hook.config.insert("batch".to_owned(), json!({}));
            hook.endpoint = Some(destination);
        } else {
            hook.url = Some(destination);
        }
        Some(hook)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(security: &Value) -> SecuritySettings {
        serde_json::from_value(security.clone()).unwrap()
    }

    #[test]
    fn what_is_switched_on_is_asked() {
        let hook = |id: &str, kind: &str, enabled: bool| json!({ "id": id, "type": kind, "enabled": enabled, "url": "https://h" });
        let mut security = json!({ "hooks": [
            hook("on", "webhook", true),
            hook("off", "webhook", false),
            hook("guard", "native", true),
        ]});
        let asked = |security: &Value| {
            let hooks = read(security).pipeline().into_iter();
            hooks.map(|hook| hook.id).collect::<Vec<_>>()
        };
        assert_eq!(asked(&security), ["on"]);
        security["enabled"] = json!(false);
        assert!(asked(&security).is_empty());
    }

    #[test]
    fn decisions_are_copied_to_either_kind_of_service() {
        let check = |destination: &str, expect: HookKind| {
            let audit = json!({ "enabled": true, "destination": destination });
            let mut hooks = read(&json!({ "audit_logging": audit })).pipeline();
            let hook = hooks.pop().unwrap();
            assert_eq!((hook.kind, hook.problem()), (expect, None));
            assert!(hook.limits().unwrap().asynchronous);
        };
        check("grpc://audit-service:9001", HookKind::ExternalGrpc);
        check("https://audit.example/events", HookKind::Webhook);
        let off = json!({ "audit_logging": { "destination": "https://a" } });
        assert!(read(&off).pipeline().is_empty());
    }

    #[test]
    fn a_wrong_key_of_a_hook_is_named() {
        let check = |config: Value, expect: Option<&str>| {
            let hook =
                json!({ "id": "h", "type": "webhook", "url": "https://h", "config": config });
            let hook: HookSettings = serde_json::from_value(hook).unwrap();
            let found = hook.problem();
            let as_expected = match (&found, expect) {
                (Some(found), Some(part)) => found.contains(part),
                (found, expect) => found.is_none() && expect.is_none(),
            };
            assert!(as_expected, "{found:?}");
        };
        check(
            json!({ "async": true, "max_body_size": "1MB", "signing_keys": ["k"] }),
            None,
        );
        check(json!({ "signing_key": "k" }), Some("signing_key"));
        check(json!({ "async": 1 }), Some("`async`"));
    }
}
