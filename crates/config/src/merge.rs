//! Layers laid over each other: maps are merged key by key, everything else replaces what was
//! below.

use std::collections::BTreeMap;

use crate::node::{Entry, Node, Value};

/// Lays `over` on `base`.
pub(crate) fn merge(base: Node, over: Node) -> Node {
    match (base.value, over.value) {
        (Value::Map(below), Value::Map(above)) => {
            let value = Value::Map(merge_entries(below, above));
            Node {
                value,
                place: over.place,
                secret: false,
                aliased: false,
                flow: over.flow,
            }
        }
        // A section without content says nothing, so it takes nothing away.
        (Value::Map(below), Value::Null) => Node {
            value: Value::Map(below),
            ..over
        },
        (_, value) => Node { value, ..over },
    }
}

fn merge_entries(mut below: Vec<Entry>, above: Vec<Entry>) -> Vec<Entry> {
    // By key, since a hostile file may have very many.
    let known: BTreeMap<String, usize> = below
        .iter()
        .enumerate()
        .map(|(at, entry)| (entry.key.clone(), at))
        .collect();
    for entry in above {
        match known.get(&entry.key).and_then(|at| below.get_mut(*at)) {
            Some(lower) => {
                let base = std::mem::replace(&mut lower.node, Node::empty_map());
                lower.node = merge(base, entry.node);
                lower.key_place = entry.key_place;
            }
            None => below.push(entry),
        }
    }
    below
}
