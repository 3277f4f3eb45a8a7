//! The sessions of all gateways in one list: whoever is asked for it asks the others, and each says
//! which sessions it has in a log of that question.
//!
//! Nothing is told while nobody asks. How many answers there will be is known from how many heard the
//! question, so that a gateway that died is not waited for, and one that hangs not for long. Where an
//! answer is missing the list says so.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mcpproxy_core::{Exchange, Id128, Journal, LiveFault, LiveStore, LogAsk, Place};
use mcpproxy_mcp::seal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::gateway::Gateway;
use crate::notices::Notice;
use crate::session::Session;

/// Sessions that are listed.
const MOST: usize = 1000;
/// What a gateway says of its sessions at most, and of what the program of one says about itself.
const BYTES: usize = 512 * 1024;
const CLIENT_BYTES: usize = 1024;
/// Gateways whose answers are read.
const GATEWAYS: usize = 64;
/// How long answers are waited for, and how often they are looked for.
const PATIENCE: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(10);
/// How long answers are kept.
const REST: Duration = Duration::from_secs(10);
/// After everything that stands in a log: whoever answers need not read what others said.
const END: Place = Place(u64::MAX, 0);
/// Why sessions of other gateways are missing.
const AWAY: &str = "what gateways share cannot be reached: sessions of other gateways are missing";
const SILENT: &str = "a gateway did not answer in time: its sessions are missing";

/// A conversation.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub(crate) struct Conversation {
    /// Its id, as records have it.
    id: String,
    /// The verified caller.
    principal: String,
    /// The version of the protocol in force.
    protocol_version: String,
    /// What the caller's program says about itself. Nobody checks that. Null of a session at another
    /// gateway where it is long.
    client: Value,
    /// The gateways that have it, each by the id that it has until it ends; several where it moved.
    #[serde(default)]
    gateways: Vec<String>,
}

impl Conversation {
    fn of(session: &Session) -> Self {
        Self {
            id: session.key.id.to_string(),
            principal: session.who.name.to_string(),
            protocol_version: session.version.clone(),
            client: serde_json::from_str(&session.greeting.client_info).unwrap_or_default(),
            gateways: Vec::new(),
        }
    }
}

/// The conversations.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Sessions")]
pub(crate) struct Listed {
    /// How many there are.
    total: usize,
    /// Some of them; a bounded number.
    sessions: Vec<Conversation>,
    /// The gateway that was asked, by the id that it has until it ends.
    gateway: String,
    /// Why sessions of other gateways are missing; null where none are, and where nothing is shared.
    incomplete: Option<&'static str>,
}

/// What one gateway says of its sessions.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Said {
    gateway: String,
    total: usize,
    sessions: Vec<Conversation>,
}

impl Said {
    /// Leaves out what is too long to be told.
    fn shortened(mut self) -> Self {
        let mut bytes = 0;
        for session in &mut self.sessions {
            if session.client.to_string().len() > CLIENT_BYTES {
                session.client = Value::Null;
            }
        }
        self.sessions.retain(|session| {
            let length = serde_json::to_vec(session).map_or(0, |written| written.len());
            bytes += length;
            bytes <= BYTES
        });
        self
    }
}

/// Makes one list of what gateways said; a session that several have stands there once.
fn merged(all: Vec<Said>) -> (usize, Vec<Conversation>) {
    let mut total = 0;
    let mut sessions: BTreeMap<String, Conversation> = BTreeMap::new();
    for said in all {
        total += said.total.max(said.sessions.len());
        for mut session in said.sessions {
            session.gateways = vec![said.gateway.clone()];
            match sessions.get_mut(&session.id) {
                Some(known) => {
                    known.gateways.append(&mut session.gateways);
                    total -= 1;
                }
                None => drop(sessions.insert(session.id.clone(), session)),
            }
        }
    }
    (total, sessions.into_values().take(MOST).collect())
}

impl Gateway {
    /// Lists the sessions of all gateways, as far as they answer.
    pub(crate) async fn list_sessions(&self) -> Listed {
        let (mut others, incomplete) = match &self.live {
            Some(live) => self.ask_for_sessions(&**live).await,
            None => (Vec::new(), None),
        };
        others.insert(0, self.own_sessions());
        let (total, sessions) = merged(others);
        Listed {
            total,
            sessions,
            gateway: self.process.clone(),
            incomplete,
        }
    }

    fn own_sessions(&self) -> Said {
        let all = self.sessions.all();
        Said {
            gateway: self.process.clone(),
            total: all.len(),
            sessions: all
                .iter()
                .take(MOST)
                .map(|one| Conversation::of(one))
                .collect(),
        }
    }

    /// Asks other gateways; returns what they said, and why something is missing if it is.
    async fn ask_for_sessions(&self, live: &dyn LiveStore) -> (Vec<Said>, Option<&'static str>) {
        let Ok(random) = seal::random() else {
            return (Vec::new(), Some(AWAY));
        };
        let room = Id128::from_bytes(random);
        let notice = self.as_told(Notice::Listing {
            room: room.to_string(),
        });
        let Ok(hear) = live.announce(notice).await else {
            return (Vec::new(), Some(AWAY));
        };
        // This gateway hears itself.
        let others = hear.saturating_sub(1);
        let (mut journal, mut said) = (Journal::new(room, GATEWAYS), Vec::new());
        let until = Instant::now() + PATIENCE;
        loop {
            let Ok(turn) = journal.turn(live, Vec::new(), REST).await else {
                return (said, Some(AWAY));
            };
            // What is not understood was said by a later version, and is missing.
            let entries = turn.entries.iter();
            said.extend(entries.filter_map(|entry| serde_json::from_slice::<Said>(entry).ok()));
            said.truncate(GATEWAYS);
            if said.len() >= others {
                return (said, None);
            }
            if Instant::now() >= until {
                return (said, Some(SILENT));
            }
            sleep(LOOK).await;
        }
    }

    /// Says which sessions are open here, for who asked at another gateway.
    pub(crate) async fn answer_listing(self: Arc<Self>, room: Id128) {
        let Some(live) = &self.live else { return };
        let said = self.own_sessions().shortened();
        let log = LogAsk {
            append: vec![serde_json::to_vec(&said).unwrap_or_default()],
            after: Some(END),
            keep: None,
        };
        let said = live.exchange(Exchange {
            room,
            logs: [log, LogAsk::default()],
            rest: REST,
        });
        if let Err(LiveFault(fault)) = said.await {
            tracing::debug!("another gateway was not told which sessions are open here: {fault}");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn session(id: &str) -> Conversation {
        Conversation {
            id: id.to_owned(),
            principal: "local".to_owned(),
            protocol_version: String::new(),
            client: Value::Null,
            gateways: Vec::new(),
        }
    }

    fn said(gateway: &str, total: usize, ids: &[&str]) -> Said {
        Said {
            gateway: gateway.to_owned(),
            total,
            sessions: ids.iter().map(|id| session(id)).collect(),
        }
    }

    #[test]
    fn sessions_of_several_gateways_are_one_list() {
        let check = |all: &[Said], expect: (usize, &[(&str, &[&str])])| {
            let (total, sessions) = merged(all.to_vec());
            let rows: Vec<(&str, Vec<&str>)> = sessions
                .iter()
                .map(|one| {
                    let gateways = one.gateways.iter().map(String::as_str);
                    (one.id.as_str(), gateways.collect())
                })
                .collect();
            let expected = expect.1.iter().map(|(id, all)| (*id, all.to_vec()));
            assert_eq!(rows, expected.collect::<Vec<_>>(), "{all:?}");
            assert_eq!(total, expect.0, "{all:?}");
        };
        check(&[said("one", 0, &[])], (0, &[]));
        check(
            &[said("one", 1, &["b"]), said("two", 1, &["a"])],
            (2, &[("a", &["two"]), ("b", &["one"])]),
        );
        // One that moved is one.
        check(
            &[said("one", 2, &["a", "b"]), said("two", 1, &["a"])],
            (2, &[("a", &["one", "two"]), ("b", &["one"])]),
        );
        // What is not listed is counted, and nobody counts less than they list.
        check(
            &[said("one", 5, &["a"]), said("two", 0, &["b"])],
            (6, &[("a", &["one"]), ("b", &["two"])]),
        );
        let many: Vec<_> = (0..=MOST).map(|number| number.to_string()).collect();
        let many: Vec<_> = many.iter().map(String::as_str).collect();
        let (total, listed) = merged(vec![said("one", many.len(), &many)]);
        assert_eq!((total, listed.len()), (MOST + 1, MOST));
    }

    #[test]
    fn what_is_told_of_sessions_is_bounded() {
        let named = |length: usize| Conversation {
            client: json!({ "name": "x".repeat(length) }),
            ..session("a")
        };
        let check = |length: usize, count: usize, expect: (bool, bool)| {
            let said = Said {
                sessions: vec![named(length); count],
                ..said("one", count, &[])
            };
            let told = said.shortened();
            let named = told.sessions.iter().any(|one| !one.client.is_null());
            let whole = told.sessions.len() == count;
            assert_eq!((named, whole), expect, "{length} {count}");
            assert_eq!(told.total, count);
            let written = serde_json::to_vec(&told.sessions).unwrap();
            assert!(written.len() <= BYTES + count + 2, "{}", written.len());
        };
        check(10, 1, (true, true));
        check(CLIENT_BYTES, 1, (false, true));
        check(10, 1000, (true, true));
        check(1000, 1000, (true, false));
    }
}
