//! Finds tools by their names, however these are spelt. Nothing here is ranked.

use std::collections::BTreeMap;

use crate::split;
use crate::vocabulary::DocumentId;

/// Tools by the keys of their names.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    plain: Keys,
    /// After the name of the upstream. Kept apart, because an upstream chooses the names of its
    /// tools but not its own, and must not take `github:create_issue` by a name of that spelling.
    qualified: Keys,
}

type Keys = BTreeMap<Box<str>, Vec<DocumentId>>;

impl Names {
    /// Returns the tools that are meant by a key: those of the upstream that it names, or else all
    /// of that name.
    pub(crate) fn find(&self, key: &str) -> &[DocumentId] {
        let found = self.qualified.get(key).or_else(|| self.plain.get(key));
        found.map_or(&[], Vec::as_slice)
    }

    pub(crate) fn insert(&mut self, upstream: &str, name: &str, id: DocumentId) {
        let (plain, qualified) = keys(upstream, name);
        for (keys, key) in [(&mut self.plain, plain), (&mut self.qualified, qualified)] {
            let ids = keys.entry(key.into()).or_default();
            ids.reserve_exact(1);
            ids.push(id);
        }
    }

    pub(crate) fn remove(&mut self, upstream: &str, name: &str, id: DocumentId) {
        let (plain, qualified) = keys(upstream, name);
        for (keys, key) in [(&mut self.plain, plain), (&mut self.qualified, qualified)] {
            if let Some(ids) = keys.get_mut(key.as_str()) {
                ids.retain(|other| *other != id);
                if ids.is_empty() {
                    keys.remove(key.as_str());
                }
            }
        }
    }
}

fn keys(upstream: &str, name: &str) -> (String, String) {
    let plain = split::key(name);
    let qualified = format!("{}_{plain}", split::key(upstream));
    (plain, qualified)
}
