//! What is accepted and checked but does nothing in this version, so that nobody believes in it.

use std::fmt;

use crate::node::Node;
use crate::origin::Origin;
use crate::path::Path;
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

/// Something that was given and does nothing in this version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The section or key.
    pub path: String,
    /// Where it stands.
    pub origin: Origin,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        write!(
            f,
            "`{path}` is accepted and checked but not active in this version"
        )
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
