//! Alerts: what happens that somebody should look at is posted to a webhook and to syslog.
//!
//! They are taken from the events, so that a call never waits for one. What is the same within a
//! minute is sent once, with how often it came; a webhook that does not answer is tried again and
//! then let be, with a line in the log. Others are sent meanwhile.

mod syslog;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Method, Uri};
use mcpproxy_config::Loaded;
use mcpproxy_core::{Action, Clock, RiskLevel, Tick};
use mcpproxy_engine::events::{FlowAlert, Numbered};
use mcpproxy_engine::{Engine, Event};
use mcpproxy_hooks_remote::Signer;
use mcpproxy_mcp::dial::Dialer;
use mcpproxy_policy::settings::Alerts as Settings;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, broadcast};

/// Time within which the same alert is sent once.
const SAME: Duration = Duration::from_mins(1);
/// Alerts that are told apart; beyond, the oldest may be sent again.
const MOST: usize = 1024;
/// Pauses before each further try.
const PAUSES: [Duration; 4] = [
    Duration::from_millis(500),
    Duration::from_secs(2),
    Duration::from_secs(8),
    Duration::from_secs(30),
];
/// Alerts that are being sent or tried again at once; more wait.
const AT_ONCE: usize = 16;
/// How long a webhook may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where alerts go.
#[derive(Debug)]
pub(crate) struct Alerts(ArcSwap<Settings>);

impl Alerts {
    /// Begins to send alerts, for as long as the process runs.
    pub(crate) fn start(loaded: &Loaded, engine: &Engine, clock: &Arc<dyn Clock>) -> Arc<Self> {
        let alerts = Arc::new(Self(ArcSwap::from_pointee(settings(loaded))));
        let heard = engine.overhear();
        tokio::spawn(run(Arc::clone(&alerts), heard, Arc::clone(clock)));
        alerts
    }

    /// Puts new settings in force.
    pub(crate) fn apply(&self, loaded: &Loaded) {
        self.0.store(Arc::new(settings(loaded)));
    }
}

fn settings(loaded: &Loaded) -> Settings {
    loaded.config.security.alerts.clone()
}

async fn run(
    alerts: Arc<Alerts>,
    mut heard: broadcast::Receiver<Arc<Numbered>>,
    clock: Arc<dyn Clock>,
) {
    let mut recent = Recent::default();
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let sender = Arc::new(Sender {
        dialer: Dialer::default(),
        clock: Arc::clone(&clock),
    });
    loop {
        let event = match heard.recv().await {
            Ok(event) => event,
            Err(broadcast::error::RecvError::Lagged(missed)) => {
                tracing::warn!("{missed} events went by while alerts were sent");
                continue;
            }
            Err(broadcast::error::RecvError::Closed) => return,
        };
        let settings = alerts.0.load_full();
        if settings.webhook_url.is_none() && settings.syslog.is_none() {
            continue;
        }
        let Some((same, severity)) = alerting(&event.event) else {
            continue;
        };
        let Some(before) = recent.first(same, clock.tick()) else {
            continue;
        };
        let alert = json!({
            "type": event.event.name(),
            "severity": severity,
            "timestamp": clock.wall().rfc3339(),
            "same_before": before,
            "payload": serde_json::to_value(&event.event).unwrap_or_default(),
        });
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return;
        };
        let sender = Arc::clone(&sender);
        tokio::spawn(async move {
            sender.send(&settings, &alert).await;
            drop(place);
        });
    }
}

/// Tells whether an event is an alert: what makes it the same as another, and how bad it is.
fn alerting(event: &Event) -> Option<(String, &'static str)> {
    match event {
        Event::FlowAlert(flow) => {
            let passed = !flow.alarms.is_empty();
            let bad = flow.risk_level >= RiskLevel::High || flow.decision == Action::Deny;
            let severity = match flow.risk_level {
                RiskLevel::Critical => "critical",
                RiskLevel::High => "high",
                RiskLevel::Medium | RiskLevel::None if passed => "high",
                RiskLevel::Medium | RiskLevel::None => "medium",
            };
            let FlowAlert {
                tool_name,
                decision,
                alarms,
                ..
            } = flow;
            let same = format!("flow {tool_name} {severity} {decision:?} {alarms:?}");
            (bad || passed).then_some((same, severity))
        }
        Event::QuarantineChange(news) | Event::ToolQuarantineChange(news) => {
            let (server, tool) = (&news.server_name, &news.tool_name);
            let same = format!("quarantine {server} {tool} {:?}", news.note.state);
            Some((same, "medium"))
        }
        Event::ApprovalRequested(_)
        | Event::ApprovalResolved(_)
        | Event::ServersChanged(_)
        | Event::ConfigReloaded(_)
        | Event::CallStarted(_)
        | Event::CallCompleted(_)
        | Event::CallRejected(_)
        | Event::PolicyDecision(_)
        | Event::HookEvaluated(_)
        | Event::FlowSummarized(_)
        | Event::SensitiveData(_)
        | Event::Elsewhere(_)
        | Event::Missed(_) => None,
    }
}

/// What was sent lately, and how often it came since.
#[derive(Default)]
struct Recent(HashMap<String, (Tick, u64)>);

impl Recent {
    /// Returns how often the same came since it was last sent, where it is to be sent.
    fn first(&mut self, same: String, now: Tick) -> Option<u64> {
        if self.0.len() >= MOST {
            self.0.retain(|_, (sent, _)| sent.until(now) < SAME);
        }
        if self.0.len() >= MOST {
            self.0.clear();
        }
        match self.0.get_mut(&same) {
            Some((sent, count)) if sent.until(now) < SAME => {
                *count += 1;
                None
            }
            Some(known) => {
                let (_, count) = std::mem::replace(known, (now, 0));
                Some(count)
            }
            None => {
                self.0.insert(same, (now, 0));
                Some(0)
            }
        }
    }
}

struct Sender {
    dialer: Dialer,
    clock: Arc<dyn Clock>,
}

impl Sender {
    async fn send(&self, settings: &Settings, alert: &Value) {
        if let Some(place) = &settings.syslog
            && let Err(fault) = syslog::send(place, alert).await
        {
            tracing::error!("an alert did not reach syslog: {fault}");
        }
        let Some(address) = &settings.webhook_url else {
            return;
        };
        let (Ok(uri), Ok(signer)) = (
            address.expose().parse::<Uri>(),
            Signer::new(&settings.signing_keys),
        ) else {
            tracing::error!("alerts cannot be sent: `alerts.webhook_url` or a key cannot be used");
            return;
        };
        let body = Bytes::from(alert.to_string());
        let id: [u8; 16] = mcpproxy_mcp::seal::random().unwrap_or_default();
        let id = format!("msg_{:032x}", u128::from_be_bytes(id));
        let mut pauses = PAUSES.iter();
        loop {
            let headers = self.headers(&signer, &id, &body);
            let sent = self.dialer.send(Method::POST, &uri, headers, body.clone());
            let why = match tokio::time::timeout(PATIENCE, sent).await {
                Ok(Ok(answer)) if answer.status().is_success() => return,
                Ok(Ok(answer)) => format!("it answered {}", answer.status()),
                Ok(Err(_)) => "it cannot be reached".to_owned(),
                Err(_) => "it did not answer in time".to_owned(),
            };
            let Some(pause) = pauses.next() else {
                tracing::error!("an alert did not reach the webhook: {why}");
                return;
            };
            tokio::time::sleep(*pause).await;
        }
    }

    /// The id stays the same with every try, so that whoever takes it can tell.
    fn headers(&self, signer: &Signer, id: &str, body: &Bytes) -> HeaderMap {
        let seconds = self.clock.wall().0 / 1000;
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert("webhook-timestamp", HeaderValue::from(seconds));
        let signature = signer.sign(id, seconds, body);
        for (name, value) in [
            ("webhook-id", Some(id)),
            ("webhook-signature", signature.as_deref()),
        ] {
            if let Some(value) = value.and_then(|value| HeaderValue::from_str(value).ok()) {
                headers.insert(name, value);
            }
        }
        headers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_is_sent_once_within_a_minute() {
        let mut recent = Recent::default();
        let mut check = |same: &str, seconds: u64, expect: Option<u64>| {
            let now = Tick(Duration::from_secs(seconds));
            assert_eq!(
                recent.first(same.to_owned(), now),
                expect,
                "{same} {seconds}"
            );
        };
        check("a", 0, Some(0));
        check("a", 1, None);
        check("b", 2, Some(0));
        check("a", 59, None);
        check("a", 60, Some(2));
        check("a", 200, Some(0));
    }
}
