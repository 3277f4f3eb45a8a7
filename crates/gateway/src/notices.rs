//! What gateways tell each other beside what flows: orders to stop calls, what was decided about what
//! upstreams offer, that a question was answered, calls that hooks announced and that hooks were heard
//! from, sessions that ended, parked calls that are resumed, logins to the dashboard that ended,
//! lists of sessions, and what happens while somebody watches.
//!
//! A notice may be missed. What must not be forgotten is kept as well: orders, tokens and what was heard
//! of hooks where live state is shared, decisions in the store of baselines. Whoever may have missed something reads them
//! again.
//! Every doubt ends in a stop: an order that is read again is added, and only a notice takes one away.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mcpproxy_core::{FlowScope, Id128, LiveStore, SessionBasis, SessionKey};
use mcpproxy_engine::events::Event;
use mcpproxy_engine::{Engine, Fingerprint, HeardNews, StopScope};
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast::error::RecvError;

use crate::gateway::Gateway;
use crate::relay::Happened;

/// Where orders are kept, and for how long.
const ORDERS: &str = "orders";
const MONTH: Duration = Duration::from_hours(30 * 24);

/// What one gateway tells the others.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Notice {
    /// Calls are stopped.
    Stopped {
        /// Which.
        scope: String,
        /// Who said so.
        by: String,
    },
    /// Calls may go again.
    Resumed {
        /// Which.
        scope: String,
    },
    /// Something was decided about what upstreams offer.
    Decided,
    /// A question was answered.
    Answered,
    /// A token was made or revoked.
    Tokens,
    /// Somebody watches what happens.
    Watching,
    /// Something happened.
    Happened {
        /// What, in order.
        events: Vec<Happened>,
        /// How many events before these were not told.
        missed: u64,
    },
    /// A hook announced a call.
    Announced {
        /// The conversation of the hook.
        hook: String,
        /// Where it lives.
        scope: String,
        /// What the call is recognized by.
        print: String,
        /// The use of the tool, as the agent calls it.
        tool_use: Option<String>,
    },
    /// Hooks of agents were heard from.
    Heard {
        /// The conversations, with all that was heard of each so far.
        conversations: Vec<HeardNews>,
    },
    /// A call that was announced came by.
    Arrived {
        /// The conversation of the hook.
        hook: String,
        /// What the call is recognized by.
        print: String,
    },
    /// A call came by that several hooks announced alike: it links none of them.
    Spoiled {
        /// The conversations of the hooks.
        hooks: Vec<String>,
        /// What the call is recognized by.
        print: String,
    },
    /// A session ended.
    Ended {
        /// Its id.
        session: String,
    },
    /// Somebody lists the sessions of all gateways: each says which it has.
    Listing {
        /// The room of the log in which it is said.
        room: String,
    },
    /// A login to the dashboard ended.
    LoggedOut {
        /// The digest of its id.
        login: String,
    },
    /// The retry of a parked call came in.
    Retried {
        /// The retry.
        id: String,
        /// The gateway at which the call waits.
        to: String,
    },
    /// There is something new about a retry.
    Said {
        /// The retry.
        id: String,
    },
    /// Nobody waits for the answer to a retry any more.
    Gone {
        /// The retry.
        id: String,
        /// Why.
        reason: String,
    },
}

/// A notice, and who tells it: nobody acts on their own.
#[derive(Debug, Deserialize, Serialize)]
struct Told {
    from: String,
    notice: Notice,
}

impl Gateway {
    /// Tells other gateways something, if there are any.
    pub(crate) async fn announce(&self, notice: Notice) {
        let Some(live) = &self.live else { return };
        let is_order = matches!(notice, Notice::Stopped { .. } | Notice::Resumed { .. });
        if is_order {
            self.keep_orders(&**live).await;
        }
        let told = live.announce(self.as_told(notice));
        if let Err(fault) = told.await {
            tracing::warn!("other gateways were not told: {fault}");
            self.orders_owed.fetch_or(is_order, Ordering::Relaxed);
        }
    }

    /// A notice as it is told.
    pub(crate) fn as_told(&self, notice: Notice) -> Vec<u8> {
        let from = self.process.clone();
        serde_json::to_vec(&Told { from, notice }).unwrap_or_default()
    }

    /// Keeps the orders in force for gateways that come later.
    async fn keep_orders(&self, live: &dyn LiveStore) {
        let orders = self.access.control().orders();
        let orders: BTreeMap<String, String> = orders
            .into_iter()
            .map(|order| (order.scope.to_string(), order.by))
            .collect();
        let orders = serde_json::to_vec(&orders).unwrap_or_default();
        if let Err(fault) = live.put(ORDERS, orders, MONTH).await {
            tracing::warn!("orders to stop calls are not shared: {fault}");
            self.orders_owed.store(true, Ordering::Relaxed);
        }
    }

    /// Keeps the orders in force, and tells each again: whoever read what is kept before this gateway wrote
    /// there learns of them by that.
    async fn repeat_orders(&self, live: &dyn LiveStore) {
        self.keep_orders(live).await;
        for order in self.access.control().orders() {
            let (scope, by) = (order.scope.to_string(), order.by);
            let told = live.announce(self.as_told(Notice::Stopped { scope, by }));
            if let Err(fault) = told.await {
                tracing::warn!("other gateways were not told of an order: {fault}");
                self.orders_owed.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Keeps the orders in force after another gateway changed them, in the place of what any gateway kept
    /// that did not know of that yet.
    async fn keep_orders_too(&self) {
        if let Some(live) = &self.live {
            self.keep_orders(&**live).await;
        }
    }

    /// Hears what other gateways tell, for as long as this one runs.
    pub async fn hear_others(self: Arc<Self>) {
        let Some(live) = self.live.clone() else {
            return;
        };
        let mut events = self.engine.overhear();
        self.catch_up(&*live).await;
        loop {
            tokio::select! {
                heard = live.heard() => match heard.map(|told| serde_json::from_slice(&told)) {
                    Some(Ok(told)) => self.told(told).await,
                    Some(Err(_)) => tracing::debug!("another gateway told what is not known here"),
                    None => {
                        self.unheard();
                        self.logouts_missed();
                        self.catch_up(&*live).await;
                    }
                },
                event = events.recv() => match event.map(|event| is_decision(&event.event)) {
                    Ok(true) | Err(RecvError::Lagged(_)) => self.announce(Notice::Decided).await,
                    Ok(false) => {}
                    Err(RecvError::Closed) => return,
                },
                () = self.stopped() => return,
            }
        }
    }

    /// Reads again what may have been told while nobody heard.
    async fn catch_up(&self, live: &dyn LiveStore) {
        self.engine.doubt_live();
        self.share_orders(live).await;
        self.catch_up_heard(live).await;
        self.share_tokens().await;
        self.read_decisions().await;
        self.share_questions().await;
    }

    /// Shares orders again, if others may not know of all.
    pub(crate) async fn share_orders_owed(&self, live: &dyn LiveStore) {
        if self.orders_owed.swap(false, Ordering::Relaxed) {
            self.share_orders(live).await;
        }
    }

    /// Adds the orders of other gateways, and tells them all.
    async fn share_orders(&self, live: &dyn LiveStore) {
        let orders = match live.get(ORDERS).await {
            Ok(orders) => orders,
            Err(fault) => {
                tracing::warn!("orders of other gateways are not known: {fault}");
                self.orders_owed.store(true, Ordering::Relaxed);
                return;
            }
        };
        let orders = orders.as_deref().map(serde_json::from_slice);
        let orders: BTreeMap<String, String> = orders.and_then(Result::ok).unwrap_or_default();
        for (scope, by) in orders {
            self.adopt_stop(&scope, &by);
        }
        self.repeat_orders(live).await;
    }

    async fn told(self: &Arc<Self>, told: Told) {
        if told.from == self.process {
            return;
        }
        match told.notice {
            Notice::Stopped { scope, by } => {
                self.adopt_stop(&scope, &by);
                self.keep_orders_too().await;
            }
            Notice::Resumed { scope } => {
                let resumed = scope.parse::<StopScope>();
                let resumed = resumed.map(|scope| self.access.control().adopt_resume(&scope));
                if let Ok(Err(fault)) = resumed {
                    tracing::debug!("not resumed with the others: {fault}");
                }
                self.keep_orders_too().await;
            }
            Notice::Decided => self.read_decisions().await,
            Notice::Answered => self.share_questions().await,
            Notice::Tokens => self.share_tokens().await,
            Notice::Watching => self.watched_elsewhere(),
            Notice::Happened { events, missed } => self.happened_elsewhere(events, missed),
            Notice::Announced {
                hook,
                scope,
                print,
                tool_use,
            } => {
                if let (Some(hook), Some(scope), Some(print)) = (id(&hook), id(&scope), id(&print))
                {
                    let (home, print) = (FlowScope(scope), Fingerprint::from_id(print));
                    let (hook, reach) = (hooked(hook), Self::hook_reach(home));
                    let tool_use = tool_use.as_deref();
                    let engine = &self.engine;
                    engine.announced_elsewhere(hook, home, reach, print, tool_use);
                }
            }
            Notice::Heard { conversations } => {
                self.engine.heard_elsewhere(&told.from, &conversations);
            }
            Notice::Arrived { hook, print } => {
                if let (Some(hook), Some(print)) = (id(&hook), id(&print)) {
                    let print = Fingerprint::from_id(print);
                    self.engine.arrived_elsewhere(hooked(hook), print);
                }
            }
            Notice::Spoiled { hooks, print } => {
                let hooks: Vec<_> = hooks
                    .iter()
                    .filter_map(|hook| id(hook))
                    .map(hooked)
                    .collect();
                if let Some(print) = id(&print) {
                    let print = Fingerprint::from_id(print);
                    self.engine.spoiled_elsewhere(&hooks, print);
                }
            }
            Notice::Ended { session } => {
                self.end_session(&session);
            }
            Notice::Listing { room } => {
                if let Some(room) = id(&room) {
                    tokio::spawn(Arc::clone(self).answer_listing(room));
                }
            }
            Notice::LoggedOut { login } => self.logged_out_elsewhere(login),
            Notice::Retried { id, to } => {
                if to == self.process {
                    tokio::spawn(Arc::clone(self).take_retry(id));
                }
            }
            Notice::Said { id } => self.retries.said(&id),
            Notice::Gone { id, reason } => self.retries.gone(&id, reason),
        }
    }

    fn adopt_stop(&self, scope: &str, by: &str) {
        let adopted = scope.parse::<StopScope>().map(|scope| {
            let control = self.access.control();
            control.adopt_stop(&scope, by)
        });
        match adopted {
            Ok(Ok(())) => {}
            Ok(Err(fault)) => tracing::error!("an order of another gateway: {fault}"),
            Err(why) => tracing::error!("an order of another gateway: {why}"),
        }
    }

    /// Takes what was decided about what upstreams offer from where it is kept.
    async fn read_decisions(&self) {
        let engine: Arc<Engine> = Arc::clone(&self.engine);
        // It waits for a database, which nobody else should.
        let read = tokio::task::spawn_blocking(move || engine.read_baselines()).await;
        if let Ok(Err(fault)) = read {
            tracing::error!("what was decided about tools is not known: {fault}");
        }
    }
}

/// Reads an id as it is printed.
fn id(text: &str) -> Option<Id128> {
    u128::from_str_radix(text, 16).ok().map(Id128)
}

/// Returns the key of a hook's conversation.
fn hooked(id: Id128) -> SessionKey {
    SessionKey {
        basis: SessionBasis::Hook,
        id,
    }
}

fn is_decision(event: &Event) -> bool {
    matches!(
        event,
        Event::QuarantineChange(_) | Event::ToolQuarantineChange(_)
    )
}
