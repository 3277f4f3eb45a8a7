//! The task that keeps an upstream up: starts it, reads its lists, hears of changes, and tries
//! again with growing delays when it fails.

use std::sync::{Arc, Weak};
use std::time::Duration;

use mcpproxy_mcp::FrameKind;
use mcpproxy_mcp::era::Era;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep};

use super::slots::Key;
use super::{State, Upstream};
use crate::catalogue::Listed;
use crate::installed::installed;
use crate::instance::{Greeting, Instance};
use crate::link::FromUpstream;
use crate::settings::Start;

/// The least time between two readings of the lists: a storm of changes costs one reading a
/// second.
const REFRESH_PAUSE: Duration = Duration::from_secs(1);

/// Keeps an upstream for as long as somebody else holds it.
pub(super) async fn keep(upstream: Weak<Upstream>) {
    let Some(first) = upstream.upgrade() else {
        return;
    };
    if !first.settings.enabled {
        first.turn(State::Stopped {
            why: "disabled".to_owned(),
        });
        return;
    }
    if first.settings.start == Start::Lazy {
        tokio::select! {
            () = first.wake.notified() => {}
            () = first.until_retired() => return,
        }
    }
    drop(first);
    let mut attempts = 0;
    while let Some(upstream) = upstream.upgrade() {
        if *upstream.retired.borrow() {
            return;
        }
        if attempts == 0 {
            upstream.turn(State::Starting);
        }
        let begun = Instant::now();
        let up = tokio::select! {
            up = upstream.up() => up,
            () = upstream.until_retired() => return,
        };
        match up {
            Ok(()) => attempts = 0,
            Err(why) => {
                // Failures are in a row only if it did not run well for a while in between.
                if upstream.ran_since(begun) {
                    attempts = 0;
                }
                attempts += 1;
                if !upstream.failed(&why, attempts).await {
                    return;
                }
            }
        }
    }
}

impl Upstream {
    /// Brings the upstream up and stays until it fails, or forgets the conversation.
    async fn up(&self) -> Result<(), String> {
        let slot = self.lock_slots().own();
        let greeting = Greeting::default();
        let opened = slot
            .get_or_try_init(|| {
                self.open(greeting, self.hub_listener(), [Era::Modern, Era::Legacy])
            })
            .await;
        let instance = match opened {
            Ok(instance) => Arc::clone(instance),
            Err(fault) => {
                self.lock_slots().remove(&Key::Own);
                return Err(fault.to_string());
            }
        };
        let opened = Instant::now();
        let result = self.serve(&instance).await;
        self.lock_slots().remove(&Key::Own);
        if instance.is_forgotten() && matches!(self.state(), State::Up { .. }) {
            self.turn(State::Starting);
            // One that forgets as fast as it is greeted is greeted once in a while.
            tokio::time::sleep_until(opened + REFRESH_PAUSE).await;
            return Ok(());
        }
        result
    }

    async fn serve(&self, instance: &Arc<Instance>) -> Result<(), String> {
        self.look_at_program(instance).await;
        self.read_lists(instance).await?;
        let version = instance.version().to_owned();
        tracing::info!("upstream `{}` is up (protocol {version})", self.name);
        self.turn(State::Up { version });
        instance.listen();
        self.hub.opened(instance);
        let (sender, mut changes) = mpsc::channel(16);
        let subscription = subscribe(Arc::clone(instance), sender);
        let _subscription = AbortOnDrop(tokio::spawn(subscription).abort_handle());
        let mut read_at = Instant::now();
        loop {
            tokio::select! {
                () = self.stir.notified() => {}
                // What changes without a word is seen all the same.
                () = unchecked(read_at, &self.fleet.check_interval) => {}
                Some(change) = changes.recv() => {
                    if let FromUpstream::Message(frame) = change
                        && frame.kind() == FrameKind::Notification
                        && !frame.method().ends_with("/list_changed")
                    {
                        self.hub.heard(&self.name, *frame);
                        continue;
                    }
                }
            }
            if let Some(why) = instance.ended() {
                return Err(why);
            }
            tokio::time::sleep_until(read_at + REFRESH_PAUSE).await;
            self.read_lists(instance).await?;
            read_at = Instant::now();
        }
    }

    /// Tells whether the upstream came up and stayed for longer than the longest wait between two
    /// starts: one that fails sooner is waited for.
    fn ran_since(&self, begun: Instant) -> bool {
        let longest: Duration = self.settings.restart.backoff_max.into();
        matches!(self.state(), State::Up { .. }) && begun.elapsed() > longest
    }

    /// Looks what the program is made of, once it answers: only then is it the one that stays.
    async fn look_at_program(&self, instance: &Instance) {
        let Some(process) = instance.process() else {
            return;
        };
        let looked = tokio::task::spawn_blocking(move || installed(process)).await;
        // Who cannot be looked at is what was seen last.
        if let Ok(Some(seen)) = looked {
            self.installed.store(Some(Arc::new(seen)));
        }
    }

    async fn read_lists(&self, instance: &Instance) -> Result<(), String> {
        let listed = Listed::fetch(instance, &self.settings.tools).await;
        let listed = listed.map_err(|fault| fault.to_string())?;
        // A successor of the same name may have been read already.
        if *self.retired.borrow() {
            return Ok(());
        }
        for problem in listed.problems.iter().take(5) {
            tracing::warn!("upstream `{}`: {problem}", self.name);
        }
        let judged_anew = self.hub.judge(self, &listed);
        self.catalogue.store(Arc::new(listed));
        self.hub.listed(self, judged_anew);
        Ok(())
    }

    /// Notes a failure and waits before the next try. Returns false when there is none.
    async fn failed(&self, why: &str, attempts: u32) -> bool {
        tracing::warn!("upstream `{}` is down: {why}", self.name);
        let restart = &self.settings.restart;
        if restart.max_attempts.is_some_and(|most| attempts >= most) {
            let why = format!("{why}; gave up after {attempts} attempts");
            self.turn(State::Stopped { why });
            return false;
        }
        self.turn(State::Down {
            why: why.to_owned(),
            attempts,
        });
        let first: Duration = restart.backoff_min.into();
        let delay = first.saturating_mul(1 << attempts.saturating_sub(1).min(16));
        tokio::select! {
            () = sleep(delay.min(restart.backoff_max.into())) => true,
            () = self.until_retired() => false,
        }
    }

    async fn until_retired(&self) {
        let mut retired = self.retired.subscribe();
        // The sender lives as long as the upstream, so that this ends only when it is retired.
        drop(retired.wait_for(|retired| *retired).await);
    }
}

/// Resolves once lists were not read for so long; never where they need not be.
async fn unchecked(read_at: Instant, interval: &watch::Sender<Option<Duration>>) {
    let mut interval = interval.subscribe();
    loop {
        let until = interval
            .borrow_and_update()
            .map(|interval| read_at + interval);
        tokio::select! {
            () = tokio::time::sleep_until(until.unwrap_or(read_at)), if until.is_some() => return,
            // The sender lives as long as the fleet.
            _ = interval.changed() => {}
        }
    }
}

/// Asks a modern upstream to tell of changes; one that cannot is left in peace.
async fn subscribe(instance: Arc<Instance>, events: mpsc::Sender<FromUpstream>) {
    if instance.era() != Era::Modern {
        return;
    }
    let params = r#"{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}}"#;
    if let Err(fault) = instance
        .own_call("subscriptions/listen", params, events)
        .await
    {
        tracing::debug!(
            "upstream `{}` tells of no changes: {fault}",
            instance.upstream()
        );
    }
}

struct AbortOnDrop(tokio::task::AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests;
