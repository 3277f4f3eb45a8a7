//! Finds our own entries in the lists of an agent's file, among those of others.

use super::command::Own;
use crate::tree::{Node, Value};

/// A step from one node to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Key(String),
    At(usize),
}

/// A place in a list at which an entry of ours stands.
#[derive(Clone, Debug)]
pub(super) struct Spot {
    /// The way to the list.
    pub(super) list: Vec<Step>,
    pub(super) index: usize,
    pub(super) own: Own,
}

impl Spot {
    /// Says whether the spot stands in the list at a path of keys.
    pub(super) fn is_in(&self, keys: &[String]) -> bool {
        let same = |(step, key): (&Step, &String)| matches!(step, Step::Key(name) if name == key);
        self.list.len() == keys.len() && self.list.iter().zip(keys).all(same)
    }

    /// Returns the item at this spot.
    pub(super) fn item<'a>(&self, root: &'a Node) -> Option<&'a Node> {
        follow(root, &self.list)?.items()?.get(self.index)
    }

    /// Returns the keys that lead to the list, where it is not within an item of another list.
    pub(super) fn keys(&self) -> Option<Vec<String>> {
        let keys = self.list.iter().map(|step| match step {
            Step::Key(key) => Some(key.clone()),
            Step::At(_) => None,
        });
        keys.collect()
    }
}

/// Follows a way from node to node.
pub(super) fn follow<'a>(root: &'a Node, way: &[Step]) -> Option<&'a Node> {
    way.iter().try_fold(root, |node, step| match step {
        Step::Key(key) => node.get(key),
        Step::At(at) => node.items()?.get(*at),
    })
}

/// Finds all entries of ours, in the order of the file.
pub(super) fn find(root: &Node) -> Vec<Spot> {
    let Some(hooks) = root.get("hooks") else {
        return Vec::new();
    };
    let way = vec![Step::Key("hooks".to_owned())];
    let mut spots = Vec::new();
    match &hooks.value {
        Value::List(_) => in_list(hooks, &way, &mut spots),
        Value::Map(members) => {
            for member in members {
                // Of a key that is there twice only the last counts.
                let counts = hooks.get(&member.key);
                if counts.is_some_and(|counts| std::ptr::eq(counts, &raw const member.value)) {
                    let mut way = way.clone();
                    way.push(Step::Key(member.key.clone()));
                    in_list(&member.value, &way, &mut spots);
                }
            }
        }
        _ => {}
    }
    spots
}

fn in_list(list: &Node, way: &[Step], spots: &mut Vec<Spot>) {
    for (index, item) in list.items().unwrap_or_default().iter().enumerate() {
        let Some(handlers) = item.get("hooks").and_then(Node::items) else {
            spots.extend(handler(item).map(|own| Spot {
                list: way.to_vec(),
                index,
                own,
            }));
            continue;
        };
        let found: Vec<(usize, Own)> = handlers
            .iter()
            .enumerate()
            .filter_map(|(at, item)| Some((at, handler(item)?)))
            .collect();
        if found.len() == handlers.len() {
            let own = found.into_iter().next();
            spots.extend(own.map(|(_, own)| Spot {
                list: way.to_vec(),
                index,
                own,
            }));
            continue;
        }
        // Somebody put a handler of theirs beside ours.
        let mut inner = way.to_vec();
        inner.extend([Step::At(index), Step::Key("hooks".to_owned())]);
        spots.extend(found.into_iter().map(|(at, own)| Spot {
            list: inner.clone(),
            index: at,
            own,
        }));
    }
}

/// Says whether a handler is ours.
pub(super) fn is_ours(item: &Node) -> bool {
    handler(item).is_some()
}

/// Recognises a handler of ours in any of the shapes that agents have.
fn handler(item: &Node) -> Option<Own> {
    let args = item.names("args");
    let by_key = |key: &str| {
        let text = item.get(key)?.as_text()?;
        if args.is_empty() {
            return Own::in_line(text);
        }
        let words: Vec<String> = [text.to_owned()].into_iter().chain(args.clone()).collect();
        Own::in_words(&words)
    };
    let keys = ["command", "bash", "powershell", "exec"];
    let own = keys.into_iter().find_map(by_key);
    own.or_else(|| handler(item.get("action")?))
}
