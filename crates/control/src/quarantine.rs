//! Approving, blocking and withholding what upstreams offer.
//!
//! Whoever may reach an upstream may withhold what it offers; letting something pass is for the
//! owner.

use mcpproxy_core::{OfferState, Principal, UpstreamId};
use mcpproxy_engine::{Diff, Known, News, NotSet, Which};

use crate::change::{Act, Change, Effect, Mandate};
use crate::control::Control;
use crate::error::{Error, Refused, shown};

/// A change of the quarantine, and what has yet to be told about it.
#[derive(Debug)]
pub struct Moved {
    /// What changed.
    pub change: Change,
    /// What is to be told, by `Engine::tell`.
    pub news: News,
}

impl Control {
    /// Returns what is known about what upstreams offer; of all if none is named.
    pub fn offers(&self, who: &Principal, upstream: Option<&str>) -> Result<Vec<Known>, Refused> {
        Mandate::of(who, Act::ReadQuarantine)?;
        Ok(self.engine().offers(upstream.map(UpstreamId::new).as_ref()))
    }

    /// Returns what changed in something since it was approved.
    pub fn offer_diff(&self, who: &Principal, upstream: &str, name: &str) -> Result<Diff, Refused> {
        Mandate::of(who, Act::ReadQuarantine)?;
        let found = self.engine().diff(&UpstreamId::new(upstream), name);
        let unknown = || Error::OfferUnknown { name: shown(name) };
        Ok(found.ok_or_else(unknown)?)
    }

    /// Lets things of an upstream pass as they are now.
    pub fn approve_offers(
        &self,
        who: &Principal,
        upstream: &str,
        which: &Which<'_>,
    ) -> Result<Moved, Refused> {
        let mandate = Mandate::of(who, Act::ApproveTools)?;
        self.moved(mandate, upstream, which, OfferState::Approved)
    }

    /// Withholds things of an upstream for good.
    pub fn block_offers(
        &self,
        who: &Principal,
        upstream: &str,
        which: &Which<'_>,
    ) -> Result<Moved, Refused> {
        let mandate = Mandate::to_tighten(who, Act::BlockTools);
        self.moved(mandate, upstream, which, OfferState::Blocked)
    }

    /// Withholds everything that an upstream offers.
    pub fn quarantine(&self, who: &Principal, upstream: &str) -> Result<Moved, Refused> {
        let mandate = Mandate::to_tighten(who, Act::Quarantine);
        self.moved(mandate, upstream, &Which::Server, OfferState::Quarantined)
    }

    /// Lets an upstream out of quarantine; tools of it that are withheld by themselves stay so.
    pub fn unquarantine(&self, who: &Principal, upstream: &str) -> Result<Moved, Refused> {
        let mandate = Mandate::of(who, Act::Unquarantine)?;
        self.moved(mandate, upstream, &Which::Server, OfferState::Approved)
    }

    fn moved(
        &self,
        mandate: Mandate<'_>,
        upstream: &str,
        which: &Which<'_>,
        state: OfferState,
    ) -> Result<Moved, Refused> {
        let id = UpstreamId::new(upstream);
        let set = self.engine().set_state(&id, which, state, mandate.by());
        let news = set.map_err(|fault| match fault {
            NotSet::Unknown(name) => Error::OfferUnknown { name: shown(&name) },
            NotSet::Changed(name) => Error::OfferChanged { name: shown(&name) },
            NotSet::Unkept(cause) => Error::BaselineUnkept(cause),
        })?;
        let effect = if news.is_empty() {
            Effect::AlreadySo
        } else {
            Effect::Made
        };
        let target = match which {
            Which::Named(names) => shown(&format!("{upstream}:{}", names.join(","))),
            Which::Exactly { name, .. } => shown(&format!("{upstream}:{name}")),
            Which::Server | Which::All => shown(upstream),
        };
        let change = mandate.change(target, effect, self.now());
        Ok(Moved { change, news })
    }
}
