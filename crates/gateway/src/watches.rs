//! Who wants to hear of updates of which resource, where the gateway's own conversation with an
//! upstream hears of them: the gateway subscribes there for as long as somebody does.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Mutex;

use mcpproxy_core::{Id128, UpstreamId};

use crate::error::Failure;
use crate::session::lock;

/// Resources that one session may subscribe to; one more is refused.
pub(crate) const EACH: usize = 256;
/// Subscriptions of all together; one more is refused.
const ALL: usize = 50_000;
/// Bytes of the longest address that may be subscribed to.
const LONGEST: usize = 2048;

/// Who watches a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Watcher {
    /// A legacy session, by its key.
    Session(Id128),
    /// A subscription of a stateless downstream, by its number.
    Listener(u64),
}

/// What is left of a resource's watchers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// Some.
    Others,
    /// None; where the upstream took a subscription, it has to be taken back.
    Nobody {
        /// Whether it did.
        subscribed: bool,
    },
}

/// Who watches what.
#[derive(Debug, Default)]
pub(crate) struct Watches(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    resources: HashMap<UpstreamId, BTreeMap<String, Resource>>,
    counts: HashMap<Watcher, usize>,
    total: usize,
}

#[derive(Debug, Default)]
struct Resource {
    /// Whether the upstream took a subscription.
    subscribed: bool,
    /// Who wants to hear of it; those whose subscription was taken do.
    watchers: BTreeMap<Watcher, bool>,
}

/// Refuses an address that is too long to be kept.
pub(crate) fn check_length(uri: &str) -> Result<(), Failure> {
    if uri.len() > LONGEST {
        let message = format!("`uri` is longer than {LONGEST} bytes");
        return Err(Failure::params(message));
    }
    Ok(())
}

impl Watches {
    /// Takes a place for somebody who is about to subscribe; nothing is heard yet.
    pub(crate) fn begin(
        &self,
        upstream: &UpstreamId,
        uri: &str,
        who: Watcher,
    ) -> Result<(), Failure> {
        check_length(uri)?;
        let mut table = lock(&self.0);
        if table.watches(upstream, uri, who) {
            return Ok(());
        }
        let held = table.counts.get(&who).copied().unwrap_or(0);
        if matches!(who, Watcher::Session(_)) && held >= EACH {
            return Err(Failure::params("too many resource subscriptions"));
        }
        if table.total >= ALL {
            return Err(Failure::too_many("resource subscriptions"));
        }
        table.total += 1;
        table.counts.insert(who, held + 1);
        let resources = table.resources.entry(upstream.clone()).or_default();
        let resource = resources.entry(uri.to_owned()).or_default();
        resource.watchers.insert(who, false);
        Ok(())
    }

    /// Notes that the upstream took a subscription: from now on it is heard.
    pub(crate) fn accept(&self, upstream: &UpstreamId, uri: &str, who: Watcher) {
        let mut table = lock(&self.0);
        let resources = table.resources.get_mut(upstream);
        if let Some(resource) = resources.and_then(|all| all.get_mut(uri)) {
            resource.subscribed = true;
            if let Some(heard) = resource.watchers.get_mut(&who) {
                *heard = true;
            }
        }
    }

    /// Notes that somebody does not want to hear of a resource, or no longer does.
    pub(crate) fn remove(&self, upstream: &UpstreamId, uri: &str, who: Watcher) -> Left {
        lock(&self.0).remove(upstream, uri, who)
    }

    /// Forgets somebody who has gone, and returns the resources that have to be unsubscribed from.
    pub(crate) fn forget(&self, who: Watcher) -> Vec<(UpstreamId, String)> {
        let mut table = lock(&self.0);
        if !table.counts.contains_key(&who) {
            return Vec::new();
        }
        let mut watched = Vec::new();
        for (upstream, resources) in sorted(&table.resources) {
            let own = resources
                .iter()
                .filter(|(_, one)| one.watchers.contains_key(&who));
            watched.extend(own.map(|(uri, _)| (upstream.clone(), uri.clone())));
        }
        let left = Left::Nobody { subscribed: true };
        watched.retain(|(upstream, uri)| table.remove(upstream, uri, who) == left);
        watched
    }

    /// Forgets an upstream that is no longer there.
    pub(crate) fn forget_upstream(&self, upstream: &UpstreamId) {
        let mut table = lock(&self.0);
        let resources = table.resources.get(upstream);
        let held: Vec<_> = resources
            .into_iter()
            .flatten()
            .flat_map(|(uri, one)| one.watchers.keys().map(|who| (uri.clone(), *who)))
            .collect();
        for (uri, who) in held {
            table.remove(upstream, &uri, who);
        }
    }

    /// Returns who hears of a resource.
    pub(crate) fn watching(&self, upstream: &UpstreamId, uri: &str) -> BTreeSet<Watcher> {
        let table = lock(&self.0);
        let resource = table.resources.get(upstream).and_then(|all| all.get(uri));
        let watchers = resource.into_iter().flat_map(|one| &one.watchers);
        let heard = watchers.filter(|(_, heard)| **heard);
        heard.map(|(who, _)| *who).collect()
    }

    /// Tells whether anybody wants to hear of a resource.
    pub(crate) fn is_watched(&self, upstream: &UpstreamId, uri: &str) -> bool {
        let table = lock(&self.0);
        let resources = table.resources.get(upstream);
        resources.is_some_and(|all| all.contains_key(uri))
    }

    /// Returns the resources of an upstream that it took subscriptions to.
    pub(crate) fn subscribed(&self, upstream: &UpstreamId) -> Vec<String> {
        let table = lock(&self.0);
        let resources = table.resources.get(upstream).into_iter().flatten();
        let subscribed = resources.filter(|(_, one)| one.subscribed);
        subscribed.map(|(uri, _)| uri.clone()).collect()
    }
}

/// The entries in an order that does not change from run to run.
fn sorted<V>(map: &HashMap<UpstreamId, V>) -> BTreeMap<&UpstreamId, &V> {
    map.iter().collect()
}

impl Table {
    fn watches(&self, upstream: &UpstreamId, uri: &str, who: Watcher) -> bool {
        let resource = self.resources.get(upstream).and_then(|all| all.get(uri));
        resource.is_some_and(|one| one.watchers.contains_key(&who))
    }

    fn remove(&mut self, upstream: &UpstreamId, uri: &str, who: Watcher) -> Left {
        let nobody = Left::Nobody { subscribed: false };
        let Some(resources) = self.resources.get_mut(upstream) else {
            return nobody;
        };
        let Some(resource) = resources.get_mut(uri) else {
            return nobody;
        };
        if resource.watchers.remove(&who).is_some() {
            self.total -= 1;
            let left = self.counts.get(&who).map_or(0, |count| count - 1);
            if left == 0 {
                self.counts.remove(&who);
            } else {
                self.counts.insert(who, left);
            }
        }
        if !resource.watchers.is_empty() {
            return Left::Others;
        }
        let subscribed = resource.subscribed;
        resources.remove(uri);
        if resources.is_empty() {
            self.resources.remove(upstream);
        }
        Left::Nobody { subscribed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Watcher = Watcher::Session(Id128(1));
    const OTHER: Watcher = Watcher::Listener(2);

    fn up() -> UpstreamId {
        UpstreamId::new("up")
    }

    #[test]
    fn nothing_is_heard_before_the_upstream_took_the_subscription() {
        let watches = Watches::default();
        watches.begin(&up(), "a", ONE).unwrap();
        assert!(watches.watching(&up(), "a").is_empty());
        assert_eq!(watches.subscribed(&up()), Vec::<String>::new());
        watches.accept(&up(), "a", ONE);
        assert_eq!(watches.watching(&up(), "a"), [ONE].into());
        assert!(watches.watching(&UpstreamId::new("else"), "a").is_empty());
    }

    #[test]
    fn a_subscription_is_taken_back_when_nobody_is_left_and_it_was_taken() {
        let watches = Watches::default();
        let nobody = |subscribed| Left::Nobody { subscribed };
        watches.begin(&up(), "a", ONE).unwrap();
        assert_eq!(watches.remove(&up(), "a", ONE), nobody(false));
        watches.begin(&up(), "a", ONE).unwrap();
        watches.accept(&up(), "a", ONE);
        // Somebody who is about to subscribe counts: the upstream must not be told meanwhile.
        watches.begin(&up(), "a", OTHER).unwrap();
        assert_eq!(watches.remove(&up(), "a", ONE), Left::Others);
        assert_eq!(watches.remove(&up(), "a", OTHER), nobody(true));
        assert!(!watches.is_watched(&up(), "a"));
    }

    #[test]
    fn who_goes_takes_only_its_own_along() {
        let watches = Watches::default();
        for (uri, who) in [("a", ONE), ("b", ONE), ("b", OTHER)] {
            watches.begin(&up(), uri, who).unwrap();
            watches.accept(&up(), uri, who);
        }
        assert_eq!(watches.subscribed(&up()), ["a", "b"]);
        assert_eq!(watches.forget(ONE), [(up(), "a".to_owned())]);
        assert_eq!(watches.subscribed(&up()), ["b"]);
        watches.forget_upstream(&up());
        assert_eq!(lock(&watches.0).total, 0);
        assert!(lock(&watches.0).counts.is_empty());
    }

    #[test]
    fn subscriptions_are_bounded_in_number_and_length() {
        let watches = Watches::default();
        for number in 0..EACH {
            watches.begin(&up(), &number.to_string(), ONE).unwrap();
        }
        assert!(watches.begin(&up(), "more", ONE).is_err());
        watches.begin(&up(), "0", ONE).unwrap();
        let other = Watcher::Session(Id128(2));
        watches.begin(&up(), "more", other).unwrap();
        let long = "x".repeat(LONGEST + 1);
        assert!(watches.begin(&up(), &long, other).is_err());
        for number in 0..2 * ALL {
            let who = Watcher::Listener(u64::try_from(number).unwrap());
            drop(watches.begin(&up(), "a", who));
        }
        assert_eq!(lock(&watches.0).total, ALL);
    }
}
