//! Who is told of changes: legacy conversations of all, modern subscriptions of what they named.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use mcpproxy_mcp::compose;
use mcpproxy_mcp::era::META_SUBSCRIPTION;
use serde_json::{Value, json};

use super::outlet::Outlet;
use crate::lock;

/// The most subscriptions that are kept at once.
const MOST_LISTENERS: usize = 1_024;
/// The most resources that one of them may name.
pub(crate) const MOST_RESOURCES: usize = 1_024;

/// Something that changed.
pub(crate) enum Change {
    /// The list of tools.
    Tools,
    /// One resource.
    Resource(String),
}

/// What a listener wants to be told.
#[derive(Default)]
pub(crate) struct Wants {
    pub(crate) tools: bool,
    pub(crate) resources: BTreeSet<String>,
}

/// One listener.
pub(crate) struct Listener {
    /// The number of the conversation it belongs to.
    pub(crate) conversation: u64,
    /// The id of the request that subscribed; nothing in the legacy era.
    pub(crate) subscription: Option<Value>,
    pub(crate) wants: Wants,
    pub(crate) outlet: Arc<dyn Outlet>,
}

/// All listeners of one sample.
#[derive(Default)]
pub(crate) struct Listeners(Mutex<Vec<Listener>>);

impl Listeners {
    /// Adds a listener, unless there are too many.
    pub(crate) fn add(&self, listener: Listener) -> bool {
        let mut listeners = lock(&self.0);
        listeners.retain(|listener| listener.outlet.is_open());
        let room = listeners.len() < MOST_LISTENERS;
        if room {
            listeners.push(listener);
        }
        room
    }

    /// Changes what a legacy conversation wants to be told.
    pub(crate) fn change_wants(&self, conversation: u64, change: impl FnOnce(&mut Wants)) {
        let mut listeners = lock(&self.0);
        let found = listeners.iter_mut().find(|listener| {
            listener.conversation == conversation && listener.subscription.is_none()
        });
        if let Some(listener) = found {
            change(&mut listener.wants);
        }
    }

    /// Removes one subscription.
    pub(crate) fn remove(&self, conversation: u64, subscription: &Value) {
        lock(&self.0).retain(|listener| {
            listener.conversation != conversation
                || listener.subscription.as_ref() != Some(subscription)
        });
    }

    /// Removes everything of one conversation.
    pub(crate) fn remove_all(&self, conversation: u64) {
        lock(&self.0).retain(|listener| listener.conversation != conversation);
    }

    /// Tells everybody who wants to know, `times` times.
    pub(crate) fn tell(&self, change: &Change, times: usize) {
        // Collected first: a slow output must not hold the lock.
        let told: Vec<_> = lock(&self.0)
            .iter()
            .filter(|listener| listener.wants(change))
            .map(|listener| (Arc::clone(&listener.outlet), listener.message(change)))
            .collect();
        for (outlet, message) in told {
            for _ in 0..times {
                outlet.put(message.clone());
            }
        }
    }
}

impl Listener {
    fn wants(&self, change: &Change) -> bool {
        match change {
            Change::Tools => self.wants.tools,
            Change::Resource(uri) => self.wants.resources.contains(uri),
        }
    }

    fn message(&self, change: &Change) -> bytes::Bytes {
        let (method, mut params) = match change {
            Change::Tools => ("notifications/tools/list_changed", json!({})),
            Change::Resource(uri) => ("notifications/resources/updated", json!({ "uri": uri })),
        };
        if let (Some(id), Some(params)) = (&self.subscription, params.as_object_mut()) {
            params.insert("_meta".to_owned(), json!({ META_SUBSCRIPTION: id }));
        }
        compose::notification(method, &params.to_string())
    }
}
