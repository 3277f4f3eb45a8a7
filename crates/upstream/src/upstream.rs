//! One configured upstream: its conversations, its catalogue, and the task that keeps it up.

mod capabilities;
mod connect;
mod keeper;
mod slots;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use mcpproxy_core::{Id128, Installed, UpstreamId};
use mcpproxy_mcp::dial::Dialer;
use mcpproxy_mcp::era::Era;
use mcpproxy_mcp::{Frame, FrameKind};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

pub use self::connect::login_of;
use self::slots::{Key, Most, Place, Slots};
use crate::Error;
use crate::catalogue::{Catalogue, Listed};
use crate::child::Ring;
use crate::fleet::FleetSettings;
use crate::instance::{Greeting, Instance};
use crate::link::Listener;
use crate::oauth::OAuth;
use crate::settings::{Scope, UpstreamSettings};

/// Who wants to talk to an upstream.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The era that the downstream speaks.
    pub era: Era,
    /// The verified principal.
    pub principal: Arc<str>,
    /// The conversation.
    pub session: Id128,
    /// How the downstream is introduced.
    pub greeting: Arc<Greeting>,
    /// Who hears what the upstream says outside any call, where an instance is the caller's own.
    pub listener: Arc<dyn Listener>,
}

/// How an upstream is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Not started yet: nobody needed it.
    Idle,
    /// Being started or reached.
    Starting,
    /// Ready.
    Up {
        /// The version spoken.
        version: String,
    },
    /// Failed; it is tried again.
    Down {
        /// What was seen last.
        why: String,
        /// Failures in a row.
        attempts: u32,
    },
    /// Failed too often, or retired.
    Stopped {
        /// Why.
        why: String,
    },
}

/// Hears what shared upstreams say to nobody in particular.
pub trait Hub: Send + Sync + std::fmt::Debug {
    /// A catalogue of an upstream was read and is to be judged: nobody else sees it before this
    /// returns. Tells whether that changes what is shown.
    fn judge(&self, upstream: &Upstream, listed: &Listed) -> bool;
    /// The catalogue of an upstream is another one now.
    fn listed(&self, upstream: &Upstream, judged_anew: bool);
    /// The gateway's own conversation with an upstream was opened, for the first time or again.
    fn opened(&self, instance: &Arc<Instance>);
    /// An upstream is in another state.
    fn turned(&self, _upstream: &UpstreamId, _state: &State) {}
    /// A notification came that names no caller.
    fn heard(&self, upstream: &UpstreamId, frame: Frame);
}

/// One configured upstream.
#[derive(Debug)]
pub struct Upstream {
    name: UpstreamId,
    settings: UpstreamSettings,
    fleet: Arc<FleetSettings>,
    /// Its own pool of connections, where it has a key of its own.
    /// Nothing where that key cannot be checked.
    dialer: Option<Dialer>,
    login: Option<Arc<OAuth>>,
    hub: Arc<dyn Hub>,
    slots: Mutex<Slots>,
    support: Mutex<Support>,
    catalogue: Catalogue,
    /// What its program was made of when it was last started.
    installed: ArcSwapOption<Installed>,
    ring: Ring,
    state: watch::Sender<State>,
    /// Asks the keeper to look again: at the lists, or whether the upstream is still there.
    stir: Arc<Notify>,
    /// Asks the keeper to begin.
    wake: Notify,
    retired: watch::Sender<bool>,
}

/// What is known about the eras that an upstream speaks.
#[derive(Clone, Copy, Debug, Default)]
struct Support {
    modern: Option<bool>,
    legacy: Option<bool>,
}

impl Upstream {
    /// Makes an upstream and starts its keeper.
    pub fn start(
        name: UpstreamId,
        settings: UpstreamSettings,
        fleet: Arc<FleetSettings>,
        hub: Arc<dyn Hub>,
    ) -> Arc<Self> {
        let dialer = connect::dialer(&settings, &fleet);
        let dialer = dialer.inspect_err(|fault| tracing::error!("upstream `{name}`: {fault}"));
        let dialer = dialer.ok();
        let login = connect::login(&name, &settings, &fleet, dialer.as_ref());
        let upstream = Arc::new(Self {
            name,
            settings,
            fleet,
            dialer,
            login,
            hub,
            slots: Mutex::default(),
            support: Mutex::default(),
            catalogue: Catalogue::from_pointee(Listed::default()),
            installed: ArcSwapOption::empty(),
            ring: Ring::default(),
            state: watch::Sender::new(State::Idle),
            stir: Arc::new(Notify::new()),
            wake: Notify::new(),
            retired: watch::Sender::new(false),
        });
        tokio::spawn(keeper::keep(Arc::downgrade(&upstream)));
        upstream
    }

    /// Returns its name.
    pub fn name(&self) -> &UpstreamId {
        &self.name
    }

    /// Returns its settings.
    pub fn settings(&self) -> &UpstreamSettings {
        &self.settings
    }

    /// Puts it in another state, and tells of it.
    fn turn(&self, state: State) {
        let told = state.clone();
        self.state.send_replace(state);
        self.hub.turned(&self.name, &told);
    }

    /// Returns how it is doing.
    pub fn state(&self) -> State {
        self.state.borrow().clone()
    }

    /// Returns its login, where there can be one.
    pub fn login(&self) -> Option<&Arc<OAuth>> {
        self.login.as_ref()
    }

    /// Returns the latest listing.
    pub fn listed(&self) -> Arc<Listed> {
        self.catalogue.load_full()
    }

    /// Returns what its program was made of when it was last started, as far as that is known.
    pub fn installed(&self) -> Option<Arc<Installed>> {
        self.installed.load_full()
    }

    /// Returns the last lines of its standard error.
    pub fn stderr(&self) -> Vec<String> {
        self.ring.lines()
    }

    /// Returns how many conversations are open.
    pub fn instances(&self) -> usize {
        self.lock_slots().len()
    }

    /// Starts a lazy upstream.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// Asks for the lists to be read again.
    pub fn refresh(&self) {
        self.wake.notify_one();
        self.stir.notify_one();
    }

    /// Waits until the upstream was tried once, for at most `patience`.
    pub async fn tried(&self, patience: Duration) {
        let mut state = self.state.subscribe();
        let settled = state.wait_for(|state| !matches!(state, State::Idle | State::Starting));
        drop(tokio::time::timeout(patience, settled).await);
    }

    /// Stops the keeper and lets go of all conversations; calls under way keep theirs until they
    /// end. Returns the tasks that end the conversations, which need not be waited for.
    pub fn retire(&self) -> Vec<JoinHandle<()>> {
        self.retired.send_replace(true);
        let open = self.lock_slots().drain();
        self.turn(State::Stopped {
            why: "removed or restarted".to_owned(),
        });
        let closing = open.into_iter();
        let closing = closing.map(|one| tokio::spawn(async move { one.close().await }));
        closing.collect()
    }

    /// Returns the conversation that belongs to a caller, opening it where needed.
    pub async fn instance(&self, caller: &Caller) -> Result<Arc<Instance>, Error> {
        if !self.settings.enabled {
            return Err(Error::Disabled(self.name.clone()));
        }
        self.wake();
        let key = self.key(caller);
        let instance = match key {
            Key::Own => self.own_instance().await?,
            Key::Stateless | Key::Principal(..) | Key::Session(_) => {
                self.caller_instance(key, caller).await?
            }
        };
        let limit = self.settings.max_in_flight;
        if instance.in_flight() >= usize::try_from(limit).unwrap_or(usize::MAX) {
            let what = "calls in flight";
            return Err(Error::Full {
                name: self.name.clone(),
                what,
                limit,
            });
        }
        Ok(instance)
    }

    /// Returns the gateway's own conversation if it is open.
    pub fn own_existing(&self) -> Option<Arc<Instance>> {
        self.lock_slots().get(&Key::Own)
    }

    /// Returns the conversation of a caller if it is open already.
    pub fn existing(&self, caller: &Caller) -> Option<Arc<Instance>> {
        let key = self.key(caller);
        self.lock_slots().get(&key)
    }

    /// Forgets the conversation of a session that has ended, politely.
    pub fn forget_session(&self, session: Id128) {
        let slot = self.lock_slots().remove(&Key::Session(session));
        if let Some(instance) = slot.and_then(|slot| slot.get().cloned()) {
            tokio::spawn(async move { instance.close().await });
        }
    }

    /// Takes the news that a call failed on its way: the keeper looks whether the upstream is
    /// still there.
    pub fn trouble(&self) {
        self.stir.notify_one();
    }

    fn key(&self, caller: &Caller) -> Key {
        let stateless = self.target(caller.era) == Era::Modern && self.settings.command.is_none();
        match self.settings.effective_scope() {
            Scope::Shared => Key::Own,
            Scope::Principal | Scope::Session if stateless => Key::Stateless,
            Scope::Session if caller.era == Era::Legacy => Key::Session(caller.session),
            // A stateless downstream has no session: those of one principal that can be asked the
            // same things share a conversation.
            Scope::Principal | Scope::Session => {
                let capabilities = capabilities::normalized(&caller.greeting.capabilities);
                Key::Principal(Arc::clone(&caller.principal), capabilities)
            }
        }
    }

    /// The gateway's own conversation. While the upstream is down, callers are told why at once
    /// instead of queueing up behind the next try.
    pub async fn own_instance(&self) -> Result<Arc<Instance>, Error> {
        let patience = Instant::now() + Duration::from(self.settings.start_timeout);
        let mut state = self.state.subscribe();
        loop {
            let now = state.borrow_and_update().clone();
            if let Some(instance) = self.own_existing() {
                return Ok(instance);
            }
            let late = match now {
                // It has ended, and the keeper has yet to see it.
                State::Up { .. } => {
                    self.trouble();
                    "it is being restarted"
                }
                State::Down { why, .. } | State::Stopped { why } => return Err(self.down(&why)),
                State::Idle | State::Starting => "it has not started yet",
            };
            let changed = timeout_at(patience, state.changed()).await;
            changed.map_or_else(|_| Err(self.down(late)), |_| Ok(()))?;
        }
    }

    async fn caller_instance(&self, key: Key, caller: &Caller) -> Result<Arc<Instance>, Error> {
        let place = self.claim(&key, caller)?;
        let listener = match key {
            Key::Stateless | Key::Own => self.hub_listener(),
            Key::Principal(..) | Key::Session(_) => Arc::clone(&caller.listener),
        };
        let greeting = || {
            let mut greeting = Greeting::clone(&caller.greeting);
            if let Key::Principal(_, capabilities) = &key {
                // Others will use it too: nothing is said in it that holds for the first alone.
                greeting.capabilities.clone_from(capabilities);
            }
            greeting
        };
        let order = [self.target(caller.era), other(self.target(caller.era))];
        let opened = place
            .cell()
            .get_or_try_init(|| async {
                let opened = self.open(greeting(), Arc::clone(&listener), order).await?;
                listener.opened(&opened);
                Ok(opened)
            })
            .await;
        match opened {
            Ok(instance) if place.is_kept() => Ok(Arc::clone(instance)),
            Ok(instance) => {
                let instance = Arc::clone(instance);
                tokio::spawn(async move { instance.close().await });
                Err(self.down("the conversation was ended while it was opened"))
            }
            // Nothing but the opening was sent, so that the call itself may be tried again.
            Err(Error::Transport(fault)) if fault.is_outage() => Err(self.down(&fault.to_string())),
            Err(fault) => Err(fault),
        }
    }

    /// Finds the place of a caller's conversation, if need be at the cost of one that is idle.
    fn claim(&self, key: &Key, caller: &Caller) -> Result<Place<'_>, Error> {
        let limit = self.settings.max_instances;
        let most = Most {
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
            sessions: self.settings.command.is_some(),
        };
        let claimed = self.lock_slots().claim(key, &caller.principal, most);
        let claimed = claimed.ok_or_else(|| Error::Full {
            name: self.name.clone(),
            what: "instances",
            limit,
        })?;
        if let Some(evicted) = claimed.evicted {
            tracing::info!("closed an idle conversation with `{}`", self.name);
            tokio::spawn(async move { evicted.close().await });
        }
        Ok(Place::new(&self.slots, key, claimed.cell))
    }

    /// The era to try first for a downstream of `era`: its own, unless the configuration or what
    /// was learnt rules it out.
    fn target(&self, era: Era) -> Era {
        use crate::settings::EraChoice;
        let support = *self.support.lock().unwrap_or_else(PoisonError::into_inner);
        match (self.settings.era, era) {
            (EraChoice::Legacy, _) => Era::Legacy,
            (EraChoice::Modern, _) => Era::Modern,
            (EraChoice::Auto, Era::Modern) if support.modern == Some(false) => Era::Legacy,
            (EraChoice::Auto, Era::Legacy) if support.legacy == Some(false) => Era::Modern,
            (EraChoice::Auto, era) => era,
        }
    }

    fn lock_slots(&self) -> std::sync::MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn down(&self, why: &str) -> Error {
        Error::Down {
            name: self.name.clone(),
            why: why.to_owned(),
        }
    }

    fn hub_listener(&self) -> Arc<dyn Listener> {
        Arc::new(HubListener {
            upstream: self.name.clone(),
            hub: Arc::clone(&self.hub),
            stir: Arc::clone(&self.stir),
        })
    }
}

fn other(era: Era) -> Era {
    match era {
        Era::Legacy => Era::Modern,
        Era::Modern => Era::Legacy,
    }
}

/// Hears what the gateway's own conversation brings outside any call.
#[derive(Debug)]
struct HubListener {
    upstream: UpstreamId,
    hub: Arc<dyn Hub>,
    stir: Arc<Notify>,
}

impl Listener for HubListener {
    fn heard(&self, frame: Frame) -> bool {
        if frame.kind() != FrameKind::Notification {
            return false;
        }
        if frame.method().ends_with("/list_changed") {
            self.stir.notify_one();
        } else {
            self.hub.heard(&self.upstream, frame);
        }
        true
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn ended(&self, why: &str) {
        tracing::debug!("upstream `{}` ended: {why}", self.upstream);
        self.stir.notify_one();
    }
}
