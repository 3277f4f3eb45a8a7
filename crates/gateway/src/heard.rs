//! How much can be seen of what agents do, by all gateways together: what hooks told one of them, the
//! others are told, and it is kept for those that come later.
//!
//! No hook waits for this: what is new is looked for now and then, and told in one go.

use std::collections::BTreeMap;

use mcpproxy_core::{LiveFault, LiveStore};
use mcpproxy_engine::HeardNews;
use mcpproxy_engine::coverage::ACTIVE;

use crate::gateway::Gateway;
use crate::notices::Notice;

/// Where it is kept what was heard; for as long as it counts.
const HEARD: &str = "heard";

impl Gateway {
    /// Tells other gateways what hooks told this one, where that is news.
    pub(crate) async fn tell_heard(&self, live: &dyn LiveStore) {
        let news = self.engine.heard_news();
        // What cannot be told now is still news afterwards.
        if !news.is_empty() && self.share_heard(live, news.clone()).await.is_ok() {
            self.engine.told_heard(&news);
        }
    }

    async fn share_heard(
        &self,
        live: &dyn LiveStore,
        conversations: Vec<HeardNews>,
    ) -> Result<(), LiveFault> {
        let notice = self.as_told(Notice::Heard { conversations });
        live.announce(notice).await?;
        // Others keep theirs under the same name.
        self.read_heard(live).await?;
        let all = self.engine.all_heard(&self.process);
        let all = serde_json::to_vec(&all).unwrap_or_default();
        live.put(HEARD, all, ACTIVE).await
    }

    /// Takes over what is kept.
    async fn read_heard(&self, live: &dyn LiveStore) -> Result<(), LiveFault> {
        let kept = live.get(HEARD).await?;
        let kept = kept.as_deref().map(serde_json::from_slice);
        // What is not understood was written by a later version.
        let kept: BTreeMap<String, Vec<HeardNews>> = kept.and_then(Result::ok).unwrap_or_default();
        for (from, news) in kept.iter().filter(|(from, _)| **from != self.process) {
            self.engine.heard_elsewhere(from, news);
        }
        Ok(())
    }

    /// Reads what was heard while others were not, and has them told what was heard here.
    pub(crate) async fn catch_up_heard(&self, live: &dyn LiveStore) {
        self.engine.doubt_heard();
        if let Err(fault) = self.read_heard(live).await {
            tracing::warn!("what hooks told other gateways is not known: {fault}");
        }
    }
}
