//! A list of an upstream is judged before anybody can see it.

use std::sync::{Mutex, PoisonError};

use mcpproxy_core::{Secret, UpstreamId};
use mcpproxy_mcp::Frame;
use mcpproxy_testkit::{FixedClock, HttpUpstream, Options, Sample};

use super::*;
use crate::child::Supervisor;
use crate::fleet::FleetSettings;
use crate::oauth::{Keep, Logins};
use crate::settings::UpstreamSettings;
use crate::upstream::Hub;

/// Keeps no logins.
#[derive(Debug)]
struct Nothing;

impl Keep for Nothing {
    fn load(&self, _: &str) -> Result<Option<Secret>, String> {
        Ok(None)
    }

    fn save(&self, _: &str, _: Option<&Secret>) -> Result<(), String> {
        Ok(())
    }
}

/// Notes how many tools others could see, and how many there were to judge.
#[derive(Debug, Default)]
struct Judge {
    seen: Mutex<Vec<(&'static str, usize, usize)>>,
}

impl Judge {
    fn note(&self, what: &'static str, upstream: &Upstream, listed: usize) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.push((what, upstream.listed().tools.len(), listed));
    }
}

impl Hub for Judge {
    fn judge(&self, upstream: &Upstream, listed: &Listed) -> bool {
        self.note("judged", upstream, listed.tools.len());
        true
    }

    fn listed(&self, upstream: &Upstream, judged_anew: bool) {
        assert!(judged_anew);
        self.note("listed", upstream, upstream.listed().tools.len());
    }

    fn opened(&self, _: &Arc<Instance>) {}

    fn heard(&self, _: &UpstreamId, _: Frame) {}
}

#[tokio::test]
async fn a_list_is_judged_before_anybody_sees_it() {
    let http = HttpUpstream::start(Sample::Echo, Options::default()).await;
    let http = http.unwrap();
    let clock = Arc::new(FixedClock::default());
    let fleet = FleetSettings {
        supervisor: Supervisor {
            program: "supervisor".into(),
            args: Vec::new(),
        },
        limits: mcpproxy_text::Limits::default(),
        max_message: 1 << 20,
        dialer: mcpproxy_mcp::dial::Dialer::default(),
        logins: Logins::new(Arc::new(Nothing), clock),
        check_interval: watch::Sender::new(None),
    };
    let settings = UpstreamSettings {
        url: Some(http.url.clone()),
        ..UpstreamSettings::default()
    };
    let hub = Arc::new(Judge::default());
    let name = UpstreamId::new("echo");
    let upstream = Upstream::start(name, settings, Arc::new(fleet), Arc::clone(&hub) as _);
    upstream.wake();
    upstream.tried(Duration::from_secs(20)).await;
    let tools = upstream.listed().tools.len();
    assert!(tools > 0, "{:?}", upstream.state());
    let seen = hub.seen.lock().unwrap_or_else(PoisonError::into_inner);
    assert_eq!(*seen, [("judged", 0, tools), ("listed", tools, tools)]);
}
