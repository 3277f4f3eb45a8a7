//! What somebody changed through `control`, told of: a record with who did it, and a line in the log of
//! the process. Doors hand it in; what other gateways changed is on record where it was done.

use std::sync::Arc;

use mcpproxy_control::{Change, Effect};
use mcpproxy_core::{ChangeNote, Door};
use mcpproxy_engine::{Changed, Happening};

use crate::gateway::Gateway;

impl Gateway {
    /// Puts a change on record, also if whoever made it does not wait for that.
    pub(crate) async fn note_change(&self, change: &Change, door: Door) {
        let shown = Change {
            target: self.engine.masked(&change.target).to_string(),
            ..change.clone()
        };
        tracing::info!("{}", shown.to_string().escape_debug());
        let Some(kind) = change.act.record() else {
            return;
        };
        let happened = Happening::Changed(Box::new(Changed {
            kind,
            act: change.act.name(),
            by: change.by.clone(),
            door,
            note: ChangeNote {
                target: change.target.clone(),
                details: change.details.clone(),
                already_so: change.effect == Effect::AlreadySo,
            },
        }));
        let engine = Arc::clone(&self.engine);
        let kept = tokio::spawn(async move { engine.chronicle(happened).await });
        // One that panicked has said so.
        drop(kept.await);
    }
}
