//! Alerts: what happens that somebody should look at is posted to a webhook and to syslog.
//!
//! They are taken from the events, so that a call never waits for one. What is the same within a
//! minute is sent once, and again with how often it came when the minute is over; a webhook that does
//! not answer is tried again and then let be, with a line in the log. What is lost is counted. Syslog does not wait for the
//! webhook, nor one of them for the events. At the end what is held back is sent, and what was not
//! taken by then is told in the log.

mod line;
mod recent;
mod syslog;
mod webhook;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use mcpproxy_config::Loaded;
use mcpproxy_core::{Action, Clock, RiskLevel, Severity};
use mcpproxy_engine::events::{FlowAlert, Numbered};
use mcpproxy_engine::{Engine, Event};
use mcpproxy_policy::settings::Alerts as Settings;
use serde_json::{Value, json};
use tokio::sync::{Notify, broadcast, mpsc};
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior};

use self::recent::{Due, Recent};
use self::webhook::Webhook;

/// How often it is looked whether a minute is over.
const LOOKS: Duration = Duration::from_secs(1);
/// Alerts that wait for the webhook, and for syslog; what comes beyond is lost, with a line in the log.
const WAITING: usize = 1024;
/// How long syslog may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the end may wait for those that are under way.
const LAST: Duration = Duration::from_secs(5);

/// Where alerts go.
#[derive(Debug)]
pub(crate) struct Alerts {
    settings: ArcSwap<Settings>,
    /// Told when no more come.
    end: Notify,
    running: Mutex<Option<JoinHandle<()>>>,
    under_way: UnderWay,
    lost: Lost,
}

/// Alerts that were handed to a way and of which it is not known yet what comes of them.
type UnderWay = Arc<AtomicUsize>;

/// How many alerts were lost.
type Lost = Arc<AtomicU64>;

/// An alert and where it goes.
#[derive(Debug)]
struct Post {
    settings: Arc<Settings>,
    alert: Arc<Value>,
    /// When it was made, or let go after it was held back.
    made: Instant,
}

impl Alerts {
    /// Begins to send alerts, for as long as the process runs.
    pub(crate) fn start(loaded: &Loaded, engine: &Engine, clock: &Arc<dyn Clock>) -> Arc<Self> {
        let lost = Arc::clone(engine.alerts_lost());
        let alerts = Arc::new(Self::new(settings(loaded), lost));
        let heard = engine.overhear();
        let running = tokio::spawn(run(Arc::clone(&alerts), heard, Arc::clone(clock)));
        *alerts.running() = Some(running);
        alerts
    }

    fn new(settings: Settings, lost: Lost) -> Self {
        Self {
            settings: ArcSwap::from_pointee(settings),
            end: Notify::new(),
            running: Mutex::default(),
            under_way: UnderWay::default(),
            lost,
        }
    }

    fn running(&self) -> std::sync::MutexGuard<'_, Option<JoinHandle<()>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends what is held back and waits a little for what is under way.
    pub(crate) async fn finish(&self) {
        self.end.notify_one();
        let Some(running) = self.running().take() else {
            return;
        };
        if tokio::time::timeout(LAST, running).await.is_err() {
            let left = self.under_way.load(Ordering::Relaxed);
            tracing::error!("{left} alerts are lost: they were not taken before the end");
        }
    }

    /// Puts new settings in force.
    pub(crate) fn apply(&self, loaded: &Loaded) {
        self.settings.store(Arc::new(settings(loaded)));
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
    let ways = Ways::open(&clock, &alerts);
    let mut looks = tokio::time::interval(LOOKS);
    looks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        let event = tokio::select! {
            event = heard.recv() => event,
            _ = looks.tick(), if recent.holds() => {
                let settings = alerts.settings.load_full();
                for due in recent.over(clock.tick()) {
                    ways.send(&settings, &due);
                }
                continue;
            }
            () = alerts.end.notified() => break,
        };
        let event = match event {
            Ok(event) => event,
            Err(broadcast::error::RecvError::Lagged(missed)) => {
                tracing::warn!("{missed} events went by while alerts were sent");
                continue;
            }
            Err(broadcast::error::RecvError::Closed) => break,
        };
        let settings = alerts.settings.load_full();
        if settings.webhook_url.is_none() && settings.syslog.is_none() {
            continue;
        }
        let Some((same, severity)) = alerting(&event.event) else {
            continue;
        };
        let due = Due {
            event,
            severity,
            same_before: 0,
        };
        if let Some(due) = recent.take(same, due, clock.tick()) {
            ways.send(&settings, &due);
        }
    }
    let settings = alerts.settings.load_full();
    for due in recent.rest() {
        ways.send(&settings, &due);
    }
    ways.close().await;
}

/// The ways on which alerts leave, each at its own pace.
struct Ways {
    webhook: mpsc::Sender<Post>,
    syslog: mpsc::Sender<Post>,
    under_way: UnderWay,
    lost: Lost,
    tasks: [JoinHandle<()>; 2],
}

impl Ways {
    fn open(clock: &Arc<dyn Clock>, alerts: &Alerts) -> Self {
        let own = || (Arc::clone(&alerts.under_way), Arc::clone(&alerts.lost));
        let (webhook, posts) = mpsc::channel(WAITING);
        let way = Webhook::new(Arc::clone(clock), own());
        let posting = tokio::spawn(Arc::new(way).run(posts));
        let (syslog, lines) = mpsc::channel(WAITING);
        let logging = tokio::spawn(log(lines, own()));
        let (under_way, lost) = own();
        Self {
            webhook,
            syslog,
            under_way,
            lost,
            tasks: [posting, logging],
        }
    }

    /// Waits until everything has left or was given up.
    async fn close(self) {
        drop((self.webhook, self.syslog));
        for task in self.tasks {
            // One that panicked has said so.
            drop(task.await);
        }
    }

    /// Hands an alert to both; waits for neither.
    fn send(&self, settings: &Arc<Settings>, due: &Due) {
        let alert = Arc::new(json!({
            "type": due.event.event.name(),
            "severity": due.severity,
            "timestamp": due.event.at.rfc3339(),
            "same_before": due.same_before,
            "payload": serde_json::to_value(&due.event.event).unwrap_or_default(),
        }));
        for (way, name, wanted) in [
            (&self.webhook, "the webhook", settings.webhook_url.is_some()),
            (&self.syslog, "syslog", settings.syslog.is_some()),
        ] {
            let post = Post {
                settings: Arc::clone(settings),
                alert: Arc::clone(&alert),
                made: Instant::now(),
            };
            if !wanted {
                continue;
            }
            if way.try_send(post).is_ok() {
                self.under_way.fetch_add(1, Ordering::Relaxed);
            } else {
                self.lost.fetch_add(1, Ordering::Relaxed);
                tracing::error!("an alert is lost: {WAITING} others wait for {name}");
            }
        }
    }
}

/// Sends what comes to syslog, for as long as anything may come.
async fn log(mut lines: mpsc::Receiver<Post>, (under_way, lost): (UnderWay, Lost)) {
    while let Some(post) = lines.recv().await {
        if let Some(place) = &post.settings.syslog {
            let sent = tokio::time::timeout(PATIENCE, syslog::send(place, &post.alert)).await;
            let late = || std::io::Error::other("it takes too long");
            if let Err(fault) = sent.unwrap_or_else(|_| Err(late())) {
                lost.fetch_add(1, Ordering::Relaxed);
                tracing::error!("an alert did not reach syslog: {fault}");
            }
        }
        under_way.fetch_sub(1, Ordering::Relaxed);
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
                session_id,
                principal,
                tool_name,
                decision,
                alarms,
                ..
            } = flow;
            // What another caller or another conversation does is not the same.
            let same = format!(
                "flow {tool_name} {severity} {decision:?} {alarms:?} {session_id} {principal}"
            );
            (bad || passed).then_some((same, severity))
        }
        Event::QuarantineChange(news) | Event::ToolQuarantineChange(news) => {
            let (server, tool) = (&news.server_name, &news.tool_name);
            let same = format!("quarantine {server} {tool} {:?}", news.note.state);
            // What a person let pass is told, and is nothing to be alarmed by.
            Some((same, word(news.max_severity.unwrap_or(Severity::Info))))
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

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "info",
        Severity::Low => "low",
        Severity::Medium => "medium",
        Severity::High => "high",
        Severity::Critical => "critical",
    }
}

#[cfg(test)]
mod tests {
    use mcpproxy_core::{
        CallId, FlowType, OfferKind, OfferState, QuarantineNote, Secret, SystemClock, Wall,
    };
    use mcpproxy_engine::events::QuarantineNews;
    use tokio::net::{TcpListener, UdpSocket};

    use super::*;

    fn alert(number: u64) -> Numbered {
        Numbered {
            run: 1,
            number,
            at: Wall(number),
            event: Event::FlowAlert(FlowAlert {
                activity_id: CallId::new(number, 0),
                session_id: "s".to_owned(),
                principal: "owner".to_owned(),
                flow_type: FlowType::InternalToExternal,
                risk_level: RiskLevel::Critical,
                tool_name: format!("mail:post{number}"),
                has_sensitive_data: true,
                decision: Action::Deny,
                effective: Action::Deny,
                alarms: Vec::new(),
            }),
        }
    }

    #[tokio::test]
    async fn a_webhook_that_never_answers_holds_up_nothing() {
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let log = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/alert", silent.local_addr().unwrap());
        let settings = Settings {
            webhook_url: Some(Secret::new(url)),
            syslog: Some(format!("udp://{}", log.local_addr().unwrap())),
            ..Settings::default()
        };
        let alerts = Arc::new(Alerts::new(settings, Lost::default()));
        let (sender, heard) = broadcast::channel(1024);
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        let running = tokio::spawn(run(alerts, heard, clock));
        let mut buffer = vec![0; 16 * 1024];
        for number in 0..40 {
            sender.send(Arc::new(alert(number))).unwrap();
        }
        for number in 0..40 {
            let read = tokio::time::timeout(PATIENCE, log.recv(&mut buffer));
            let read = read.await.unwrap().unwrap();
            let line = String::from_utf8_lossy(&buffer[..read]).into_owned();
            assert!(line.contains(&format!("mail:post{number}\"")), "{line}");
            // When it happened, and not when it was sent.
            assert!(line.contains(&Wall(number).rfc3339()), "{line}");
        }
        running.abort();
    }

    #[tokio::test]
    async fn what_is_held_back_is_sent_at_the_end() {
        let log = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let settings = Settings {
            syslog: Some(format!("udp://{}", log.local_addr().unwrap())),
            ..Settings::default()
        };
        let alerts = Arc::new(Alerts::new(settings, Lost::default()));
        let (sender, heard) = broadcast::channel(1024);
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        let running = tokio::spawn(run(Arc::clone(&alerts), heard, clock));
        *alerts.running() = Some(running);
        // The same thrice: one is sent, and the last is held until the minute is over.
        let mut buffer = vec![0; 16 * 1024];
        for _ in 0..3 {
            sender.send(Arc::new(alert(7))).unwrap();
        }
        let first = log.recv(&mut buffer).await.unwrap();
        assert!(first > 0);
        while !sender.is_empty() {
            tokio::task::yield_now().await;
        }
        alerts.finish().await;
        let read = tokio::time::timeout(PATIENCE, log.recv(&mut buffer));
        let read = read.await.unwrap().unwrap();
        let line = String::from_utf8_lossy(&buffer[..read]).into_owned();
        assert!(line.contains("\"same_before\":1"), "{line}");
        assert_eq!(alerts.under_way.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn only_what_the_same_conversation_does_again_is_the_same() {
        let of = |change: fn(&mut FlowAlert)| {
            let Event::FlowAlert(mut flow) = alert(1).event else {
                panic!("it is one");
            };
            change(&mut flow);
            alerting(&Event::FlowAlert(flow)).unwrap().0
        };
        let one = of(|_| {});
        let check = |change: fn(&mut FlowAlert), same: bool| assert_eq!(of(change) == one, same);
        check(|flow| flow.activity_id = CallId::new(9, 9), true);
        check(|flow| flow.session_id = "t".to_owned(), false);
        check(|flow| flow.principal = "ci".to_owned(), false);
        check(|flow| flow.tool_name = "mail:other".to_owned(), false);
        check(|flow| flow.decision = Action::Warn, false);
    }

    /// Regression for #8: whatever became of the quarantine, its alert said `medium`.
    #[test]
    fn an_alert_of_the_quarantine_is_as_bad_as_its_record() {
        let check = |state, max_severity, expect: &str| {
            let news = QuarantineNews {
                activity_id: CallId::new(1, 1),
                server_name: "github".to_owned(),
                tool_name: "search".to_owned(),
                max_severity,
                note: QuarantineNote {
                    kind: OfferKind::Tool,
                    state,
                    before: Some(OfferState::RugPull),
                    by: "owner".to_owned(),
                    reason: "it was looked at".to_owned(),
                },
            };
            let server = alerting(&Event::QuarantineChange(news.clone())).unwrap();
            let tool = alerting(&Event::ToolQuarantineChange(news)).unwrap();
            assert_eq!((server.1, tool.1), (expect, expect));
        };
        check(OfferState::Approved, None, "info");
        check(OfferState::Approved, Some(Severity::Low), "low");
        check(OfferState::Blocked, Some(Severity::Medium), "medium");
        check(OfferState::RugPull, Some(Severity::High), "high");
        check(OfferState::RugPull, Some(Severity::Critical), "critical");
    }
}
