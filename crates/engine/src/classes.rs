//! What is known about upstreams and their tools: their classes, kept beside the listings they were
//! read from.
//!
//! A listing is classified when it comes in, so that a call only looks its tool up.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use mcpproxy_classify::{self as classify, Class, Classification, Tool, ToolClass};
use mcpproxy_core::{Installed, ToolName, ToolRef, Trust, UpstreamId};

/// What is known of an upstream before it is asked anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// The program that is started.
    pub command: Option<String>,
    /// The program's arguments.
    pub args: Vec<String>,
    /// The folder that the program is started in, where one is given.
    pub working_dir: Option<String>,
    /// The address that is called.
    pub url: Option<String>,
    /// The keys that it may show.
    pub pins: Vec<String>,
    /// What its program is made of, where that is known.
    pub installed: Option<Arc<Installed>>,
    /// How much is taken on trust from it; nothing where the configuration has no word on it.
    pub trust: Option<Trust>,
}

/// One tool as its upstream lists it.
#[derive(Clone, Debug)]
pub struct Described {
    /// Its name at the upstream.
    pub name: ToolName,
    /// The raw descriptor.
    pub descriptor: Bytes,
}

#[derive(Debug)]
struct Known {
    profile: Profile,
    listed: Vec<Described>,
    class: Class,
    tools: HashMap<ToolName, Arc<ToolClass>>,
}

/// The classes of everything that was listed.
#[derive(Debug, Default)]
pub struct Classes {
    known: RwLock<HashMap<UpstreamId, Known>>,
}

impl Classes {
    /// Takes a new listing of an upstream.
    pub fn learn(
        &self,
        upstream: &UpstreamId,
        profile: Profile,
        listed: Vec<Described>,
        settings: &Classification,
    ) {
        let known = Known::read(upstream, profile, listed, settings);
        self.write().insert(upstream.clone(), known);
    }

    /// Forgets an upstream that is gone.
    pub fn forget(&self, upstream: &UpstreamId) {
        self.write().remove(upstream);
    }

    /// Classifies everything anew, under other settings.
    pub fn reload(&self, settings: &Classification) {
        let mut all = self.write();
        let names: BTreeSet<_> = all.keys().cloned().collect();
        for upstream in &names {
            let Some(known) = all.get_mut(upstream) else {
                continue;
            };
            let profile = std::mem::take(&mut known.profile);
            let listed = std::mem::take(&mut known.listed);
            *known = Known::read(upstream, profile, listed, settings);
        }
    }

    /// Returns the same listings, classified under other settings.
    #[must_use]
    pub fn under(&self, settings: &Classification) -> Self {
        let all = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let names: BTreeSet<_> = all.keys().cloned().collect();
        let known = names.into_iter().filter_map(|upstream| {
            let known = all.get(&upstream)?;
            let (profile, listed) = (known.profile.clone(), known.listed.clone());
            let known = Known::read(&upstream, profile, listed, settings);
            Some((upstream, known))
        });
        Self {
            known: RwLock::new(known.collect()),
        }
    }

    /// Takes the place of what was known before.
    pub fn take_over(&self, other: Self) {
        let known = other.known.into_inner();
        *self.write() = known.unwrap_or_else(PoisonError::into_inner);
    }

    /// Goes through everything that was listed.
    pub fn each(&self, mut see: impl FnMut(&UpstreamId, &[Described])) {
        let all = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let names: BTreeSet<_> = all.keys().collect();
        for upstream in names {
            if let Some(known) = all.get(upstream) {
                see(upstream, &known.listed);
            }
        }
    }

    /// Returns the class of a tool; one that was never listed is judged by its name.
    pub fn of(&self, called: &ToolRef, settings: &Classification) -> Arc<ToolClass> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let known = known.get(&called.upstream);
        if let Some(tool) = known.and_then(|known| known.tools.get(&called.tool)) {
            return Arc::clone(tool);
        }
        let class = known.map_or_else(
            || class(&called.upstream, &Profile::default(), settings),
            |known| known.class.clone(),
        );
        let tool = Tool::named(called.tool.as_str());
        let upstream = called.upstream.as_str();
        Arc::new(classify::tool(&tool, upstream, &class, settings))
    }

    /// Returns the class of an upstream; one that was never listed is judged by its name.
    pub fn of_upstream(&self, upstream: &UpstreamId, settings: &Classification) -> Class {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let known = known.get(upstream).map(|known| known.class.clone());
        known.unwrap_or_else(|| class(upstream, &Profile::default(), settings))
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, HashMap<UpstreamId, Known>> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn read(
        upstream: &UpstreamId,
        profile: Profile,
        listed: Vec<Described>,
        settings: &Classification,
    ) -> Self {
        let class = class(upstream, &profile, settings);
        let classified = listed.iter().map(|one| {
            let descriptor = std::str::from_utf8(&one.descriptor).unwrap_or_default();
            let tool = Tool::read(descriptor);
            let class = classify::tool(&tool, upstream.as_str(), &class, settings);
            (one.name.clone(), Arc::new(class))
        });
        let tools = classified.collect();
        Self {
            profile,
            listed,
            class,
            tools,
        }
    }
}

fn class(upstream: &UpstreamId, profile: &Profile, settings: &Classification) -> Class {
    let about = classify::Upstream {
        name: upstream.as_str(),
        command: profile.command.as_deref(),
        args: &profile.args,
        url: profile.url.as_deref(),
    };
    classify::upstream(&about, settings)
}

#[cfg(test)]
mod tests {
    use mcpproxy_classify::Kind;
    use mcpproxy_core::Sink;

    use super::*;

    fn called(upstream: &str, tool: &str) -> ToolRef {
        ToolRef {
            upstream: UpstreamId::new(upstream),
            tool: ToolName::new(tool),
        }
    }

    #[test]
    fn a_listing_says_more_than_a_name() {
        let classes = Classes::default();
        let settings = Classification::default();
        let tool = called("acme", "do_it");
        assert_eq!(classes.of(&tool, &settings).as_sink(), Sink::Assumed);
        let descriptor = r#"{"name":"do_it","description":"Looks at a row.",
            "annotations":{"readOnlyHint":true,"openWorldHint":false}}"#;
        let described = Described {
            name: tool.tool.clone(),
            descriptor: Bytes::from_static(descriptor.as_bytes()),
        };
        classes.learn(
            &tool.upstream,
            Profile::default(),
            vec![described],
            &settings,
        );
        assert_eq!(classes.of(&tool, &settings).as_sink(), Sink::Unproven);
        let mut outside = Classification::default();
        outside
            .server_overrides
            .insert("acme".to_owned(), Kind::External);
        classes.reload(&outside);
        assert_eq!(classes.of(&tool, &outside).as_sink(), Sink::Outside);
        classes.forget(&tool.upstream);
        assert_eq!(classes.of(&tool, &settings).as_sink(), Sink::Assumed);
    }
}
