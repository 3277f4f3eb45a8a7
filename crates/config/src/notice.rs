//! What is accepted and checked but does nothing in this version, so that nobody believes in it, and
//! what does less than its name may promise.

use std::fmt;

use mcpproxy_text::nearest;

use crate::config::Config;
use crate::node::Node;
use crate::origin::Origin;
use crate::path::Path;
use crate::security::{HookKind, HookSettings, guards};
use crate::source::Texts;

/// Keys under `security` that do something; every other key that is given gets a notice.
///
/// A section listed here with keys of its own is active only in those.
const ACTIVE: [(&str, Option<&[&str]>); 17] = [
    ("enabled", None),
    ("mode", None),
    ("classification", None),
    ("flow_tracking", None),
    ("flow_policy", None),
    ("tool_policy", None),
    ("detector", None),
    ("agent_hooks", None),
    ("hooks", None),
    ("correlation_id_header", None),
    ("audit_logging", None),
    ("pii_detection", None),
    ("risk_assessment", None),
    ("exfiltration", None),
    ("approvals", None),
    ("tool_quarantine", None),
    ("alerts", None),
];

/// Something in the configuration that one should know of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The section or key.
    pub path: String,
    /// What is to be known of it.
    pub about: About,
    /// Where it stands.
    pub origin: Origin,
}

/// What is to be known of a section or key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// It does nothing in this version.
    Inactive,
    /// A hook that does not say what it sees gets messages without secrets, also where it is there to
    /// find them.
    Masked,
    /// It names an upstream that is not in the configuration.
    Nobody,
    /// It names no upstream, but nearly one.
    Nearly(String),
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        match &self.about {
            About::Inactive => write!(
                f,
                "`{path}` is accepted and checked but not active in this version"
            ),
            About::Masked => write!(
                f,
                "`{path}` does not say what the hook `sees`: secrets and personal data are masked for it; \
                 a scanner that looks for them needs `secrets` in `sees`"
            ),
            About::Nobody => write!(
                f,
                "`{path}` names no upstream of this configuration, and does nothing until there is one"
            ),
            About::Nearly(meant) => write!(
                f,
                "`{path}` names no upstream of this configuration; was `{meant}` meant?"
            ),
        }
    }
}

/// Returns a notice for each section or key that does nothing.
pub(crate) fn notices(root: &Node, texts: &Texts) -> Vec<Notice> {
    let base = Path::of(["security"]);
    let mut notices = Vec::new();
    let mut add = |path: &Path| {
        let origin = root
            .key_place(path.segments())
            .map_or(Origin::Default, |p| p.origin(texts));
        notices.push(Notice {
            path: path.to_string(),
            about: About::Inactive,
            origin,
        });
    };
    for entry in root.get("security").into_iter().flat_map(Node::entries) {
        let path = base.key(&entry.key);
        match ACTIVE.iter().find(|(key, _)| *key == entry.key) {
            None => add(&path),
            Some((_, None)) => {}
            Some((_, Some(active))) => {
                let inactive = |key: &str| !active.contains(&key);
                let keys = entry.node.entries().iter().map(|inner| inner.key.as_str());
                keys.filter(|key| inactive(key))
                    .for_each(|key| add(&path.key(key)));
            }
        }
    }
    notices
}

/// Returns a notice for each hook outside that does not say what it sees.
pub(crate) fn masked(hooks: &[HookSettings], root: &Node, texts: &Texts) -> Vec<Notice> {
    let base = Path::of(["security", "hooks"]);
    let asked = hooks.iter().enumerate();
    let asked = asked.filter(|(_, hook)| {
        let outside = match hook.kind {
            HookKind::Native => false,
            HookKind::ExternalGrpc | HookKind::Webhook | HookKind::Wasm => true,
        };
        outside && hook.enabled && hook.sees.is_none()
    });
    let notice = |(index, _)| {
        let path = base.index(index);
        let place = root.key_place(path.segments());
        Notice {
            path: path.to_string(),
            about: About::Masked,
            origin: place.map_or(Origin::Default, |place| place.origin(texts)),
        }
    };
    asked.map(notice).collect()
}

/// Returns a notice for each name that a guard is told and that no upstream has: one that is added
/// later may have it, and a name with a slip in it would protect nothing.
pub(crate) fn strangers(config: &Config, root: &Node, texts: &Texts) -> Vec<Notice> {
    let base = Path::of(["security", "hooks"]);
    let hooks = config.security.hooks.iter().enumerate();
    let named = hooks.flat_map(|(index, hook)| {
        let named = guards::upstreams_named(hook).into_iter();
        named.map(move |(place, name)| (index, place, name))
    });
    let strange = named.filter(|(_, _, name)| !config.upstreams.contains_key(name));
    let notice = |(index, place, _): (usize, Path, String)| {
        let path = base.index(index).join(place.segments().iter().cloned());
        let origin = root.key_place(path.segments());
        Notice {
            path: path.to_string(),
            about: About::Nobody,
            origin: origin.map_or(Origin::Default, |place| place.origin(texts)),
        }
    };
    strange
        .map(notice)
        .chain(slips(config, root, texts))
        .collect()
}

/// Returns a notice for each class and each action that is told for what is nearly the name of an upstream.
/// Other names may be those of upstreams that agents start by themselves.
fn slips(config: &Config, root: &Node, texts: &Texts) -> Vec<Notice> {
    let base = Path::of(["security"]);
    let security = &config.security;
    let classes = base.key("classification");
    let servers = security.classification.server_overrides.keys();
    let servers = servers.map(|name| (classes.key("server_overrides").key(name), name.as_str()));
    let actions = base.key("flow_policy").key("tool_overrides");
    let actions = security
        .flow_policy
        .tool_overrides
        .keys()
        .map(|name| (actions.key(name), name));
    let tools = security.classification.tool_overrides.keys();
    let tools = tools.map(|name| (classes.key("tool_overrides").key(name), name));
    let tools = tools.chain(actions);
    let tools = tools.filter_map(|(path, name)| Some((path, name.split_once(':')?.0)));
    let told = servers.chain(tools);
    let told = told.filter(|(_, name)| !config.upstreams.contains_key(*name));
    let slip = |(path, name): (Path, &str)| {
        let meant = nearest(name, config.upstreams.keys().map(String::as_str))?;
        let origin = root.key_place(path.segments());
        Some(Notice {
            path: path.to_string(),
            about: About::Nearly(meant.to_owned()),
            origin: origin.map_or(Origin::Default, |place| place.origin(texts)),
        })
    };
    told.filter_map(slip).collect()
}
