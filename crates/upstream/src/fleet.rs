//! All upstreams together, and replacing some of them while calls are under way.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use mcpproxy_core::{Id128, UpstreamId};
use mcpproxy_mcp::dial::Dialer;
use mcpproxy_text::Limits;
use tokio::sync::watch;

use crate::Error;
use crate::child::Supervisor;
use crate::oauth::Logins;
use crate::settings::UpstreamSettings;
use crate::upstream::{Hub, Upstream};

/// What all upstreams share.
#[derive(Debug)]
pub struct FleetSettings {
    /// The program that supervises children.
    pub supervisor: Supervisor,
    /// The bounds of a message's form.
    pub limits: Limits,
    /// The largest message from an upstream.
    pub max_message: usize,
    /// The pool of HTTP connections.
    pub dialer: Dialer,
    /// What logins share.
    pub logins: Logins,
    /// How often lists are read again although nobody said that they changed; never if nothing.
    pub check_interval: watch::Sender<Option<Duration>>,
}

/// All upstreams, by name.
#[derive(Debug)]
pub struct Fleet {
    settings: Arc<FleetSettings>,
    hub: Arc<dyn Hub>,
    upstreams: ArcSwap<BTreeMap<UpstreamId, Arc<Upstream>>>,
}

impl Fleet {
    /// Makes a fleet without upstreams.
    pub fn new(settings: FleetSettings, hub: Arc<dyn Hub>) -> Self {
        Self {
            settings: Arc::new(settings),
            hub,
            upstreams: ArcSwap::default(),
        }
    }

    /// Puts a new set of upstreams in force: what did not change goes on undisturbed.
    pub fn apply(&self, wanted: &BTreeMap<String, UpstreamSettings>) {
        let current = self.upstreams.load_full();
        let mut next = BTreeMap::new();
        for (name, settings) in wanted {
            let same = current
                .get(name.as_str())
                .filter(|kept| kept.settings() == settings);
            let upstream = match same {
                Some(kept) => Arc::clone(kept),
                None => self.start(name, settings),
            };
            next.insert(UpstreamId::new(name.as_str()), upstream);
        }
        let next = Arc::new(next);
        self.upstreams.store(Arc::clone(&next));
        for (name, old) in current.iter() {
            if !next.get(name).is_some_and(|new| Arc::ptr_eq(new, old)) {
                drop(old.retire());
            }
        }
    }

    fn start(&self, name: &str, settings: &UpstreamSettings) -> Arc<Upstream> {
        let fleet = Arc::clone(&self.settings);
        Upstream::start(
            UpstreamId::new(name),
            settings.clone(),
            fleet,
            Arc::clone(&self.hub),
        )
    }

    /// Says how often lists are read again from now on.
    pub fn check_every(&self, interval: Option<Duration>) {
        self.settings.check_interval.send_replace(interval);
    }

    /// Starts one upstream anew.
    pub fn restart(&self, name: &str) -> Result<(), Error> {
        let old = self.get(name)?;
        let new = self.start(name, old.settings());
        self.upstreams.rcu(|upstreams| {
            let mut upstreams = BTreeMap::clone(upstreams);
            upstreams.insert(old.name().clone(), Arc::clone(&new));
            upstreams
        });
        drop(old.retire());
        Ok(())
    }

    /// Finds an upstream.
    pub fn get(&self, name: &str) -> Result<Arc<Upstream>, Error> {
        let found = self.upstreams.load().get(name).cloned();
        found.ok_or_else(|| Error::Unknown(UpstreamId::new(name)))
    }

    /// Returns all upstreams, by name.
    pub fn all(&self) -> Arc<BTreeMap<UpstreamId, Arc<Upstream>>> {
        self.upstreams.load_full()
    }

    /// Lets go of what the upstreams hold for a session that has ended.
    pub fn forget_session(&self, session: Id128) {
        for upstream in self.all().values() {
            upstream.forget_session(session);
        }
    }

    /// Lets go of all upstreams, waiting for at most `grace` until their conversations have ended.
    pub async fn retire(&self, grace: Duration) {
        let all = self.upstreams.swap(Arc::default());
        let closing: Vec<_> = all
            .values()
            .flat_map(|upstream| upstream.retire())
            .collect();
        let closed = async {
            for task in closing {
                drop(task.await);
            }
        };
        if tokio::time::timeout(grace, closed).await.is_err() {
            tracing::debug!("some conversations with upstreams did not end in time");
        }
    }
}
