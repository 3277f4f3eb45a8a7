//! A session with an upstream at an address: the client still speaks lines, each of which becomes
//! a request, and what comes back becomes lines again.
//!
//! The pumps are those of a child; what stands in for its pipes is in `http/pipe.rs`, who speaks
//! HTTP in `http/link.rs`, and where long messages wait in `http/spool.rs`.

mod exchange;
mod link;
mod pipe;
mod spool;

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::Result;
use http::Uri;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use mcpproxy_mcp::header;
use mcpproxy_notary::ledger::Transport;
use tokio::sync::mpsc::{UnboundedReceiver, channel, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until, timeout_at};

use self::link::{Answer, Failure, Link};
use self::pipe::{Source, Target};
use self::spool::Room;
use super::attend::{Event, LAST_BYTES, Lost, TICK, Upkeep, listen, spawn};
use super::outlet::Outlet;
use super::pump::{self, Stopped};
use super::recorder::Recorder;
use super::setup::Setup;
use super::{Finish, Shared};
use crate::exit::bad_input;

/// Looks in a row at which no call waited, so that none is being read any more.
const QUIET: u32 = 5;
/// Messages that may wait on either way.
const WAITING: usize = 64;

/// Headers that frame a message, that are of one connection, or that repeat what a message says: a
/// second writing of theirs would make the upstream read something else, or nothing.
const OWN: [&str; 18] = [
    "accept",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "keep-alive",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "http2-settings",
];

/// Tells whether the proxy writes this header itself, and takes it from nobody.
pub(crate) fn is_own(name: &str) -> bool {
    let name = name.trim().to_ascii_lowercase();
    OWN.contains(&name.as_str()) || name.starts_with(header::PARAM_PREFIX)
}

/// Where an upstream is, and what every request to it carries.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    pub(crate) uri: Uri,
    pub(super) headers: HeaderMap,
}

impl Address {
    /// Reads the flags.
    pub(crate) fn read(url: &str, headers: &[String]) -> Result<Self> {
        let wrong = || {
            bad_input(format!(
                "`{url}` is no address that starts with http or https"
            ))
        };
        let uri: Uri = url.parse().map_err(|_| wrong())?;
        let web = matches!(uri.scheme_str(), Some("http" | "https"));
        if !web || uri.host().is_none() {
            return Err(wrong());
        }
        let mut all = HeaderMap::new();
        for header in headers {
            // Its value may be a secret and is not repeated.
            let wrong = || bad_input("a header must read `Name: value`");
            let (name, value) = header.split_once(':').ok_or_else(wrong)?;
            let name: HeaderName = name.trim().parse().map_err(|_| wrong())?;
            if is_own(name.as_str()) {
                let message = "is written by the proxy for each request; leave it out";
                return Err(bad_input(format!("header `{name}` {message}")));
            }
            let mut value: HeaderValue = value.trim().parse().map_err(|_| wrong())?;
            value.set_sensitive(true);
            all.append(name, value);
        }
        Ok(Self { uri, headers: all })
    }

    /// Tells which transport is expected there; which it is shows at the first message.
    pub(super) fn transport(&self) -> Transport {
        if self.uri.path().trim_end_matches('/').ends_with("/sse") {
            Transport::Sse
        } else {
            Transport::Http
        }
    }
}

/// Runs a session to its end; what is left is the pack.
pub(super) async fn hold(setup: Setup, address: Address) -> Result<(Arc<Recorder>, Finish)> {
    let (send, events) = unbounded_channel();
    listen(&send)?;
    let shared = Shared {
        recorder: Arc::new(setup.recorder),
        outlet: Arc::new(Outlet::new(Box::new(io::stdout()))),
    };
    let (lines, requests) = channel(WAITING);
    let (answers, back) = channel(WAITING);
    let room = Room::new(&shared.recorder.settings().scratch);
    let heads = Arc::<AtomicBool>::default();
    let mut target = Target::new(lines, room.clone(), Arc::clone(&heads));
    spawn("outward", &send, &shared, move |shared| {
        let mut input = io::stdin().lock();
        let (recorder, outlet) = (&shared.recorder, &shared.outlet);
        Event::Outward(pump::outward(&mut input, &mut target, recorder, outlet))
    })?;
    spawn("inward", &send, &shared, move |shared| {
        let recorder = &shared.recorder;
        let arrives = |answer: &Answer| {
            recorder.brings(answer.line);
            if let Some(Failure { id, line, how }) = &answer.failure {
                recorder.failed(id.as_bytes(), *line, *how);
            }
        };
        let mut source = Source::new(back, heads, arrives);
        Event::Inward(pump::inward(&mut source, &shared.recorder, &shared.outlet))
    })?;
    let link = Link::new(address, room, answers, send.clone());
    let mut session = Session {
        recorder: Arc::clone(&shared.recorder),
        events,
        upkeep: Upkeep::new(&shared.recorder, setup.interval, setup.form),
        shutdown: setup.shutdown,
        speaking: tokio::spawn(link::run(Arc::clone(&link), requests)),
    };
    let finish = session.attend().await;
    session.speaking.abort();
    link.leave().await;
    drop(link);
    session.last_words().await;
    if let Some(recovery) = setup.recovery {
        drop(recovery.join());
    }
    Ok((shared.recorder, finish))
}

/// A running session, as its loop sees it.
struct Session {
    recorder: Arc<Recorder>,
    events: UnboundedReceiver<Event>,
    upkeep: Upkeep,
    shutdown: Duration,
    /// The task that sends what the client says.
    speaking: JoinHandle<()>,
}

impl Session {
    async fn attend(&mut self) -> Finish {
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            tokio::select! {
                _ = tick.tick() => self.upkeep.tick(),
                event = self.events.recv() => match event {
                    Some(Event::Signalled(name)) => {
                        self.drain(Instant::now() + self.shutdown).await;
                        return Finish::by(name);
                    }
                    Some(Event::Lost(Lost::Unreachable)) => {
                        self.tell_all().await;
                        return Finish::Unreachable;
                    }
                    Some(Event::Lost(Lost::Closed)) => return Finish::Closed,
                    Some(Event::Outward(Stopped::Ended)) => return self.settle().await,
                    Some(Event::Inward(Stopped::Unrecorded) | Event::Outward(Stopped::Unrecorded)) => {
                        return Finish::Unrecorded;
                    }
                    Some(Event::Outward(Stopped::Closed) | Event::Inward(_)) => {
                        return Finish::Closed;
                    }
                    Some(Event::Exited(_)) => {}
                    None => return Finish::UpstreamFailed,
                }
            }
        }
    }

    /// Waits until everybody was told that the upstream is not there, those among them whose calls
    /// are only just being read.
    async fn tell_all(&mut self) {
        let until = Instant::now() + self.shutdown;
        let mut quiet = 0;
        while Instant::now() < until && quiet < QUIET {
            let event = timeout_at(Instant::now() + TICK / 10, self.events.recv()).await;
            if matches!(event, Ok(Some(Event::Signalled(_)))) {
                return;
            }
            let waits = event.is_ok() || self.recorder.waiting() > 0;
            quiet = if waits { 0 } else { quiet + 1 };
        }
    }

    /// Waits for the answers to calls in flight; returns what ended that before its time.
    async fn drain(&mut self, until: Instant) -> Option<Event> {
        while Instant::now() < until && self.recorder.waiting() > 0 {
            let event = timeout_at(Instant::now() + TICK / 10, self.events.recv()).await;
            if let Ok(Some(event @ (Event::Signalled(_) | Event::Lost(_)))) = event {
                return Some(event);
            }
        }
        None
    }

    /// Waits until everything that the client said was answered.
    async fn settle(&mut self) -> Finish {
        let until = Instant::now() + self.shutdown;
        let mut lost = false;
        loop {
            tokio::select! {
                // That it was never reached is told before there is nothing more to say.
                biased;
                event = self.events.recv() => match event {
                    Some(Event::Signalled(name)) => return Finish::by(name),
                    Some(Event::Lost(Lost::Unreachable)) => {
                        self.tell_all().await;
                        return Finish::Unreachable;
                    }
                    Some(Event::Lost(Lost::Closed)) => lost = true,
                    Some(_) => {}
                    None => break,
                },
                _ = &mut self.speaking => break,
                () = sleep_until(until) => break,
                () = sleep(TICK) => self.recorder.expire(),
            }
        }
        // Over the older transport an answer comes by itself, after its request was taken.
        while !lost && self.recorder.waiting() > 0 && Instant::now() < until {
            self.recorder.expire();
            match self.drain((Instant::now() + TICK).min(until)).await {
                Some(Event::Signalled(name)) => return Finish::by(name),
                ended => lost = ended.is_some(),
            }
        }
        if lost { Finish::Closed } else { Finish::Left }
    }

    /// Waits until what came back was passed on.
    async fn last_words(&mut self) {
        let until = Instant::now() + LAST_BYTES;
        while let Ok(Some(event)) = timeout_at(until, self.events.recv()).await {
            if matches!(event, Event::Inward(_)) {
                return;
            }
        }
    }
}
