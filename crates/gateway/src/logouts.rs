//! Logins to the dashboard, as far as a gateway has to do with them: the pages keep them where live
//! state is shared, and what ended at another gateway is passed on to the pages of this one.

use std::sync::Arc;

use mcpproxy_core::LiveStore;
use tokio::sync::broadcast;

use crate::gateway::Gateway;
use crate::notices::Notice;

/// Logins that ended and that the pages have not asked about; past that they are told that they
/// missed some.
const WAITING: usize = 256;

/// The logins that ended at other gateways; nothing where some may have been missed.
#[derive(Debug)]
pub(crate) struct Logouts(broadcast::Sender<Option<String>>);

impl Default for Logouts {
    fn default() -> Self {
        Self(broadcast::Sender::new(WAITING))
    }
}

impl Gateway {
    /// Returns where state is shared with other gateways, if it is.
    pub fn live(&self) -> Option<&Arc<dyn LiveStore>> {
        self.live.as_ref()
    }

    /// Returns the logins that end at other gateways from now on, by the digests of their ids; nothing
    /// where some may have been missed.
    pub fn logouts(&self) -> broadcast::Receiver<Option<String>> {
        self.logouts.0.subscribe()
    }

    /// Tells other gateways that a login ended here.
    pub async fn logged_out(&self, login: String) {
        self.announce(Notice::LoggedOut { login }).await;
    }

    pub(crate) fn logged_out_elsewhere(&self, login: String) {
        // Where there are no pages nobody listens.
        drop(self.logouts.0.send(Some(login)));
    }

    /// Says that logins may have ended at other gateways while those were not heard.
    pub(crate) fn logouts_missed(&self) {
        drop(self.logouts.0.send(None));
    }
}
