//! Sessions that move: what another gateway has to know to go on with one, kept where live state is
//! shared, under the session's own id and for its own caller alone.
//!
//! Deliberately absent: open streams and what was kept of them, requests and questions in flight, log
//! levels and subscriptions. They end with the gateway that had them; the client opens them anew.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use mcpproxy_core::{Principal, Wall};
use mcpproxy_upstream::Greeting;
use serde::{Deserialize, Serialize};

use crate::ask;
use crate::gateway::Gateway;
use crate::notices::Notice;
use crate::session::{NewSession, Session};
use crate::settings::RoutingMode;

/// Sessions that are told of at once.
const AT_ONCE: usize = 64;

/// What is kept of a session.
#[derive(Debug, Deserialize, Serialize)]
struct Kept {
    /// Who opened it.
    owner: String,
    version: String,
    capabilities: String,
    client_info: String,
    mode: RoutingMode,
    /// When it was opened, in milliseconds since 1970; not said by earlier versions.
    #[serde(default)]
    opened: Option<u64>,
}

fn name(id: &str) -> String {
    format!("session/{id}")
}

/// Names a caller: the same words are another one if they are of another kind.
pub(crate) fn owner(who: &Principal) -> String {
    format!("{:?} {}", who.kind, who.name)
}

impl Gateway {
    /// Finds a session of `who`, also one that another gateway opened.
    pub(crate) async fn find_session(
        self: &Arc<Self>,
        id: &str,
        who: &Principal,
    ) -> Option<Arc<Session>> {
        let found = self.sessions.find(id, who);
        if self.live.is_none() {
            return found;
        }
        // Boxed: where nothing is shared a request stays small.
        Box::pin(self.find_shared(found, id, who)).await
    }

    async fn find_shared(
        self: &Arc<Self>,
        found: Option<Arc<Session>>,
        id: &str,
        who: &Principal,
    ) -> Option<Arc<Session>> {
        match found {
            Some(session) => {
                if session.is_due(self.clock.tick(), self.session_idle() / 4) {
                    self.publish(&session).await;
                }
                Some(session)
            }
            None => self.adopt(id, who).await,
        }
    }

    fn session_idle(&self) -> Duration {
        self.active().settings.limits.session_idle.into()
    }

    /// Lets other gateways go on with a session.
    pub(crate) async fn publish(&self, session: &Session) {
        let Some(live) = &self.live else { return };
        let Greeting {
            version,
            capabilities,
            client_info,
        } = &*session.greeting;
        let kept = serde_json::to_vec(&Kept {
            owner: owner(&session.who),
            version: version.clone(),
            capabilities: capabilities.clone(),
            client_info: client_info.clone(),
            mode: session.mode,
            opened: Some(session.opened.0),
        });
        let name = name(&session.id);
        session.owe();
        let kept = live.put(&name, kept.unwrap_or_default(), self.session_idle());
        // One that is not kept now is kept once it can be.
        if kept.await.is_ok() {
            session.published(self.clock.tick());
            if session.is_ended() {
                // It ended meanwhile: what was taken away then may not have been there yet.
                drop(live.remove(&name).await);
            }
        }
    }

    /// Tells other gateways of the sessions that they could not be told of, and of those that the store
    /// forgot.
    pub(crate) async fn publish_owed(&self) {
        for some in self.sessions.owed().chunks(AT_ONCE) {
            join_all(some.iter().map(|session| self.publish(session))).await;
        }
    }

    /// Forgets a session everywhere.
    pub(crate) async fn unpublish(&self, id: &str) {
        if let Some(live) = &self.live
            && let Err(fault) = live.remove(&name(id)).await
        {
            tracing::warn!("a session that ended may go on at another gateway: {fault}");
        }
        let session = id.to_owned();
        self.announce(Notice::Ended { session }).await;
    }

    /// Goes on with a session that another gateway opened for the same caller.
    async fn adopt(self: &Arc<Self>, id: &str, who: &Principal) -> Option<Arc<Session>> {
        let kept = self.live.as_ref()?.get(&name(id)).await;
        let kept: Kept = serde_json::from_slice(&kept.ok()??).ok()?;
        // Another principal's session does not exist for the caller.
        if kept.owner != owner(who) {
            return None;
        }
        let new = NewSession {
            who: who.clone(),
            version: kept.version.clone(),
            greeting: Arc::new(Greeting {
                version: kept.version,
                capabilities: kept.capabilities,
                client_info: kept.client_info,
            }),
            mode: kept.mode,
            engine: Some(Arc::clone(&self.engine)),
            opened: kept.opened.map(Wall),
        };
        let (session, questions) = self.adopt_session(id, new)?;
        if let Some(questions) = questions {
            let weak = Arc::downgrade(&session);
            tokio::spawn(ask::serve_questions(Arc::clone(self), weak, questions));
        }
        self.publish(&session).await;
        Some(session)
    }
}
