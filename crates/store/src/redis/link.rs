//! The connections: one for questions, one to hear notices. A task makes them, sees them break and
//! makes new ones; whoever asks meanwhile is told at once that nobody is there.

use std::future::pending;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt as _;
use mcpproxy_core::LiveFault;
use redis::aio::{MultiplexedConnection, PubSub, PubSubStream};
use redis::{AsyncConnectionConfig, RedisError};
use tokio::sync::{Notify, broadcast, watch};
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::error::Elapsed;

use super::address::{Address, reason};

/// Notices that may wait for who hears them.
const NOTICES: usize = 1024;
/// How long one waits before one tries again, at first and at most.
const SOON: Duration = Duration::from_millis(100);
const LATE: Duration = Duration::from_secs(2);
/// What is said before the first connection.
const NOT_YET: &str = "it is not connected yet";

/// The connections, made anew for as long as this lives.
#[derive(Debug)]
pub(super) struct Link {
    shared: Arc<Shared>,
    notices: tokio::sync::Mutex<broadcast::Receiver<Vec<u8>>>,
    task: AbortHandle,
}

struct Shared {
    address: Address,
    channel: String,
    patience: Duration,
    connection: watch::Sender<Option<MultiplexedConnection>>,
    /// Why there is none.
    problem: Mutex<Option<String>>,
    /// Somebody saw that the connection does not work.
    broken: Notify,
    heard: broadcast::Sender<Vec<u8>>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Shared")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Link {
    /// Begins to connect.
    pub(super) fn start(address: Address, channel: String, patience: Duration) -> Self {
        let (heard, notices) = broadcast::channel(NOTICES);
        let shared = Arc::new(Shared {
            address,
            channel,
            patience,
            connection: watch::Sender::new(None),
            problem: Mutex::new(Some(NOT_YET.to_owned())),
            broken: Notify::new(),
            heard,
        });
        let task = tokio::spawn(keep(Arc::clone(&shared))).abort_handle();
        Self {
            shared,
            notices: tokio::sync::Mutex::new(notices),
            task,
        }
    }

    /// Names where it leads, without a password.
    pub(super) fn name(&self) -> &str {
        self.shared.address.name()
    }

    /// Returns the channel of notices.
    pub(super) fn channel(&self) -> &str {
        &self.shared.channel
    }

    /// Returns the connection, if there is one.
    pub(super) fn current(&self) -> Result<MultiplexedConnection, LiveFault> {
        let current = self.shared.connection.borrow().clone();
        current.ok_or_else(|| {
            let problem = self.problem();
            LiveFault(problem.unwrap_or_else(|| NOT_YET.to_owned()))
        })
    }

    /// Resolves once there is a connection.
    pub(super) async fn connected(&self) {
        let mut connection = self.shared.connection.subscribe();
        if connection.wait_for(Option::is_some).await.is_err() {
            pending::<()>().await;
        }
    }

    /// Says why there is no connection.
    pub(super) fn problem(&self) -> Option<String> {
        let problem = self.shared.problem.lock();
        problem.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes what came of a question; a connection that does not answer is not asked again.
    pub(super) fn judged<T>(
        &self,
        answer: Result<Result<T, RedisError>, Elapsed>,
    ) -> Result<T, LiveFault> {
        let fault = match answer {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(fault)) if !fault.is_io_error() && !fault.is_unrecoverable_error() => {
                return Err(LiveFault(reason(&fault)));
            }
            Ok(Err(fault)) => reason(&fault),
            Err(_) => "it did not answer in time".to_owned(),
        };
        self.shared.lose(&fault);
        self.shared.broken.notify_one();
        Err(LiveFault(fault))
    }

    /// Waits for a notice; nothing where some may have been missed.
    pub(super) async fn heard(&self) -> Option<Vec<u8>> {
        match self.notices.lock().await.recv().await {
            // An empty one says that the connection is a new one.
            Ok(notice) => Some(notice).filter(|notice| !notice.is_empty()),
            Err(broadcast::error::RecvError::Lagged(_)) => None,
            Err(broadcast::error::RecvError::Closed) => pending().await,
        }
    }
}

impl Shared {
    fn lose(&self, why: &str) {
        self.connection.send_replace(None);
        let problem = self.problem.lock();
        *problem.unwrap_or_else(PoisonError::into_inner) = Some(why.to_owned());
    }

    fn found(&self, connection: MultiplexedConnection) {
        let problem = self.problem.lock();
        *problem.unwrap_or_else(PoisonError::into_inner) = None;
        self.connection.send_replace(Some(connection));
    }

    /// Makes both connections.
    async fn connect(&self) -> Result<Connected, String> {
        let io = |fault: std::io::Error| fault.to_string();
        let told = |fault: RedisError| reason(&fault);
        let login = &self.address.login;
        let stream = self.address.dial().await.map_err(io)?;
        // How long an answer may take is for who asks to say.
        let config = AsyncConnectionConfig::new().set_response_timeout(None);
        let made = MultiplexedConnection::new_with_config(login, stream, config).await;
        let (asking, driver) = made.map_err(told)?;
        let driver = tokio::spawn(driver);
        let stream = self.address.dial().await.map_err(io)?;
        let mut hearing = PubSub::new(login, stream).await.map_err(told)?;
        hearing.subscribe(&self.channel).await.map_err(told)?;
        Ok(Connected {
            asking,
            driver,
            hearing: hearing.into_on_message(),
        })
    }
}

struct Connected {
    asking: MultiplexedConnection,
    driver: JoinHandle<()>,
    hearing: PubSubStream,
}

/// Keeps the connections, for ever.
async fn keep(shared: Arc<Shared>) {
    let mut pause = SOON;
    loop {
        let connected = tokio::time::timeout(shared.patience, shared.connect()).await;
        let connected = connected.unwrap_or_else(|_| Err("it does not answer".to_owned()));
        match connected {
            Ok(Connected {
                asking,
                mut driver,
                mut hearing,
            }) => {
                pause = SOON;
                tracing::info!("live state is shared through `{}`", shared.address.name());
                // What was said before this is not known.
                drop(shared.heard.send(Vec::new()));
                shared.found(asking);
                let why = tokio::select! {
                    () = hear(&shared, &mut hearing) => "the connection was closed",
                    _ = &mut driver => "the connection was closed",
                    () = shared.broken.notified() => "it did not answer",
                };
                driver.abort();
                shared.lose(why);
                tracing::warn!(
                    "live state is not shared: `{}`: {why}",
                    shared.address.name()
                );
            }
            Err(why) => shared.lose(&why),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LATE);
    }
}

/// Passes notices on until the connection ends.
async fn hear(shared: &Shared, hearing: &mut PubSubStream) {
    while let Some(message) = hearing.next().await {
        let notice = message.get_payload_bytes();
        if !notice.is_empty() {
            drop(shared.heard.send(notice.to_vec()));
        }
    }
}
