//! What other gateways do not know yet: looked for now and then, and told.
//!
//! No call waits for this. While the store is away nothing is tried: all of it is still news afterwards,
//! and what the store forgot becomes news.

use std::sync::Arc;
use std::time::Duration;

use crate::gateway::Gateway;

/// How often it is looked for.
const LOOK: Duration = Duration::from_secs(1);

impl Gateway {
    /// Tells other gateways what they do not know, for as long as this one runs.
    pub async fn tell_others(self: Arc<Self>) {
        let Some(live) = self.live.clone() else {
            return;
        };
        loop {
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                () = self.stopped() => return,
            }
            if live.problem().is_none() {
                // First, since whether the store forgot what it was told is seen there.
                self.share_questions().await;
                self.publish_owed().await;
                self.share_orders_owed(&*live).await;
                self.tell_heard(&*live).await;
            }
        }
    }
}
