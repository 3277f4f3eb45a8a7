//! Older and foreign spellings brought to the one form that is merged, decoded and shown.
//!
//! `mcpServers` as a list becomes a map; a map under `security.hooks` is the agent-hook section;
//! `tool_policy` at the top belongs to `security`; an upstream's `type`, `protocol`, `cwd` and
//! `disabled` get their own names; `receipts: enabled` is a section with that key.

use std::collections::BTreeSet;

use crate::node::{Entry, Node, Place, Value};
use crate::path::Path;
use crate::report::Report;
use crate::source::Texts;

/// Keys of an upstream that mean another one.
pub(crate) const SAME: [(&str, &str); 4] = [
    ("type", "transport"),
    ("protocol", "transport"),
    ("cwd", "working_dir"),
    ("disabled", "enabled"),
];

/// Brings the tree of one file to its canonical form.
pub(crate) fn shape(root: &mut Node, texts: &Texts, report: &mut Report) {
    let mut shaper = Shaper { texts, report };
    match root.value {
        Value::Map(_) => {
            shaper.tool_policy(root);
            shaper.agent_hooks(root);
            shaper.upstreams(root);
            receipts(root);
        }
        Value::Null => root.value = Value::Map(Vec::new()),
        _ => {
            let message = "the configuration must be a map of keys and values";
            shaper
                .report
                .add(texts, &Path::default(), root.place, message, None);
            root.value = Value::Map(Vec::new());
        }
    }
}

struct Shaper<'a> {
    texts: &'a Texts,
    report: &'a mut Report,
}

impl Shaper<'_> {
    fn tool_policy(&mut self, root: &mut Node) {
        let Some(policy) = root.take("tool_policy") else {
            return;
        };
        if root.get("security").is_none() {
            let node = Node {
                place: policy.node.place,
                ..Node::empty_map()
            };
            root.put(Entry {
                key: "security".to_owned(),
                key_place: policy.key_place,
                node,
            });
        }
        if let Some(security) = root.get_mut("security") {
            if matches!(security.value, Value::Null) {
                security.value = Value::Map(Vec::new());
            }
            self.rename(
                security,
                policy,
                "tool_policy",
                &Path::of(["tool_policy"]),
                "security.tool_policy",
            );
        }
    }

    fn agent_hooks(&mut self, root: &mut Node) {
        let Some(security) = root.get_mut("security") else {
            return;
        };
        if matches!(
            security.get("hooks"),
            Some(Node {
                value: Value::Map(_),
                ..
            })
        ) && let Some(hooks) = security.take("hooks")
        {
            let path = Path::of(["security", "hooks"]);
            self.rename(
                security,
                hooks,
                "agent_hooks",
                &path,
                "security.agent_hooks",
            );
        }
    }

    /// Puts an entry under the name that it also has; one that is there already stays and the other
    /// is a mistake.
    fn rename(&mut self, map: &mut Node, entry: Entry, key: &str, path: &Path, name: &str) {
        if map.get(key).is_some() {
            let message = format!("means the same as `{name}`, which is given too");
            let hint = Some("keep one of them".to_owned());
            self.report
                .add(self.texts, path, entry.key_place, message, hint);
        } else {
            map.put(Entry {
                key: key.to_owned(),
                ..entry
            });
        }
    }

    fn upstreams(&mut self, root: &mut Node) {
        let path = Path::of(["mcpServers"]);
        let Some(section) = root.get_mut("mcpServers") else {
            return;
        };
        if let Value::List(items) = &mut section.value {
            let items = std::mem::take(items);
            section.value = Value::Map(self.named(items, &path));
        }
        if let Value::Map(entries) = &mut section.value {
            for entry in entries {
                upstream(
                    &mut entry.node,
                    &path.key(&entry.key),
                    self.texts,
                    self.report,
                );
            }
        }
    }

    /// Makes entries of the items of a list, each of which says its name.
    fn named(&mut self, items: Vec<Node>, path: &Path) -> Vec<Entry> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut seen = BTreeSet::new();
        for (index, mut node) in items.into_iter().enumerate() {
            let path = path.index(index);
            let name = node.take("name");
            let Some(Entry {
                node:
                    Node {
                        value: Value::Text(key),
                        ..
                    },
                key_place,
                ..
            }) = name
            else {
                self.unnamed(&node, name.as_ref(), &path);
                continue;
            };
            if !seen.insert(key.clone()) {
                let message = format!("there is an upstream `{key}` already");
                self.report
                    .add(self.texts, &path.key("name"), key_place, message, None);
                continue;
            }
            // The item as a whole is where the upstream comes from.
            entries.push(Entry {
                key,
                key_place: node.place,
                node,
            });
        }
        entries
    }

    fn unnamed(&mut self, node: &Node, name: Option<&Entry>, path: &Path) {
        let (path, place, message) = match (&node.value, name) {
            (Value::Removed, _) => return,
            (Value::Map(_), Some(name)) if matches!(name.node.value, Value::Removed) => return,
            (Value::Map(_), Some(name)) => (path.key("name"), name.key_place, "expected text"),
            (Value::Map(_), None) => (path.clone(), node.place, "`name` is missing"),
            _ => (path.clone(), node.place, "expected a map with `name`"),
        };
        self.report.add(self.texts, &path, place, message, None);
    }
}

/// Makes a section of `receipts` where it only says whether.
fn receipts(root: &mut Node) {
    let Some(node) = root.get_mut("receipts") else {
        return;
    };
    let enabled = match &node.value {
        Value::Bool(enabled) => *enabled,
        Value::Text(word) if word == "enabled" => true,
        Value::Text(word) if word == "disabled" => false,
        _ => return,
    };
    node.value = Value::Map(vec![Entry {
        key: "enabled".to_owned(),
        key_place: node.place,
        node: Node::new(Value::Bool(enabled), node.place),
    }]);
}

/// Brings the keys of one upstream to their own names.
pub(crate) fn upstream(node: &mut Node, path: &Path, texts: &Texts, report: &mut Report) {
    let mut shaper = Shaper { texts, report };
    for (other, key) in SAME {
        let Some(mut entry) = node.take(other) else {
            continue;
        };
        if other == "disabled" {
            negate(&mut entry.node);
        }
        // What cannot be turned round keeps its name for the message.
        if other == "disabled" && !matches!(entry.node.value, Value::Bool(_) | Value::Removed) {
            let message = "expected `true` or `false`";
            shaper
                .report
                .add(texts, &path.key(other), entry.node.place, message, None);
            continue;
        }
        shaper.rename(node, entry, key, &path.key(other), key);
    }
}

fn negate(node: &mut Node) {
    match &node.value {
        Value::Bool(flag) => node.value = Value::Bool(!flag),
        Value::Text(text) if node.secret => match text.trim() {
            "true" => node.value = Value::Bool(false),
            "false" => node.value = Value::Bool(true),
            _ => {}
        },
        _ => {}
    }
}

/// Makes a tree of one value under a path of keys, for a value given outside of files.
pub(crate) fn layer(path: &[&str], text: &str, place: Place) -> Node {
    let leaf = Node::text(text, place);
    path.iter().rev().fold(leaf, |node, key| {
        let entry = Entry {
            key: (*key).to_owned(),
            key_place: place,
            node,
        };
        Node::new(Value::Map(vec![entry]), place)
    })
}
