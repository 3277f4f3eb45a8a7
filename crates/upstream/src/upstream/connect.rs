//! Opening a conversation: the transport first, then the era that both sides speak.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use mcpproxy_core::UpstreamId;
use mcpproxy_mcp::dial::{Chain, Dialer, Pin};
use mcpproxy_mcp::era::Era;

use super::Upstream;
use crate::Error;
use crate::child;
use crate::fleet::FleetSettings;
use crate::instance::{Greeting, Instance, Opening};
use crate::link::http::{HttpLink, HttpTarget};
use crate::link::sse::SseLink;
use crate::link::stdio::StdioLink;
use crate::link::{Link, Listener};
use crate::oauth::OAuth;
use crate::settings::{EraChoice, Transport, UpstreamSettings};

/// How long an upstream may be silent about `server/discover` before it is taken to be of the
/// other era.
const PROBE_PATIENCE: Duration = Duration::from_secs(3);

impl Upstream {
    /// Opens a conversation, trying the eras in order.
    pub(super) async fn open(
        &self,
        greeting: Greeting,
        listener: Arc<dyn Listener>,
        order: [Era; 2],
    ) -> Result<Arc<Instance>, Error> {
        let patience = self.settings.start_timeout.into();
        let opening = Opening {
            upstream: self.name.clone(),
            greeting,
            limits: self.fleet.limits,
            patience,
        };
        let opened = self.open_in_order(&opening, &listener, self.eras(order));
        tokio::time::timeout(patience, opened)
            .await
            .map_err(|_| mcpproxy_mcp::Error::TimedOut)?
    }

    /// The eras to try, in order: both, but for one that is known not to be spoken.
    fn eras(&self, order: [Era; 2]) -> VecDeque<Era> {
        match self.settings.era {
            EraChoice::Auto => {
                let support = *self.support.lock().unwrap_or_else(PoisonError::into_inner);
                let denied = |era: &Era| match era {
                    Era::Legacy => support.legacy == Some(false),
                    Era::Modern => support.modern == Some(false),
                };
                let spoken: VecDeque<_> = order.into_iter().filter(|era| !denied(era)).collect();
                // One that denied both has changed, or was not itself.
                if spoken.is_empty() {
                    order.into()
                } else {
                    spoken
                }
            }
            EraChoice::Legacy => [Era::Legacy].into(),
            EraChoice::Modern => [Era::Modern].into(),
        }
    }

    async fn open_in_order(
        &self,
        opening: &Opening,
        listener: &Arc<dyn Listener>,
        mut eras: VecDeque<Era>,
    ) -> Result<Arc<Instance>, Error> {
        let mut link = None;
        let mut last = Error::NoCommonVersion;
        let mut silent = false;
        while let Some(era) = eras.pop_front() {
            let open = match link.take() {
                Some(link) => link,
                None => self.link(listener).await?,
            };
            match self.open_as(era, open, opening, !eras.is_empty()).await {
                Ok(instance) => {
                    self.learn(era, true);
                    return Ok(Arc::new(instance));
                }
                Err((rest, fault)) => {
                    let denied = denies_era(&fault);
                    if denied {
                        self.learn(era, false);
                    } else if self.settings.command.is_none() {
                        return Err(fault);
                    }
                    // One that was silent because it was slow to start, and now refuses the other
                    // era, speaks the one that it was asked for first.
                    if era == Era::Legacy && denied && std::mem::take(&mut silent) {
                        eras.push_back(Era::Modern);
                    }
                    silent = era == Era::Modern && is_silence(&fault);
                    link = rest.filter(|link| link.ended().is_none());
                    last = fault;
                }
            }
        }
        Err(last)
    }

    async fn open_as(
        &self,
        era: Era,
        link: Link,
        opening: &Opening,
        more: bool,
    ) -> Result<Instance, (Option<Link>, Error)> {
        match era {
            Era::Legacy => Instance::open_legacy(link, opening)
                .await
                .map_err(|fault| (None, fault)),
            Era::Modern => {
                let patience = if more {
                    PROBE_PATIENCE
                } else {
                    opening.patience
                };
                let opening = Opening {
                    patience,
                    ..opening.clone()
                };
                let opened = Instance::open_modern(link, &opening).await;
                opened.map_err(|(link, fault)| (Some(link), fault))
            }
        }
    }

    fn learn(&self, era: Era, spoken: bool) {
        let mut support = self.support.lock().unwrap_or_else(PoisonError::into_inner);
        match era {
            Era::Legacy => support.legacy = Some(spoken),
            Era::Modern => support.modern = Some(spoken),
        }
    }

    async fn link(&self, listener: &Arc<dyn Listener>) -> Result<Link, Error> {
        let listener = Arc::clone(listener);
        match self.settings.effective_transport() {
            Transport::Stdio | Transport::Auto => {
                let started = child::start(&self.settings, &self.fleet.supervisor, &self.ring)?;
                let (limits, max) = (self.fleet.limits, self.fleet.max_message);
                Ok(Link::Stdio(StdioLink::new(started, listener, limits, max)))
            }
            Transport::Http => Ok(Link::Http(Arc::new(HttpLink::new(
                self.http_target()?,
                listener,
            )))),
            Transport::Sse => {
                let link = SseLink::open(self.http_target()?, listener).await?;
                Ok(Link::Sse(Box::new(link)))
            }
        }
    }

    fn http_target(&self) -> Result<HttpTarget, Error> {
        let fault = |why: &str| Error::Start {
            program: self.name.to_string(),
            why: why.to_owned(),
        };
        let uri: Uri = self
            .settings
            .url
            .as_deref()
            .unwrap_or_default()
            .parse()
            .map_err(|_| fault("its `url` is not an address"))?;
        let mut headers = HeaderMap::new();
        for (name, value) in &self.settings.headers {
            let name =
                HeaderName::try_from(name).map_err(|_| fault("a header has no valid name"))?;
            let mut value = HeaderValue::from_str(value.expose())
                .map_err(|_| fault("a header has no valid value"))?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(HttpTarget {
            uri,
            headers,
            dialer: self
                .dialer
                .clone()
                .ok_or_else(|| fault("its key cannot be checked"))?,
            max_message: self.fleet.max_message,
            limits: self.fleet.limits,
            login: self.login.clone(),
        })
    }
}

/// The connections of an upstream: those of all, or its own where its key is pinned.
pub(super) fn dialer(
    settings: &UpstreamSettings,
    fleet: &FleetSettings,
) -> Result<Dialer, mcpproxy_mcp::Error> {
    let Some(tls) = &settings.tls else {
        return Ok(fleet.dialer.clone());
    };
    let chain = if tls.self_signed {
        Chain::Unchecked
    } else {
        Chain::Checked
    };
    // What is no pin was refused with the configuration; here it would fit no key.
    let pins = tls.pin.all().iter().filter_map(|pin| Pin::read(pin));
    Dialer::pinned(pins.collect(), chain)
}

/// Returns the login of an upstream that need not run.
pub fn login_of(
    name: &str,
    settings: &UpstreamSettings,
    fleet: &FleetSettings,
) -> Option<Arc<OAuth>> {
    let own = dialer(settings, fleet).ok()?;
    login(&UpstreamId::new(name), settings, fleet, Some(&own))
}

/// The login of an upstream. One whose credentials are configured logs in to nothing.
pub(super) fn login(
    name: &UpstreamId,
    settings: &UpstreamSettings,
    fleet: &FleetSettings,
    own: Option<&Dialer>,
) -> Option<Arc<OAuth>> {
    let shows = |header: &String| header.eq_ignore_ascii_case("authorization");
    if settings.headers.keys().any(shows) {
        return None;
    }
    let uri = settings.url.as_deref()?.parse().ok()?;
    let dialers = (own?.clone(), fleet.dialer.clone());
    let told = settings.oauth.clone().unwrap_or_default();
    Some(OAuth::new(
        name.clone(),
        uri,
        told,
        fleet.logins.clone(),
        dialers,
    ))
}

fn is_silence(fault: &Error) -> bool {
    matches!(fault, Error::Transport(mcpproxy_mcp::Error::TimedOut))
}

/// Tells whether a failure to open says that the upstream does not speak the era. An outage is
/// never taken for an answer, though a child may end or fall silent at a method it does not know
/// and still know the other.
fn denies_era(fault: &Error) -> bool {
    use mcpproxy_mcp::Error as Transport;
    match fault {
        Error::Refused { .. }
        | Error::NoCommonVersion
        | Error::Transport(Transport::Refused(_)) => true,
        Error::Transport(Transport::Status { status, .. }) => {
            (400..500).contains(status) && !matches!(status, 401 | 403 | 429)
        }
        Error::Transport(_)
        | Error::Failed { .. }
        | Error::Unknown(_)
        | Error::Disabled(_)
        | Error::Down { .. }
        | Error::Start { .. }
        | Error::NeedsLogin { .. }
        | Error::Authority(_)
        | Error::Full { .. } => false,
    }
}
