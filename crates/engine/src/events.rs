//! What is told to those who watch live: one bounded channel and a bounded memory, in which a slow
//! listener misses the oldest and never holds up a call.
//!
//! What every call would tell is told only while somebody watches: a call that nobody watches pays
//! one look at a flag.

mod told;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcpproxy_core::{Call, CallId, Clock, Record, Tick, Wall};
use serde::Serialize;
use tokio::sync::broadcast;

pub use self::told::{
    ActivityNews, ApprovalNews, ConfigNews, Elsewhere, EndNews, FlowAlert, MissedNews,
    QuarantineNews, ServerNews,
};
use crate::approvals::Approval;

/// Events that a slow listener may be behind, and that are kept for one who comes back.
const BEHIND: usize = 1024;
/// How long calls go on being told after the last listener went: it may come back.
const LINGER: Duration = Duration::from_mins(2);

/// Something that happened.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Event {
    /// Data is on its way outside, or was stopped there.
    FlowAlert(FlowAlert),
    /// Somebody is asked about a call.
    ApprovalRequested(ApprovalNews),
    /// A question about a call came to an end.
    ApprovalResolved(ApprovalNews),
    /// An upstream went into quarantine or came out.
    QuarantineChange(QuarantineNews),
    /// A tool, or something else that an upstream offers, went into quarantine or came out.
    ToolQuarantineChange(QuarantineNews),
    /// An upstream came, went, or is in another state.
    ServersChanged(ServerNews),
    /// The configuration was read again.
    ConfigReloaded(ConfigNews),
    /// A call is about to leave.
    CallStarted(ActivityNews),
    /// A call was answered.
    CallCompleted(ActivityNews),
    /// A call was not let go.
    CallRejected(ActivityNews),
    /// Something was decided about a call that was not let go.
    PolicyDecision(ActivityNews),
    /// An agent's hook was answered.
    HookEvaluated(ActivityNews),
    /// A session came to its end.
    FlowSummarized(ActivityNews),
    /// A secret or personal data was seen.
    SensitiveData(ActivityNews),
    /// Something happened at another gateway.
    Elsewhere(Elsewhere),
    /// Something happened at other gateways that is not known here.
    Missed(MissedNews),
}

impl Event {
    /// The names under which listeners know events.
    pub const NAMES: [&'static str; 14] = [
        "flow.alert",
        "approval.requested",
        "approval.resolved",
        "activity.quarantine_change",
        "activity.tool_quarantine_change",
        "servers.changed",
        "config.reloaded",
        "activity.tool_call.started",
        "activity.tool_call.completed",
        "activity.tool_call.rejected",
        "activity.policy_decision",
        "activity.hook_evaluation.completed",
        "activity.flow_summary.completed",
        "sensitive_data.detected",
    ];

    /// Returns the name under which listeners know it.
    pub fn name(&self) -> &'static str {
        let at = match self {
            Self::FlowAlert(_) => 0,
            Self::ApprovalRequested(_) => 1,
            Self::ApprovalResolved(_) => 2,
            Self::QuarantineChange(_) => 3,
            Self::ToolQuarantineChange(_) => 4,
            Self::ServersChanged(_) => 5,
            Self::ConfigReloaded(_) => 6,
            Self::CallStarted(_) => 7,
            Self::CallCompleted(_) => 8,
            Self::CallRejected(_) => 9,
            Self::PolicyDecision(_) => 10,
            Self::HookEvaluated(_) => 11,
            Self::FlowSummarized(_) => 12,
            Self::SensitiveData(_) => 13,
            Self::Elsewhere(event) => return event.name,
            Self::Missed(_) => return "missed",
        };
        Self::NAMES.get(at).copied().unwrap_or_default()
    }

    /// Something happened at another gateway; nothing where its name is not known here.
    pub fn elsewhere(name: &str, payload: serde_json::Value) -> Option<Self> {
        let name = Self::NAMES.into_iter().find(|known| *known == name)?;
        Some(Self::Elsewhere(Elsewhere { name, payload }))
    }

    /// Tells whether it happened here.
    pub fn is_own(&self) -> bool {
        !matches!(self, Self::Elsewhere(_) | Self::Missed(_))
    }

    /// Somebody is asked about a call.
    pub fn approval_requested(call: &Call, approval_id: CallId) -> Self {
        Self::ApprovalRequested(ApprovalNews {
            approval_id,
            tool_name: format!("{}:{}", call.tool.upstream, call.shown_tool()),
            outcome: None,
        })
    }

    /// A question about a call came to an end.
    pub fn approval_resolved(about: &Approval, outcome: &'static str) -> Self {
        Self::ApprovalResolved(ApprovalNews {
            approval_id: about.id,
            tool_name: format!("{}:{}", about.server_name, about.tool_name),
            outcome: Some(outcome),
        })
    }

    /// Returns what a record is told as: what happened first, then what was seen in it.
    fn of(record: &Record) -> Vec<Self> {
        let news = || ActivityNews::of(record);
        let mut events = match record.kind {
            "tool_call" | "message" => vec![Self::CallCompleted(news())],
            "intent" => return Vec::new(),
            "policy_decision" => vec![Self::PolicyDecision(news()), Self::CallRejected(news())],
            "hook_evaluation" => vec![Self::HookEvaluated(news())],
            "flow_summary" => vec![Self::FlowSummarized(news())],
            _ => Vec::new(),
        };
        if record.has_sensitive_data && record.kind != "flow_summary" {
            events.push(Self::SensitiveData(news()));
        }
        events
    }
}

/// An event with its place among all.
#[derive(Clone, Debug)]
pub struct Numbered {
    /// When this run of numbers began; another run means that something was not told.
    pub run: u64,
    /// Its number in the run.
    pub number: u64,
    /// When it happened.
    pub at: Wall,
    /// What happened.
    pub event: Event,
}

/// What a listener gets.
#[derive(Debug)]
pub struct Listening {
    /// What happened since the event that it knows last, as far as that is kept.
    pub before: Vec<Arc<Numbered>>,
    /// Whether something in between is not known any more.
    pub gap: bool,
    /// What happens from now on.
    pub from_now: broadcast::Receiver<Arc<Numbered>>,
}

/// The channel.
#[derive(Debug)]
pub struct Events {
    sender: broadcast::Sender<Arc<Numbered>>,
    kept: Mutex<Kept>,
    watched: AtomicBool,
    clock: Arc<dyn Clock>,
}

#[derive(Debug, Default)]
struct Kept {
    run: u64,
    number: u64,
    recent: VecDeque<Arc<Numbered>>,
    left: Option<Tick>,
}

impl Events {
    /// Opens the channel.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            sender: broadcast::Sender::new(BEHIND),
            kept: Mutex::default(),
            watched: AtomicBool::new(false),
            clock,
        }
    }

    /// Tells everybody who listens.
    pub fn tell(&self, event: Event) {
        let mut kept = self.kept();
        kept.number += 1;
        let numbered = Arc::new(Numbered {
            run: kept.run,
            number: kept.number,
            at: self.clock.wall(),
            event,
        });
        kept.recent.push_back(Arc::clone(&numbered));
        if kept.recent.len() > BEHIND {
            kept.recent.pop_front();
        }
        // Sent while the numbers are held, so that they arrive in order. It does not wait; where
        // nobody listens, nobody is told.
        drop(self.sender.send(numbered));
    }

    /// Returns how many listen.
    pub fn listeners(&self) -> usize {
        self.sender.receiver_count()
    }

    /// Tells whether anybody watches calls go by.
    pub fn watched(&self) -> bool {
        self.watched.load(Ordering::Relaxed)
    }

    /// Tells what is put on record, if anybody watches.
    pub(crate) fn recorded(&self, record: &Record) {
        if self.watched() {
            for event in Event::of(record) {
                self.tell(event);
            }
        }
    }

    /// Tells that a call is about to leave, if anybody watches.
    pub(crate) fn started(&self, call: &Call) {
        if self.watched() {
            self.tell(Event::CallStarted(ActivityNews::started(call)));
        }
    }

    /// Listens, after the event that the listener knows last; `now` names a new run of numbers.
    pub fn listen(&self, last: Option<(u64, u64)>, now: u64) -> Listening {
        let mut kept = self.kept();
        if !self.watched.swap(true, Ordering::Relaxed) {
            // Calls went by untold.
            kept.run = now;
        }
        kept.left = None;
        let from_now = self.sender.subscribe();
        let Some((run, number)) = last else {
            return Listening {
                before: Vec::new(),
                gap: false,
                from_now,
            };
        };
        let same = run == kept.run && number <= kept.number;
        let missed = kept.number.saturating_sub(number);
        let recent = u64::try_from(kept.recent.len()).unwrap_or(u64::MAX);
        let skip = usize::try_from(recent.saturating_sub(missed)).unwrap_or(0);
        let before = kept
            .recent
            .iter()
            .skip(if same { skip } else { usize::MAX });
        Listening {
            before: before.cloned().collect(),
            gap: !same || missed > recent,
            from_now,
        }
    }

    /// Has calls told because somebody watches at another gateway; `now` names a new run of numbers.
    pub fn watch_elsewhere(&self, now: u64) {
        let mut kept = self.kept();
        if !self.watched.swap(true, Ordering::Relaxed) {
            kept.run = now;
        }
        kept.left = None;
    }

    /// Listens from now on to what is told whether anybody watches or not.
    pub fn overhear(&self) -> broadcast::Receiver<Arc<Numbered>> {
        self.sender.subscribe()
    }

    /// Stops telling calls once nobody has watched for a while; `others` listen without watching.
    pub(crate) fn rest(&self, others: usize, now: Tick) {
        if !self.watched() || self.sender.receiver_count() > others {
            return;
        }
        let mut kept = self.kept();
        let left = *kept.left.get_or_insert(now);
        if left.until(now) >= LINGER {
            self.watched.store(false, Ordering::Relaxed);
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
