//! What the settings of a hook hold it to, in the words of the pipeline.
//!
//! Keys under `config` that are the same for every kind of hook are read here; the hook itself gets
//! the rest.

use std::time::Duration;

use serde_json::{Map, Value};

use mcpproxy_core::{Phases, Sight};
use mcpproxy_hooks::{FailureMode as Mode, Limits, Rate};
use mcpproxy_upstream::settings::ByteSize;

use super::hooks::{FailureMode, HookPhase, HookSettings, HookSight};

/// The key that makes a hook one that no call waits for.
const ASYNC: &str = "async";
/// The key that keeps parameters from a hook.
const REQUEST_BODY: &str = "check_request_body";
/// The key that keeps results from a hook.
const RESPONSE_BODY: &str = "check_response_body";
/// The key that bounds what a hook is shown.
const MAX_BODY: &str = "max_body_size";

impl HookSettings {
    /// Returns what the hook is asked about.
    pub fn phases(&self) -> Phases {
        let has = |phase| self.runs_on.contains(&phase);
        Phases {
            request: has(HookPhase::Request),
            response: has(HookPhase::Response),
            // The specification's detectors of poisoned tools look at answers, and find lists there.
            listing: has(HookPhase::Listing) || has(HookPhase::Response),
            notification: has(HookPhase::Notification),
            reverse: has(HookPhase::Reverse),
        }
    }

    /// Returns what a failure of the hook means.
    pub(crate) fn mode(&self) -> Mode {
        match self.failure_mode {
            FailureMode::FailOpen => Mode::Open,
            FailureMode::FailClosed => Mode::Closed,
        }
    }

    /// Returns what the hook is held to, or what is wrong with a key under `config`.
    pub fn limits(&self) -> Result<Limits, String> {
        let default = Limits::default();
        let mut sight = self.sight();
        sight.arguments &= self.switch(REQUEST_BODY)?.unwrap_or(true);
        sight.results &= self.switch(RESPONSE_BODY)?.unwrap_or(true);
        let concurrency = self.max_concurrency.map(usize::try_from);
        Ok(Limits {
            timeout: self.timeout.map_or(default.timeout, Duration::from),
            failure_mode: self.mode(),
            concurrency: concurrency
                .and_then(Result::ok)
                .unwrap_or(default.concurrency),
            rate: self.rate.map(|per_second| Rate {
                per_second,
                burst: per_second,
            }),
            sight,
            asynchronous: self.switch(ASYNC)?.unwrap_or(false),
            max_body: self.max_body()?.unwrap_or(default.max_body),
            ..default
        })
    }

    /// Returns what the hook itself wants to know: whether anybody waits for it is none of it.
    pub fn own_config(&self) -> Map<String, Value> {
        let mut config = self.config.clone();
        config.remove(ASYNC);
        config
    }

    fn sight(&self) -> Sight {
        let Some(sees) = &self.sees else {
            return Sight::default();
        };
        let has = |sight| sees.contains(&sight);
        Sight {
            arguments: has(HookSight::Arguments),
            results: has(HookSight::Results),
            identity: has(HookSight::Identity),
            headers: has(HookSight::Headers),
            secrets: has(HookSight::Secrets),
        }
    }

    fn switch(&self, key: &str) -> Result<Option<bool>, String> {
        match self.config.get(key) {
            None => Ok(None),
            Some(Value::Bool(on)) => Ok(Some(*on)),
            Some(_) => Err(format!("`{key}` must be `true` or `false`")),
        }
    }

    fn max_body(&self) -> Result<Option<usize>, String> {
        let wrong = || format!("`{MAX_BODY}` must be a size such as `64KiB` or `1MB`");
        match self.config.get(MAX_BODY) {
            None => Ok(None),
            Some(given) => serde_json::from_value::<ByteSize>(given.clone())
                .map(|size| Some(size.as_usize()))
                .map_err(|_| wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(extra: &str) -> HookSettings {
        let text = format!(r#"{{"id":"h","type":"webhook","url":"https://h"{extra}}}"#);
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn every_key_of_a_hook_is_heeded() {
        let check = |extra: &str, change: fn(&mut Limits)| {
            let mut expect = Limits::default();
            change(&mut expect);
            assert_eq!(read(extra).limits().unwrap(), expect, "{extra}");
        };
        check("", |limits| assert_eq!(limits.failure_mode, Mode::Closed));
        check(r#","failure_mode":"fail_open""#, |limits| {
            limits.failure_mode = Mode::Open;
        });
        check(r#","timeout":"150ms""#, |limits| {
            limits.timeout = Duration::from_millis(150);
        });
        check(r#","max_concurrency":3"#, |limits| limits.concurrency = 3);
        check(r#","rate":7"#, |limits| {
            limits.rate = Some(Rate {
                per_second: 7,
                burst: 7,
            });
        });
        check(r#","sees":["arguments","secrets"]"#, |limits| {
            limits.sight = Sight {
                arguments: true,
                results: false,
                identity: false,
                headers: false,
                secrets: true,
            };
        });
        check(r#","config":{"async":true}"#, |limits| {
            limits.asynchronous = true;
        });
        check(r#","config":{"check_request_body":false}"#, |limits| {
            limits.sight.arguments = false;
        });
        check(r#","config":{"check_response_body":false}"#, |limits| {
            limits.sight.results = false;
        });
        check(r#","config":{"max_body_size":"1MB"}"#, |limits| {
            limits.max_body = 1_000_000;
        });
        for wrong in [
            r#","config":{"async":"yes"}"#,
            r#","config":{"max_body_size":"much"}"#,
        ] {
            read(wrong).limits().unwrap_err();
        }
        let phases = |extra: &str| {
            let of = read(extra).phases();
            [
                of.request,
                of.response,
                of.listing,
                of.notification,
                of.reverse,
            ]
        };
        assert_eq!(phases(""), [true, true, true, false, false]);
        assert_eq!(
            phases(r#","runs_on":"request""#),
            [true, false, false, false, false]
        );
        let rest = r#","runs_on":["listing","notification","reverse"]"#;
        assert_eq!(phases(rest), [false, false, true, true, true]);
        let own = read(r#","config":{"async":true,"model":"small"}"#).own_config();
        assert_eq!(own.keys().collect::<Vec<_>>(), ["model"]);
    }
}
