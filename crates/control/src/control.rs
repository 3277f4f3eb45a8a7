//! The operations themselves. Each takes the one who asks, and only the owner may change anything.
//!
//! Who asks is established by [`Control::authenticate`] or by the door; nothing here reads a
//! message.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use mcpproxy_core::{ActivityReader, Claims, Clock, Principal, PrincipalKind, Secret, Wall};
use mcpproxy_engine::{Engine, StopScope};
use serde::Serialize;

use crate::change::{Act, Change, Effect, Mandate};
use crate::configurer::{Applied, ConfigChange, Configurer, ReloadReport, Shown};
use crate::error::{Error, Refused};
use crate::keys::ApiKey;
use crate::orders::{Order, Orders};
use crate::tokens::{Adopted, TokenInfo, TokenNews, TokenScope, Tokens};

/// What stands before a token's name in the name of its principal.
const TOKEN: &str = "token:";

/// Everything an operator can do.
#[derive(Debug)]
pub struct Control {
    key: ApiKey,
    tokens: Tokens,
    orders: Orders,
    engine: Arc<Engine>,
    configurer: Arc<dyn Configurer>,
    clock: Arc<dyn Clock>,
    activity: Option<Arc<dyn ActivityReader>>,
    families: Option<TypesOf>,
}

/// Names the types of a family of sensitive data; none where there is no such family.
pub type TypesOf = fn(&str) -> Vec<String>;

/// A token that was made. It cannot be shown again.
#[derive(Debug)]
pub struct NewToken {
    /// The token.
    pub secret: Secret,
    /// What is known about it.
    pub info: TokenInfo,
    /// What changed.
    pub change: Change,
}

/// A change of the configuration that was put in force.
#[derive(Debug)]
pub struct Reconfigured {
    /// What it brought.
    pub applied: Applied,
    /// What changed.
    pub change: Change,
}

/// A reload that was done.
#[derive(Debug, Serialize)]
pub struct Reloaded {
    /// What it brought.
    pub report: ReloadReport,
    /// What changed.
    pub change: Change,
}

impl Control {
    /// Bundles what operations work on; `orders` are those of the engine's kill switch.
    pub fn new(
        key: ApiKey,
        tokens: Tokens,
        orders: Orders,
        engine: Arc<Engine>,
        configurer: Arc<dyn Configurer>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            key,
            tokens,
            orders,
            engine,
            configurer,
            clock,
            activity: None,
            families: None,
        }
    }

    /// Gives it the activity log to read.
    #[must_use]
    pub fn with_activity(mut self, activity: Arc<dyn ActivityReader>) -> Self {
        self.activity = Some(activity);
        self
    }

    /// Tells it which types of sensitive data are one family, so that a family can be asked for.
    #[must_use]
    pub fn with_families(mut self, families: TypesOf) -> Self {
        self.families = Some(families);
        self
    }

    pub(crate) fn families(&self) -> Option<TypesOf> {
        self.families
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(crate) fn now(&self) -> Wall {
        self.clock.wall()
    }

    pub(crate) fn log(&self) -> Result<&dyn ActivityReader, Error> {
        self.activity.as_deref().ok_or(Error::NoActivity)
    }

    pub(crate) fn shared_log(&self) -> Result<Arc<dyn ActivityReader>, Error> {
        self.activity.clone().ok_or(Error::NoActivity)
    }

    /// Returns the API key, for pages that act in the name of who has shown it.
    pub fn api_key(&self) -> &Secret {
        self.key.secret()
    }

    /// Returns who presents a key or a token, if it is a good one.
    pub fn authenticate(&self, presented: &str) -> Option<Principal> {
        if self.key.matches(presented.as_bytes()) {
            return Some(Principal::owner());
        }
        self.tokens.refresh(self.clock.tick());
        let info = self.tokens.verify(presented, self.clock.wall())?;
        let claims = Claims {
            subject: info.name.clone(),
            scopes: info.scope.names(),
            until: info.scope.expires,
            ..Claims::default()
        };
        Some(Principal {
            claims: Some(Arc::new(claims)),
            ..Principal::agent(format!("{TOKEN}{}", info.name))
        })
    }

    /// Returns what a principal is limited to; nothing for one without limits.
    ///
    /// The holder of a token that was revoked or expired meanwhile is limited to nothing at all.
    pub fn scope_of(&self, who: &Principal) -> Option<TokenScope> {
        match who.kind {
            PrincipalKind::Owner
            | PrincipalKind::User
            | PrincipalKind::Certificate
            | PrincipalKind::Local => None,
            PrincipalKind::Agent => {
                self.tokens.refresh(self.clock.tick());
                let name = who.name.strip_prefix(TOKEN);
                let info = name.and_then(|name| self.tokens.find(name, self.clock.wall()));
                Some(info.map_or_else(TokenScope::nothing, |info| info.scope.clone()))
            }
        }
    }

    /// Says whether who was let in would be let in again: tokens are revoked, and credentials end.
    pub fn is_valid(&self, who: &Principal) -> bool {
        match who.kind {
            PrincipalKind::Owner | PrincipalKind::Local => true,
            PrincipalKind::User | PrincipalKind::Certificate => {
                let until = who.claims.as_ref().and_then(|claims| claims.until);
                until.is_none_or(|until| self.clock.wall() < until)
            }
            PrincipalKind::Agent => {
                self.tokens.refresh(self.clock.tick());
                let name = who.name.strip_prefix(TOKEN);
                name.is_some_and(|name| self.tokens.find(name, self.clock.wall()).is_some())
            }
        }
    }

    /// Returns what is wrong with the files behind keys, tokens and orders, for status and doctor.
    pub fn problems(&self) -> Vec<String> {
        self.tokens.refresh(self.clock.tick());
        [self.orders.problem(), self.tokens.problem()]
            .into_iter()
            .flatten()
            .collect()
    }

    /// Stops calls at once.
    pub fn stop_calls(&self, who: &Principal, scope: &StopScope) -> Result<Change, Refused> {
        let mandate = Mandate::of(who, Act::StopCalls)?;
        let (now, target) = (self.clock.wall(), scope.to_string());
        let effect = self
            .orders
            .stop(self.engine.stops(), scope, mandate.by(), now)?;
        Ok(mandate.change(target, effect, now))
    }

    /// Lets calls go again.
    pub fn resume_calls(&self, who: &Principal, scope: &StopScope) -> Result<Change, Refused> {
        let mandate = Mandate::of(who, Act::ResumeCalls)?;
        self.orders.resume(self.engine.stops(), scope)?;
        Ok(self.made(mandate, scope.to_string()))
    }

    /// Returns all orders in force, to be shared with other gateways.
    pub fn orders(&self) -> Vec<Order> {
        self.orders.list()
    }

    /// Stops calls as another gateway of the installation does.
    pub fn adopt_stop(&self, scope: &StopScope, by: &str) -> Result<(), Error> {
        let (stops, now) = (self.engine.stops(), self.clock.wall());
        self.orders.stop(stops, scope, by, now).map(drop)
    }

    /// Lets calls go again as another gateway of the installation does.
    pub fn adopt_resume(&self, scope: &StopScope) -> Result<(), Error> {
        self.orders.resume(self.engine.stops(), scope).map(drop)
    }

    /// Returns what is stopped: all of it to the owner, what concerns them to others.
    ///
    /// Other callers' names and sessions stay hidden, since the id of a session opens it.
    pub fn stopped(&self, who: &Principal) -> Vec<Order> {
        let mut orders = self.orders.list();
        orders.retain(|order| match (&order.scope, who.kind) {
            (_, PrincipalKind::Owner) | (StopScope::All | StopScope::Upstream(_), _) => true,
            (StopScope::Principal(name), _) => **name == *who.name,
            (StopScope::Session(_), _) => false,
        });
        orders
    }

    /// Makes an agent token.
    pub fn create_token(
        &self,
        who: &Principal,
        name: &str,
        scope: TokenScope,
    ) -> Result<NewToken, Refused> {
        let mandate = Mandate::of(who, Act::CreateToken)?;
        let (secret, info) = self.tokens.create(name, scope, self.clock.wall())?;
        let change = self.made(mandate, name).with(info.scope.limits());
        Ok(NewToken {
            secret,
            info,
            change,
        })
    }

    /// Lists the agent tokens.
    pub fn list_tokens(&self, who: &Principal) -> Result<Vec<TokenInfo>, Refused> {
        Mandate::of(who, Act::ListTokens)?;
        Ok(self.tokens.list()?)
    }

    /// Makes an agent token worthless.
    pub fn revoke_token(&self, who: &Principal, name: &str) -> Result<Change, Refused> {
        let mandate = Mandate::of(who, Act::RevokeToken)?;
        self.tokens.revoke(name)?;
        Ok(self.made(mandate, name))
    }

    /// Returns what was made and revoked here since the last time, to be told to other gateways.
    pub fn token_news(&self) -> Vec<TokenNews> {
        self.tokens.news()
    }

    /// Takes over what other gateways of the installation made and revoked.
    pub fn adopt_tokens(&self, news: Vec<TokenNews>) -> Result<Adopted, Error> {
        self.tokens.adopt(news)
    }

    /// Adds an upstream with settings as the configuration file has them.
    pub fn add_upstream(
        &self,
        who: &Principal,
        name: &str,
        settings: serde_json::Value,
    ) -> Result<Change, Refused> {
        let mandate = Mandate::of(who, Act::AddUpstream)?;
        let keys = keys(&settings);
        self.configurer.add_upstream(name, settings)?;
        Ok(self.made(mandate, name).with(keys))
    }

    /// Changes the named settings of an upstream; `null` takes one out.
    pub fn change_upstream(
        &self,
        who: &Principal,
        name: &str,
        settings: serde_json::Value,
    ) -> Result<Change, Refused> {
        let mandate = Mandate::of(who, Act::ChangeUpstream)?;
        let keys = keys(&settings);
        self.configurer.change_upstream(name, settings)?;
        Ok(self.made(mandate, name).with(keys))
    }

    /// Removes an upstream.
    pub fn remove_upstream(&self, who: &Principal, name: &str) -> Result<Change, Refused> {
        let mandate = Mandate::of(who, Act::RemoveUpstream)?;
        self.configurer.remove_upstream(name)?;
        Ok(self.made(mandate, name))
    }

    /// Switches an upstream on.
    pub fn enable_upstream(&self, who: &Principal, name: &str) -> Result<Change, Refused> {
        let mandate = Mandate::of(who, Act::EnableUpstream)?;
        self.configurer.set_enabled(name, true)?;
        Ok(self.made(mandate, name))
    }

    /// Switches an upstream off.
    pub fn disable_upstream(&self, who: &Principal, name: &str) -> Result<Change, Refused> {
        let mandate = Mandate::of(who, Act::DisableUpstream)?;
        self.configurer.set_enabled(name, false)?;
        Ok(self.made(mandate, name))
    }

    /// Reads the configuration again.
    pub fn reload(&self, who: &Principal) -> Result<Reloaded, Refused> {
        let mandate = Mandate::of(who, Act::Reload)?;
        let report = self.configurer.reload()?;
        Ok(Reloaded {
            report,
            change: self.made(mandate, ""),
        })
    }

    /// Shows the configuration, without secrets.
    pub fn show_config(&self, who: &Principal) -> Result<Shown, Refused> {
        Mandate::of(who, Act::ReadConfig)?;
        Ok(self.configurer.show()?)
    }

    /// Says what is wrong with the configuration that a change would make.
    pub fn check_config(
        &self,
        who: &Principal,
        change: &ConfigChange,
    ) -> Result<Vec<String>, Refused> {
        Mandate::of(who, Act::ReadConfig)?;
        Ok(self.configurer.check(change)?)
    }

    /// Changes the configuration and puts it in force.
    pub fn apply_config(
        &self,
        who: &Principal,
        change: &ConfigChange,
    ) -> Result<Reconfigured, Refused> {
        let mandate = Mandate::of(who, Act::ChangeConfig)?;
        let applied = self.configurer.apply(change)?;
        let change = self.made(mandate, "").with(change.keys());
        Ok(Reconfigured { applied, change })
    }

    pub(crate) fn configurer(&self) -> &dyn Configurer {
        &*self.configurer
    }

    fn made(&self, mandate: Mandate<'_>, target: impl Into<String>) -> Change {
        mandate.change(target, Effect::Made, self.clock.wall())
    }
}

/// The keys of settings, without their values.
fn keys(settings: &serde_json::Value) -> Vec<String> {
    let settings = settings.as_object();
    settings.map_or_else(Vec::new, |settings| settings.keys().cloned().collect())
}
