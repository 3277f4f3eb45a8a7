//! Calls of stateless downstreams that are parked at one gateway and come back by another: the retry
//! is handed to the gateway at which the call waits, and what that says comes back the same way.
//!
//! Where a call waits is kept where live state is shared, for its own caller alone; whether an answer
//! fits it is for the gateway to say that has it, as if the retry had come there. What is said stands
//! in a log, so that a notice that was missed delays it and loses nothing. A gateway that falls silent
//! is waited for a stated time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use mcpproxy_core::{Id128, Journal, LiveStore, Principal};
use mcpproxy_mcp::{Frame, seal};
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep};

use crate::downstream::{Reply, Way, WayBack};
use crate::error::Failure;
use crate::forward::Origin;
use crate::gateway::Gateway;
use crate::moved::owner;
use crate::notices::Notice;
use crate::parked::Resume;
use crate::session::lock;

/// How long it may take until a retry is taken up, and how often it is offered until then.
const TAKEN: Duration = Duration::from_secs(5);
const OFFERED: Duration = Duration::from_millis(500);
/// How long either side is waited for that says nothing, and how often one says that it is there.
const SILENCE: Duration = Duration::from_secs(20);
const BEAT: Duration = Duration::from_secs(5);
/// How soon the store is tried again that was away.
const AGAIN: Duration = Duration::from_millis(200);
/// Entries of the log of one retry that are kept, and for how long.
const ENTRIES: usize = 256;
const REST: Duration = Duration::from_mins(1);

/// Where a call waits, and whose it is.
#[derive(Debug, Deserialize, Serialize)]
struct Waits {
    process: String,
    owner: String,
}

/// A retry on its way to the gateway that has its call.
#[derive(Debug, Deserialize, Serialize)]
struct Retry {
    state: String,
    principal: String,
    request: String,
    answers: String,
}

/// What that gateway says.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Said {
    /// The call goes on.
    Still,
    /// Nothing waits there that the retry fits.
    Refused,
    /// Something ahead of the answer.
    Message(String),
    Streaming,
    Polling(u64),
    /// The answer, with the code if it is an error.
    Final(String, Option<i64>),
}

impl Said {
    fn of(reply: Reply) -> Self {
        let text = |bytes: Bytes| String::from_utf8_lossy(&bytes).into_owned();
        match reply {
            Reply::Message(message) => Self::Message(text(message)),
            Reply::Streaming => Self::Streaming,
            Reply::Polling { retry } => Self::Polling(retry),
            Reply::Final(message, code, _) => Self::Final(text(message), code),
        }
    }
}

/// Retries that are under way between gateways.
#[derive(Debug, Default)]
pub(crate) struct Retries {
    /// Those that another gateway was handed, and who waits for what it says.
    handed: Mutex<HashMap<String, Arc<Notify>>>,
    /// Those that were taken from another gateway, and how their callers are said to have gone.
    taken: Mutex<HashMap<String, watch::Sender<Option<String>>>>,
}

impl Retries {
    /// Wakes whoever waits for what another gateway says.
    pub(crate) fn said(&self, id: &str) {
        if let Some(waits) = lock(&self.handed).get(id) {
            waits.notify_one();
        }
    }

    /// Ends a call whose caller at another gateway has gone.
    pub(crate) fn gone(&self, id: &str, reason: String) {
        if let Some(cancel) = lock(&self.taken).get(id) {
            cancel.send_replace(Some(reason));
        }
    }
}

fn waits_as(state: &str) -> String {
    format!("parked/{state}")
}

fn handed_as(id: &str) -> String {
    format!("retry/{id}")
}

impl Gateway {
    /// Lets a call that is parked here be resumed by way of another gateway.
    pub(crate) async fn publish_parked(&self, state: &str, who: &Principal, patience: Duration) {
        let Some(live) = &self.live else { return };
        let waits = serde_json::to_vec(&Waits {
            process: self.process.clone(),
            owner: owner(who),
        });
        let name = waits_as(state);
        let kept = live.put(&name, waits.unwrap_or_default(), patience);
        if let Err(fault) = kept.await {
            tracing::warn!("a call can be resumed by way of this gateway alone: {fault}");
        }
    }

    /// Hands a retry to the gateway at which its call waits, and passes on what that says; nothing
    /// where no other gateway has such a call of this caller.
    pub(crate) async fn retried_elsewhere(
        &self,
        state: &str,
        who: &Principal,
        origin: &Origin,
        answers: &str,
    ) -> Option<Result<(), Failure>> {
        let live = self.live.as_ref()?;
        let waits = live.get(&waits_as(state)).await.ok()??;
        let waits: Waits = serde_json::from_slice(&waits).ok()?;
        if waits.owner != owner(who) || waits.process == self.process {
            return None;
        }
        let id = Id128::from_bytes(seal::random().ok()?);
        let retry = serde_json::to_vec(&Retry {
            state: state.to_owned(),
            principal: who.name.to_string(),
            request: String::from_utf8(origin.frame.raw().to_vec()).ok()?,
            answers: answers.to_owned(),
        });
        let name = handed_as(&id.to_string());
        live.put(&name, retry.ok()?, TAKEN).await.ok()?;
        let waker = Arc::new(Notify::new());
        lock(&self.retries.handed).insert(id.to_string(), Arc::clone(&waker));
        let passed = self.passed_on(&**live, id, &waits.process, &waker, origin);
        let passed = passed.await;
        lock(&self.retries.handed).remove(&id.to_string());
        passed
    }

    /// Passes on what another gateway says, until its answer.
    async fn passed_on(
        &self,
        live: &dyn LiveStore,
        id: Id128,
        to: &str,
        waker: &Notify,
        origin: &Origin,
    ) -> Option<Result<(), Failure>> {
        let mut journal = Journal::new(id, ENTRIES);
        let (mut taken, mut heard) = (false, Instant::now());
        loop {
            if !taken {
                let (id, to) = (id.to_string(), to.to_owned());
                self.announce(Notice::Retried { id, to }).await;
            }
            let turn = journal.turn(live, Vec::new(), REST).await;
            let entries = turn.map(|turn| turn.entries).unwrap_or_default();
            for entry in entries {
                (taken, heard) = (true, Instant::now());
                match serde_json::from_slice(&entry) {
                    Ok(Said::Refused) => return None,
                    Ok(Said::Message(message)) => drop(origin.way.tell(message.into())),
                    Ok(Said::Streaming) => origin.way.streaming(),
                    Ok(Said::Polling(retry)) => origin.way.polling(retry),
                    Ok(Said::Final(message, code)) => {
                        origin.way.finish(message.into(), code, None).await;
                        return Some(Ok(()));
                    }
                    // What is not understood was said by a later version.
                    Ok(Said::Still) | Err(_) => {}
                }
            }
            if heard.elapsed() > if taken { SILENCE } else { TAKEN } {
                return taken.then(|| Err(Failure::timed_out()));
            }
            tokio::select! {
                () = waker.notified() => {}
                () = sleep(OFFERED) => {}
                reason = origin.way.cancelled() => {
                    let id = id.to_string();
                    self.announce(Notice::Gone { id, reason }).await;
                    return Some(Ok(()));
                }
            }
        }
    }

    /// Takes up a retry that came by way of another gateway, if its call waits here.
    pub(crate) async fn take_retry(self: Arc<Self>, id: String) {
        let Some(live) = &self.live else { return };
        let name = handed_as(&id);
        let retry = live.get(&name).await.ok().flatten();
        let retry: Option<Retry> = retry.and_then(|retry| serde_json::from_slice(&retry).ok());
        let room = u128::from_str_radix(&id, 16).ok();
        let (Some(retry), Some(room)) = (retry, room) else {
            return;
        };
        // It is offered until it is taken: once.
        if !live.remove(&name).await.unwrap_or(false) {
            return;
        }
        let mut journal = Journal::new(Id128(room), ENTRIES);
        let Some(back) = self.resumed_for(retry) else {
            self.say(&mut journal, &id, &Said::Refused).await;
            return;
        };
        let WayBack {
            mut replies,
            cancel,
        } = back;
        lock(&self.retries.taken).insert(id.clone(), cancel);
        let mut said = Said::Still;
        loop {
            let ends = matches!(said, Said::Final(..));
            if !self.say(&mut journal, &id, &said).await {
                let reason = "the caller's gateway cannot be reached".to_owned();
                self.retries.gone(&id, reason);
                break;
            }
            if ends {
                break;
            }
            said = tokio::select! {
                reply = replies.recv() => match reply {
                    Some(reply) => Said::of(reply),
                    None => break,
                },
                () = sleep(BEAT) => Said::Still,
            };
        }
        lock(&self.retries.taken).remove(&id);
    }

    /// Resumes a call that waits here; returns what will be said of it.
    fn resumed_for(&self, retry: Retry) -> Option<WayBack> {
        let frame = Frame::parse(retry.request.into(), self.limits()).ok()?;
        let (way, back) = Way::new();
        let origin = Origin {
            id: frame.id()?.to_owned(),
            frame: frame.clone(),
            way,
        };
        let resume = Resume {
            origin,
            answers: retry.answers,
        };
        let (state, who, now) = (&retry.state, &retry.principal, self.clock.wall());
        let resumed = self.parked.resume(state, who, frame.params(), now, resume);
        resumed.is_ok().then_some(back)
    }

    /// Tells the gateway that handed a retry over; tells whether it was told.
    async fn say(&self, journal: &mut Journal, id: &str, said: &Said) -> bool {
        let Some(live) = &self.live else { return false };
        let said = serde_json::to_vec(said).unwrap_or_default();
        let until = Instant::now() + SILENCE;
        while let Err(fault) = journal.turn(&**live, vec![said.clone()], REST).await {
            if Instant::now() > until {
                tracing::warn!("the answer of a resumed call is lost: {fault}");
                return false;
            }
            sleep(AGAIN).await;
        }
        self.announce(Notice::Said { id: id.to_owned() }).await;
        true
    }
}
