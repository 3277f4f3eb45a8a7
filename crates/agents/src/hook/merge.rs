//! Puts our entries into the text of a JSON file and takes them out again.
//!
//! Everything else stays byte for byte. One change at a time: the text is read again after each, and
//! a text that does not mean what was asked for is never returned.

use super::spot::{self, Spot, Step, follow};
use super::target::Entry;
use crate::format::Format;
use crate::jsonc::slots::Slots;
use crate::patch::Patches;
use crate::style::{Style, json_inline};
use crate::tree::{Edit, Node, Put, Syntax, Value};

/// Why a text is not changed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It is not JSON.
    Syntax(Syntax),
    /// Something in it is not what the agent would have there.
    Shape { place: String, reason: String },
}

/// Returns a text that holds the entries, and no other entry of ours.
pub(super) fn install(
    text: &str,
    head: &[(&'static str, Node)],
    entries: &[Entry],
) -> Result<String, Refusal> {
    let mut text = if text.trim().is_empty() {
        "{}\n".to_owned()
    } else {
        text.to_owned()
    };
    check(&parse(&text)?, head, entries)?;
    for (key, value) in head {
        if parse(&text)?.get(key).is_none() {
            text = put(&text, &[], key, value.clone())?;
        }
    }
    while let Some(spot) = stray(&spot::find(&parse(&text)?), entries) {
        text = without(&text, &spot)?;
    }
    for entry in entries {
        text = place(&text, entry)?;
    }
    Ok(text)
}

/// Returns a text that holds no entry of ours.
///
/// A list or map that is empty without them goes too, since the agent reads it as nothing.
pub(super) fn uninstall(text: &str) -> Result<String, Refusal> {
    let mut text = text.to_owned();
    while let Some(spot) = spot::find(&parse(&text)?).into_iter().next() {
        text = without(&text, &spot)?;
    }
    Ok(text)
}

/// Takes one entry out, with what is empty without it.
fn without(text: &str, spot: &Spot) -> Result<String, Refusal> {
    let text = take(text, spot)?;
    prune(&text, &spot.keys().unwrap_or_default())
}

/// Parses a text.
pub(super) fn parse(text: &str) -> Result<Node, Refusal> {
    Format::Jsonc.parse(text).map_err(Refusal::Syntax)
}

/// Finds what keeps the entries from being put in.
fn check(root: &Node, head: &[(&'static str, Node)], entries: &[Entry]) -> Result<(), Refusal> {
    let shape = |place: &str, reason: &str| {
        Err(Refusal::Shape {
            place: place.to_owned(),
            reason: reason.to_owned(),
        })
    };
    if root.members().is_none() {
        return shape("the whole file", "is not a map");
    }
    for (key, value) in head {
        if root.get(key).is_some_and(|found| !found.same(value)) {
            return shape(key, &format!("is not {}", json_inline(value)));
        }
    }
    for entry in entries {
        for length in 1..=entry.list.len() {
            let path = entry.list.get(..length).unwrap_or_default();
            let found = root.at(path).map(|node| &node.value);
            let (fits, wanted) = if length == entry.list.len() {
                (matches!(found, Some(Value::List(_))), "a list")
            } else {
                (matches!(found, Some(Value::Map(_))), "a map")
            };
            if !fits && !matches!(found, None | Some(Value::Null)) {
                return shape(&path.join("."), &format!("is not {wanted}"));
            }
        }
    }
    Ok(())
}

/// Finds an entry of ours that has no place: in another list, within somebody's group, or twice.
fn stray(spots: &[Spot], entries: &[Entry]) -> Option<Spot> {
    let is_wanted = |spot: &Spot| entries.iter().any(|entry| spot.is_in(&entry.list));
    let is_second = |at: usize, spot: &Spot| {
        let mut earlier = spots.iter().take(at);
        // A list of all events has an entry of ours for each.
        let of_list = entries.iter().filter(|entry| spot.is_in(&entry.list));
        let wanted = of_list.count();
        let before = earlier.by_ref().filter(|other| other.list == spot.list);
        before.count() >= wanted
    };
    let mut strays = spots.iter().enumerate();
    let stray = strays.find(|(at, spot)| !is_wanted(spot) || is_second(*at, spot));
    stray.map(|(_, spot)| spot.clone())
}

/// Puts one entry in: over an older one of ours, or behind all others.
fn place(text: &str, entry: &Entry) -> Result<String, Refusal> {
    let root = parse(text)?;
    let Some(list) = root.at(&entry.list).filter(|list| list.items().is_some()) else {
        let (name, parents) = entry
            .list
            .split_last()
            .map_or(("", &[][..]), |(name, rest)| (name.as_str(), rest));
        let items = Node::new(Value::List(vec![entry.item.clone()]));
        return put(text, parents, name, items);
    };
    let items = list.items().unwrap_or_default();
    if items.iter().any(|item| item.same(&entry.item)) {
        return Ok(text.to_owned());
    }
    let spots = spot::find(&root);
    let mut old = spots.iter().filter(|spot| spot.is_in(&entry.list));
    let old = old.find(|spot| {
        let item = items.get(spot.index);
        item.is_some_and(|item| trigger(item) == trigger(&entry.item))
    });
    let way: Vec<Step> = entry.list.iter().cloned().map(Step::Key).collect();
    edit(text, &way, |slots, patches, items| {
        let written = |indent: Option<&str>| match indent {
            None => json_inline(&entry.item),
            Some(indent) => slots.style.json(&entry.item, indent),
        };
        if let Some(old) = old {
            slots.replace(old.index, &written, patches);
            if let Some(item) = items.get_mut(old.index) {
                *item = entry.item.clone();
            }
        } else {
            slots.append(&written, patches);
            items.push(entry.item.clone());
        }
    })
}

/// Returns the event of an item in a list of all events, as Kiro has it.
fn trigger(item: &Node) -> Option<&str> {
    item.get("trigger")?.as_text()
}

/// Takes one entry out of its list.
fn take(text: &str, spot: &Spot) -> Result<String, Refusal> {
    edit(text, &spot.list, |slots, patches, items| {
        let flags: Vec<bool> = (0..items.len()).map(|at| at == spot.index).collect();
        slots.delete(&flags, patches);
        if spot.index < items.len() {
            items.remove(spot.index);
        }
    })
}

/// Takes out a list that is empty, and the map around it if that is then empty too.
fn prune(text: &str, keys: &[String]) -> Result<String, Refusal> {
    let mut text = text.to_owned();
    for length in (1..=keys.len()).rev() {
        let path = keys.get(..length).unwrap_or_default();
        let root = parse(&text)?;
        let is_empty = root.at(path).is_some_and(|node| match &node.value {
            Value::List(items) => items.is_empty(),
            Value::Map(members) => members.is_empty(),
            _ => false,
        });
        if !is_empty {
            break;
        }
        let remove = vec![path.to_vec()];
        text = changed(&text, &Edit { remove, put: None })?;
    }
    Ok(text)
}

/// Changes one list, and proves that nothing else changed.
fn edit(
    text: &str,
    way: &[Step],
    change: impl FnOnce(&Slots<'_>, &mut Patches, &mut Vec<Node>),
) -> Result<String, Refusal> {
    let root = parse(text)?;
    let style = Style::of(text, &root);
    let mut expect = root.clone();
    let (Some(list), Some(items)) = (follow(&root, way), follow_mut(&mut expect, way)) else {
        return Err(unsafe_change(way));
    };
    let mut patches = Patches::default();
    change(&Slots::of(text, &style, list), &mut patches, items);
    let after = patches.apply(text);
    // INVARIANT: no text leaves here that says anything but what was asked for.
    match Format::Jsonc.parse(&after) {
        Ok(found) if found.same(&expect) => Ok(after),
        _ => Err(unsafe_change(way)),
    }
}

fn put(text: &str, list: &[String], name: &str, entry: Node) -> Result<String, Refusal> {
    let put = Put {
        list: list.to_vec(),
        name: name.to_owned(),
        entry,
    };
    let there = parse(text)?.at(&put.path()).is_some();
    let remove = there.then(|| put.path()).into_iter().collect();
    let put = Some(put);
    changed(text, &Edit { remove, put })
}

fn changed(text: &str, edit: &Edit) -> Result<String, Refusal> {
    Format::Jsonc
        .edit(text, edit)
        .map_err(|reason| Refusal::Shape {
            place: "the whole file".to_owned(),
            reason: format!("stays: {reason}"),
        })
}

fn unsafe_change(way: &[Step]) -> Refusal {
    let names = way.iter().map(|step| match step {
        Step::Key(key) => key.clone(),
        Step::At(at) => at.to_string(),
    });
    Refusal::Shape {
        place: names.collect::<Vec<_>>().join("."),
        reason: "is written in a way that cannot be changed safely".to_owned(),
    }
}

fn follow_mut<'a>(root: &'a mut Node, way: &[Step]) -> Option<&'a mut Vec<Node>> {
    let mut node = root;
    for step in way {
        node = match (step, &mut node.value) {
            (Step::Key(key), Value::Map(members)) => {
                let last = members.iter_mut().rfind(|member| member.key == *key)?;
                &mut last.value
            }
            (Step::At(at), Value::List(items)) => items.get_mut(*at)?,
            _ => return None,
        };
    }
    match &mut node.value {
        Value::List(items) => Some(items),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
