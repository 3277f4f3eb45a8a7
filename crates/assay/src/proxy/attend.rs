//! What the loops of both kinds of session share: events, signals, and packs that are due.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use mcpproxy_core::PackInterval;
use mcpproxy_notary::rolling::Rolling;
use rustix::process::Signal;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::UnboundedSender;

use super::Shared;
use super::child::Ended;
use super::pump::Stopped;
use super::recorder::Recorder;
use crate::output::Form;

/// How often calls are looked at that may have waited too long.
pub(super) const TICK: Duration = Duration::from_millis(200);
/// How long the last bytes of an ended upstream may take to be read.
pub(super) const LAST_BYTES: Duration = Duration::from_secs(2);

/// What the threads of a session tell its loop.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The client's stream ended, or the upstream takes no more.
    Outward(Stopped),
    /// The upstream's stream ended, or the client takes no more.
    Inward(Stopped),
    /// The upstream's process ended.
    Exited(Ended),
    /// A signal came.
    Signalled(Signal),
    /// The upstream at an address is gone.
    Lost(Lost),
}

/// How an upstream at an address was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lost {
    /// It was never reached.
    Unreachable,
    /// It closed the stream that carries everything.
    Closed,
}

/// Starts a thread that tells the loop how it ended.
pub(super) fn spawn(
    name: &str,
    send: &UnboundedSender<Event>,
    shared: &Shared,
    work: impl FnOnce(&Shared) -> Event + Send + 'static,
) -> io::Result<()> {
    let (send, shared) = (send.clone(), shared.clone());
    let thread = thread::Builder::new().name(name.to_owned());
    thread
        .spawn(move || drop(send.send(work(&shared))))
        .map(drop)
}

/// Hears of signals from now on.
pub(super) fn listen(send: &UnboundedSender<Event>) -> io::Result<()> {
    let kinds = [
        (SignalKind::interrupt(), Signal::INT),
        (SignalKind::terminate(), Signal::TERM),
        (SignalKind::hangup(), Signal::HUP),
    ];
    for (kind, name) in kinds {
        let mut stream = signal(kind)?;
        let send = send.clone();
        tokio::spawn(async move {
            while stream.recv().await.is_some() {
                drop(send.send(Event::Signalled(name)));
            }
        });
    }
    Ok(())
}

/// What is due while a session runs.
#[derive(Debug)]
pub(super) struct Upkeep {
    recorder: Arc<Recorder>,
    rolling: Rolling,
    form: Form,
}

impl Upkeep {
    /// Begins with a session.
    pub(super) fn new(recorder: &Arc<Recorder>, interval: PackInterval, form: Form) -> Self {
        Self {
            recorder: Arc::clone(recorder),
            rolling: Rolling::new(interval, recorder.now()),
            form,
        }
    }

    /// Records calls that have waited too long, and makes a rolling pack when it is time.
    pub(super) fn tick(&mut self) {
        self.recorder.expire();
        let ledger = self.recorder.ledger();
        let written = ledger.counts().calls();
        if !self.rolling.due(self.recorder.now(), written) {
            return;
        }
        match ledger.pack() {
            Ok(Some(built)) => {
                let pack = built.path.display().to_string();
                let details = json!({ "pack": pack });
                self.form.note("pack", &format!("pack {pack}"), details);
                super::holds(&built, self.form);
            }
            Ok(None) => {}
            Err(fault) => self.form.error(&fault.to_string()),
        }
    }
}
