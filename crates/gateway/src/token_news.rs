//! Tokens that are good at every gateway: what was made and revoked is written into a log that all of
//! them read, in order, and each keeps it in its own data folder.
//!
//! What could not be told is told when it can be, and what the store forgot is told again, for as long
//! as this process lives.

use std::collections::VecDeque;
use std::time::Duration;

use mcpproxy_control::TokenNews;
use mcpproxy_core::{Id128, Journal, LiveFault, LiveStore};
use tokio::sync::Mutex;

use crate::gateway::Gateway;
use crate::notices::Notice;

/// The room of the log; scopes are digests, and none is this.
const ROOM: Id128 = Id128(2);
/// Entries of the log that are kept.
const ENTRIES: usize = 4096;
/// How long it is kept where nothing is made or revoked.
const YEAR: Duration = Duration::from_hours(365 * 24);

/// The log, as far as it was read.
#[derive(Debug)]
pub(crate) struct TokenLog(Mutex<Log>);

#[derive(Debug)]
struct Log {
    journal: Journal,
    /// What was told, to be told again to a store that forgot it.
    told: VecDeque<Vec<u8>>,
    /// What was not told yet.
    untold: Vec<Vec<u8>>,
}

impl Default for TokenLog {
    fn default() -> Self {
        Self(Mutex::new(Log {
            journal: Journal::new(ROOM, ENTRIES),
            told: VecDeque::new(),
            untold: Vec::new(),
        }))
    }
}

impl Log {
    /// Tells what there is to tell; returns what others told, and whether anything was told.
    async fn turn(&mut self, live: &dyn LiveStore) -> Result<(Vec<TokenNews>, bool), LiveFault> {
        let mut heard = Vec::new();
        let tells = !self.untold.is_empty();
        loop {
            let append = self.untold.clone();
            let turn = self.journal.turn(live, append, YEAR).await?;
            let told = std::mem::take(&mut self.untold);
            if turn.forgot {
                // What was told just now is there already.
                self.untold.extend(self.told.drain(..));
            }
            self.told.extend(told);
            while self.told.len() > ENTRIES {
                self.told.pop_front();
            }
            // What is not understood was written by a later version.
            let entries = turn.entries.iter();
            heard.extend(entries.filter_map(|entry| serde_json::from_slice(entry).ok()));
            if self.untold.is_empty() {
                return Ok((heard, tells));
            }
        }
    }
}

impl Gateway {
    /// Tells other gateways what was made and revoked here, and takes over what they did.
    pub(crate) async fn share_tokens(&self) {
        let Some(live) = &self.live else { return };
        let control = self.access.control();
        let mut log = self.token_log.0.lock().await;
        let news = control.token_news();
        let news = news.iter().filter_map(|one| serde_json::to_vec(one).ok());
        log.untold.extend(news);
        let turned = log.turn(&**live).await;
        drop(log);
        let (heard, told) = match turned {
            Ok(turned) => turned,
            Err(fault) => {
                tracing::warn!("tokens of this gateway are not known to others yet: {fault}");
                return;
            }
        };
        match control.adopt_tokens(heard) {
            Ok(adopted) => {
                for problem in adopted.problems {
                    tracing::warn!("a token of another gateway is not good here: {problem}");
                }
                if adopted.revoked {
                    self.expel();
                }
            }
            Err(fault) => tracing::error!("tokens of other gateways: {fault}"),
        }
        if told {
            self.announce(Notice::Tokens).await;
        }
    }
}
