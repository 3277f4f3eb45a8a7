//! A session with a child: two pumps, a waiter, and one loop that hears of everything that may end
//! the session or is due.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use rustix::process::Signal;
use serde_json::json;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};

use super::attend::{Event, LAST_BYTES, TICK, Upkeep, listen, spawn};
use super::child::{self, Ended, GRACE, Group};
use super::outlet::Outlet;
use super::pump::{self, Pipe, Stopped};
use super::recorder::Recorder;
use super::setup::Setup;
use super::{Finish, Shared};
use crate::output::Form;

/// Runs a session to its end; what is left is the pack.
pub(super) async fn hold(setup: Setup) -> Result<(Arc<Recorder>, Finish)> {
    let (send, events) = unbounded_channel();
    listen(&send)?;
    let shared = Shared {
        recorder: Arc::new(setup.recorder),
        outlet: Arc::new(Outlet::new(Box::new(io::stdout()))),
    };
    let upstream = match child::start(&setup.command) {
        Ok(upstream) => upstream,
        Err(fault) => {
            let program = setup.command.first().map(|word| word.to_string_lossy());
            let program = program.unwrap_or_default();
            setup
                .form
                .error(&format!("cannot start `{program}`: {fault}"));
            if let Some(recovery) = setup.recovery {
                drop(recovery.join());
            }
            // The session has begun, and is ended like any other.
            return Ok((shared.recorder, Finish::Unreachable));
        }
    };
    let (stdin, mut stdout, group, process, watcher) = upstream.split();
    spawn("outward", &send, &shared, move |shared| {
        let mut input = io::stdin().lock();
        Event::Outward(pump::outward(
            &mut input,
            &mut Pipe(stdin),
            &shared.recorder,
            &shared.outlet,
        ))
    })?;
    spawn("inward", &send, &shared, move |shared| {
        Event::Inward(pump::inward(&mut stdout, &shared.recorder, &shared.outlet))
    })?;
    spawn("wait", &send, &shared, move |_| {
        Event::Exited(child::wait(process, group, watcher))
    })?;
    let mut session = Session {
        recorder: Arc::clone(&shared.recorder),
        events,
        group,
        upkeep: Upkeep::new(&shared.recorder, setup.interval, setup.form),
        shutdown: setup.shutdown,
        form: setup.form,
        inward: None,
        exited: None,
    };
    let finish = session.attend().await;
    if let Some(recovery) = setup.recovery {
        drop(recovery.join());
    }
    Ok((shared.recorder, finish))
}

/// A running session, as its loop sees it.
struct Session {
    recorder: Arc<Recorder>,
    events: UnboundedReceiver<Event>,
    group: Group,
    upkeep: Upkeep,
    shutdown: Duration,
    form: Form,
    inward: Option<Stopped>,
    exited: Option<Ended>,
}

impl Session {
    /// Attends to the session until it ends, and ends the upstream.
    async fn attend(&mut self) -> Finish {
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            tokio::select! {
                _ = tick.tick() => self.upkeep.tick(),
                event = self.events.recv() => match event {
                    Some(Event::Signalled(name)) => return self.interrupted(name).await,
                    Some(Event::Outward(Stopped::Ended)) => return self.left().await,
                    Some(Event::Outward(stopped)) => return self.broken(stopped).await,
                    Some(Event::Inward(Stopped::Closed)) => {
                        self.inward = Some(Stopped::Closed);
                        return self.left().await;
                    }
                    // An upstream that has closed its output can answer nothing any more.
                    Some(Event::Inward(stopped)) => {
                        self.inward = Some(stopped);
                        return self.broken(stopped).await;
                    }
                    Some(Event::Exited(ended)) => {
                        self.exited = Some(ended);
                        self.last_bytes().await;
                        return match ended {
                            Ended::Well => Finish::Closed,
                            Ended::Badly => Finish::UpstreamFailed,
                        };
                    }
                    Some(Event::Lost(_)) | None => return Finish::UpstreamFailed,
                }
            }
        }
    }

    /// The client has left: the upstream sees the end of its input and has its time to end.
    async fn left(&mut self) -> Finish {
        let until = Instant::now() + self.shutdown;
        let mut signalled = None;
        while signalled.is_none() && self.exited.is_none() && Instant::now() < until {
            self.recorder.expire();
            let next = (Instant::now() + TICK).min(until);
            signalled = self.wait_for_exit(next).await;
        }
        let own = self.exited.is_some();
        self.end_group().await;
        match signalled {
            Some(name) => Finish::by(name),
            None if own => Finish::Closed,
            None => Finish::Left,
        }
    }

    /// A signal came: the upstream gets it too, and answers in flight are waited for.
    async fn interrupted(&mut self, name: Signal) -> Finish {
        self.group.signal(name);
        let until = Instant::now() + self.shutdown;
        while self.recorder.waiting() > 0 && self.exited.is_none() {
            let next = (Instant::now() + TICK / 10).min(until);
            if Instant::now() >= until || self.wait_for_exit(next).await.is_some() {
                let text = "answers are outstanding; the session is incomplete";
                self.form.note("incomplete", text, json!({}));
                break;
            }
        }
        self.end_group().await;
        Finish::by(name)
    }

    /// The upstream takes or says no more, or a record failed in the middle of a line.
    async fn broken(&mut self, stopped: Stopped) -> Finish {
        if stopped == Stopped::Unrecorded {
            self.group.signal(Signal::KILL);
            self.end_group().await;
            return Finish::Unrecorded;
        }
        // An upstream that closed its input or output is about to end, or to say its last words.
        let signalled = self.wait_for_exit(Instant::now() + self.shutdown).await;
        let ended = self.exited;
        self.end_group().await;
        if let Some(name) = signalled {
            return Finish::by(name);
        }
        match ended {
            Some(Ended::Well) => Finish::Closed,
            Some(Ended::Badly) | None => Finish::UpstreamFailed,
        }
    }

    /// Waits until the upstream has exited; returns a signal that came before it did.
    async fn wait_for_exit(&mut self, until: Instant) -> Option<Signal> {
        while self.exited.is_none() {
            tokio::select! {
                () = sleep_until(until) => return None,
                event = self.events.recv() => match event {
                    Some(Event::Exited(ended)) => self.exited = Some(ended),
                    Some(Event::Inward(stopped)) => self.inward = Some(stopped),
                    Some(Event::Signalled(name)) => return Some(name),
                    Some(Event::Outward(_) | Event::Lost(_)) => {}
                    None => return None,
                }
            }
        }
        None
    }

    /// Ends what is left of the upstream: SIGTERM, a grace, SIGKILL.
    async fn end_group(&mut self) {
        if self.exited.is_none() {
            self.group.signal(Signal::TERM);
            let until = Instant::now() + GRACE;
            while self.exited.is_none() && Instant::now() < until {
                self.wait_for_exit(until).await;
            }
            self.group.signal(Signal::KILL);
        }
        self.wait_for_exit(Instant::now() + GRACE).await;
        self.last_bytes().await;
    }

    /// Waits for what the upstream said before it ended.
    async fn last_bytes(&mut self) {
        let read = async {
            while self.inward.is_none() {
                match self.events.recv().await {
                    Some(Event::Inward(stopped)) => self.inward = Some(stopped),
                    Some(_) => {}
                    None => return,
                }
            }
        };
        // A process that left the group may hold the pipe open; its words are nobody's.
        drop(timeout(LAST_BYTES, read).await);
    }
}
